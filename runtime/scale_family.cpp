#include "scale_family.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <stdexcept>

#include "polya_gamma.hpp"

namespace bam {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

double square(double x) { return x * x; }

/// A row of the kernel with b = β + S/2 is a density in v. In the declared number x it is that times dv/dx, v^(1/2), 1 or v^2: with k the
/// exponent that is left, d/dv = 0 is γ v^2 / 2 + k v - b = 0.
ScalePeak peak_of_kernel(Kernel const& prior, SpreadKind spread, double n, double squares) {
    double const k = prior.alpha + 1 + n / 2 - jacobian_power(spread);
    double const b = prior.beta + squares / 2;
    double const gamma = prior.gamma;
    double v = 0;
    if (gamma == 0)
        v = k > 0 ? b / k : infinity;
    else if (double const root = std::sqrt(k * k + 2 * gamma * b); k > 0)
        v = 2 * b / (k + root);
    else
        v = (root - k) / gamma;
    return {v, b / v + gamma * v / 2};
}

/// v^(-n/2) exp(-S / 2v) (1 + v / (ν A^2))^(-(ν+1)/2), the half-t of scale A itself: with w = v / A^2 and s = S / A^2,
/// (n + ν + 1) / ν w^2 + (n - s / ν) w - s = 0. So ν may be as large as a number can be.
ScalePeak peak_of_half_t(double df, double scale, double n, double squares) {
    double const s = squares / scale / scale;
    double const a = (n + 1) / df + 1;
    double const b = n - s / df;
    double const squared = b * b + 4 * a * s;  // of sums of squares, which are numbers where this may be none
    double const root = std::isfinite(squared) ? std::sqrt(squared) : std::hypot(b, 2 * std::sqrt(a) * std::sqrt(s));
    double const w = b > 0 ? 2 * s / (b + root) : (root - b) / (2 * a);
    double const v = w * square(scale);
    double const ratio = w / df;
    return {v, squares / (2 * v) + (df + 1) / 2 * ratio / square(1 + ratio)};
}

/// log(exp(x) E1(x)), x > 0, E1 the exponential integral: its continued fraction, evaluated from the far end, where exp(x) E1(x) would lose
/// its digits to exp(x) (Abramowitz and Stegun 1964, 5.1.22).
double log_scaled_exponential_integral(double x) {
    if (x < 2) return x + std::log(-std::expint(-x));
    constexpr int terms = 60;  // at x = 2 the last of them changes no digit
    double fraction = x;
    for (int n = terms; n > 0; --n) fraction = x + n / (1 + n / fraction);
    return -std::log(fraction);
}

/// Student's t about 0.
double log_student_t(double df, double scale, double x) {
    return log_gamma_ratio(df / 2, 0.5) - 0.5 * std::log(df * std::numbers::pi) - std::log(scale) -
           (df + 1) / 2 * std::log1p(square(x / scale) / df);
}

}  // namespace

Kernel kernel(ScalePriorLayout const& prior, SpreadKind spread, double auxiliary) {
    switch (prior.family) {
        case ScaleFamily::InverseGamma:
        case ScaleFamily::Gamma: return {prior.first, prior.second, 0};
        case ScaleFamily::HalfStudentT: return {prior.first / 2, prior.first / auxiliary, 0};
        case ScaleFamily::HalfNormal: return {-0.5, 0, 1 / square(prior.first)};
        case ScaleFamily::Exponential: return {-1, 0, 2 * prior.first};
        case ScaleFamily::PolyaGamma: throw std::logic_error("a local scale of a binary output has no such kernel");
        case ScaleFamily::Flat: break;
    }
    // Flat in the sd is v^(-1/2), in the variance 1, in the precision v^(-2).
    return {spread == SpreadKind::Sd ? -0.5 : (spread == SpreadKind::Variance ? -1.0 : 1.0), 0, 0};
}

bool has_auxiliary(ScaleFamily family) { return family == ScaleFamily::HalfStudentT; }

InverseGamma auxiliary_given(ScalePriorLayout const& prior, double variance) {
    return {(prior.first + 1) / 2, 1 / square(prior.second) + prior.first / variance};
}

double log_density(ScalePriorLayout const& prior, double x) {
    double const a = prior.first;
    double const b = prior.second;
    switch (prior.family) {
        case ScaleFamily::Flat: return 0;
        case ScaleFamily::HalfStudentT:
            return std::log(2 / b) + log_gamma_ratio(a / 2, 0.5) - 0.5 * (std::log(a) + std::log(std::numbers::pi)) -
                   (a + 1) / 2 * std::log1p(square(x / b) / a);
        case ScaleFamily::HalfNormal: return 0.5 * std::log(2 / std::numbers::pi) - std::log(a) - 0.5 * square(x / a);
        case ScaleFamily::InverseGamma: return a * std::log(b) - log_gamma(a) - (a + 1) * std::log(x) - b / x;
        case ScaleFamily::Gamma: return a * std::log(b) - log_gamma(a) + (a - 1) * std::log(x) - b * x;
        case ScaleFamily::Exponential: return std::log(a) - a * x;
        case ScaleFamily::PolyaGamma: return log_polya_gamma(x, 0);
    }
    return 0;
}

double log_mixture(ScalePriorLayout const& local, SpreadKind spread, double x, double sd) {
    double const a = local.first;
    double const b = local.second;
    if (local.family == ScaleFamily::Gamma && spread == SpreadKind::Precision) return log_student_t(2 * a, sd * std::sqrt(b / a), x);
    if (local.family == ScaleFamily::Exponential && spread == SpreadKind::Variance) {
        double const rate = std::sqrt(2 * a) / sd;
        return std::log(rate / 2) - rate * std::abs(x);
    }
    if (local.family == ScaleFamily::HalfStudentT && a == 1 && spread == SpreadKind::Sd) {
        double const scale = sd * b;
        return -std::log(scale) - 0.5 * std::log(2 * std::pow(std::numbers::pi, 3)) +
               log_scaled_exponential_integral(0.5 * square(x / scale));
    }
    throw std::logic_error("a mixture of normals whose density is not known");
}

double draw_prior(ScalePriorLayout const& prior, Stream& stream) {
    switch (prior.family) {
        case ScaleFamily::HalfStudentT: {
            double const z = std::abs(stream.normal());
            return prior.second * z / std::sqrt(stream.gamma(prior.first / 2) / (prior.first / 2));
        }
        case ScaleFamily::HalfNormal: return prior.first * std::abs(stream.normal());
        case ScaleFamily::InverseGamma: return inverse_gamma(stream, prior.first, prior.second);
        case ScaleFamily::Gamma: return stream.gamma(prior.first) / prior.second;
        case ScaleFamily::Exponential: return stream.exponential() / prior.first;
        case ScaleFamily::PolyaGamma: return polya_gamma(stream, 0);
        case ScaleFamily::Flat: break;
    }
    return std::numeric_limits<double>::quiet_NaN();
}

double mean_variance(ScalePriorLayout const& prior, SpreadKind spread) {
    double const a = prior.first;
    double const b = prior.second;
    switch (prior.family) {
        case ScaleFamily::HalfStudentT: return a > 2 ? square(b) * a / (a - 2) : infinity;
        case ScaleFamily::HalfNormal: return square(a);
        case ScaleFamily::InverseGamma:
        case ScaleFamily::Gamma: return a > 1 ? b / (a - 1) : infinity;
        case ScaleFamily::Exponential: return spread == SpreadKind::Variance ? 1 / a : infinity;
        case ScaleFamily::PolyaGamma:
        case ScaleFamily::Flat: break;
    }
    return infinity;
}

double typical_sd(ScalePriorLayout const& prior, double guess) {
    switch (prior.family) {
        case ScaleFamily::Flat: break;
        case ScaleFamily::PolyaGamma: return 1 / std::sqrt(polya_gamma_mean(0));
        case ScaleFamily::HalfStudentT: return std::min(guess, prior.second);
        case ScaleFamily::HalfNormal: return std::min(guess, prior.first);
        case ScaleFamily::InverseGamma:
        case ScaleFamily::Gamma:
            if (prior.first >= 1) return std::sqrt(prior.second / (prior.first + 1));
            break;
        case ScaleFamily::Exponential: return std::min(guess, 1 / std::sqrt(prior.first));
    }
    return guess;
}

double tail_power(ScalePriorLayout const& prior, SpreadKind spread, double n) {
    switch (prior.family) {
        case ScaleFamily::HalfNormal:
        case ScaleFamily::PolyaGamma:
        case ScaleFamily::Exponential: return infinity;
        case ScaleFamily::HalfStudentT: return n + prior.first;
        case ScaleFamily::InverseGamma:
        case ScaleFamily::Gamma: return n + 2 * prior.first;
        case ScaleFamily::Flat: break;
    }
    return spread == SpreadKind::Sd ? n - 1 : (spread == SpreadKind::Variance ? n - 2 : n + 2);
}

bool keeps_from_zero(ScaleFamily family) { return family == ScaleFamily::InverseGamma || family == ScaleFamily::Gamma; }

ScalePeak peak(ScalePriorLayout const& prior, SpreadKind spread, double n, double squares) {
    if (prior.family == ScaleFamily::HalfStudentT) return peak_of_half_t(prior.first, prior.second, n, squares);
    return peak_of_kernel(kernel(prior, spread, 1), spread, n, squares);
}

}  // namespace bam
