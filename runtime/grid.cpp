#include "grid.hpp"

#include <algorithm>
#include <functional>
#include <stdexcept>

namespace bam {

std::size_t Grid::size(Extent extent) const {
    switch (extent) {
        case Extent::One: return 1;
        case Extent::Sequence: return sequences;
        case Extent::Time: return steps;
        case Extent::Cell: return cells();
    }
    return 0;
}

std::size_t entry_of(Variable const& variable, std::size_t component, Grid const& grid, std::size_t sequence, std::size_t step) {
    std::size_t const base = component * grid.size(variable.extent);
    switch (variable.extent) {
        case Extent::One: break;
        case Extent::Sequence: return base + sequence;
        case Extent::Time: return base + step;
        case Extent::Cell: return base + grid.cell(sequence, step);
    }
    return base;
}

std::size_t Grid::length(std::size_t sequence) const {
    // Longest first: lanes(step) does not increase, and the sequence is there while it is above its number.
    std::size_t low = 0;
    std::size_t high = steps;
    while (low < high) {
        std::size_t const middle = (low + high) / 2;
        if (lanes(middle) > sequence)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

Grid make_grid(std::vector<std::size_t> const& lengths) {
    if (!std::is_sorted(lengths.begin(), lengths.end(), std::greater<>())) throw std::invalid_argument("the lengths of a grid increase");
    Grid grid;
    grid.sequences = lengths.size();
    grid.steps = lengths.empty() ? 0 : lengths.front();
    grid.offsets.assign(grid.steps + 1, 0);
    std::size_t lanes = lengths.size();
    for (std::size_t step = 0; step < grid.steps; ++step) {
        while (lengths[lanes - 1] <= step) --lanes;
        grid.offsets[step + 1] = grid.offsets[step] + lanes;
    }
    return grid;
}

std::size_t first_index(Variable const& variable, Grid const& grid) {
    if (variable.extent == Extent::Time) return variable.first_step;
    return variable.extent == Extent::Cell ? grid.offsets[std::min(variable.first_step, grid.steps)] : 0;
}

}  // namespace bam
