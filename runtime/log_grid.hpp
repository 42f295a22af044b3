// A density of u = log x on a grid: its integrals, and draws by inversion.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace bam {

/// Nodes u and densities relative to the peak, as far as they matter to 1e-20. Of a smooth density that falls fast on both sides, sums over
/// an even grid converge geometrically (Trefethen and Weideman, SIAM Review 2014): they are integrals to rounding.
struct LogGrid {
    double step = 0;
    double log_peak = 0;  ///< log density at the peak, so that the integral is step exp(log_peak) times the sum of the densities
    std::vector<double> at, density;
};

/// `f`: log density of u. `width`: 1 / sqrt(-f'') at the peak. A fineness of 1 is enough for integrals, 8 for draws.
template <class LogDensity>
LogGrid make_log_grid(LogDensity const& f, double peak, double width, double fineness) {
    constexpr double depth = 46;
    constexpr std::size_t most = 200000;
    LogGrid grid;
    grid.step = std::min(width / 4, 0.1) / fineness;
    grid.log_peak = f(peak);
    for (double u = peak - grid.step; grid.at.size() < most && f(u) > grid.log_peak - depth; u -= grid.step) grid.at.push_back(u);
    std::reverse(grid.at.begin(), grid.at.end());
    for (double u = peak; grid.at.size() < 2 * most && f(u) > grid.log_peak - depth; u += grid.step) grid.at.push_back(u);
    for (double const u : grid.at) grid.density.push_back(std::exp(f(u) - grid.log_peak));
    return grid;
}

/// The distribution function on the grid.
class LogGridQuantiles {
  public:
    explicit LogGridQuantiles(LogGrid grid) : step_(grid.step), at_(std::move(grid.at)) {
        double mass = 0;
        for (double const p : grid.density) {
            below_.push_back(mass);
            mass += p;
        }
        for (double& b : below_) b /= mass;
    }

    /// The x below which lies the share `share`, by linear interpolation of its logarithm.
    double operator()(double share) const {
        auto const k = static_cast<std::size_t>(std::upper_bound(below_.begin(), below_.end(), share) - below_.begin()) - 1;
        double const next = k + 1 < below_.size() ? below_[k + 1] : 1;
        double const part = next > below_[k] ? (share - below_[k]) / (next - below_[k]) : 0.5;
        return std::exp(at_[k] + (part - 0.5) * step_);
    }

  private:
    double step_ = 0;
    std::vector<double> at_;
    std::vector<double> below_;  ///< share below the cell around `at_`
};

}  // namespace bam
