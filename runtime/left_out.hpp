// What is left out of a table to be predicted from the rest: one observed cell, all those of a sequence, or those of a step of one.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "compile.hpp"
#include "output_cells.hpp"

namespace bam {

/// Cells that are left out together.
struct LeftOut {
    static constexpr std::size_t none = std::numeric_limits<std::size_t>::max();

    std::string sequence, time, output;  ///< labels; empty where they have several, or their output has no such dim
    std::size_t row = none;              ///< of the table; of several cells the first
    std::size_t grid_sequence = none;    ///< in grid order, of a whole sequence; none: a cell
    std::size_t step = 0;                ///< of the latest cell
    std::vector<OutputCell> cells;
    double log_slope = 0;  ///< what their log density takes to become one in the units of the table
    std::string key;       ///< the same of the same cells in another model's run on the table
};

/// Every observed cell by itself, in the order of the table.
std::vector<LeftOut> each_cell(Problem const& problem);
/// All observed cells of a sequence, in the order of the table; empty if some output is not over sequences.
std::vector<LeftOut> each_sequence(Problem const& problem);
/// All observed cells of a step of a sequence, by step, then in the order of the table; empty if some output is not over time.
std::vector<LeftOut> each_step(Problem const& problem);

/// The problem with these cells as if they were not observed. Where a mean looks back at one, it still sees its value.
Problem without(Compiled const& compiled, Problem const& problem, std::vector<OutputCell> const& cells);

}  // namespace bam
