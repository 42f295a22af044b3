#include "polya_gamma.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace bam {
namespace {

// Seeds are fixed. The critical values are those a right sampler would fail once in about ten thousand seeds.
constexpr double critical = 3.9;     // standard errors
constexpr double critical_ks = 2.2;  // of sqrt(n) D

std::vector<double> draws(double c, std::size_t n) {
    std::vector<double> values(n);
    Stream stream(7, 3, 1, static_cast<std::uint64_t>(std::abs(c) * 1000));
    for (double& value : values) value = polya_gamma(stream, c);
    return values;
}

/// Standard errors between the mean of f(w) over the draws and what it should be.
template <class F>
double error_of(std::vector<double> const& values, F f, double expected) {
    double const n = static_cast<double>(values.size());
    double sum = 0, squares = 0;
    for (double const w : values) sum += f(w) / n;
    for (double const w : values) squares += (f(w) - sum) * (f(w) - sum) / (n - 1);
    return (sum - expected) / std::sqrt(squares / n);
}

/// Var[PG(1, c)] = (sinh c - c) / (4 c^3 cosh(c/2)^2), and 1/24 at 0 (Polson, Scott and Windle 2013).
double variance(double c) {
    if (c == 0) return 1.0 / 24;
    double const half = 1 / std::cosh(c / 2);
    return (std::sinh(c) - c) * half * half / (4 * c * c * c);
}

/// E[exp(-s w)] = cosh(c / 2) / cosh(sqrt(c^2 / 4 + s / 2)), the definition of the distribution.
double laplace_transform(double s, double c) { return std::cosh(c / 2) / std::cosh(std::sqrt(c * c / 4 + s / 2)); }

/// The integral of f(w) times the density, by the trapezoidal rule in log w.
template <class F>
double integral(double c, F f) {
    double sum = 0;
    constexpr double step = 1.0 / 256;
    for (double u = -14; u < 5; u += step) {
        double const w = std::exp(u);
        sum += f(w) * std::exp(log_polya_gamma(w, c)) * w * step;
    }
    return sum;
}

TEST_CASE("the density of a Polya-Gamma number has its mass, its moments and its Laplace transform") {
    for (double const c : {0.0, 0.3, 1.0, 2.5, 7.0, -4.0, 20.0}) {
        CAPTURE(c);
        CHECK(integral(c, [](double) { return 1.0; }) == doctest::Approx(1).epsilon(1e-10));
        CHECK(integral(c, [](double w) { return w; }) == doctest::Approx(polya_gamma_mean(c)).epsilon(1e-10));
        double const m = polya_gamma_mean(c);
        CHECK(integral(c, [m](double w) { return (w - m) * (w - m); }) == doctest::Approx(variance(c)).epsilon(1e-9));
        for (double const s : {0.5, 3.0, 40.0})
            CHECK(integral(c, [s](double w) { return std::exp(-s * w); }) == doctest::Approx(laplace_transform(s, c)).epsilon(1e-10));
    }
}

TEST_CASE("both series of the density agree where one gives way to the other") {
    for (double const c : {0.0, 3.0}) {
        double const at = 0.16;
        double const below = log_polya_gamma(std::nextafter(at, 0.0), c);
        double const above = log_polya_gamma(std::nextafter(at, 1.0), c);
        CHECK(below == doctest::Approx(above).epsilon(1e-13));
    }
}

TEST_CASE("Polya-Gamma draws have the mean, the variance and the Laplace transform of the distribution") {
    for (double const c : {0.0, 0.2, 1.0, 3.0, 3.2, 8.0, 25.0, 100.0}) {
        CAPTURE(c);
        auto const values = draws(c, 200000);
        double const m = polya_gamma_mean(c);
        CHECK(std::abs(error_of(
                  values, [](double w) { return w; }, m)) < critical);
        double const v = c < 300 ? variance(c) : 0;
        CHECK(std::abs(error_of(
                  values, [m](double w) { return (w - m) * (w - m); }, v)) < critical);
        for (double const s : {1.0, 10.0, 100.0})
            CHECK(std::abs(error_of(
                      values, [s](double w) { return std::exp(-s * w); }, laplace_transform(s, c))) < critical);
    }
}

TEST_CASE("Polya-Gamma draws have the distribution function of the density in both tails") {
    for (double const c : {0.0, 1.5, 6.0}) {
        CAPTURE(c);
        auto values = draws(c, 100000);
        std::sort(values.begin(), values.end());
        double const n = static_cast<double>(values.size());
        double below = 0, last = std::exp(-14.0), distance = 0;
        std::size_t k = 0;
        constexpr double step = 1.0 / 512;
        for (double u = -14 + step; u < 4; u += step) {
            double const w = std::exp(u), middle = std::exp(u - step / 2);
            below += (w - last) / 6 *
                     (std::exp(log_polya_gamma(last, c)) + 4 * std::exp(log_polya_gamma(middle, c)) + std::exp(log_polya_gamma(w, c)));
            last = w;
            while (k < values.size() && values[k] <= w) ++k;
            distance = std::max(distance, std::abs(static_cast<double>(k) / n - below));
        }
        CHECK(std::sqrt(n) * distance < critical_ks);
        // The 1 % at either end, as a share of the draws.
        for (double const level : {0.01, 0.99}) {
            double const at = values[static_cast<std::size_t>(level * n)];
            double const share = integral(c, [at](double w) { return w <= at ? 1.0 : 0.0; });
            CHECK(std::abs(share - level) < critical * std::sqrt(0.01 / n) + 2e-4);  // the rule sees the step to a 256th of log w
        }
    }
}

TEST_CASE("a Polya-Gamma draw does not know the sign of its argument") {
    for (double const c : {0.7, 4.0, 1e6}) {
        Stream one(1, 2, 3, 4), other(1, 2, 3, 4);
        for (int k = 0; k < 100; ++k) CHECK(polya_gamma(one, c) == polya_gamma(other, -c));
    }
    CHECK(polya_gamma_mean(-3) == polya_gamma_mean(3));
}

TEST_CASE("Polya-Gamma draws of extreme arguments are finite and at their mean") {
    for (double const c : {1e-300, 1e3, 1e6, 1e100, 1e150}) {
        CAPTURE(c);
        Stream stream(5, 1, 1, 1);
        double sum = 0;
        for (int k = 0; k < 1000; ++k) {
            double const w = polya_gamma(stream, c);
            CHECK(w > 0);
            sum += w / 1000;
        }
        double const sd =
            c < 1 ? std::sqrt(1.0 / 24) : std::sqrt(1 / (2 * c)) / c;  // (sinh c - c) / (4 c^3 cosh^2(c/2)) is 1 / (2 c^3) there
        CHECK(std::abs(sum / polya_gamma_mean(c) - 1) < critical * sd / polya_gamma_mean(c) / std::sqrt(1000) + 1e-12);
    }
    Stream stream(5, 1, 1, 1);
    CHECK(std::isnan(polya_gamma(stream, HUGE_VAL)));
    CHECK(std::isnan(polya_gamma(stream, std::nan(""))));
}

TEST_CASE("the mean of a Polya-Gamma number is smooth where its formula changes") {
    CHECK(polya_gamma_mean(0) == 0.25);
    CHECK(polya_gamma_mean(0.999e-3) == doctest::Approx(std::tanh(0.4995e-3) / 1.998e-3).epsilon(1e-12));
    CHECK(polya_gamma_mean(1e200) == doctest::Approx(0.5e-200));
}

TEST_CASE("the logistic function and the hyperbolic cosine do not overflow") {
    CHECK(logistic(0) == 0.5);
    CHECK(logistic(800) == 1);
    CHECK(logistic(-800) == doctest::Approx(0));
    CHECK(logistic(-3) == doctest::Approx(1 / (1 + std::exp(3.0))));
    CHECK(log_two_cosh_half(1.7) == doctest::Approx(std::log(2 * std::cosh(0.85))));
    CHECK(log_two_cosh_half(-1e5) == doctest::Approx(5e4));
}

}  // namespace
}  // namespace bam
