// Tables of the model's own making: Prepared::simulate from the priors, Fit::simulate from the draws of a run.
#include <fmt/format.h>

#include "explain_trouble.hpp"
#include "fit.hpp"
#include "overview.hpp"
#include "reopen.hpp"
#include "replicate.hpp"
#include "report.hpp"
#include "words.hpp"

namespace bam {
namespace {

Simulated to_simulated(Replication replication, bool is_prior) {
    Simulated simulated;
    simulated.text = replication_text(replication, is_prior);
    simulated.json = replication_json(replication, is_prior);
    simulated.csv = std::move(replication.csv);
    simulated.notes = std::move(replication.notes);
    return simulated;
}

/// The table as it was read, to be written again; it is the last of the sources.
std::optional<Table> reread(Sources const& sources, std::optional<char> separator, std::optional<char> decimal_point) {
    auto const source = static_cast<std::uint32_t>(sources.size() - 1);
    Diagnostics said_before;
    return Table::parse(std::string_view(sources[source].text), source, {separator, decimal_point}, said_before);
}

}  // namespace

Simulated Prepared::simulate(SimulateOptions const& options) const {
    Problem const& problem = parts_->table->problem;
    require_proper_priors(*parts_->program, problem, "a simulation");
    return or_explain(parts_->program->sources, problem.plan.layout, [&] {
        Problem complete = with_all_cells(parts_->program->compiled, problem);
        Simulation simulation(complete, options.seed.value_or(1));
        auto const table = reread(*parts_->sources, parts_->separator, parts_->decimal_point);
        return to_simulated(replicate(problem, complete, simulation, options.draws, nullptr, options.has_tables ? &*table : nullptr), true);
    });
}

Simulated Fit::simulate(std::optional<Csv> const& given, SimulateOptions const& options) const {
    auto const program = parts_->program ? parts_->program : program_of(parts_->config);
    Csv const csv = given ? *given
                          : fitted_table(parts_->config, "say which table to simulate outputs for: `--data TABLE`",
                                         fmt::format("to simulate outputs for it as it is now, say `--data {}`", parts_->config.data_name));
    Diagnostics diagnostics;
    FittedTable const bound = bind_new(*program, parts_->config, csv, diagnostics);  // clang 14 has no structured binding in a lambda
    std::shared_ptr<Sources> const& sources = bound.sources;
    auto const& prepared = bound.table;
    Run const& run = parts_->run;
    std::vector<double const*> rows;  // of all chains
    for (Chain const& chain : run.chains)
        for (std::size_t i = 0; i < chain.log_joint.size(); ++i) rows.push_back(chain.values.data() + i * run.columns.size());
    return or_explain(program->sources, prepared->problem.plan.layout, [&] {
        Problem complete = with_all_cells(program->compiled, prepared->problem);
        Simulation simulation(complete, options.seed.value_or(parts_->config.options.seed), run.columns, diagnostics);
        throw_if_error(sources, diagnostics);
        auto const table = reread(*sources, csv.separator, csv.decimal_point);
        auto const row = [&](std::size_t i) { return rows[i * rows.size() / options.draws]; };
        Replication replication =
            replicate(prepared->problem, complete, simulation, options.draws, row, options.has_tables ? &*table : nullptr);
        if (parts_->mode)
            replication.notes.emplace_back("all tables have the parameters of the mode: they differ by the noise of the outputs alone");
        else if (options.draws > rows.size())
            replication.notes.push_back(fmt::format("the run has {}: some serve for several tables", counted(rows.size(), "draw")));
        Simulated simulated = to_simulated(std::move(replication), false);
        simulated.counts = counts_text(*prepared);
        simulated.table = csv.name;
        simulated.report = make_report(sources, std::move(diagnostics));
        return simulated;
    });
}

}  // namespace bam
