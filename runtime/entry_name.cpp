#include "entry_name.hpp"

#include <fmt/format.h>

namespace bam {

std::string entry_name(Variable const& variable, std::size_t component, std::size_t index, Layout const& layout, Bound const& bound) {
    std::size_t sequence = 0, step = 0;
    bound.grid.for_each(variable.extent, [&](std::size_t i, std::size_t s, std::size_t t) {
        if (i != index) return;
        sequence = s;
        step = t;
    });
    std::size_t below = variable.components;
    std::string labels;
    for (std::uint16_t const d : variable.dims) {
        DimLayout const& dim = layout.dims[d];
        std::string label;
        if (dim.role == DimLayout::Role::Sequence) {
            label = bound.sequence_labels[sequence];
        } else if (dim.role == DimLayout::Role::Time) {
            label = std::to_string(step);
        } else {
            below /= dim.size;
            label = dim.labels[component / below % dim.size];
        }
        labels += (labels.empty() ? "" : ",") + label;
    }
    return labels.empty() ? variable.name : fmt::format("{}[{}]", variable.name, labels);
}

std::string entry_name(Variable const& variable, std::size_t entry, Layout const& layout, Bound const& bound) {
    std::size_t const size = bound.grid.size(variable.extent);
    return entry_name(variable, entry / size, entry % size, layout, bound);
}

}  // namespace bam
