#include "draw_entries.hpp"

#include <algorithm>

namespace bam {
namespace {

std::optional<std::vector<std::vector<std::size_t>>> find_columns(Layout const& layout, std::string const& name,
                                                                  std::vector<std::uint16_t> const& dims, std::size_t components,
                                                                  Run const& run) {
    std::vector<std::vector<std::size_t>> columns(components);
    for (std::size_t k = 0; k < run.columns.size(); ++k) {
        DrawColumn const& column = run.columns[k];
        if (column.name != name || column.index.size() != dims.size()) continue;
        std::size_t component = 0;
        for (std::size_t d = 0; d < column.index.size(); ++d) {
            DimLayout const& dim = layout.dims[dims[d]];
            if (dim.role == DimLayout::Role::Labelled) component = component * dim.size + column.index[d] - 1;
        }
        columns.at(component).push_back(k);
    }
    bool const is_whole = !columns.front().empty() && std::all_of(columns.begin(), columns.end(), [&](auto const& of_component) {
        return of_component.size() == columns.front().size();
    });
    return is_whole ? std::optional(std::move(columns)) : std::nullopt;
}

}  // namespace

std::optional<std::vector<std::vector<std::size_t>>> columns_of(Layout const& layout, Variable const& variable, Run const& run) {
    return find_columns(layout, variable.name, variable.dims, variable.components, run);
}

std::optional<std::vector<std::vector<std::size_t>>> columns_of(Layout const& layout, ReportPlan const& report, Run const& run) {
    return find_columns(layout, report.name, report.dims, report.term.registers.size(), run);
}

std::string dim_of(Layout const& layout, Variable const& variable, std::vector<std::vector<std::uint32_t>> const& slices) {
    std::size_t below = variable.components;
    for (std::uint16_t const d : variable.dims) {
        DimLayout const& dim = layout.dims[d];
        if (dim.role != DimLayout::Role::Labelled) continue;
        below /= dim.size;
        bool is_it = slices.size() == dim.size;
        for (std::size_t i = 0; i < slices.size() && is_it; ++i)
            is_it =
                std::all_of(slices[i].begin(), slices[i].end(), [&](std::uint32_t component) { return component / below % dim.size == i; });
        if (is_it) return dim.name;
    }
    return {};
}

}  // namespace bam
