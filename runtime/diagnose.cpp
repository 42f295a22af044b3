// What is asked of a run after the fit: Fit::prior_sensitivity.
//
// Codes of this file:
//   BAM0527  the sensitivity of a mode
#include <fmt/format.h>

#include "active_units.hpp"
#include "explain_trouble.hpp"
#include "fit.hpp"
#include "reopen.hpp"
#include "report.hpp"
#include "sensitivity.hpp"

namespace bam {
namespace {

constexpr int exit_usage = 64;

}  // namespace

std::string Fit::active_units(Format format) const {
    std::vector<ActiveUnits> units;
    if (!parts_->mode) {
        auto const program = parts_->program ? parts_->program : program_of(parts_->config);
        Diagnostics diagnostics;
        Layout const* const layout = program->compiled.layout(diagnostics);
        throw_if_error(program->sources, diagnostics);
        Plan const plan = program->compiled.plan(std::vector<bool>(layout->factors.size(), true));
        units = find_active_units(*layout, plan.orbits, parts_->run);
    }
    return format == Format::Json ? active_units_json(units) : active_units_text(units);
}

PriorSensitivity Fit::prior_sensitivity(std::optional<Csv> const& given) const {
    if (parts_->mode)
        throw Error(Diagnostic{527,
                               Severity::Error,
                               "a mode has no draws to weight, and so no prior sensitivity",
                               {},
                               {"fit again without `--backend map`"}},
                    exit_usage);
    auto const program = parts_->program ? parts_->program : program_of(parts_->config);
    Diagnostics diagnostics;
    FittedTable const fitted = bind_fitted(*program, parts_->config, given, diagnostics);
    Problem const& problem = fitted.table->problem;
    PriorStatements const statements = prior_statements(problem.plan);
    DensityParts const parts = or_explain(program->sources, problem.plan.layout, [&] {
        return density_parts(problem, statements, parts_->run, parts_->config.options.seed, diagnostics);
    });
    throw_if_error(fitted.sources, diagnostics);
    SensitivityTable table = find_sensitivity(problem, statements, parts, parts_->run, parts_->rows);
    if (parts_->climb)
        table.notes.emplace_back(
            "the draws are of independent factors, not of the posterior: the numbers are as rough as they are (`bam diagnose RUN`)");
    else if (!parts_->verdict.is_converged)
        table.notes.emplace_back("the draws have not converged, and so these numbers have not either: `bam diagnose RUN` says more");
    PriorSensitivity result;
    result.text = sensitivity_text(table);
    result.json = sensitivity_json(table);
    result.report = make_report(fitted.sources, std::move(diagnostics));
    for (SensitivityRow const& row : table.rows)
        result.quantities.push_back(
            {row.name, row.prior, row.likelihood, row.strongest ? table.priors[*row.strongest].name : "", word(row.diagnosis)});
    return result;
}

}  // namespace bam
