#include "stacking.hpp"

#include <algorithm>
#include <cmath>

namespace bam {
namespace {

constexpr double gap = 1e-6;
constexpr std::size_t most_passes = 100000;

}  // namespace

/// Expectation maximisation of mixture weights: w_k grows by the mean of its share over its weight, which no longer exceeds 1 at the
/// maximum. The mean excess bounds what is left to gain: log is concave.
std::vector<double> stacking_weights(std::vector<std::vector<double>> const& elpd) {
    std::size_t const models = elpd.size();
    std::size_t const count = models == 0 ? 0 : elpd.front().size();
    std::vector<double> weights(models, models == 0 ? 0 : 1 / static_cast<double>(models));
    if (models < 2 || count == 0) return weights;
    for (std::vector<double> const& of_model : elpd) {
        if (std::none_of(of_model.begin(), of_model.end(), [](double value) { return std::isnan(value); })) continue;
        return std::vector<double>(models, std::nan(""));
    }
    std::vector<std::vector<double>> density(count, std::vector<double>(models));  // over the largest at each
    for (std::size_t i = 0; i < count; ++i) {
        double top = elpd[0][i];
        for (std::size_t k = 1; k < models; ++k) top = std::max(top, elpd[k][i]);
        for (std::size_t k = 0; k < models; ++k) density[i][k] = std::exp(elpd[k][i] - top);
    }
    std::vector<double> growth(models);
    for (std::size_t pass = 0; pass < most_passes; ++pass) {
        std::fill(growth.begin(), growth.end(), 0.0);
        for (std::vector<double> const& one : density) {
            double mixed = 0;
            for (std::size_t k = 0; k < models; ++k) mixed += weights[k] * one[k];
            for (std::size_t k = 0; k < models; ++k) growth[k] += one[k] / mixed / static_cast<double>(count);
        }
        if (*std::max_element(growth.begin(), growth.end()) <= 1 + gap) break;
        for (std::size_t k = 0; k < models; ++k) weights[k] *= growth[k];
    }
    return weights;
}

}  // namespace bam
