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
Expected weigh(std::span<double const> log_densities, SmoothedWeights const& smoothed, double efficiency) {
    Expected result;
    result.k = smoothed.k;
    result.efficiency = efficiency;
    if (smoothed.weights.empty()) {
        result.elpd = result.mcse = std::nan("");
        return result;
    }
    // By logarithms: weight may be where the density is smallest, and products of the two lie below all numbers there are.
    std::vector<double> log_products;
    for (std::size_t i = 0; i < log_densities.size(); ++i) log_products.push_back(std::log(smoothed.weights[i]) + log_densities[i]);
    double const top = *std::max_element(log_products.begin(), log_products.end());
    double sum = 0;
    for (double const value : log_products) sum += std::exp(value - top);
    result.elpd = top + std::log(sum);
    double variance = 0;  // of the mean, over its square
    for (std::size_t i = 0; i < log_products.size(); ++i)
        variance += std::pow(std::exp(log_products[i] - result.elpd) - smoothed.weights[i], 2);
    result.mcse = std::sqrt(std::log1p(variance / efficiency));
    return result;
}

}  // namespace

Expected leave_out(std::span<double const> log_densities, std::size_t chains, std::vector<double>* weights) {
    double const efficiency = efficiency_of(relative(log_densities), chains);
    std::vector<double> ratios;
    for (double const value : log_densities) ratios.push_back(-value);
    SmoothedWeights smoothed = smooth_weights(ratios, efficiency);
    Expected const result = weigh(log_densities, smoothed, efficiency);
    if (weights != nullptr) *weights = std::move(smoothed.weights);
    return result;
}

Expected average(std::span<double const> log_densities, std::size_t chains) {
    double const efficiency = efficiency_of(relative(log_densities), chains);
    SmoothedWeights equal;
    equal.weights.assign(log_densities.size(), 1 / static_cast<double>(log_densities.size()));
    equal.k = smooth_weights({log_densities.begin(), log_densities.end()}, efficiency).k;
    return weigh(log_densities, equal, efficiency);
}

Expected reweighted(std::span<double const> log_densities, std::span<double const> log_ratios, std::size_t chains) {
    double const efficiency = efficiency_of(relative(log_ratios), chains);
    return weigh(log_densities, smooth_weights({log_ratios.begin(), log_ratios.end()}, efficiency), efficiency);
}

double k_of_weights(std::span<double const> log_ratios, std::size_t chains) {
    return smooth_weights({log_ratios.begin(), log_ratios.end()}, efficiency_of(relative(log_ratios), chains)).k;
}

double log_mean_exp(std::span<double const> values) {
    double const top = *std::max_element(values.begin(), values.end());
    double sum = 0;
    for (double const value : values) sum += std::exp(value - top);
    return top + std::log(sum / static_cast<double>(values.size()));
}

}  // namespace bam
