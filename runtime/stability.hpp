// Whether decays let a state explode in the prior, before there is a draw (math.md, 5b).
#pragma once

#include "replica.hpp"

namespace bam {

/// Warns (BAM0330) of decays under whose prior what is left of a step grows, in mean square, by more than a factor e over some stretch of
/// the table's steps: the mean of the square of a decay is m^2 + s^2, of a product of independent ones the product. Decays whose prior
/// hangs on other parameters are not judged. O(cells) per decay.
void warn_unstable(Problem const& problem, Diagnostics& diagnostics);

}  // namespace bam
