#include "uncut.hpp"

#include <algorithm>
#include <cmath>

#include "truncated_normal.hpp"

namespace bam {

std::optional<Uncut> uncut(double mean, double sd, Interval const& interval) {
    // What is left is an exponential family in precision and precision times mean: each is moved by what its moment misses.
    constexpr int most_steps = 2000;
    constexpr double tolerance = 1e-7;  // a statement has six digits
    constexpr double widest = 1e3;
    Uncut whole{mean, sd};
    for (int k = 0; k < most_steps; ++k) {
        double const precision = 1 / (whole.sd * whole.sd);
        TruncatedNormal::Moments const left = TruncatedNormal(precision, precision * whole.mean, interval).moments();
        double const ratio = sd / std::sqrt(left.variance);
        double const gap = (mean - left.mean) / sd;
        if (std::abs(gap) < tolerance && std::abs(ratio - 1) < tolerance) return whole;
        whole.mean += gap * std::min(whole.sd, whole.sd * whole.sd / sd);
        whole.sd *= ratio;
        if (!(whole.sd < widest * sd) || !std::isfinite(whole.mean)) return std::nullopt;
    }
    return std::nullopt;
}

}  // namespace bam
