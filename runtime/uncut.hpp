// The normal that an interval has cut, from what is left of it.
#pragma once

#include <optional>

#include "interval.hpp"

namespace bam {

/// The normal of which an interval leaves this mean and sd (math.md, 4b); nothing where none does, or only one that is all but level over
/// the interval, or whose tail is all that is left.
struct Uncut {
    double mean = 0;
    double sd = 0;
};
std::optional<Uncut> uncut(double mean, double sd, Interval const& interval);

}  // namespace bam
