// Between which numbers the entries of a truncated prior lie.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

namespace bam {

/// Closed; an end that is open is infinite.
struct Interval {
    double low = -std::numeric_limits<double>::infinity();
    double high = std::numeric_limits<double>::infinity();

    bool is_bounded() const { return std::isfinite(low) || std::isfinite(high); }
    bool is_finite() const { return std::isfinite(low) && std::isfinite(high); }
    double nearest(double x) const { return std::clamp(x, low, high); }
};

/// ` in 0..1`, ` in 0..`: as the file says it, after a distribution; empty if nothing is said.
std::string to_text(Interval const& interval);

}  // namespace bam
