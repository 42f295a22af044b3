#include "entry_name.hpp"

#include <fmt/format.h>

namespace bam {

std::vector<std::string> labels_of(Variable const& variable, std::size_t component, std::size_t sequence, std::size_t step,
                                   Layout const& layout, Bound const& bound) {
    std::size_t below = variable.components;
    std::vector<std::string> labels;
    for (std::uint16_t const d : variable.dims) {
        DimLayout const& dim = layout.dims[d];
        if (dim.role == DimLayout::Role::Sequence) {
            labels.push_back(bound.sequence_labels[sequence]);
        } else if (dim.role == DimLayout::Role::Time) {
            labels.push_back(std::to_string(step));
        } else {
            below /= dim.size;
            labels.push_back(dim.labels[component / below % dim.size]);
        }
    }
    return labels;
}

std::string entry_name(Variable const& variable, std::size_t component, std::size_t index, Layout const& layout, Bound const& bound) {
    std::size_t sequence = 0, step = 0;
    bound.grid.for_each(variable.extent, [&](std::size_t i, std::size_t s, std::size_t t) {
        if (i != index) return;
        sequence = s;
        step = t;
    });
    auto const labels = labels_of(variable, component, sequence, step, layout, bound);
    return labels.empty() ? variable.name : fmt::format("{}[{}]", variable.name, fmt::join(labels, ","));
}

std::string entry_name(Variable const& variable, std::size_t entry, Layout const& layout, Bound const& bound) {
    std::size_t const size = bound.grid.size(variable.extent);
    return entry_name(variable, entry / size, entry % size, layout, bound);
}

}  // namespace bam
