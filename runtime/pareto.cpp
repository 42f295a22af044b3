#include "pareto.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace bam {
namespace {

/// k of exceedances x > 0 in ascending order: a posterior mean over a grid of b = -k / scale (Zhang and Stephens 2009), pulled towards 0.5
/// by the weight of ten exceedances.
double fit_k(std::vector<double> const& x) {
    double const n = static_cast<double>(x.size());
    auto const m = static_cast<std::size_t>(30 + std::floor(std::sqrt(n)));
    double const quartile = x[static_cast<std::size_t>(std::floor(n / 4 + 0.5)) - 1];
    auto k_of = [&](double b) {
        double sum = 0;
        for (double value : x) sum += std::log1p(-b * value);
        return sum / n;
    };
    std::vector<double> b(m), log_likelihood(m);
    for (std::size_t i = 0; i < m; ++i) {
        b[i] = 1 / x.back() + (1 - std::sqrt(static_cast<double>(m) / (static_cast<double>(i) + 0.5))) / (3 * quartile);
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
    return (k_of(mean / total) * n + 0.5 * 10) / (n + 10);
}

}  // namespace

double pareto_k(std::vector<double> ratios) {
    if (std::any_of(ratios.begin(), ratios.end(), [](double r) { return std::isnan(r) || r > std::numeric_limits<double>::max(); }))
        return std::numeric_limits<double>::infinity();
    std::erase_if(ratios, [](double r) { return std::isinf(r); });  // weights of 0
    std::size_t const n = ratios.size();
    auto const tail = static_cast<std::size_t>(std::ceil(std::min(0.2 * static_cast<double>(n), 3 * std::sqrt(static_cast<double>(n)))));
    if (n < 25 || tail < 5) return std::numeric_limits<double>::quiet_NaN();
    std::sort(ratios.begin(), ratios.end());
    double const top = ratios.back();
    double const cutoff = std::exp(ratios[n - tail - 1] - top);
    std::vector<double> exceedances;
    for (std::size_t i = n - tail; i < n; ++i) exceedances.push_back(std::exp(ratios[i] - top) - cutoff);
    if (!(exceedances.front() > 0) || exceedances.back() - exceedances.front() < 1e-14) return std::numeric_limits<double>::infinity();
    return fit_k(exceedances);
}

}  // namespace bam
