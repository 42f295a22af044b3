// What is asked of a run after the fit: Fit::prior_sensitivity.
//
// Codes of this file:
//   BAM0527  the sensitivity of a mode
//   BAM0528  a table that is not that of the run
#include <fmt/format.h>

#include "active_units.hpp"
#include "fit.hpp"
#include "reopen.hpp"
#include "report.hpp"
#include "sensitivity.hpp"

namespace bam {
namespace {

constexpr int exit_usage = 64;
constexpr int exit_data = 65;

/// The table of the run, bound as it was when it was fitted.
struct FittedTable {
    std::shared_ptr<Sources> sources;
    std::unique_ptr<PreparedTable> table;
};

FittedTable bind_fitted(Program::Parts const& program, RunConfig const& config, std::optional<Csv> const& given, Diagnostics& diagnostics) {
    std::string const elsewhere = "say where it is: `--data TABLE`";
    std::string const changed = "fit again, or say where the old one is: `--data TABLE`";
    Csv csv = given ? *given : fitted_table(config, elsewhere, changed);
    if (given && !is_fitted(csv, config))
        throw Error(Diagnostic{528,
                               Severity::Error,
                               fmt::format("`{}` is not the table that was fitted", csv.name),
                               {},
                               {"give the table that the draws are of, or fit again with this one"}},
                    exit_data);
    if (!csv.separator) csv.separator = config.separator;
    if (!csv.decimal_point) csv.decimal_point = config.decimal_point;
    Layout const* const layout = program.compiled.layout(diagnostics);
    throw_if_error(program.sources, diagnostics);
    auto const learnt = learnt_of(config, *layout);
    BindOptions binding;
    binding.learnt = &learnt;
    FittedTable fitted;
    fitted.table = prepare(program, csv, binding, fitted.sources, diagnostics);
    return fitted;
}

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
    DensityParts const parts = density_parts(problem, statements, parts_->run, parts_->config.options.seed, diagnostics);
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
