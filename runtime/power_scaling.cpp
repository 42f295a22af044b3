#include "power_scaling.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "pareto.hpp"

namespace bam {
namespace {

/// p log2(p / m), 0 at 0.
double entropy_part(double p, double m) { return p > 0 ? p * std::log2(p / m) : 0; }

/// The distance before the root, of distribution functions given in the gaps between draws.
struct Sums {
    double divergence = 0;
    double bound = 0;
    void add(double gap, double p, double q) {
        double const m = 0.5 * (p + q);
        divergence += gap * (entropy_part(p, m) + entropy_part(q, m));
        bound += gap * (p + q);
    }
    double distance() const { return std::sqrt(std::max(0.0, divergence) / bound); }
};

}  // namespace

SortedDraws::SortedDraws(std::vector<double> const& draws) : order(draws.size()) {
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return draws[a] < draws[b]; });
    for (std::size_t const i : order) values.push_back(draws[i]);
}

double cumulative_distance(SortedDraws const& draws, std::vector<double> const& weights) {
    std::size_t const n = draws.values.size();
    if (n < 2 || !(draws.values.back() > draws.values.front())) return std::numeric_limits<double>::quiet_NaN();
    Sums below, above;
    double q = 0;
    for (std::size_t i = 0; i + 1 < n; ++i) {
        double const p = static_cast<double>(i + 1) / static_cast<double>(n);
        q += weights[draws.order[i]];
        double const gap = draws.values[i + 1] - draws.values[i];
        below.add(gap, p, std::min(q, 1.0));
        above.add(gap, 1 - p, std::max(1 - q, 0.0));
    }
    return std::max(below.distance(), above.distance());
}

ScaledWeights scale_by_powers(std::vector<double> const& log_density) {
    ScaledWeights scaled;
    scaled.k = -std::numeric_limits<double>::infinity();
    double const n = static_cast<double>(log_density.size());
    for (std::size_t side = 0; side < scaling_powers.size(); ++side) {
        std::vector<double> log_ratios;
        for (double const value : log_density) log_ratios.push_back((scaling_powers[side] - 1) * value);
        SmoothedWeights smoothed = smooth_weights(log_ratios);
        scaled.k = std::isnan(smoothed.k) ? smoothed.k : std::max(scaled.k, smoothed.k);
        double squares = 0;
        for (double const weight : smoothed.weights) squares += (n * weight - 1) * (n * weight - 1) / n;
        // math.md, 14: with weights that do not depend on the draws, the root of squares / (8 log(2) n) is the distance to expect.
        scaled.noise += std::sqrt(squares / (8 * std::log(2.0) * n)) / (2 * std::log2(scaling_powers.back()));
        scaled.weights[side] = std::move(smoothed.weights);
    }
    return scaled;
}

double sensitivity(SortedDraws const& draws, ScaledWeights const& scaled) {
    double sum = 0;
    for (std::vector<double> const& weights : scaled.weights) {
        if (weights.empty()) return std::numeric_limits<double>::quiet_NaN();
        sum += cumulative_distance(draws, weights);
    }
    return sum / (2 * std::log2(scaling_powers.back()));
}

}  // namespace bam
