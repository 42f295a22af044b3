#include "degrees_of_freedom.hpp"

#include <algorithm>
#include <cmath>

#include "scales.hpp"

namespace bam {
namespace {

/// Log normaliser of gamma(ν/2, ν/2).
double log_normaliser(double df) { return df / 2 * std::log(df / 2) - log_gamma(df / 2); }

/// Log integral over u of gamma(u; ν/2, ν/2) u^(n/2) exp(-u square / 2), without its n log(2)/2: for a cell, n = 1, the density of
/// student_t(ν, 0, 1) at the root of the square, without its -log(π)/2. For a power of the likelihood n and square are times that.
double log_student_t(double df, double n, double square) {
    return log_gamma_ratio(df / 2, n / 2) - n / 2 * std::log(df) - (df + n) / 2 * std::log1p(square / df);
}

/// Calls f(local, entry, n, square) for the counting cells of the local scales, n = 1, both times the power of the statement.
template <class F>
void for_each_cell(ScaleLayout const& scale, Layout const& layout, Factors const& factors, F f) {
    for (std::uint32_t const local : scale.locals) {
        ScaleLayout const& of = layout.scales[local];
        std::size_t const entries = factors.counts(of.uses.front()).size();
        for (std::size_t e = 0; e < entries; ++e) {
            auto const [n, square] = factors.statistics(of, e);
            if (n > 0) f(local, e, n, square);
        }
    }
}

/// Of log ν.
double log_marginal(ScaleLayout const& scale, Layout const& layout, Factors const& factors, double log_df) {
    double const df = std::exp(log_df);
    double sum = log_density(scale.priors.back(), df) + log_df;
    for_each_cell(scale, layout, factors,
                  [&](std::uint32_t, std::size_t, double n, double square) { sum += log_student_t(df, n, square); });
    return sum;
}

/// prior(ν) exp(count c(ν) + ν/2 sum) as a density of log ν.
LogGrid make_grid(ScalePriorLayout const& prior, LocalSums const& sums, double fineness) {
    constexpr double low = -7, high = 16;  // log ν: beyond them student_t is no distribution to speak of, or normal
    auto const f = [&](double u) {
        if (u < low || u > high) return -HUGE_VAL;
        double const df = std::exp(u);
        return log_density(prior, df) + u + sums.count * log_normaliser(df) + df / 2 * sums.sum;
    };
    double peak = low;
    double at_peak = f(low);
    auto const search = [&](double from, double to, double step) {
        for (double u = from; u <= to; u += step) {
            if (double const value = f(u); value > at_peak) {
                peak = u;
                at_peak = value;
            }
        }
    };
    search(low, high, 0.05);
    search(peak - 0.05, peak + 0.05, 1e-3);
    double const h = 1e-3;
    double const curvature = -(f(peak + h) - 2 * at_peak + f(peak - h)) / (h * h);
    return make_log_grid(f, peak, curvature > 0 && std::isfinite(curvature) ? 1 / std::sqrt(curvature) : 1, fineness);
}

}  // namespace

void draw_degrees_of_freedom(ScaleLayout const& scale, Layout const& layout, Factors const& factors, State& state, Stream& stream) {
    constexpr double width = 1;
    constexpr int most_steps = 20;
    double const here = std::log(state.values[scale.variable].front());
    auto const f = [&](double u) { return log_marginal(scale, layout, factors, u); };
    double const level = f(here) - stream.exponential();
    double left = here - width * stream.uniform();
    double right = left + width;
    // Neal's limit of the steps, shared out at random between both sides, keeps detailed balance.
    int steps_left = static_cast<int>(most_steps * stream.uniform());
    int steps_right = most_steps - 1 - steps_left;
    while (steps_left-- > 0 && f(left) > level) left -= width;
    while (steps_right-- > 0 && f(right) > level) right += width;
    double u = here;
    for (int k = 0; k < 200; ++k) {
        u = left + (right - left) * stream.uniform();
        if (f(u) > level) break;
        (u < here ? left : right) = u;
        u = here;
    }
    state.values[scale.variable].front() = std::exp(u);
}

double log_density_with_locals(ScaleLayout const& scale, Layout const& layout, Factors const& factors, State const& state) {
    double const df = state.values[scale.variable].front();
    double sum = log_marginal(scale, layout, factors, std::log(df)) - std::log(df);
    for (std::uint32_t const local : scale.locals) {
        ScaleLayout const& of = layout.scales[local];
        ScalePriorLayout const prior = prior_of(of, 0, state);
        std::vector<double> const& values = state.values[of.variable];
        std::vector<double> counts(values.size(), 0.0);
        std::vector<double> squares(values.size(), 0.0);
        for_each_cell(scale, layout, factors, [&](std::uint32_t which, std::size_t e, double n, double square) {
            if (which != local) return;
            counts[e] = n;
            squares[e] = square;
        });
        for (std::size_t e = 0; e < values.size(); ++e) {
            ScalePriorLayout given = prior;
            given.first += 0.5 * counts[e];
            given.second += 0.5 * squares[e];
            sum += log_density(given, values[e]);
        }
    }
    return sum;
}

ScaleFactor make_degrees_of_freedom_factor(ScalePriorLayout const& prior, LocalSums const& sums) {
    LogGrid const grid = make_grid(prior, sums, 1);
    double mass = 0, first = 0, second = 0, log_first = 0, log_second = 0;
    for (std::size_t k = 0; k < grid.at.size(); ++k) {
        double const p = grid.density[k];
        double const df = std::exp(grid.at[k]);
        mass += p;
        first += p * df;
        second += p * df * df;
        log_first += p * grid.at[k];
        log_second += p * grid.at[k] * grid.at[k];
    }
    ScaleFactor factor;
    factor.mean = first / mass;
    factor.variance = second / mass;
    factor.precision = 1 / (factor.mean * factor.mean);
    factor.log_precision = -2 * log_first / mass;
    factor.sd_of_log = std::sqrt(std::max(0.0, log_second / mass - log_first / mass * (log_first / mass)));
    factor.log_normaliser =
        std::log(mass * grid.step) + grid.log_peak - sums.count * log_normaliser(factor.mean) - factor.mean / 2 * sums.sum;
    return factor;
}

DegreesOfFreedomSampler::DegreesOfFreedomSampler(ScalePriorLayout const& prior, LocalSums const& sums) : prior_(prior), sums_(sums) {
    LogGrid grid = make_grid(prior, sums, 8);
    double mass = 0;
    for (double const p : grid.density) mass += p;
    log_mass_ = std::log(mass * grid.step) + grid.log_peak;
    quantiles_.emplace(std::move(grid));
}

double DegreesOfFreedomSampler::draw(Stream& stream) const { return (*quantiles_)(stream.uniform()); }

double DegreesOfFreedomSampler::log_density(double df) const {
    return bam::log_density(prior_, df) + sums_.count * log_normaliser(df) + df / 2 * sums_.sum - log_mass_;
}

}  // namespace bam
