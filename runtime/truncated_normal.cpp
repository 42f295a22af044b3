#include "truncated_normal.hpp"

#include <array>
#include <cmath>
#include <numbers>

#include "normal_quantile.hpp"
#include "random.hpp"

namespace bam {
namespace {

constexpr double farthest_drop = 40;  ///< of the log density: beyond it are 4e-18 of the integral
constexpr double pieces = 8;          ///< up to there
constexpr double flat_drop = 1;       ///< draws from a uniform are accepted with at least exp(-1)
constexpr double tail = 3;            ///< sds from the mean to the interval, beyond which draws come from an exponential

/// Nodes in (0, 1) and weights of the rule of order 16 on [-1, 1], which is symmetric.
constexpr std::array<double, 8> nodes{0.0950125098376374402, 0.2816035507792589132, 0.4580167776572273863, 0.6178762444026437484,
                                      0.7554044083550030339, 0.8656312023878317439, 0.9445750230732325761, 0.9894009349916499326};
constexpr std::array<double, 8> weights{0.1894506104550684963, 0.1826034150449235888, 0.1691565193950025382, 0.1495959888165767321,
                                        0.1246289712555338720, 0.0951585116824927848, 0.0622535239386478929, 0.0271524594117540949};

/// Integrals over one side of the mode, in the distance d from it, of exp(-drop), d exp(-drop) and d^2 exp(-drop).
struct Side {
    double zero = 0, one = 0, two = 0;
};

/// drop = slope d + precision d^2 / 2 with slope >= 0.
Side integrate(double slope, double precision, double length) {
    Side sums;
    if (!(length > 0)) return sums;
    auto const drop = [&](double d) { return (slope + 0.5 * precision * d) * d; };
    auto const distance = [&](double fall) { return 2 * fall / (slope + std::hypot(slope, std::sqrt(2 * precision * fall))); };
    bool const is_cut = !(drop(length) < farthest_drop);
    double const most = is_cut ? farthest_drop : drop(length);
    double const end = is_cut ? distance(farthest_drop) : length;
    double const count = std::max(1.0, std::ceil(pieces * std::sqrt(most / farthest_drop)));
    double from = 0;
    for (double k = 1; k <= count; ++k) {
        double const to = k == count ? end : distance(most * (k / count) * (k / count));
        double const middle = 0.5 * (from + to);
        double const half = 0.5 * (to - from);
        for (std::size_t i = 0; i < nodes.size(); ++i) {
            for (double const d : {middle - half * nodes[i], middle + half * nodes[i]}) {
                double const w = half * weights[i] * std::exp(-drop(d));
                sums.zero += w;
                sums.one += w * d;
                sums.two += w * d * d;
            }
        }
        from = to;
    }
    return sums;
}

/// P(z < x)
double normal_share(double x) { return 0.5 * std::erfc(-x / std::numbers::sqrt2); }

}  // namespace

TruncatedNormal::TruncatedNormal(double precision, double linear, Interval const& interval)
    : precision_(precision), linear_(linear), interval_(interval) {
    double const mean = linear / precision;
    if (precision > 0)
        mode_ = interval.nearest(mean);
    else if (linear == 0)
        mode_ = interval.is_finite() ? 0.5 * interval.low + 0.5 * interval.high : interval.nearest(0);
    else
        mode_ = linear > 0 ? interval.high : interval.low;
    bool const is_at_end = precision > 0 ? mode_ != mean : linear != 0;
    slope_ = is_at_end ? precision * mode_ - linear : 0;
}

bool TruncatedNormal::is_proper() const {
    return precision_ >= 0 && std::isfinite(precision_) && std::isfinite(linear_) && (precision_ > 0 || interval_.is_finite());
}

TruncatedNormal::Moments TruncatedNormal::moments() const {
    // On the side to which the density falls from an end, nothing is on the other.
    Side const right = integrate(std::max(slope_, 0.0), precision_, interval_.high - mode_);
    Side const left = integrate(std::max(-slope_, 0.0), precision_, mode_ - interval_.low);
    double const integral = right.zero + left.zero;
    double const one = (right.one - left.one) / integral;
    double const two = (right.two + left.two) / integral;
    double const log_integral = std::log(integral);
    return {mode_ + one, two - one * one, log_integral, log_integral + slope_ * one + 0.5 * precision_ * two};
}

double TruncatedNormal::log_share() const {
    double const sds = slope_ / std::sqrt(precision_);
    return moments().log_integral + 0.5 * std::log(precision_ / (2 * std::numbers::pi)) - 0.5 * sds * sds;
}

/// The mean is slope / precision from the mode.
double TruncatedNormal::sd_from_mean(double x) const {
    double const root = std::sqrt(precision_);
    return slope_ / root + root * (x - mode_);
}

double TruncatedNormal::draw(Stream& stream) const {
    double const width = interval_.high - interval_.low;
    if (std::isfinite(width) && std::max(drop(interval_.low), drop(interval_.high)) <= flat_drop) {
        while (true) {
            double const x = interval_.nearest(interval_.low + width * stream.uniform());
            if (stream.uniform() <= std::exp(-drop(x))) return x;
        }
    }
    double const slope = std::abs(slope_);
    if (precision_ == 0 || slope > tail * std::sqrt(precision_)) {
        double const length = slope_ > 0 ? interval_.high - mode_ : mode_ - interval_.low;
        double const rate = 0.5 * (slope + std::hypot(slope, 2 * std::sqrt(precision_)));
        double const share = std::expm1(-rate * length);  // minus that of the exponential within the interval
        double const best = precision_ > 0 ? (rate - slope) / precision_ : 0;
        while (true) {
            double const distance = -std::log1p(stream.uniform() * share) / rate;
            double const beyond = distance - best;
            if (stream.uniform() <= std::exp(-0.5 * precision_ * beyond * beyond))
                return interval_.nearest(slope_ > 0 ? mode_ + distance : mode_ - distance);
        }
    }
    double const low = sd_from_mean(interval_.low);
    double const high = sd_from_mean(interval_.high);
    // From the tail that is nearer: there shares have all their digits.
    bool const is_above = low > 0;
    double const first = normal_share(is_above ? -high : low);
    double const share = normal_share(is_above ? -low : high) - first;
    double const below = first + share * stream.uniform();
    double z = 0;
    if (below < 0.5) {
        z = normal_quantile(below);
    } else {
        double const above = normal_share(is_above ? low : -high) + (first + share - below);
        z = -normal_quantile(above);
    }
    if (is_above) z = -z;
    return interval_.nearest(mode_ + (z - slope_ / std::sqrt(precision_)) / std::sqrt(precision_));
}

}  // namespace bam
