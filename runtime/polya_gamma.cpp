#include "polya_gamma.hpp"

#include <cmath>
#include <limits>
#include <numbers>

namespace bam {
namespace {

constexpr double pi = std::numbers::pi;

/// Where the density of 4 w is bounded by its first term on either side: 0.64, close to 2 / π.
constexpr double split = 0.64;

double square(double x) { return x * x; }

/// Exponent of the n-th term of the density of x = 4 w at c = 0, as a ratio to the first: (-1)^n (2n + 1) exp(-this). Left of `split` the
/// series in 1 / x, right of it that in x: there each falls fastest.
double decay(double x, int n) {
    double const k = n * (n + 1.0);
    return x <= split ? 2 * k / x : k * square(pi) * x / 2;
}

/// Whether x, drawn from the first term of the series, is one of the whole. The partial sums lie below and above the limit in turn, so a
/// few terms decide exactly (Devroye 2009).
bool is_accepted(Stream& stream, double x) {
    double const height = stream.uniform();
    double sum = 1;
    for (int n = 1;; ++n) {
        double const term = (2 * n + 1) * std::exp(-decay(x, n));
        if (n % 2 == 1) {
            sum -= term;
            if (height <= sum) return true;
        } else {
            sum += term;
            if (height > sum) return false;
        }
    }
}

/// Inverse Gaussian of mean 1 / z and shape 1, below `split`.
double truncated_inverse_gaussian(Stream& stream, double z) {
    double x = 0;
    if (z * split < 1) {
        // From the inverse of a squared normal beyond 1 / sqrt(split), thinned by exp(-z^2 x / 2).
        do {
            double e = 0, f = 0;
            do {
                e = stream.exponential();
                f = stream.exponential();
            } while (e * e > 2 * f / split);
            x = split / square(1 + split * e);
        } while (stream.uniform() > std::exp(-0.5 * square(z) * x));
        return x;
    }
    // Michael, Schucany and Haas 1976: the smaller root, without the difference that loses its digits where z is large.
    do {
        double const w = square(stream.normal()) / z;
        double const ratio = 1 / (1 + w / 2 + std::sqrt(w + square(w) / 4));
        x = (stream.uniform() * (1 + ratio) > 1 ? 1 / ratio : ratio) / z;
    } while (x > split);
    return x;
}

/// The share of the first terms' integral that lies right of `split`.
double share_right(double z) {
    double const rate = square(pi) / 8 + square(z) / 2;
    double const root = std::sqrt(0.5 / split);  // of the normal distribution function by erfc
    // π / (2 rate) exp(-rate split) on the right; on the left exp(-z) times 2 times that of an inverse Gaussian.
    double const log_right = std::log(pi / (2 * rate)) - rate * split;
    double const below = std::erfc(root * (1 - z * split));
    double const above = std::erfc(root * (1 + z * split));
    double const left = std::exp(-z - log_right) * below + (above > 0 ? std::exp(z - log_right + std::log(above)) : 0);
    return 1 / (1 + left);
}

}  // namespace

double polya_gamma(Stream& stream, double c) {
    if (!std::isfinite(c)) return std::numeric_limits<double>::quiet_NaN();
    double const z = std::abs(c) / 2;
    double const rate = square(pi) / 8 + square(z) / 2;
    double const right = share_right(z);
    while (true) {
        double const x = stream.uniform() < right ? split + stream.exponential() / rate : truncated_inverse_gaussian(stream, z);
        if (is_accepted(stream, x)) return x / 4;
    }
}

double polya_gamma_mean(double c) {
    double const x = std::abs(c);
    return x < 1e-3 ? 0.25 - x * x / 48 : std::tanh(x / 2) / (2 * x);  // the next term is below 1e-14
}

double polya_gamma_variance(double c) {
    double const x = std::abs(c);
    if (x < 0.03) return (1 - x * x / 5) / 24;  // the next term is below 1e-7 of it
    double const t = std::tanh(x / 2);
    return (2 * t - x * (1 - t * t)) / (4 * x * x * x);
}

double log_polya_gamma(double w, double c) {
    double const x = 4 * w;
    double sum = 1;
    for (int n = 1; n < 100; ++n) {
        double const term = (2 * n + 1) * std::exp(-decay(x, n));
        sum += n % 2 == 1 ? -term : term;
        if (term < 1e-18) break;
    }
    double const log_first = x <= split ? std::log(pi / 2) + 1.5 * std::log(2 / (pi * x)) - 0.5 / x : std::log(pi / 2) - square(pi) * x / 8;
    return std::log(4.0) + log_first + std::log(sum) - 0.5 * w * c * c + log_two_cosh_half(c) - std::numbers::ln2;
}

double log_two_cosh_half(double x) {
    double const a = std::abs(x);
    return a / 2 + std::log1p(std::exp(-a));
}

double logistic(double x) { return x >= 0 ? 1 / (1 + std::exp(-x)) : std::exp(x) / (1 + std::exp(x)); }

}  // namespace bam
