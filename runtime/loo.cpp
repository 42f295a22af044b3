#include "loo.hpp"

#include <algorithm>
#include <cmath>

#include "convergence.hpp"
#include "pareto.hpp"

namespace bam {
namespace {

/// exp(log_values) over the largest of them.
std::vector<double> relative(std::span<double const> log_values) {
    double const top = *std::max_element(log_values.begin(), log_values.end());
    std::vector<double> values;
    for (double const value : log_values) values.push_back(std::exp(value - top));
    return values;
}

/// Of draws that are all the same, 1.
double efficiency_of(std::vector<double> const& values, std::size_t chains) {
    double const ess = ess_mean({values, values.size() / chains, chains});
    return std::isfinite(ess) ? ess / static_cast<double>(values.size()) : 1;
}

/// With normalised weights; the standard error is that of a log-normal with the variance of the mean.
Expected weigh(std::span<double const> log_densities, std::vector<double> const& densities, SmoothedWeights const& smoothed,
               double efficiency) {
    Expected result;
    result.k = smoothed.k;
    result.efficiency = efficiency;
    if (smoothed.weights.empty()) {
        result.elpd = result.mcse = std::nan("");
        return result;
    }
    double mean = 0;
    for (std::size_t i = 0; i < densities.size(); ++i) mean += smoothed.weights[i] * densities[i];
    double variance = 0;
    for (std::size_t i = 0; i < densities.size(); ++i) variance += std::pow(smoothed.weights[i] * (densities[i] - mean), 2);
    result.elpd = *std::max_element(log_densities.begin(), log_densities.end()) + std::log(mean);
    result.mcse = std::sqrt(std::log1p(variance / efficiency / (mean * mean)));
    return result;
}

}  // namespace

Expected leave_out(std::span<double const> log_densities, std::size_t chains, std::vector<double>* weights) {
    std::vector<double> const densities = relative(log_densities);
    double const efficiency = efficiency_of(densities, chains);
    std::vector<double> ratios;
    for (double const value : log_densities) ratios.push_back(-value);
    SmoothedWeights smoothed = smooth_weights(ratios, efficiency);
    Expected const result = weigh(log_densities, densities, smoothed, efficiency);
    if (weights != nullptr) *weights = std::move(smoothed.weights);
    return result;
}

Expected average(std::span<double const> log_densities, std::size_t chains) {
    std::vector<double> const densities = relative(log_densities);
    double const efficiency = efficiency_of(densities, chains);
    SmoothedWeights equal;
    equal.weights.assign(densities.size(), 1 / static_cast<double>(densities.size()));
    equal.k = smooth_weights({log_densities.begin(), log_densities.end()}, efficiency).k;
    return weigh(log_densities, densities, equal, efficiency);
}

Expected reweighted(std::span<double const> log_densities, std::span<double const> log_ratios, std::size_t chains) {
    std::vector<double> const densities = relative(log_densities);
    double const efficiency = efficiency_of(relative(log_ratios), chains);
    return weigh(log_densities, densities, smooth_weights({log_ratios.begin(), log_ratios.end()}), efficiency);
}

double log_mean_exp(std::span<double const> values) {
    double const top = *std::max_element(values.begin(), values.end());
    double sum = 0;
    for (double const value : values) sum += std::exp(value - top);
    return top + std::log(sum / static_cast<double>(values.size()));
}

}  // namespace bam
