#include "scales.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

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

double from_variance(SpreadKind spread, double v) {
    switch (spread) {
        case SpreadKind::Sd: return std::sqrt(v);
        case SpreadKind::Precision: return 1 / v;
        case SpreadKind::Variance:
        case SpreadKind::Covariance:
        case SpreadKind::Flat: break;
    }
    return v;
}

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
