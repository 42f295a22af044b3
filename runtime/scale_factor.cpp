#include "scale_factor.hpp"

#include <algorithm>
#include <boost/math/special_functions/digamma.hpp>
#include <boost/math/special_functions/trigamma.hpp>
#include <cmath>
#include <numbers>

#include "polya_gamma.hpp"
#include "scale_family.hpp"
#include "spread.hpp"

namespace bam {
namespace {

/// log of prior(scale) |d scale / d log sd| sd^-n exp(-S / (2 sd^2)) at u = log sd.
struct LogDensity {
    ScalePriorLayout const& prior;
    SpreadKind spread;
    double n, squares;
    double tilt = 0;

    double operator()(double u) const {
        // scale = sd, sd^2 or sd^-2: its logarithm changes 1, 2 or -2 times as fast.
        double const power = power_of_sd(spread);
        double const log_scale = power * u;
        return log_density(prior, std::exp(log_scale)) + log_scale + std::log(std::abs(power)) - n * u -
               (squares > 0 ? 0.5 * squares * std::exp(-2 * u) : 0) + tilt * u;
    }
};

struct Peak {
    double at = 0;
    double width = 1;  ///< 1 / sqrt(-curvature)
};

/// The mode of a log-concave function: by doubling steps to a bracket, then golden section.
Peak find_peak(LogDensity const& f) {
    double low = -1, middle = 0, high = 1;
    double at_low = f(low), at_middle = f(middle), at_high = f(high);
    for (double step = 1; at_high > at_middle && step < 1e3; step *= 2) {
        low = middle, at_low = at_middle;
        middle = high, at_middle = at_high;
        high += step, at_high = f(high);
    }
    for (double step = 1; at_low > at_middle && step < 1e3; step *= 2) {
        high = middle, at_high = at_middle;
        middle = low, at_middle = at_low;
        low -= step, at_low = f(low);
    }
    constexpr double ratio = 0.381966011250105;
    while (high - low > 1e-7 * (1 + std::abs(middle))) {
        bool const right = high - middle > middle - low;
        double const x = right ? middle + ratio * (high - middle) : middle - ratio * (middle - low);
        double const y = f(x);
        if (y > at_middle) {
            (right ? low : high) = middle;
            middle = x, at_middle = y;
        } else {
            (right ? high : low) = x;
        }
    }
    double const h = 1e-3;
    double const curvature = (f(middle + h) - 2 * f(middle) + f(middle - h)) / (h * h);
    return {middle, curvature < 0 ? 1 / std::sqrt(-curvature) : 1};
}

LogGrid make_grid(LogDensity const& f, double fineness) {
    Peak const peak = find_peak(f);
    return make_log_grid(f, peak.at, peak.width, fineness);
}

bool is_gamma(ScalePriorLayout const& prior) { return prior.family == ScaleFamily::Gamma || prior.family == ScaleFamily::InverseGamma; }

/// A precision whose density is a gamma, whatever n and S are.
ScaleFactor make_gamma_factor(ScalePriorLayout const& prior, SpreadKind spread, double n, double squares, double tilt) {
    double const a = prior.first + 0.5 * (n - tilt);
    double const b = prior.second + 0.5 * squares;
    ScaleFactor factor;
    factor.precision = a / b;
    factor.log_precision = boost::math::digamma(a) - std::log(b);
    factor.variance = a > 1 ? b / (a - 1) : HUGE_VAL;
    factor.mean = spread == SpreadKind::Precision ? factor.precision : factor.variance;
    factor.sd_of_log = 0.5 * std::sqrt(boost::math::trigamma(a));
    factor.squares = squares;
    // log of second^first / Γ(first) Γ(a) / b^a, small differences of what may be large numbers.
    factor.log_normaliser = log_gamma_ratio(prior.first, 0.5 * (n - tilt)) - prior.first * std::log1p(0.5 * squares / prior.second) -
                            0.5 * (n - tilt) * std::log(b);
    return factor;
}

}  // namespace

ScaleFactor make_scale_factor(ScalePriorLayout const& prior, SpreadKind spread, double n, double squares, double tilt) {
    if (is_gamma(prior)) return make_gamma_factor(prior, spread, n, squares, tilt);
    LogGrid const nodes = make_grid({prior, spread, n, squares, tilt}, 1);
    double const scale_power = power_of_sd(spread);
    double mass = 0, precision = 0, log_precision = 0, variance = 0, mean = 0, square_of_log = 0;
    for (std::size_t k = 0; k < nodes.at.size(); ++k) {
        double const p = nodes.density[k];
        mass += p;
        precision += p * std::exp(-2 * nodes.at[k]);
        log_precision += p * -2 * nodes.at[k];
        variance += p * std::exp(2 * nodes.at[k]);
        mean += p * std::exp(scale_power * nodes.at[k]);
        square_of_log += p * 4 * nodes.at[k] * nodes.at[k];
    }
    double const power = tail_power(prior, spread, n);
    if (power <= 2) variance = HUGE_VAL;
    if (power <= scale_power) mean = HUGE_VAL;
    log_precision /= mass;
    double const sd_of_log = 0.5 * std::sqrt(std::max(0.0, square_of_log / mass - log_precision * log_precision));
    return {
        precision / mass, log_precision, variance / mass, mean / mass, sd_of_log, squares, std::log(mass * nodes.step) + nodes.log_peak};
}

ScaleFactor make_polya_gamma_factor(double squares) {
    double const c = std::sqrt(squares);
    ScaleFactor factor;
    factor.precision = factor.mean = polya_gamma_mean(c);
    factor.log_precision = std::log(factor.precision);  // no sum has it
    factor.variance = 1 / factor.precision;
    factor.sd_of_log = 0.5 * std::sqrt(polya_gamma_variance(c)) / factor.precision;
    factor.squares = squares;
    factor.log_normaliser = -log_two_cosh_half(c);
    return factor;
}

ScaleFactor make_scale_point(SpreadKind spread, double n, double squares) {
    double const precision = n / squares;
    return {precision,
            std::log(precision),
            1 / precision,
            from_variance(spread, 1 / precision),
            0,
            squares,
            0.5 * n * std::log(precision) - 0.5 * n};
}

ScaleSampler::ScaleSampler(ScalePriorLayout const& prior, SpreadKind spread, double n, double squares) {
    if (is_gamma(prior)) {
        shape_ = prior.first + n / 2;
        rate_ = prior.second + squares / 2;
    } else if (prior.family == ScaleFamily::Exponential && spread == SpreadKind::Variance) {
        shape_ = 1 - n / 2;
        rate_ = squares / 2;
        tail_ = 2 * prior.first;
    } else {
        quantiles_.emplace(make_grid({prior, spread, n, squares}, 8));
    }
}

double ScaleSampler::draw(Stream& stream) const {
    if (quantiles_) return (*quantiles_)(stream.uniform());
    if (tail_ > 0) return std::sqrt(generalised_inverse_gaussian(stream, shape_, tail_, 2 * rate_));
    return std::sqrt(inverse_gamma(stream, shape_, rate_));
}

double log_density(ScalePriorLayout const& prior, SpreadKind spread, double n, ScaleFactor const& factor, double sd) {
    return log_density(prior, from_variance(spread, sd * sd)) - n * std::log(sd) - 0.5 * factor.squares / (sd * sd) - factor.log_normaliser;
}

}  // namespace bam
