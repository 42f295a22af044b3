// The cells of the outputs: what is predicted, scored, and left out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "replica.hpp"

namespace bam {

/// A cell of an output that a statement speaks of, observed or missing.
struct OutputCell {
    std::uint32_t factor = 0;     ///< whose mean it is
    std::uint32_t component = 0;  ///< of the target
    std::size_t index = 0;        ///< in the target's extent
    std::size_t sequence = 0;     ///< in grid order; 0 where the output is not over sequences
    std::size_t step = 0;         ///< 0 where it is not over time
    bool is_drawn = false;        ///< a missing cell that is drawn with the parameters (augment.hpp)
};

/// By factor, component, cell.
std::vector<OutputCell> output_cells(Problem const& problem);

/// Where it stands in its target's array, [component][extent].
std::size_t entry_of(Problem const& problem, OutputCell const& cell);

/// Whether the table has it, and no later statement speaks of it.
bool is_observed(Problem const& problem, OutputCell const& cell);

}  // namespace bam
