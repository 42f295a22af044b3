#include "tails.hpp"

#include <cmath>

namespace bam {
namespace {

constexpr double tiny = 1e-300;
constexpr int most_terms = 10000;

/// Lentz's continued fraction of the incomplete beta function, for x below (a + 1) / (a + b + 2) (Numerical Recipes, 6.4).
double beta_fraction(double a, double b, double x) {
    auto const away_from_zero = [](double v) { return std::abs(v) < tiny ? tiny : v; };
    double c = 1;
    double d = 1 / away_from_zero(1 - (a + b) * x / (a + 1));
    double h = d;
    for (int m = 1; m < most_terms; ++m) {
        double const even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
        d = 1 / away_from_zero(1 + even * d);
        c = away_from_zero(1 + even / c);
        h *= d * c;
        double const odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
        d = 1 / away_from_zero(1 + odd * d);
        c = away_from_zero(1 + odd / c);
        h *= d * c;
        if (std::abs(d * c - 1) < 1e-15) break;
    }
    return h;
}

}  // namespace

/// The regularised incomplete gamma function Q(degrees / 2, value / 2): its series below the mean, Lentz's continued fraction above
/// (Numerical Recipes, 6.2).
double chi_square_tail(double value, double degrees) {
    double const a = degrees / 2;
    double const x = value / 2;
    if (!(x > 0)) return 1;
    double const front = std::exp(a * std::log(x) - x - std::lgamma(a));
    if (x < a + 1) {
        double term = 1 / a;
        double sum = term;
        for (double n = a + 1; term > sum * 1e-17; ++n) sum += term *= x / n;
        return 1 - front * sum;
    }
    double b = x + 1 - a;
    double c = 1 / tiny;
    double d = 1 / b;
    double h = d;
    for (int i = 1; i < most_terms; ++i) {
        double const an = -i * (i - a);
        b += 2;
        d = an * d + b;
        d = 1 / (std::abs(d) < tiny ? tiny : d);
        c = b + an / c;
        c = std::abs(c) < tiny ? tiny : c;
        h *= c * d;
        if (std::abs(c * d - 1) < 1e-15) break;
    }
    return front * h;
}

/// The regularised incomplete beta function I(degrees / (degrees + value^2); degrees / 2, 1 / 2).
double student_tail(double value, double degrees) {
    double const a = degrees / 2;
    double const b = 0.5;
    double const x = degrees / (degrees + value * value);
    if (!(value != 0)) return std::isnan(value) ? value : 1;
    if (!(x > 0)) return 0;
    // 1 - x without its rounding: for small values it is all there is.
    double const rest = value * value / (degrees + value * value);
    double const front = std::exp(std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) + a * std::log(x) + b * std::log(rest));
    if (x < (a + 1) / (a + b + 2)) return front * beta_fraction(a, b, x) / a;
    return 1 - front * beta_fraction(b, a, rest) / b;
}

}  // namespace bam
