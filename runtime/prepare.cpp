// Codes of this file:
//   BAM0480  a missing cell of an output that the model computes with
//   BAM0481  a scale whose posterior has no finite integral
//   BAM0486  data that no column is bound to
#include "prepare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>
#include <utility>

#include "arrange.hpp"
#include "places.hpp"
#include "scales.hpp"

namespace bam {
namespace {

/// Steps back at which each variable is read.
using Lags = std::vector<std::set<std::size_t>>;

void collect_lags(Pass const& pass, Lags& lags) {
    for (Register const& reg : pass.registers)
        if (reg.from == From::Variable) lags[reg.index].insert(reg.lag);
}

/// By the means of observations and the priors of parameters.
Lags find_lags(Plan const& plan) {
    Lags lags(plan.layout.variables.size());
    for (std::size_t f = 0; f < plan.layout.factors.size(); ++f)
        collect_lags(plan.layout.factors[f].is_observation ? plan.means[f].pass : plan.residuals[f].pass, lags);
    return lags;
}

Lags find_report_lags(Plan const& plan) {
    Lags lags(plan.layout.variables.size());
    for (ReportPlan const& report : plan.reports) collect_lags(report.term.pass, lags);
    return lags;
}

bool has_missing(std::vector<double> const& data) {
    return std::any_of(data.begin(), data.end(), [](double value) { return std::isnan(value); });
}

/// Whether the missing cells of the variable are drawn where later steps look back at them.
bool is_augmented(Plan const& plan, std::size_t variable) {
    return std::any_of(plan.lagged_outputs.begin(), plan.lagged_outputs.end(),
                       [&](LaggedOutput const& output) { return output.variable == variable && !output.must_be_complete; });
}

/// Plans the sweep. Missing cells that are drawn count as if they were observed, and start at 0.
void plan_sweep(Compiled const& compiled, Layout const& layout, Bound bound, Problem& problem) {
    auto const plan = [&] {
        problem.masks = make_masks(layout, bound);
        problem.weighted = weighted_factors(layout, problem.masks);
        problem.plan = compiled.plan(problem.weighted);
    };
    plan();
    bool is_changed = false;
    problem.augmented.resize(problem.plan.lagged_outputs.size());
    for (std::size_t k = 0; k < problem.augmented.size(); ++k) {
        std::vector<double>& data = bound.data[problem.plan.lagged_outputs[k].variable];
        if (problem.plan.lagged_outputs[k].must_be_complete || !has_missing(data)) continue;
        for (double& value : data) {
            problem.augmented[k].push_back(std::isnan(value));
            if (std::isnan(value)) value = 0;
        }
        is_changed = true;
    }
    if (is_changed) plan();
    for (std::vector<double>& data : bound.data)
        std::replace_if(
            data.begin(), data.end(), [](double value) { return std::isnan(value); }, 0.0);
    problem.bound = std::move(bound);
}

/// Calls visit(sequence, step, index) for all entries of an extent; sequence or step is 0 where the extent does not know it.
template <typename Visit>
void for_each_entry(Grid const& grid, Extent extent, Visit const& visit) {
    bool const has_steps = extent == Extent::Time || extent == Extent::Cell;
    bool const has_sequences = extent == Extent::Sequence || extent == Extent::Cell;
    for (std::size_t t = 0; t < (has_steps ? grid.steps : 1); ++t)
        for (std::size_t s = 0; s < (extent == Extent::Cell ? grid.lanes(t) : has_sequences ? grid.sequences : 1); ++s)
            visit(s, t, extent == Extent::Cell ? grid.cell(s, t) : has_sequences ? s : t);
}

class Preparer {
  public:
    Preparer(Table const& table, Diagnostics& diagnostics) : table_(table), diagnostics_(diagnostics) {}

    std::vector<OutputCount> count_outputs(Layout const& layout, Bound const& bound) const;
    /// `bound` as read, with its missing cells.
    void report_missing_inputs(Problem const& problem, Bound const& bound, bool is_forecast);
    void report_improper_scales(Problem const& problem);

  private:
    /// An entry of a variable: [component][extent].
    using Excused = std::function<bool(std::size_t entry)>;
    Places find_used_missing(Layout const& layout, Bound const& bound, std::size_t variable, std::set<std::size_t> const& lags,
                             Excused const& is_excused) const;
    Span place(Variable const& variable, std::size_t component, std::size_t row) const;

    Table const& table_;
    Diagnostics& diagnostics_;
};

std::vector<OutputCount> Preparer::count_outputs(Layout const& layout, Bound const& bound) const {
    std::vector<OutputCount> counts;
    for (std::size_t v = 0; v < layout.variables.size(); ++v) {
        if (!is_output(layout, v)) continue;
        Variable const& variable = layout.variables[v];
        OutputCount count{variable.name, 0, 0, {}};
        std::vector<bool> is_hit(bound.grid.sequences, false);
        for_each_entry(bound.grid, variable.extent, [&](std::size_t s, std::size_t, std::size_t i) {
            for (std::size_t c = 0; c < variable.components; ++c) {
                bool const is_missing = std::isnan(bound.data[v][c * bound.grid.size(variable.extent) + i]);
                ++(is_missing ? count.missing : count.observed);
                if (is_missing) is_hit[s] = true;
            }
        });
        for (std::size_t const s : bound.appearance)
            if (is_hit[s]) count.sequences.push_back(bound.sequence_labels[s]);
        counts.push_back(std::move(count));
    }
    return counts;
}

/// Where the variable's column stands in a row of the table.
Span Preparer::place(Variable const& variable, std::size_t component, std::size_t row) const {
    ColumnExpr const* expression = &variable.columns[component];
    while (expression->op != ColumnOp::Column && !expression->args.empty()) expression = &expression->args.front();
    auto const column = expression->op == ColumnOp::Column ? table_.find_column(expression->name) : std::nullopt;
    return table_.span(row, column.value_or(0));
}

Places Preparer::find_used_missing(Layout const& layout, Bound const& bound, std::size_t v, std::set<std::size_t> const& lags,
                                   Excused const& is_excused) const {
    Variable const& variable = layout.variables[v];
    std::size_t const size = bound.grid.size(variable.extent);
    Places places;
    for_each_entry(bound.grid, variable.extent, [&](std::size_t s, std::size_t t, std::size_t i) {
        bool const is_cell = variable.extent == Extent::Cell;
        std::size_t const steps = is_cell ? bound.lengths[s] : bound.grid.steps;
        bool const is_used = std::any_of(lags.begin(), lags.end(), [&](std::size_t lag) { return lag == 0 || t + lag < steps; });
        for (std::size_t c = 0; c < variable.components && is_used; ++c)
            if (std::isnan(bound.data[v][c * size + i]) && !is_excused(c * size + i))
                places.add(place(variable, c, bound.rows[is_cell ? bound.grid.cell(s, t) : 0]), describe_cell(layout, bound, s, t));
    });
    return places;
}

void Preparer::report_missing_inputs(Problem const& problem, Bound const& bound, bool is_forecast) {
    Plan const& plan = problem.plan;
    Layout const& layout = plan.layout;
    Lags const lags = find_lags(plan);
    Lags const report_lags = find_report_lags(plan);
    for (std::size_t v = 0; v < layout.variables.size(); ++v) {
        Variable const& variable = layout.variables[v];
        if (!is_output(layout, v)) continue;
        bool const is_drawn = is_augmented(plan, v);
        std::set<std::size_t> used = lags[v];
        if (!is_drawn) used.insert(report_lags[v].begin(), report_lags[v].end());
        // What is drawn needs a statement to be drawn from; in a fit, later steps can take its place.
        auto const is_excused = [&](std::size_t entry) {
            if (!is_drawn || used.contains(0)) return false;
            if (!is_forecast) return true;
            for (std::size_t f = 0; f < layout.factors.size(); ++f)
                if (layout.factors[f].target == v && (problem.masks[f].empty() || problem.masks[f][entry] > 0)) return true;
            return false;
        };
        Places places = find_used_missing(layout, bound, v, used, is_excused);
        if (places.count() == 0) continue;
        std::string const where = places.count() == 1 ? "is missing" : fmt::format("is missing in {} places", places.count());
        places.report(480, fmt::format("`{}` {} where the model computes with it", variable.name, where),
                      {fmt::format("a mean or a report is computed from these values of `{}`, so they have to be there", variable.name),
                       "fill the gaps in, or let each sequence begin after its last gap"},
                      {{variable.span, "declared here"}}, diagnostics_);
    }
}

void Preparer::report_improper_scales(Problem const& problem) {
    Layout const& layout = problem.plan.layout;
    State const state = make_state(layout, problem.bound.grid);
    Factors const factors(problem.plan, problem.bound, state, problem.masks, problem.weighted);
    for (ScaleLayout const& scale : layout.scales) {
        if (is_proper(scale, layout, factors)) continue;
        Variable const& variable = layout.variables[scale.variable];
        char const* const prior = scale.spread == SpreadKind::Sd         ? "half_cauchy(1)"
                                  : scale.spread == SpreadKind::Variance ? "inverse_gamma(3, 1)"
                                                                         : "gamma(1, 1)";
        bool const is_one = variable.components == 1 && variable.extent == Extent::One;
        diagnostics_.push_back({481,
                                Severity::Error,
                                fmt::format("`{}` cannot be learnt: its prior is flat, and {} too few cells", variable.name,
                                            is_one ? "it is the spread of" : "some of its entries are the spread of"),
                                {{variable.span, "its posterior has no finite integral"}},
                                {fmt::format("give it a prior that has one, such as `{} ~ {}`", variable.name, prior)}});
    }
}

/// The binder takes for granted that every number has a column.
bool report_unbound(Layout const& layout, Diagnostics& diagnostics) {
    bool is_bound = true;
    for (Variable const& variable : layout.variables) {
        if (variable.kind != VariableKind::Data || variable.columns.size() == variable.components) continue;
        is_bound = false;
        diagnostics.push_back({486,
                               Severity::Error,
                               fmt::format("no column is bound to `{}`", variable.name),
                               {{variable.span, "declared here"}},
                               {fmt::format("the table section says which columns are what: `table {{ {} = ... }}`", variable.name)}});
    }
    return is_bound;
}

}  // namespace

bool is_output(Layout const& layout, std::size_t v) {
    return layout.variables[v].kind == VariableKind::Data &&
           (layout.variables[v].may_be_missing ||
            std::any_of(layout.factors.begin(), layout.factors.end(),
                        [&](FactorLayout const& factor) { return factor.is_observation && factor.target == v; }));
}

std::unique_ptr<PreparedTable> prepare(Compiled const& compiled, Source const& text, std::uint32_t source, TableFormat format,
                                       BindOptions const& options, Diagnostics& diagnostics) {
    Layout const* const layout = compiled.layout(diagnostics);
    if (layout == nullptr || !report_unbound(*layout, diagnostics)) return nullptr;
    auto const table = Table::parse(text.text, source, format, diagnostics);
    if (!table) return nullptr;
    auto bound = bind(*layout, *table, options, diagnostics);
    if (!bound) return nullptr;

    auto prepared = std::make_unique<PreparedTable>();
    prepared->rows = table->rows();
    Preparer preparer(*table, diagnostics);
    prepared->outputs = preparer.count_outputs(*layout, *bound);
    plan_sweep(compiled, *layout, *bound, prepared->problem);
    preparer.report_missing_inputs(prepared->problem, *bound, options.outputs_may_be_absent);
    if (!options.outputs_may_be_absent) preparer.report_improper_scales(prepared->problem);
    return has_error(diagnostics) ? nullptr : std::move(prepared);
}

}  // namespace bam
