// Weights that the likelihood sees only through products, moved along its symmetries to where they can be shown (math.md, 8b. What is
// shown of raw weights). Draws themselves stay as they are.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "draws.hpp"
#include "plan.hpp"

namespace bam {

/// Every draw at the representative of its orbit.
struct Aligned {
    Run run;                              ///< of the columns that were aligned, log densities as drawn
    std::vector<std::size_t> of;          ///< per column of it: the column of the run that was given
    std::vector<std::string> sentences;   ///< what was done of weights that trade a factor, and what could not be
    std::vector<std::string> numberings;  ///< the same of what can change places
};

/// Needs nothing but the draws. Without symmetries, no columns. O(draws * entries * units), and of units O(units³).
Aligned align(Plan const& plan, Run const& run);

}  // namespace bam
