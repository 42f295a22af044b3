#include "stacking.hpp"

#include <algorithm>
#include <cmath>

namespace bam {
namespace {

constexpr std::size_t most_passes = 100000;

}  // namespace

/// Expectation maximisation of mixture weights: w_k grows by the mean of its share over its weight, which no longer exceeds 1 at the
/// maximum. The mean excess bounds what is left to gain: log is concave.
Stacking stacking_weights(std::vector<std::vector<double>> const& elpd) {
    std::size_t const models = elpd.size();
    std::size_t const count = models == 0 ? 0 : elpd.front().size();
    Stacking result{std::vector<double>(models, models == 0 ? 0 : 1 / static_cast<double>(models))};
    std::vector<double>& weights = result.weights;
    if (models < 2 || count == 0) return result;
    for (std::vector<double> const& of_model : elpd) {
        if (std::none_of(of_model.begin(), of_model.end(), [](double value) { return std::isnan(value); })) continue;
        return {std::vector<double>(models, std::nan(""))};
    }
    std::vector<std::vector<double>> density;  // over the largest at each
    for (std::size_t i = 0; i < count; ++i) {
        double top = elpd[0][i];
        for (std::size_t k = 1; k < models; ++k) top = std::max(top, elpd[k][i]);
        if (std::isinf(top)) continue;  // whatever the weights, the density there is 0
        density.emplace_back(models);
        for (std::size_t k = 0; k < models; ++k) density.back()[k] = std::exp(elpd[k][i] - top);
    }
    if (density.empty()) return result;
    auto const used = static_cast<double>(density.size());
    std::vector<double> growth(models);
    for (std::size_t pass = 0; pass < most_passes; ++pass) {
        std::fill(growth.begin(), growth.end(), 0.0);
        for (std::vector<double> const& one : density) {
            double mixed = 0;
            for (std::size_t k = 0; k < models; ++k) mixed += weights[k] * one[k];
            for (std::size_t k = 0; k < models; ++k) growth[k] += one[k] / mixed / used;
        }
        result.gap = *std::max_element(growth.begin(), growth.end()) - 1;
        if (result.gap <= stacking_gap) break;
        for (std::size_t k = 0; k < models; ++k) weights[k] *= growth[k];
    }
    return result;
}

}  // namespace bam
