// Cells laid out for the passes: sequences side by side, longest first, so that a step of all sequences that have it is one contiguous run
// of cells.
#pragma once

#include <cstddef>
#include <vector>

#include "plan.hpp"

namespace bam {

/// Where the cells are. Sequences are sorted by length, longest first; step t of the first lanes(t) sequences stands at offsets[t]. Nothing
/// is padded.
struct Grid {
    std::size_t sequences = 0;
    std::size_t steps = 0;             ///< of the longest sequence
    std::vector<std::size_t> offsets;  ///< [steps + 1]; the last is the number of cells
    std::size_t chunk_cells = 512;     ///< that a pass takes at a time: a hundred registers of them fit into a core's second-level cache

    std::size_t cells() const { return offsets.empty() ? 0 : offsets.back(); }
    std::size_t lanes(std::size_t step) const { return offsets[step + 1] - offsets[step]; }
    std::size_t cell(std::size_t sequence, std::size_t step) const { return offsets[step] + sequence; }
    std::size_t size(Extent extent) const;
    /// Number of steps of a sequence, by bisection: log(steps) comparisons.
    std::size_t length(std::size_t sequence) const;

    /// Calls f(index, sequence, step) for the indices of an extent, over the steps from `first` to below `last`; sequence or step is 0
    /// where the extent does not know it.
    template <class F>
    void for_each(Extent extent, std::size_t first, std::size_t last, F f) const {
        switch (extent) {
            case Extent::One: f(std::size_t{0}, std::size_t{0}, std::size_t{0}); break;
            case Extent::Sequence:
                for (std::size_t s = 0; s < sequences; ++s) f(s, s, std::size_t{0});
                break;
            case Extent::Time:
                for (std::size_t t = first; t < last; ++t) f(t, std::size_t{0}, t);
                break;
            case Extent::Cell:
                for (std::size_t t = first; t < last; ++t) {
                    for (std::size_t s = 0; s < lanes(t); ++s) f(cell(s, t), s, t);
                }
                break;
        }
    }
    template <class F>
    void for_each(Extent extent, F f) const {
        for_each(extent, 0, steps, f);
    }
};

/// Where the entry of a variable that a cell has stands in its array, [component][extent].
std::size_t entry_of(Variable const& variable, std::size_t component, Grid const& grid, std::size_t sequence, std::size_t step);

/// The grid of sequences of these lengths, which must not increase.
Grid make_grid(std::vector<std::size_t> const& lengths);

/// The first index of a variable's extent that exists: those before it are the steps that `a[t > 0]` does not have.
std::size_t first_index(Variable const& variable, Grid const& grid);

}  // namespace bam
