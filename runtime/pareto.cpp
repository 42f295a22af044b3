#include "pareto.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace bam {
namespace {

/// A generalised Pareto distribution of exceedances.
struct Tail {
    double k = 0;      ///< pulled towards 0.5 by the weight of ten exceedances
    double scale = 0;  ///< of the fit as it is
};

/// The first, of values in ascending order.
double quartile(std::vector<double> const& x) {
    return x[static_cast<std::size_t>(std::floor(static_cast<double>(x.size()) / 4 + 0.5)) - 1];
}

/// Of exceedances x >= 0 in ascending order: a posterior mean over a grid of b = -k / scale (Zhang and Stephens 2009).
Tail fit_tail(std::vector<double> const& x) {
    double const n = static_cast<double>(x.size());
    auto const m = static_cast<std::size_t>(30 + std::floor(std::sqrt(n)));
    double const first_quartile = quartile(x);
    auto k_of = [&](double b) {
        double sum = 0;
        for (double value : x) sum += std::log1p(-b * value);
        return sum / n;
    };
    std::vector<double> b(m), log_likelihood(m);
    for (std::size_t i = 0; i < m; ++i) {
        b[i] = 1 / x.back() + (1 - std::sqrt(static_cast<double>(m) / (static_cast<double>(i) + 0.5))) / (3 * first_quartile);
        double const k = k_of(b[i]);
        log_likelihood[i] = n * (std::log(-b[i] / k) - k - 1);
    }
    double mean = 0;
    double total = 0;
    double const top = *std::max_element(log_likelihood.begin(), log_likelihood.end());
    for (std::size_t i = 0; i < m; ++i) {
        double const weight = std::exp(log_likelihood[i] - top);
        mean += weight * b[i];
        total += weight;
    }
    double const k = k_of(mean / total);
    return {(k * n + 0.5 * 10) / (n + 10), -k / (mean / total)};
}

/// How many of n ratios are the tail.
std::size_t tail_size(std::size_t n, double efficiency) {
    double const size = static_cast<double>(n);
    return static_cast<std::size_t>(std::ceil(std::min(0.2 * size, 3 * std::sqrt(size / efficiency))));
}

constexpr double rounding = 1e-9;       ///< of a weight over the largest: log densities are sums of many numbers
constexpr std::size_t fewest = 25;      ///< ratios
constexpr std::size_t fewest_tail = 5;  ///< of them in the tail

/// What the largest of ratios in ascending order are above the next one, all over the largest.
struct Exceedances {
    double cutoff = 0;
    std::vector<double> values;
    /// The fit divides by the first quartile.
    bool can_be_fitted() const { return quartile(values) > 0 && values.back() - values.front() >= rounding; }
};
Exceedances exceedances_of(std::vector<double> const& sorted, std::size_t tail) {
    std::size_t const n = sorted.size();
    double const top = sorted.back();
    Exceedances result{std::exp(sorted[n - tail - 1] - top), {}};
    for (std::size_t i = n - tail; i < n; ++i) result.values.push_back(std::exp(sorted[i] - top) - result.cutoff);
    return result;
}

bool is_sound(std::vector<double> const& ratios) {
    return std::none_of(ratios.begin(), ratios.end(), [](double r) { return std::isnan(r) || r > std::numeric_limits<double>::max(); });
}

/// The p-quantile of a generalised Pareto distribution.
double quantile(Tail const& tail, double p) {
    double const minus_log = -std::log1p(-p);
    return tail.scale * (tail.k == 0 ? minus_log : std::expm1(tail.k * minus_log) / tail.k);
}

}  // namespace

double pareto_k(std::vector<double> ratios, double efficiency) {
    if (!is_sound(ratios)) return std::numeric_limits<double>::infinity();
    std::erase_if(ratios, [](double r) { return std::isinf(r); });  // weights of 0
    std::size_t const tail = tail_size(ratios.size(), efficiency);
    if (ratios.size() < fewest || tail < fewest_tail) return std::numeric_limits<double>::quiet_NaN();
    std::sort(ratios.begin(), ratios.end());
    Exceedances const exceedances = exceedances_of(ratios, tail);
    if (exceedances.can_be_fitted()) return fit_tail(exceedances.values).k;
    // Where the whole tail has one weight, but for rounding, the weights are bounded, and no few draws carry them: choices have such, and
    // factors that are the posterior.
    bool const is_level = exceedances.values.back() - exceedances.values.front() < rounding;
    return is_level ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity();
}

double highest_k(std::size_t draws) { return std::min(1 - 1 / std::log10(static_cast<double>(std::max<std::size_t>(draws, 2))), 0.7); }

SmoothedWeights smooth_weights(std::vector<double> const& ratios, double efficiency) {
    SmoothedWeights result;
    std::size_t const n = ratios.size();
    if (n == 0 || !is_sound(ratios)) {
        result.k = n == 0 ? std::numeric_limits<double>::quiet_NaN() : std::numeric_limits<double>::infinity();
        return result;
    }
    result.k = pareto_k(ratios, efficiency);
    auto const [least, most] = std::minmax_element(ratios.begin(), ratios.end());
    if (*least == *most) result.k = -std::numeric_limits<double>::infinity();
    double const top = *most;
    for (double const ratio : ratios) result.weights.push_back(std::exp(ratio - top));
    if (std::isfinite(result.k)) {
        std::vector<std::size_t> order(n);
        std::iota(order.begin(), order.end(), std::size_t{0});
        std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return ratios[a] < ratios[b]; });
        std::vector<double> sorted;
        for (std::size_t const i : order)
            if (!std::isinf(ratios[i])) sorted.push_back(ratios[i]);
        std::size_t const tail = tail_size(sorted.size(), efficiency);
        Exceedances const exceedances = exceedances_of(sorted, tail);
        Tail const fitted = fit_tail(exceedances.values);
        for (std::size_t i = 0; i < tail; ++i) {
            double const p = (static_cast<double>(i) + 0.5) / static_cast<double>(tail);
            result.weights[order[n - tail + i]] = std::min(1.0, exceedances.cutoff + quantile(fitted, p));
        }
    }
    double const sum = std::accumulate(result.weights.begin(), result.weights.end(), 0.0);
    for (double& weight : result.weights) weight /= sum;
    return result;
}

}  // namespace bam
