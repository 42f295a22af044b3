// What all chains share: the plan, the table, and which of its cells count.
#pragma once

#include <cstdint>
#include <vector>

#include "bind.hpp"
#include "plan.hpp"

namespace bam {

/// The plan, the table with missing outputs as 0, and which cells count.
struct Problem {
    Plan plan;
    Bound bound;                             ///< missing cells are 0 here: their weight is 0
    std::vector<std::vector<double>> masks;  ///< make_masks() of the table as read
    std::vector<bool> weighted;
    std::vector<std::vector<bool>>
        augmented;  ///< per lagged output of the plan: [component][cell], true where its missing cells are drawn; empty if none are missing
};

/// Which cells of a factor's target count: [component][extent of the target], 1 or 0. A cell counts if its statement speaks of it, no later
/// statement does, the entry exists (`a[t > 0]`), and, for data, it is observed.
std::vector<std::vector<double>> make_masks(Layout const& layout, Bound const& bound);

/// The missing cells of an output that are drawn with the parameters (augment.hpp), as in `augmented`; null where none are.
std::vector<bool> const* drawn_cells(Problem const& problem, std::uint32_t variable);

/// One number is the spread of all cells.
bool has_one_spread(Layout const& layout, FactorLayout const& factor);

/// Per factor, whether a pass must multiply by Source weight: a cell does not count, the spread is not one number for all cells, or some
/// cells are drawn, so that a power of the likelihood is on the others only. Reads masks and, once there is a plan, augmented.
std::vector<bool> weighted_factors(Layout const& layout, Problem const& problem);

}  // namespace bam
