// Means that look back beyond the first step.
#pragma once

#include "replica.hpp"

namespace bam {

/// Warns (BAM0332) of statements on outputs that speak of a first step and look back at an output that is far from 0: before the first
/// step it is 0. Nothing is wrong with that where outputs are about 0. O(cells).
void warn_first_steps(Problem const& problem, Diagnostics& diagnostics);

}  // namespace bam
