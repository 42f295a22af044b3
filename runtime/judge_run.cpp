// What a run says of outputs beside what they are: Fit::calibration, Fit::score, Fit::predictive_checks.
//
// Codes of this file:
//   BAM0552  a run whose draws are not of the posterior
//   BAM0554  outputs whose density has no closed form, or that cannot be predicted from the past alone
//   BAM0555  a table without outputs that the run has not seen
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "calibration.hpp"
#include "density_parts.hpp"
#include "explain_trouble.hpp"
#include "fit.hpp"
#include "incidents.hpp"
#include "output_unit.hpp"
#include "predictive_check.hpp"
#include "reopen.hpp"
#include "report.hpp"
#include "words.hpp"

namespace bam {
namespace {

constexpr int exit_usage = 64;
constexpr int exit_data = 65;
constexpr double rounding = 1e-8;  ///< of numbers that were written to a file

[[noreturn]] void refuse(int code, std::string message, std::vector<std::string> notes, int exit_code) {
    throw Error(Diagnostic{code, Severity::Error, std::move(message), {}, std::move(notes)}, exit_code);
}

void require_draws(Fit::Parts const& parts, std::string const& what, bool of_posterior) {
    refuse_degraded(parts.config);
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

/// What stands in a hole would be drawn given the outputs after it, which are to be predicted.
void require_no_holes(Problem const& problem) {
    std::map<std::size_t, std::size_t> last;  // by sequence: step of the last observed output
    for (LeftOut const& cell : each_cell(problem)) {
        std::size_t& step = last[cell.cells.front().sequence];
        step = std::max(step, cell.step);
    }
    Grid const& grid = problem.bound.grid;
    for (std::size_t k = 0; k < problem.augmented.size(); ++k) {
        std::vector<bool> const& drawn = problem.augmented[k];
        if (drawn.empty()) continue;
        Variable const& output = problem.plan.layout.variables[problem.plan.lagged_outputs[k].variable];
        std::size_t const size = drawn.size() / output.components;
        bool is_before_an_output = false;
        grid.for_each(size == grid.cells() ? Extent::Cell : output.extent, [&](std::size_t i, std::size_t s, std::size_t t) {
            for (std::size_t c = 0; c < output.components; ++c)
                if (drawn[c * size + i] && last.contains(s) && t < last.at(s)) is_before_an_output = true;
        });
        if (!is_before_an_output) continue;
        refuse(
            554,
            fmt::format("cells of `{}` are missing that later means look back at: what follows them cannot be scored as if it were unseen",
                        output.name),
            {"score a table that is filled in up to the last output to be scored",
             "or put its rows into the table that is fitted, and `bam compare RUN --by future`: that predicts each step from the past "
             "alone"},
            exit_data);
    }
}

/// The cells of a table that the run was fitted to, as far as labels tell: [cell of `cells`]. Rows without a label are those that were
/// fitted only if all of them stand where they stood, with the same outputs.
std::vector<bool> find_seen(Problem const& problem, std::vector<LeftOut> const& cells, std::vector<PredictedCell> const& fitted) {
    using Key = std::tuple<std::string, std::string, std::string>;  // sequence, time, output
    std::map<Key, double> observed;
    for (PredictedCell const& cell : fitted)
        if (!std::isnan(cell.observed)) observed[{cell.sequence, cell.time, cell.output}] = cell.observed;
    Layout const& layout = problem.plan.layout;
    bool const has_labels = layout.sequence_column || layout.time_column;
    std::vector<bool> is_seen;
    bool is_other_table = false;
    for (LeftOut const& cell : cells) {
        OutputCell const& at = cell.cells.front();
        std::uint32_t const v = layout.factors[at.factor].target;
        auto const found = observed.find({problem.bound.sequence_labels[at.sequence],
                                          problem.bound.time_labels[problem.bound.grid.cell(at.sequence, at.step)], cell.output});
        is_seen.push_back(found != observed.end());
        if (!is_seen.back() || has_labels) continue;
        double const value = in_table_unit(problem, v, at.component, problem.bound.data[v][entry_of(problem, at)]);
        is_other_table = is_other_table || std::abs(value - found->second) > rounding * std::abs(value);
    }
    if (is_other_table) is_seen.assign(cells.size(), false);
    return is_seen;
}

void note_of_draws(Fit::Parts const& parts, std::vector<std::string>& notes) {
    if (parts.climb)
        notes.emplace_back(
            "the draws are of independent factors, not of the posterior: the numbers are as rough as they are (`bam diagnose RUN`)");
    else if (!parts.verdict.is_converged)
        notes.emplace_back("the draws have not converged, and so these numbers have not either: `bam diagnose RUN` says more");
    for (std::string& sentence : sentences_of(parts.config.incidents)) notes.push_back(std::move(sentence));
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
    FittedTable const fresh = bind_new(program, parts_->config, held_out, diagnostics);
    Problem const& problem = fresh.table->problem;
    require_density(problem);
    require_no_holes(problem);
    std::vector<LeftOut> all = each_cell(problem);
    std::vector<bool> const is_seen = find_seen(problem, all, parts_->predictions);
    std::vector<LeftOut> cells;
    for (std::size_t k = 0; k < all.size(); ++k)
        if (!is_seen[k]) cells.push_back(std::move(all[k]));
    std::size_t const fitted = all.size() - cells.size();
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
