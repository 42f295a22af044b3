// The variational factor of a scale, and the mode of its conditional.
#pragma once

#include "plan.hpp"

namespace bam {

/// q(scale) where n squared deviations with expected sum S have it as their spread: q ∝ prior(sd) sd^-n exp(-S / (2 sd^2)), whatever the
/// prior's family. The integrals are sums over a grid in log sd: the integrand is log-concave and analytic there, so that the trapezoidal
/// rule converges geometrically (Trefethen and Weideman, SIAM Review 2014) and the sums are exact to rounding.
struct ScaleFactor {
    double precision = 1;       ///< E[sd^-2]
    double log_precision = 0;   ///< E[log sd^-2]
    double variance = 1;        ///< E[sd^2]; infinite where the tail is too heavy
    double squares = 0;         ///< S that it was made for
    double log_normaliser = 0;  ///< log of the integral of prior(scale) sd^-n exp(-S / (2 sd^2)) over the scale
};

/// `spread`: what the file calls the scale: the prior is of that.
ScaleFactor make_scale_factor(ScalePriorLayout const& prior, SpreadKind spread, double n, double squares);

/// The sd below which lies the share `u` of q, by linear interpolation of the distribution function on a fine grid in log sd.
double scale_quantile(ScalePriorLayout const& prior, SpreadKind spread, double n, double squares, double u);

}  // namespace bam
