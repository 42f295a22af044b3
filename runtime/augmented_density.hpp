// The log joint density of all that a chain draws: what its conditionals are derived from.
#pragma once

#include "replica.hpp"

namespace bam {

/// Up to a constant, what sweeps of the replica leave as it is: log_joint() with the likelihood of observed outputs raised to its power,
/// and the local scales of binary outputs in the place of what is left when they are integrated out: from the residuals, of which no
/// conditional is made (math.md, 7b. Binary outputs).
double log_augmented(Problem const& problem, Replica const& replica);

}  // namespace bam
