// The families of scale priors in numbers (math.md, 7. Scales): all that tells one from another. A new family is a row of each function
// here, and of the table in lang/families.cpp.
#pragma once

#include <cmath>

#include "plan.hpp"
#include "random.hpp"

namespace bam {

/// log |Γ(x)|. std::lgamma also writes the sign into a variable that all threads share.
inline double log_gamma(double x) {
    int sign = 0;
    return ::lgamma_r(x, &sign);
}

/// log Γ(a + δ) - log Γ(a), also where a is so large that the difference of the two would be rounding: by Stirling's series, whose terms
/// are subtracted one by one.
inline double log_gamma_ratio(double a, double delta) {
    if (a < 1e3 || a + delta < 1e3) return log_gamma(a + delta) - log_gamma(a);
    auto const rest = [](double x) { return 1 / (12 * x) - 1 / (360 * x * x * x); };
    return (a - 0.5) * std::log1p(delta / a) + delta * std::log(a + delta) - delta + rest(a + delta) - rest(a);
}

/// A prior of a variance v, given its auxiliary: v^(-alpha-1) exp(-beta / v - gamma v / 2). With n cells whose squared residuals sum to S
/// it becomes v^(-alpha-1-n/2) exp(-(beta + S/2) / v - gamma v / 2).
struct Kernel {
    double alpha = 0;
    double beta = 0;
    double gamma = 0;
};

/// `spread`: what the file calls the scale; a flat prior is flat in that. `auxiliary`: of a half-t (Wand and others 2011); else unused.
Kernel kernel(ScalePriorLayout const& prior, SpreadKind spread, double auxiliary);

/// Whether the prior has an auxiliary: var | aux ~ inverse_gamma(df / 2, df / aux), aux ~ inverse_gamma(1/2, 1/scale^2).
bool has_auxiliary(ScaleFamily family);
/// aux | var ~ inverse_gamma(shape, rate).
struct InverseGamma {
    double shape = 1;
    double rate = 1;
};
InverseGamma auxiliary_given(ScalePriorLayout const& prior, double variance);

/// Log prior density of `x`, of the number that the file declares; 0 of a flat one. Of a local scale of a binary output PG(1, 0).
double log_density(ScalePriorLayout const& prior, double x);
/// Log density of x ~ normal(0, spread) whose spread is `sd` times a local scale, the latter integrated out (math.md, 7. Scales):
/// student_t, laplace, horseshoe. `local`: the prior of the local scale, which is used as `spread`. Throws std::logic_error where there is
/// no closed form.
double log_mixture(ScalePriorLayout const& local, SpreadKind spread, double x, double sd);
/// A draw from the prior, of the number that the file declares. Not of a flat one.
double draw_prior(ScalePriorLayout const& prior, Stream& stream);
/// E[variance] under the prior, used as `spread`; infinite where there is none.
double mean_variance(ScalePriorLayout const& prior, SpreadKind spread);
/// An sd in the bulk of the prior, not above `guess` where the prior reaches far; `guess` where it says nothing.
double typical_sd(ScalePriorLayout const& prior, double guess);

/// How fast the density of an sd with n cells falls for large sd, as a power of it; infinite if faster than any.
double tail_power(ScalePriorLayout const& prior, SpreadKind spread, double n);
/// Whether the density stays away from an sd of 0, however small the residuals.
bool keeps_from_zero(ScaleFamily family);

/// Where p(x | n cells, S) is highest, of the number x that the file declares and with the auxiliary integrated out.
struct ScalePeak {
    double variance = 0;
    double curvature = 0;  ///< - d^2 log density / d(log variance)^2 there
};
ScalePeak peak(ScalePriorLayout const& prior, SpreadKind spread, double n, double squares);

/// Of the density of the declared number in terms of its variance: dv/dx as v to this power.
inline double jacobian_power(SpreadKind spread) { return spread == SpreadKind::Sd ? 0.5 : (spread == SpreadKind::Precision ? 2.0 : 0.0); }

}  // namespace bam
