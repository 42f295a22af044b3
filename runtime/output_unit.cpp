#include "output_unit.hpp"

#include <fmt/format.h>

#include "transform.hpp"

namespace bam {

std::string output_name(Layout const& layout, std::uint32_t v, std::size_t component) {
    Variable const& variable = layout.variables[v];
    std::string name = variable.name;
    for (std::uint16_t const dim : variable.dims) {
        if (layout.dims[dim].role == DimLayout::Role::Labelled) name = layout.dims[dim].labels[component % layout.dims[dim].size];
    }
    return name;
}

std::optional<std::string> output_column(Layout const& layout, std::uint32_t v, std::size_t component) {
    Variable const& variable = layout.variables[v];
    return component < variable.columns.size() ? find_source_column(variable.columns[component]) : std::nullopt;
}

namespace {

/// The expression that leads back to one column; null where the values are those of the table, or there is no way back.
ColumnExpr const* find_unit(Layout const& layout, std::uint32_t v, std::size_t component) {
    Variable const& variable = layout.variables[v];
    ColumnExpr const* const unit = component < variable.columns.size() ? &variable.columns[component] : nullptr;
    bool const is_plain = unit == nullptr || unit->op == ColumnOp::Column || !find_source_column(*unit);
    return is_plain ? nullptr : unit;
}

std::string text_of(ColumnExpr const& expression) {
    std::string text = fmt::format("{}:{}:{}(", static_cast<int>(expression.op), expression.value, expression.name);
    for (ColumnExpr const& argument : expression.args) text += text_of(argument) + ",";
    return text + ")";
}

}  // namespace

double in_table_unit(Problem const& problem, std::uint32_t v, std::size_t component, double value) {
    ColumnExpr const* const unit = find_unit(problem.plan.layout, v, component);
    return unit == nullptr ? value : invert(*unit, problem.bound.learnt[v][component], value);
}

double log_unit_slope(Problem const& problem, std::uint32_t v, std::size_t component, double value) {
    ColumnExpr const* const unit = find_unit(problem.plan.layout, v, component);
    return unit == nullptr ? 0 : log_slope(*unit, problem.bound.learnt[v][component], value);
}

bool is_flipped(Problem const& problem, std::uint32_t v, std::size_t component) {
    ColumnExpr const* const unit = find_unit(problem.plan.layout, v, component);
    return unit != nullptr && is_decreasing(*unit, problem.bound.learnt[v][component]);
}

std::string unit_key(Layout const& layout, std::uint32_t v, std::size_t component) {
    if (auto column = output_column(layout, v, component)) return *column;
    Variable const& variable = layout.variables[v];
    return component < variable.columns.size() ? text_of(variable.columns[component]) : output_name(layout, v, component);
}

}  // namespace bam
