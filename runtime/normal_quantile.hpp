// The inverse of the normal distribution function.
#pragma once

namespace bam {

/// For 0 < probability < 1 (Wichura 1988, AS 241, PPND16), as R's qnorm: about 16 digits.
double normal_quantile(double probability);

}  // namespace bam
