// How well a chain predicts what it was fitted to, while it runs: WAIC from running sums (math.md, 15b. While a chain runs).
#pragma once

#include <cstddef>
#include <vector>

#include "bam/bam.hpp"
#include "cell_densities.hpp"
#include "state_dimension.hpp"

namespace bam {

/// Sums over the draws of one chain. The state that `inputs` refer to must not move.
class ScoreKeeper {
  public:
    ScoreKeeper(Problem const& problem, Inputs const& inputs, Factors const& factors);

    /// Adds the draw that the state is at: a pass over the cells of each output. Allocates nothing after the first one.
    void record();
    /// Of all draws so far, `is_last` where there will be no more; of the state that of the present one.
    ChainScores const& report(bool is_last);

  private:
    struct Cell {
        std::size_t factor = 0;
        std::size_t entry = 0;  ///< of the factor's target
        std::size_t step = 0;
        double log_slope = 0;          ///< to the unit of the table
        double highest = 0;            ///< log density of a draw
        double sum = 0;                ///< of densities over the highest one
        double mean = 0, squares = 0;  ///< of log densities: their mean, and the sum of squares about it
    };
    std::vector<Cell> cells_;  ///< by factor
    CellDensities densities_;
    StateDimension state_;
    ChainScores scores_;
};

}  // namespace bam
