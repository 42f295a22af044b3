// The variational factor of a scale.
#pragma once

#include <optional>

#include "log_grid.hpp"
#include "plan.hpp"
#include "random.hpp"

namespace bam {

/// q(scale) where n squared deviations with expected sum S have it as their spread: q ∝ prior(sd) sd^-n exp(-S / (2 sd^2)), whatever the
/// prior's family. Of the gamma families it is a gamma. Of the others the integrals are sums over a grid in log sd: the integrand is
/// log-concave and analytic there, so that the trapezoidal rule converges geometrically (Trefethen and Weideman, SIAM Review 2014) and the
/// sums are exact to rounding.
struct ScaleFactor {
    double precision = 1;       ///< E[sd^-2]
    double log_precision = 0;   ///< E[log sd^-2]
    double variance = 1;        ///< E[sd^2]; infinite where the tail is too heavy
    double mean = 1;            ///< of the scale as the file declares it; infinite where the tail is too heavy
    double sd_of_log = 0;       ///< of the logarithm of the sd
    double squares = 0;         ///< S that it was made for
    double log_normaliser = 0;  ///< log of the integral of prior(scale) sd^-n exp(-S / (2 sd^2)) over the scale
};

/// The best number: precision n / S. Its contribution to the ELBO has the form of a factor's.
ScaleFactor make_scale_point(SpreadKind spread, double n, double squares);

/// Of the local scale of a binary output whose mean has E[mean^2] = `squares`: PG(1, sqrt(squares)), the bound of Jaakkola and Jordan. With
/// it `log_normaliser` + precision squares / 2 is what E[log p(w) - log q(w)] has besides the cell's E[log p(y | mean, w)].
ScaleFactor make_polya_gamma_factor(double squares);

/// `spread`: what the file calls the scale: the prior is of that. `tilt`: ε where ε log(sd) is added to the log
/// density.
ScaleFactor make_scale_factor(ScalePriorLayout const& prior, SpreadKind spread, double n, double squares, double tilt = 0);

/// Draws from q. Small where there are many of them: the local scales of student_t and laplace have closed forms.
class ScaleSampler {
  public:
    ScaleSampler(ScalePriorLayout const& prior, SpreadKind spread, double n, double squares);
    /// An sd.
    double draw(Stream& stream) const;

  private:
    double shape_ = 0, rate_ = 0;                ///< of a variance: inverse gamma
    double tail_ = 0;                            ///< above 0: times exp(-tail v / 2)
    std::optional<LogGridQuantiles> quantiles_;  ///< of what has no closed form, of the sd
};

/// log q of an sd, as a density of the scale.
double log_density(ScalePriorLayout const& prior, SpreadKind spread, double n, ScaleFactor const& factor, double sd);

}  // namespace bam
