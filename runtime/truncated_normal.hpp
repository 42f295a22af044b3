// Normals between two bounds (math.md, section 4b): draws, moments, normaliser and entropy, all of them relative to the mode, so that
// bounds far out in a tail or close to one another cost no digits.
#pragma once

#include "plan.hpp"

namespace bam {

class Stream;

/// The density proportional to exp(-precision x^2 / 2 + linear x) in an interval; precision >= 0. It must be is_proper() for all that
/// follows.
class TruncatedNormal {
  public:
    TruncatedNormal() = default;
    TruncatedNormal(double precision, double linear, Interval const& interval);

    /// A precision of 0 is that of a uniform density: it needs an interval with two ends.
    bool is_proper() const;
    double precision() const { return precision_; }
    double linear() const { return linear_; }
    Interval const& interval() const { return interval_; }

    double mode() const { return mode_; }
    /// log density at the mode minus that at x, a number of the interval.
    double drop(double x) const { return (slope_ + 0.5 * precision_ * (x - mode_)) * (x - mode_); }

    /// An exact draw: by rejection from a uniform where the density hardly falls within the interval, by the inverse distribution function
    /// near the mean, by rejection from an exponential in the tails (Robert 1995, Statistics and Computing 5).
    double draw(Stream& stream) const;

    struct Moments {
        double mean = 0;
        double variance = 0;
        double log_integral = 0;  ///< of exp(-drop)
        double entropy = 0;
    };
    /// By Gauss-Legendre sums over pieces on both sides of the mode.
    Moments moments() const;
    /// log of the share that the interval has of the whole normal; precision > 0.
    double log_share() const;

  private:
    double sd_from_mean(double x) const;

    double precision_ = 1;
    double linear_ = 0;
    Interval interval_;
    double mode_ = 0;
    double slope_ = 0;  ///< of -log density at the mode: 0 unless the mode is at an end
};

}  // namespace bam
