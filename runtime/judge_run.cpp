// What a run says of outputs beside what they are: Fit::calibration, Fit::score, Fit::predictive_checks.
//
// Codes of this file:
//   BAM0552  a run whose draws are not of the posterior
//   BAM0554  outputs whose density has no closed form
//   BAM0555  a table without outputs that the run has not seen
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "calibration.hpp"
#include "density_parts.hpp"
#include "explain_trouble.hpp"
#include "fit.hpp"
#include "predictive_check.hpp"
#include "reopen.hpp"
#include "report.hpp"
#include "words.hpp"

namespace bam {
namespace {

constexpr int exit_usage = 64;
constexpr int exit_data = 65;

[[noreturn]] void refuse(int code, std::string message, std::vector<std::string> notes, int exit_code) {
    throw Error(Diagnostic{code, Severity::Error, std::move(message), {}, std::move(notes)}, exit_code);
}

void require_draws(Fit::Parts const& parts, std::string const& what, bool of_posterior) {
    if (parts.mode) refuse(552, fmt::format("a mode has no draws, and so no {}", what), {"fit again without `--backend map`"}, exit_usage);
    if (of_posterior && parts.climb)
        refuse(552, fmt::format("draws of independent factors are not of the posterior, and so there is no {}", what),
               {"fit again without `--backend vi`; or score a table that the run has not seen: `bam score RUN --data TABLE`"}, exit_usage);
}

void require_density(Problem const& problem) {
    std::string const why = why_no_likelihood(problem);
    if (!why.empty())
        refuse(554, fmt::format("the outputs have no density in closed form: {}", why), {"fill the missing cells in, or make it a normal"},
               exit_data);
}

void note_of_draws(Fit::Parts const& parts, std::vector<std::string>& notes) {
    if (parts.climb)
        notes.emplace_back(
            "the draws are of independent factors, not of the posterior: the numbers are as rough as they are (`bam diagnose RUN`)");
    else if (!parts.verdict.is_converged)
        notes.emplace_back("the draws have not converged, and so these numbers have not either: `bam diagnose RUN` says more");
}

Judgement to_judgement(CalibrationTable const& table, std::shared_ptr<Sources const> const& sources, Diagnostics diagnostics) {
    return {calibration_text(table), calibration_json(table), make_report(sources, std::move(diagnostics))};
}

}  // namespace

Judgement Fit::calibration(std::optional<Csv> const& given) const {
    require_draws(*parts_, "calibration by leaving cells out", true);
    auto const program = parts_->program ? parts_->program : program_of(parts_->config);
    Diagnostics diagnostics;
    FittedTable const fitted = bind_fitted(*program, parts_->config, given, diagnostics);
    Problem const& problem = fitted.table->problem;
    require_density(problem);
    CalibrationTable table = or_explain(program->sources, problem.plan.layout,
                                        [&] { return calibrate_fitted(problem, parts_->run, parts_->config.options.seed); });
    if (looks_back(problem.plan))
        table.notes.emplace_back("means look back at outputs: a cell that is left out still stands in those of later steps");
    note_of_draws(*parts_, table.notes);
    return to_judgement(table, fitted.sources, std::move(diagnostics));
}

Judgement Fit::score(Csv const& held_out) const {
    require_draws(*parts_, "score", false);
    auto const program = parts_->program ? parts_->program : program_of(parts_->config);
    Predictions const predictions = predict(held_out);
    Diagnostics diagnostics;
    FittedTable const fresh = bind_new(*program, parts_->config, held_out, diagnostics);
    Problem const& problem = fresh.table->problem;
    require_density(problem);
    using Key = std::tuple<std::string, std::string, std::string>;  // sequence, time, output
    std::set<Key> seen;
    for (PredictedCell const& cell : parts_->predictions)
        if (!std::isnan(cell.observed)) seen.insert({cell.sequence, cell.time, cell.output});
    std::vector<LeftOut> cells;
    std::size_t fitted = 0;
    for (LeftOut& cell : each_cell(problem)) {
        OutputCell const& at = cell.cells.front();
        bool const is_seen = seen.contains({problem.bound.sequence_labels[at.sequence],
                                            problem.bound.time_labels[problem.bound.grid.cell(at.sequence, at.step)], cell.output});
        if (is_seen)
            ++fitted;
        else
            cells.push_back(std::move(cell));
    }
    if (cells.empty())
        refuse(555, fmt::format("`{}` has no observed output that the run has not seen", held_out.name),
               {fitted > 0 ? fmt::format("{} of it {} fitted; `bam diagnose RUN --calibration` leaves each out in turn",
                                         counted(fitted, "cell"), fitted == 1 ? "was" : "were")
                           : "give a table whose columns of outputs are filled in"},
               exit_data);
    CalibrationTable table = or_explain(program->sources, problem.plan.layout, [&] {
        return calibrate_held_out(problem, parts_->run, parts_->config.options.seed, std::move(cells), predictions.cells(), diagnostics);
    });
    throw_if_error(fresh.sources, diagnostics);
    if (fitted > 0)
        table.notes.push_back(fmt::format("{} {} fitted, and {} not scored", counted(fitted, "cell"), fitted == 1 ? "was" : "were",
                                          fitted == 1 ? "is" : "are"));
    if (looks_back(problem.plan))
        table.notes.emplace_back("means look back at outputs: each step is predicted from those before it, as they were");
    note_of_draws(*parts_, table.notes);
    Judgement judgement = to_judgement(table, fresh.sources, {});
    judgement.report = predictions.report();
    return judgement;
}

Judgement Fit::predictive_checks(std::optional<Csv> const& given, CheckOptions const& options) const {
    require_draws(*parts_, "predictive check", false);
    auto const program = parts_->program ? parts_->program : program_of(parts_->config);
    Diagnostics diagnostics;
    FittedTable const fitted = bind_fitted(*program, parts_->config, given, diagnostics);
    Problem const& problem = fitted.table->problem;
    Run const& run = parts_->run;
    std::vector<double const*> rows;  // of all chains
    for (Chain const& chain : run.chains)
        for (std::size_t i = 0; i < chain.log_joint.size(); ++i) rows.push_back(chain.values.data() + i * run.columns.size());
    PredictiveCheck check = or_explain(program->sources, problem.plan.layout, [&] {
        Problem complete = with_all_cells(program->compiled, problem);
        Simulation simulation(complete, options.seed.value_or(parts_->config.options.seed), run.columns, diagnostics);
        throw_if_error(fitted.sources, diagnostics);
        std::size_t const tables = std::min(options.draws, rows.size());
        return check_predictions(problem, complete, simulation, tables, [&](std::size_t i) { return rows[i * rows.size() / tables]; });
    });
    note_of_draws(*parts_, check.notes);
    return {predictive_check_text(check), predictive_check_json(check), make_report(fitted.sources, std::move(diagnostics))};
}

}  // namespace bam
