#include "scales.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "spread.hpp"

namespace bam {
namespace {

/// Prior of a variance v, given its auxiliary: v^(-alpha-1) exp(-beta / v - gamma v / 2).
struct Kernel {
    double alpha = 0;
    double beta = 0;
    double gamma = 0;
};

double square(double x) { return x * x; }

Kernel kernel(ScalePriorLayout const& prior, SpreadKind spread, double auxiliary) {
    switch (prior.family) {
        case ScalePriorFamily::InverseGamma:
        case ScalePriorFamily::Gamma: return {prior.first, prior.second, 0};
        case ScalePriorFamily::HalfCauchy: return {0.5, 1 / auxiliary, 0};
        case ScalePriorFamily::HalfNormal: return {-0.5, 0, 1 / square(prior.first)};
        case ScalePriorFamily::Flat: break;
    }
    // Flat in the sd is v^(-1/2), in the variance 1, in the precision v^(-2).
    return {spread == SpreadKind::Sd ? -0.5 : (spread == SpreadKind::Variance ? -1.0 : 1.0), 0, 0};
}

/// Where the conditional density of the declared number is highest, as a variance v, with u = log v.
struct Mode {
    double variance = 0;
    double curvature = 0;  ///< - d^2 log density / du^2 there
};

/// A row of the kernel, v^(-α-1-n/2) exp(-b / v - γ v / 2) with b = β + S/2, is a density in v. In the declared number x it is that times
/// dv/dx, v^(1/2), 1 or v^2: with k the exponent that is left, d/dv = 0 is γ v^2 / 2 + k v - b = 0.
Mode mode_of_kernel(Kernel const& prior, SpreadKind spread, double n, double sse) {
    double const jacobian = spread == SpreadKind::Sd ? 0.5 : (spread == SpreadKind::Precision ? 2.0 : 0.0);
    double const k = prior.alpha + 1 + n / 2 - jacobian;
    double const b = prior.beta + sse / 2;
    double const gamma = prior.gamma;
    double v = 0;
    if (gamma == 0)
        v = k > 0 ? b / k : std::numeric_limits<double>::infinity();
    else if (double const root = std::sqrt(k * k + 2 * gamma * b); k > 0)
        v = 2 * b / (k + root);
    else
        v = (root - k) / gamma;
    return {v, b / v + gamma * v / 2};
}

/// v^(-n/2) exp(-S / 2v) / (1 + v/A^2), the half-Cauchy of scale A itself: (n + 2) v^2 + (n A^2 - S) v - S A^2 = 0.
Mode mode_of_half_cauchy(double scale, double n, double sse) {
    double const square_of_scale = square(scale);
    double const a = n + 2;
    double const b = n * square_of_scale - sse;
    double const c = sse * square_of_scale;
    double const root = std::sqrt(b * b + 4 * a * c);
    double const v = b > 0 ? 2 * c / (b + root) : (root - b) / (2 * a);
    double const ratio = v / square_of_scale;
    return {v, sse / (2 * v) + ratio / square(1 + ratio)};
}

Mode mode_of(ScalePriorLayout const& prior, SpreadKind spread, double n, double sse) {
    if (prior.family == ScalePriorFamily::HalfCauchy) return mode_of_half_cauchy(prior.first, n, sse);
    return mode_of_kernel(kernel(prior, spread, 1), spread, n, sse);
}

/// Of the sd at the start. Below it the density is taken to have no bound; half the digits of a precision are gone there.
constexpr double smallest_sd = 1e-6;

template <class F>
void for_each_entry(ScaleLayout const& scale, Layout const& layout, State const& state, F f) {
    std::size_t const components = layout.variables[scale.variable].components;
    std::size_t const size = state.values[scale.variable].size() / components;
    for (std::size_t c = 0; c < components; ++c) {
        for (std::size_t i = 0; i < size; ++i) f(c * size + i, prior_of(scale, c));
    }
}

}  // namespace

ScalePriorLayout const& prior_of(ScaleLayout const& scale, std::size_t component) {
    for (std::size_t p = scale.priors.size(); p-- > 1;) {
        if (scale.priors[p].components.empty() || scale.priors[p].components[component]) return scale.priors[p];
    }
    return scale.priors.front();
}

void draw_scale(ScaleLayout const& scale, Layout const& layout, Factors const& factors, State& state, Stream& stream) {
    for_each_entry(scale, layout, state, [&](std::size_t e, ScalePriorLayout const& prior) {
        double n = 0;
        double sse = 0;
        for (std::uint32_t f : scale.factors) {
            n += factors.counts(f)[e];
            sse += factors.squares(f)[e];
        }
        double& auxiliary = state.auxiliaries[scale.variable][e];
        Kernel const k = kernel(prior, scale.spread, auxiliary);
        double const v = k.gamma > 0 ? generalised_inverse_gaussian(stream, -k.alpha - n / 2, k.gamma, 2 * k.beta + sse)
                                     : inverse_gamma(stream, k.alpha + n / 2, k.beta + sse / 2);
        state.values[scale.variable][e] = from_variance(scale.spread, v);
        if (prior.family == ScalePriorFamily::HalfCauchy) auxiliary = inverse_gamma(stream, 1, 1 / square(prior.first) + 1 / v);
    });
}

double log_density(ScalePriorLayout const& prior, double x) {
    double const a = prior.first;
    double const b = prior.second;
    switch (prior.family) {
        case ScalePriorFamily::Flat: return 0;
        case ScalePriorFamily::HalfCauchy: return std::log(2 / (std::numbers::pi * a)) - std::log1p(square(x / a));
        case ScalePriorFamily::HalfNormal: return 0.5 * std::log(2 / std::numbers::pi) - std::log(a) - 0.5 * square(x / a);
        case ScalePriorFamily::InverseGamma: return a * std::log(b) - std::lgamma(a) - (a + 1) * std::log(x) - b / x;
        case ScalePriorFamily::Gamma: return a * std::log(b) - std::lgamma(a) + (a - 1) * std::log(x) - b * x;
    }
    return 0;
}

double log_conditional(ScaleLayout const& scale, Layout const& layout, Factors const& factors, State const& state, std::size_t entry) {
    std::size_t const size = state.values[scale.variable].size() / layout.variables[scale.variable].components;
    ScalePriorLayout const& prior = prior_of(scale, entry / size);
    double n = 0;
    double sse = 0;
    for (std::uint32_t f : scale.factors) {
        n += factors.counts(f)[entry];
        sse += factors.squares(f)[entry];
    }
    double const auxiliary = state.auxiliaries[scale.variable][entry];
    Kernel const k = kernel(prior, scale.spread, auxiliary);
    double const v = to_variance(scale.spread, state.values[scale.variable][entry]);
    double const jacobian = scale.spread == SpreadKind::Sd ? 0.5 : (scale.spread == SpreadKind::Precision ? 2.0 : 0.0);
    double log_density = (jacobian - k.alpha - 1 - n / 2) * std::log(v) - (k.beta + sse / 2) / v - k.gamma * v / 2;
    if (prior.family == ScalePriorFamily::HalfCauchy) {
        double const rate = 1 / square(prior.first) + 1 / v;  // aux | v ~ inverse_gamma(1, rate)
        log_density -= std::log(rate) - rate / auxiliary;
    }
    return log_density;
}

ScaleMode maximise_scale(ScaleLayout const& scale, Layout const& layout, Factors const& factors, std::vector<double> const& starts,
                         State& state, std::vector<double>& sds) {
    ScaleMode result;
    for_each_entry(scale, layout, state, [&](std::size_t e, ScalePriorLayout const& prior) {
        double n = 0;
        double sse = 0;
        for (std::uint32_t f : scale.factors) {
            n += factors.counts(f)[e];
            sse += factors.squares(f)[e];
        }
        Mode const mode = mode_of(prior, scale.spread, n, sse);
        double const v = mode.variance;
        if (!(v > square(smallest_sd) * to_variance(scale.spread, starts[e])) || !std::isfinite(v)) {
            if (!result.without_mode) result.without_mode = e;
            return;
        }
        double& x = state.values[scale.variable][e];
        double const sd_of_u = 1 / std::sqrt(mode.curvature);
        result.largest_move = std::max(result.largest_move, std::abs(std::log(v / to_variance(scale.spread, x))) / sd_of_u);
        x = from_variance(scale.spread, v);
        sds[e] = (scale.spread == SpreadKind::Sd ? 0.5 : 1.0) * x * sd_of_u;  // |dx/du| = x / 2 or x
        if (prior.family == ScalePriorFamily::HalfCauchy) state.auxiliaries[scale.variable][e] = 1 / square(prior.first) + 1 / v;
    });
    return result;
}

double log_prior(ScaleLayout const& scale, Layout const& layout, State const& state) {
    double sum = 0;
    for_each_entry(scale, layout, state,
                   [&](std::size_t e, ScalePriorLayout const& prior) { sum += log_density(prior, state.values[scale.variable][e]); });
    return sum;
}

void start_scale(ScaleLayout const& scale, Layout const& layout, double guess, State& state) {
    for_each_entry(scale, layout, state, [&](std::size_t e, ScalePriorLayout const& prior) {
        double sd = guess;
        switch (prior.family) {
            case ScalePriorFamily::Flat: break;
            case ScalePriorFamily::HalfCauchy:
            case ScalePriorFamily::HalfNormal: sd = std::min(guess, prior.first); break;
            case ScalePriorFamily::InverseGamma:
            case ScalePriorFamily::Gamma:
                if (prior.first >= 1) sd = std::sqrt(prior.second / (prior.first + 1));
                break;
        }
        state.values[scale.variable][e] = from_variance(scale.spread, square(sd));
        state.auxiliaries[scale.variable][e] = square(prior.first);
    });
}

bool is_proper(ScaleLayout const& scale, Layout const& layout, Factors const& factors) {
    if (scale.factors.empty()) {  // nothing to learn from: as proper as its prior
        return std::none_of(scale.priors.begin(), scale.priors.end(),
                            [](ScalePriorLayout const& p) { return p.family == ScalePriorFamily::Flat; });
    }
    bool proper = true;
    std::size_t const entries = factors.counts(scale.factors.front()).size();
    std::size_t const size = entries / layout.variables[scale.variable].components;
    for (std::size_t e = 0; e < entries; ++e) {
        double n = 0;
        for (std::uint32_t f : scale.factors) n += factors.counts(f)[e];
        Kernel const k = kernel(prior_of(scale, e / size), scale.spread, 1);
        proper = proper && (k.gamma > 0 || k.alpha + n / 2 > 0);
    }
    return proper;
}

}  // namespace bam
