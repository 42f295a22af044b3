// Codes of this file:
//   BAM0336  (warning) a statement on steps that the table does not have
//   BAM0430  cells of a binary output that are neither 0 nor 1
//   BAM0431  a binary output that is transformed
//   BAM0454  columns of numbers whose squares no number holds
//   BAM0480  a missing cell of an output that the model computes with
//   BAM0481  a scale whose posterior has no finite integral
//   BAM0486  data that no column is bound to
//   BAM0487  data used as a spread that are not above 0
//   BAM0488  missing cells of an output that means look back at, and that no statement speaks of
#include "prepare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <set>
#include <utility>

#include "arrange.hpp"
#include "first_steps.hpp"
#include "named_sequences.hpp"
#include "output_unit.hpp"
#include "places.hpp"
#include "scales.hpp"
#include "stability.hpp"

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
        problem.weighted = weighted_factors(layout, problem);
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

class Preparer {
  public:
    Preparer(Table const& table, Diagnostics& diagnostics) : table_(table), diagnostics_(diagnostics) {}

    std::vector<OutputCount> count_outputs(Layout const& layout, Bound const& bound) const;
    /// `bound` as read, with its missing cells.
    void report_missing_inputs(Problem const& problem, Bound const& bound);
    void report_spreads(Layout const& layout, Bound const& bound);
    /// `seen`: variables and entries that were looked at.
    void report_spread(Layout const& layout, Bound const& bound, FactorLayout const& factor, SpreadLayout const& part,
                       std::set<std::pair<std::size_t, std::size_t>>& seen);
    void report_improper_scales(Problem const& problem);
    /// Numbers that sums of squares cannot hold.
    void report_sizes(Layout const& layout, Bound const& bound);
    /// Outputs that are said to be 0 or 1.
    void report_binary(Layout const& layout, Bound const& bound);

  private:
    /// An entry of a variable: [component][extent].
    using Excused = std::function<bool(std::size_t entry)>;
    Places find_used_missing(Layout const& layout, Bound const& bound, std::size_t variable, std::set<std::size_t> const& lags,
                             Excused const& is_excused) const;
    void report_used_missing(Problem const& problem, Bound const& bound, std::size_t variable, std::set<std::size_t> const& lags);
    void report_unspoken(Problem const& problem, Bound const& bound, std::size_t variable, std::set<std::size_t> const& lags);
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
        bound.grid.for_each(variable.extent, [&](std::size_t i, std::size_t s, std::size_t) {
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
    bound.grid.for_each(variable.extent, [&](std::size_t i, std::size_t s, std::size_t t) {
        bool const is_cell = variable.extent == Extent::Cell;
        std::size_t const steps = is_cell ? bound.lengths[s] : bound.grid.steps;
        bool const is_used = std::any_of(lags.begin(), lags.end(), [&](std::size_t lag) { return lag == 0 || t + lag < steps; });
        for (std::size_t c = 0; c < variable.components && is_used; ++c)
            if (std::isnan(bound.data[v][c * size + i]) && !is_excused(c * size + i))
                places.add(place(variable, c, bound.rows[is_cell ? bound.grid.cell(s, t) : 0]), describe_cell(layout, bound, s, t));
    });
    return places;
}

void Preparer::report_missing_inputs(Problem const& problem, Bound const& bound) {
    Plan const& plan = problem.plan;
    Lags const lags = find_lags(plan);
    Lags const report_lags = find_report_lags(plan);
    for (std::size_t v = 0; v < plan.layout.variables.size(); ++v) {
        if (!is_output(plan.layout, v)) continue;
        std::set<std::size_t> used = lags[v];
        if (is_augmented(plan, v) && !used.contains(0)) {
            report_unspoken(problem, bound, v, used);
            continue;
        }
        if (!is_augmented(plan, v)) used.insert(report_lags[v].begin(), report_lags[v].end());
        report_used_missing(problem, bound, v, used);
    }
}

void Preparer::report_used_missing(Problem const& problem, Bound const& bound, std::size_t v, std::set<std::size_t> const& lags) {
    Layout const& layout = problem.plan.layout;
    Variable const& variable = layout.variables[v];
    Places places = find_used_missing(layout, bound, v, lags, [](std::size_t) { return false; });
    if (places.count() == 0) return;
    std::string const where = places.count() == 1 ? "is missing" : fmt::format("is missing in {} places", places.count());
    places.report(480, fmt::format("`{}` {} where the model computes with it", variable.name, where),
                  {fmt::format("a mean or a report is computed from these values of `{}`, so they have to be there", variable.name),
                   "fill the gaps in, or let each sequence begin after its last gap"},
                  {{variable.span, "declared here"}}, diagnostics_);
}

/// What is drawn needs a statement to be drawn from. Without one its prior would be flat, which nobody has said.
void Preparer::report_unspoken(Problem const& problem, Bound const& bound, std::size_t v, std::set<std::size_t> const& lags) {
    Layout const& layout = problem.plan.layout;
    Variable const& variable = layout.variables[v];
    Places places = find_used_missing(layout, bound, v, lags, [&](std::size_t entry) {
        for (std::size_t f = 0; f < layout.factors.size(); ++f)
            if (layout.factors[f].target == v && (problem.masks[f].empty() || problem.masks[f][entry] > 0)) return true;
        return false;
    });
    if (places.count() == 0) return;
    std::vector<Label> more{{variable.span, "declared here"}};
    std::size_t first_step = std::numeric_limits<std::size_t>::max();
    for (FactorLayout const& factor : layout.factors) {
        if (factor.target != v) continue;
        more.push_back({factor.span, "this speaks of others"});
        first_step = std::min(first_step, factor.region.first_step);
    }
    std::string const cells = first_step > 0 && layout.time ? fmt::format("[{} < {}]", layout.dims[*layout.time].name, first_step) : "";
    std::string const where = places.count() == 1 ? "a cell" : fmt::format("{} cells", places.count());
    places.report(488, fmt::format("`{}` is missing in {} that later steps look back at and no statement speaks of", variable.name, where),
                  {fmt::format("fill the gaps in, let each sequence begin after them, or say what is known, as in `{}{} ~ normal(0, 1)`",
                               variable.name, cells)},
                  std::move(more), diagnostics_);
}

/// A known standard error of 0 would be an observation without error: infinite weight.
void Preparer::report_spreads(Layout const& layout, Bound const& bound) {
    std::set<std::pair<std::size_t, std::size_t>> seen;  // variable, entry
    for (FactorLayout const& factor : layout.factors)
        for (SpreadLayout const& part : factor.spread)
            if (part.variable && layout.variables[*part.variable].kind == VariableKind::Data)
                report_spread(layout, bound, factor, part, seen);
}

void Preparer::report_spread(Layout const& layout, Bound const& bound, FactorLayout const& factor, SpreadLayout const& part,
                             std::set<std::pair<std::size_t, std::size_t>>& seen) {
    Grid const& grid = bound.grid;
    Variable const& target = layout.variables[factor.target];
    Variable const& spread = layout.variables[*part.variable];
    bool const has_steps = target.extent == Extent::Time || target.extent == Extent::Cell;
    bool const has_sequences = target.extent == Extent::Sequence || target.extent == Extent::Cell;
    FactorRegion const& region = factor.region;
    Places places;
    grid.for_each(target.extent, [&](std::size_t, std::size_t s, std::size_t t) {
        if (has_steps && (t < region.first_step || t > region.last_step)) return;
        if (has_sequences && region.sequence && bound.sequence_labels[s] != *region.sequence) return;
        for (std::size_t c = 0; c < target.components; ++c) {
            if (!region.components.empty() && !region.components[c]) continue;
            std::size_t const component = part.component[c];
            std::size_t const entry = entry_of(spread, component, grid, s, t);
            double const value = bound.data[*part.variable][entry];
            if (value > 0 || !seen.insert({*part.variable, entry}).second) continue;
            places.add(
                place(spread, component, bound.rows[grid.cell(s, t)]),
                fmt::format("{} in {}", std::isnan(value) ? "missing" : fmt::format("{}", value), describe_cell(layout, bound, s, t)));
        }
    });
    if (places.count() == 0) return;
    places.report(487, fmt::format("`{}` is used as {} and is not above 0", spread.name, in_words(part.kind)),
                  {"an observation without error would have infinite weight: correct the table, or leave the row out"},
                  {{factor.span, "used here"}}, diagnostics_);
}

void Preparer::report_sizes(Layout const& layout, Bound const& bound) {
    constexpr double most = 1e150;  // whose square is 1e300
    Grid const& grid = bound.grid;
    for (Variable const& variable : layout.variables) {
        if (variable.kind != VariableKind::Data) continue;
        auto const v = static_cast<std::size_t>(&variable - layout.variables.data());
        bool const is_any = std::any_of(bound.data[v].begin(), bound.data[v].end(), [](double value) { return std::abs(value) >= most; });
        if (!is_any) continue;
        Places places;
        std::set<std::size_t> seen;
        grid.for_each(Extent::Cell, [&](std::size_t i, std::size_t s, std::size_t t) {
            for (std::size_t c = 0; c < variable.components; ++c) {
                std::size_t const entry = entry_of(variable, c, grid, s, t);
                double const value = bound.data[v][entry];
                if (!(std::abs(value) >= most) || !seen.insert(entry).second) continue;
                places.add(place(variable, c, bound.rows[i]), fmt::format("{:.3g} in {}", value, describe_cell(layout, bound, s, t)));
            }
        });
        places.report(454, fmt::format("`{}` is so large that its square is beyond what a number can hold", variable.name),
                      {"bring columns to about size 1 in the table section, such as `income = (income - 30000) / 10000`"}, {},
                      diagnostics_);
    }
}

void Preparer::report_improper_scales(Problem const& problem) {
    Layout const& layout = problem.plan.layout;
    State const state = make_state(layout, problem.bound.grid);
    Factors const factors(problem, state);
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

void Preparer::report_binary(Layout const& layout, Bound const& bound) {
    std::vector<std::vector<double>> const masks = make_masks(layout, bound);
    for (std::size_t f = 0; f < layout.factors.size(); ++f) {
        FactorLayout const& factor = layout.factors[f];
        if (!factor.is_binary) continue;
        Variable const& target = layout.variables[factor.target];
        Places places;
        for (std::size_t c = 0; c < target.components; ++c) {
            bool is_any = false;
            bound.grid.for_each(target.extent, [&](std::size_t i, std::size_t s, std::size_t t) {
                std::size_t const entry = c * bound.grid.size(target.extent) + i;
                double const value = bound.data[factor.target][entry];
                if (!masks[f].empty() && masks[f][entry] == 0) return;
                is_any = true;
                if (value != 0 && value != 1)
                    places.add(place(target, c, bound.rows[bound.grid.cell(s, t)]),
                               fmt::format("{} in {}", value, describe_cell(layout, bound, s, t)));
            });
            ColumnExpr const& column = target.columns[c];
            if (!is_any || column.op == ColumnOp::Column || !find_source_column(column)) continue;
            diagnostics_.push_back({431,
                                    Severity::Error,
                                    fmt::format("`{}` is 0 or 1, so its column is not transformed", output_name(layout, factor.target, c)),
                                    {{column.span, "computed here"}, {factor.span, "0 or 1 by this"}},
                                    {"its predictions are probabilities of a 1, which have no other unit",
                                     fmt::format("a comparison is 1 where it holds, else 0: `({} == 0)`", *find_source_column(column))}});
        }
        if (places.count() == 0) continue;
        places.report(
            430,
            fmt::format("`{}` is neither 0 nor 1 in {}", target.name,
                        places.count() == 1 ? "a cell" : fmt::format("{} cells", places.count())),
            {"bernoulli_logit is of outputs that are 0 or 1; a comparison in the table section makes them so, as in `(grade > 2)`"},
            {{factor.span, "0 or 1 by this"}}, diagnostics_);
    }
}

/// Statements of which no step is in the table. What is declared from a late step on has no entries then: that is as it was said.
void warn_late_statements(Layout const& layout, Bound const& bound, Diagnostics& diagnostics) {
    if (!layout.time) return;
    std::string const& time = layout.dims[*layout.time].name;
    std::size_t const steps = bound.grid.steps;
    for (FactorLayout const& factor : layout.factors) {
        Variable const& target = layout.variables[factor.target];
        bool const has_steps = target.extent == Extent::Time || target.extent == Extent::Cell;
        if (!has_steps || factor.region.first_step < steps || factor.region.first_step <= target.first_step) continue;
        diagnostics.push_back(
            {336,
             Severity::Warning,
             fmt::format("nothing follows this statement on `{}`: the table has no step {}", target.name, factor.region.first_step),
             {{factor.span, "it speaks of steps beyond the last"}},
             {steps == 1 ? fmt::format("`{}` is 0 in all of the table", time)
                         : fmt::format("`{}` counts the rows of a sequence, here from 0 to {}", time, steps - 1)}});
    }
}

/// The binder takes for granted that every number has a column.
bool report_unbound(Layout const& layout, Diagnostics& diagnostics) {
    bool is_bound = true;
    for (Variable const& variable : layout.variables) {
        if (variable.kind != VariableKind::Data || variable.columns.size() == variable.components) continue;
        is_bound = false;
        // The columns of what is over a labelled dim are bound to that dim.
        std::vector<std::string> names;
        for (std::uint16_t const d : variable.dims)
            if (layout.dims[d].role == DimLayout::Role::Labelled) names.push_back(layout.dims[d].name + " = [...]");
        std::string const entry = names.empty() ? variable.name + " = ..." : names.front();
        diagnostics.push_back({486,
                               Severity::Error,
                               fmt::format("no column is bound to `{}`", variable.name),
                               {{variable.span, "declared here"}},
                               {names.size() > 1 ? "it has two labelled dims: no list of columns gives it its values"
                                                 : fmt::format("the table section says which columns are what: `table {{ {} }}`", entry)}});
    }
    return is_bound;
}

/// Whether a statement stands in a named set of priors.
bool is_of_set(PriorList const& list, Span statement) {
    auto const has_it = [&](WrittenPrior const& prior) { return prior.span == statement && !prior.set.empty(); };
    return std::any_of(list.lines.begin(), list.lines.end(), [&](PriorLine const& line) { return has_it(line.prior); }) ||
           std::any_of(list.unused.begin(), list.unused.end(), [&](PriorList::Unused const& unused) { return has_it(unused.prior); });
}

}  // namespace

std::unique_ptr<PreparedTable> prepare(Compiled const& compiled, Source const& text, std::uint32_t source, TableFormat format,
                                       BindOptions const& options, Diagnostics& diagnostics) {
    Layout const* const layout = compiled.layout(diagnostics);
    if (layout == nullptr || !report_unbound(*layout, diagnostics)) return nullptr;
    auto const table = Table::parse(text.text, source, format, diagnostics);
    if (!table) return nullptr;
    auto bound = bind(*layout, *table, options, diagnostics);
    if (!bound) return nullptr;
    std::optional<PriorList> list;
    auto const is_of_a_set = [&](Span statement) {
        if (!list) list = compiled.priors();
        return is_of_set(*list, statement);
    };
    if (!options.outputs_may_be_absent) check_named_sequences(*layout, *bound, is_of_a_set, diagnostics);
    if (has_error(diagnostics)) return nullptr;

    auto prepared = std::make_unique<PreparedTable>();
    prepared->rows = table->rows();
    Preparer preparer(*table, diagnostics);
    prepared->outputs = preparer.count_outputs(*layout, *bound);
    preparer.report_spreads(*layout, *bound);
    preparer.report_sizes(*layout, *bound);
    preparer.report_binary(*layout, *bound);
    plan_sweep(compiled, *layout, *bound, prepared->problem);
    preparer.report_missing_inputs(prepared->problem, *bound);
    if (!options.outputs_may_be_absent) preparer.report_improper_scales(prepared->problem);
    if (!options.outputs_may_be_absent && !has_error(diagnostics)) {
        warn_unstable(prepared->problem, diagnostics);
        warn_first_steps(prepared->problem, diagnostics);
        warn_late_statements(*layout, prepared->problem.bound, diagnostics);
    }
    return has_error(diagnostics) ? nullptr : std::move(prepared);
}

}  // namespace bam
