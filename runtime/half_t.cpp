#include "half_t.hpp"

#include <cmath>

#include "sliced.hpp"

namespace bam {
namespace {

constexpr int steps = 3;  ///< of one draw

/// log of the density of u = log v: v^((1 - n) / 2) exp(-S / 2v) (1 + v / (df A^2))^(-(df + 1) / 2). Concave.
struct LogDensity {
    double df, scale, n, squares;

    double operator()(double u) const {
        double const v = std::exp(u);
        return 0.5 * (1 - n) * u - (squares > 0 ? 0.5 * squares / v : 0) - 0.5 * (df + 1) * std::log1p(v / scale / scale / df);
    }
};

}  // namespace

bool is_sliced(ScalePriorLayout const& prior) { return prior.family == ScaleFamily::HalfStudentT && prior.first >= least_sliced_df; }

double draw_half_t(ScalePriorLayout const& prior, double n, double squares, double variance, Stream& stream) {
    LogDensity const log_density{prior.first, prior.second, n, squares};
    double const curvature = peak(prior, SpreadKind::Sd, n, squares).curvature;
    double const width = curvature > 0 && std::isfinite(curvature) ? 2 / std::sqrt(curvature) : 2;
    double u = std::log(variance);
    for (int k = 0; k < steps; ++k) {
        double const level = log_density(u) - stream.exponential();
        double left = u - width * stream.uniform();
        double right = left + width;
        while (log_density(left) > level) left -= width;
        while (log_density(right) > level) right += width;
        double next = left + (right - left) * stream.uniform();
        while (!(log_density(next) >= level) && right > left) {
            (next < u ? left : right) = next;
            next = left + (right - left) * stream.uniform();
        }
        u = next;
    }
    return std::exp(u);
}

}  // namespace bam
