#include "output_unit.hpp"

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

double in_table_unit(Problem const& problem, std::uint32_t v, std::size_t component, double value) {
    Variable const& variable = problem.plan.layout.variables[v];
    ColumnExpr const* const unit = component < variable.columns.size() ? &variable.columns[component] : nullptr;
    bool const is_plain = unit == nullptr || unit->op == ColumnOp::Column || !find_source_column(*unit);
    return is_plain ? value : invert(*unit, problem.bound.learnt[v][component], value);
}

}  // namespace bam
