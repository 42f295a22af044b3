#include "scales.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "degrees_of_freedom.hpp"
#include "half_t.hpp"
#include "polya_gamma.hpp"
#include "spread.hpp"
#include "trouble.hpp"

namespace bam {
namespace {

double square(double x) { return x * x; }

/// Of the sd at the start. Below it the density is taken to have no bound; half the digits of a precision are gone there.
constexpr double smallest_sd = 1e-6;

template <class F>
void for_each_entry(ScaleLayout const& scale, Layout const& layout, State const& state, F f) {
    std::size_t const components = layout.variables[scale.variable].components;
    std::size_t const size = state.values[scale.variable].size() / components;
    for (std::size_t c = 0; c < components; ++c) {
        ScalePriorLayout const& stated = prior_of(scale, c);
        ScalePriorLayout const now = stated.df ? prior_of(scale, c, state) : ScalePriorLayout{};
        for (std::size_t i = 0; i < size; ++i) f(c * size + i, stated.df ? now : stated);
    }
}

}  // namespace

bool is_binary(ScaleLayout const& scale) { return scale.priors.front().family == ScaleFamily::PolyaGamma; }

ScalePriorLayout const& prior_of(ScaleLayout const& scale, std::size_t component) {
    for (std::size_t p = scale.priors.size(); p-- > 1;) {
        if (scale.priors[p].components.empty() || scale.priors[p].components[component]) return scale.priors[p];
    }
    return scale.priors.front();
}

ScalePriorLayout prior_of(ScaleLayout const& scale, std::size_t component, State const& state) {
    ScalePriorLayout prior = prior_of(scale, component);
    if (prior.df) prior.first = prior.second = state.values[*prior.df].front() / 2;
    return prior;
}

void draw_scale(ScaleLayout const& scale, Layout const& layout, Factors const& factors, State& state, Stream& stream) {
    if (!scale.locals.empty()) return draw_degrees_of_freedom(scale, layout, factors, state, stream);
    for_each_entry(scale, layout, state, [&](std::size_t e, ScalePriorLayout const& prior) {
        auto const [n, squares] = factors.statistics(scale, e);
        if (prior.family == ScaleFamily::PolyaGamma) {
            state.values[scale.variable][e] = polya_gamma(stream, std::sqrt(squares));
            return;
        }
        if (is_sliced(prior)) {
            double& x = state.values[scale.variable][e];
            x = from_variance(scale.spread, draw_half_t(prior, n, squares, to_variance(scale.spread, x), stream));
            return;
        }
        double& auxiliary = state.auxiliaries[scale.variable][e];
        Kernel const k = kernel(prior, scale.spread, auxiliary);
        double const v = k.gamma > 0 ? generalised_inverse_gaussian(stream, -k.alpha - n / 2, k.gamma, 2 * k.beta + squares)
                                     : inverse_gamma(stream, k.alpha + n / 2, k.beta + squares / 2);
        state.values[scale.variable][e] = from_variance(scale.spread, v);
        if (has_auxiliary(prior.family)) {
            InverseGamma const given = auxiliary_given(prior, v);
            auxiliary = inverse_gamma(stream, given.shape, given.rate);
        }
    });
}

double log_conditional(ScaleLayout const& scale, Layout const& layout, Factors const& factors, State const& state, std::size_t entry) {
    if (!scale.locals.empty()) return log_density_with_locals(scale, layout, factors, state);
    std::size_t const size = state.values[scale.variable].size() / layout.variables[scale.variable].components;
    ScalePriorLayout const prior = prior_of(scale, entry / size, state);
    auto const [n, squares] = factors.statistics(scale, entry);
    if (prior.family == ScaleFamily::PolyaGamma) return log_polya_gamma(state.values[scale.variable][entry], std::sqrt(squares));
    if (is_sliced(prior)) {
        double const sd = state.values[scale.variable][entry];
        return log_density(prior, sd) - n * std::log(sd) - 0.5 * squares / (sd * sd);
    }
    double const auxiliary = state.auxiliaries[scale.variable][entry];
    Kernel const k = kernel(prior, scale.spread, auxiliary);
    double const v = to_variance(scale.spread, state.values[scale.variable][entry]);
    double log_density = (jacobian_power(scale.spread) - k.alpha - 1 - n / 2) * std::log(v) - (k.beta + squares / 2) / v - k.gamma * v / 2;
    if (has_auxiliary(prior.family)) {
        InverseGamma const given = auxiliary_given(prior, v);
        log_density -= given.shape * std::log(given.rate) - given.rate / auxiliary;
    }
    return log_density;
}

ScaleMode maximise_scale(ScaleLayout const& scale, Layout const& layout, Factors const& factors, std::vector<double> const& starts,
                         State& state, std::vector<double>& sds) {
    ScaleMode result;
    for_each_entry(scale, layout, state, [&](std::size_t e, ScalePriorLayout const& prior) {
        auto const [n, squares] = factors.statistics(scale, e);
        ScalePeak const mode = peak(prior, scale.spread, n, squares);
        double const v = mode.variance;
        if (!std::isfinite(squares) || std::isnan(v))
            throw TooLarge(fmt::format("what `{}` is learnt from", layout.variables[scale.variable].name));
        if (!(v > square(smallest_sd) * to_variance(scale.spread, starts[e])) || !std::isfinite(v)) {
            if (!result.without_mode) result.without_mode = e;
            return;
        }
        double& x = state.values[scale.variable][e];
        double const sd_of_u = 1 / std::sqrt(mode.curvature);
        result.largest_move = std::max(result.largest_move, std::abs(std::log(v / to_variance(scale.spread, x))) / sd_of_u);
        x = from_variance(scale.spread, v);
        sds[e] = (scale.spread == SpreadKind::Sd ? 0.5 : 1.0) * x * sd_of_u;  // |dx/du| = x / 2 or x
        if (has_auxiliary(prior.family)) state.auxiliaries[scale.variable][e] = auxiliary_given(prior, v).rate;
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
        state.values[scale.variable][e] =
            scale.locals.empty() ? from_variance(scale.spread, square(typical_sd(prior, guess))) : usual_degrees_of_freedom;
        state.auxiliaries[scale.variable][e] = has_auxiliary(prior.family) ? square(prior.second) : 1;
    });
}

bool is_proper(ScaleLayout const& scale, Layout const& layout, Factors const& factors) {
    if (scale.uses.empty()) {  // nothing to learn from: as proper as its prior
        return std::none_of(scale.priors.begin(), scale.priors.end(),
                            [](ScalePriorLayout const& p) { return p.family == ScaleFamily::Flat; });
    }
    bool proper = true;
    std::size_t const entries = factors.counts(scale.uses.front()).size();
    std::size_t const size = entries / layout.variables[scale.variable].components;
    for (std::size_t e = 0; e < entries; ++e) {
        double const n = factors.statistics(scale, e).n;
        ScalePriorLayout const& prior = prior_of(scale, e / size);
        if (prior.family == ScaleFamily::PolyaGamma) continue;
        Kernel const k = kernel(prior, scale.spread, 1);
        proper = proper && (prior.df || k.gamma > 0 || k.alpha + n / 2 > 0);
    }
    return proper;
}

}  // namespace bam
