#include "scale_factor.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <functional>

using namespace bam;

namespace {

double digamma(double x) {
    double result = 0;
    for (; x < 20; x += 1) result -= 1 / x;
    double const i = 1 / (x * x);
    return result + std::log(x) - 0.5 / x - i * (1.0 / 12 - i * (1.0 / 120 - i * (1.0 / 252 - i / 240)));
}

ScalePriorLayout prior(ScaleFamily family, double first, double second = 0) { return {{}, family, first, second, {}}; }

}  // namespace

TEST_CASE("scale factor: an inverse gamma variance is one again") {
    for (double const n : {0.0, 1.0, 7.0, 400.0}) {
        for (double const S : {0.01, 3.0, 900.0}) {
            double const a = 2.5 + n / 2;
            double const b = 0.7 + S / 2;
            ScaleFactor const q = make_scale_factor(prior(ScaleFamily::InverseGamma, 2.5, 0.7), SpreadKind::Variance, n, S);
            CHECK(q.precision == doctest::Approx(a / b).epsilon(1e-11));
            CHECK(q.log_precision == doctest::Approx(digamma(a) - std::log(b)).epsilon(1e-11));
            CHECK(q.variance == doctest::Approx(b / (a - 1)).epsilon(1e-10));
            double const evidence = 2.5 * std::log(0.7) - std::lgamma(2.5) + std::lgamma(a) - a * std::log(b);
            CHECK(q.log_normaliser == doctest::Approx(evidence).epsilon(1e-11));
        }
    }
}

TEST_CASE("scale factor: a gamma precision is one again") {
    double const a = 1.5 + 6;
    double const b = 0.4 + 2;
    ScaleFactor const q = make_scale_factor(prior(ScaleFamily::Gamma, 1.5, 0.4), SpreadKind::Precision, 12, 4);
    CHECK(q.precision == doctest::Approx(a / b).epsilon(1e-11));
    CHECK(q.mean == doctest::Approx(a / b).epsilon(1e-11));
    CHECK(q.log_normaliser == doctest::Approx(1.5 * std::log(0.4) - std::lgamma(1.5) + std::lgamma(a) - a * std::log(b)).epsilon(1e-11));
}

TEST_CASE("scale factor: a flat sd, and tails too heavy for a variance") {
    // sd^-n exp(-S / 2 sd^2) is an inverse gamma of the variance with shape (n - 1) / 2.
    ScaleFactor const q = make_scale_factor(prior(ScaleFamily::Flat, 0), SpreadKind::Sd, 9, 5);
    CHECK(q.precision == doctest::Approx(4 / 2.5).epsilon(1e-11));
    CHECK(std::isinf(make_scale_factor(prior(ScaleFamily::Flat, 0), SpreadKind::Sd, 2.5, 5).variance));
    CHECK(std::isinf(make_scale_factor(prior(ScaleFamily::HalfStudentT, 1, 1), SpreadKind::Sd, 0.5, 5).variance));
}

TEST_CASE("scale factor: priors without a closed form against sums in another coordinate") {
    struct Case {
        ScalePriorLayout prior;
        SpreadKind spread;
        std::function<double(double)> density;  // of the sd
    };
    double const a = 1.3;
    for (Case const& one :
         {Case{prior(ScaleFamily::HalfStudentT, 1, a), SpreadKind::Sd, [a](double sd) { return 2 / (M_PI * a * (1 + sd * sd / (a * a))); }},
          Case{prior(ScaleFamily::HalfStudentT, 3, a), SpreadKind::Sd,
               [a](double sd) { return 4 / (M_PI * std::sqrt(3.0) * a) * std::pow(1 + sd * sd / (3 * a * a), -2); }},
          Case{prior(ScaleFamily::HalfNormal, a), SpreadKind::Sd,
               [a](double sd) { return std::sqrt(2 / M_PI) / a * std::exp(-0.5 * sd * sd / (a * a)); }},
          Case{prior(ScaleFamily::Exponential, a), SpreadKind::Variance, [a](double sd) { return 2 * sd * a * std::exp(-a * sd * sd); }}}) {
        double const n = 5, S = 2.2;
        double mass = 0, precision = 0;
        double const h = 1e-4;
        for (double sd = h / 2; sd < 400; sd += h) {
            double const f = one.density(sd) * std::pow(sd, -n) * std::exp(-S / (2 * sd * sd));
            mass += f * h;
            precision += f * h / (sd * sd);
        }
        ScaleFactor const q = make_scale_factor(one.prior, one.spread, n, S);
        CHECK(q.precision == doctest::Approx(precision / mass).epsilon(1e-6));
        CHECK(q.log_normaliser == doctest::Approx(std::log(mass)).epsilon(1e-6));
    }
}

TEST_CASE("scale factor: quantiles of the table are those of the density") {
    ScalePriorLayout const p = prior(ScaleFamily::InverseGamma, 3, 1);
    ScaleTable const table(p, SpreadKind::Variance, 4, 2);
    // Shares of an inverse gamma with shape 5 and scale 2: P(v < x) = Q(5, 2 / x) = exp(-r) (1 + r + r^2/2 + r^3/6 + r^4/24), r = 2 / x.
    for (double const u : {0.01, 0.3, 0.5, 0.9, 0.999}) {
        double const sd = table.quantile(u);
        double const r = 2 / (sd * sd);
        CHECK(std::exp(-r) * (1 + r + r * r / 2 + r * r * r / 6 + r * r * r * r / 24) == doctest::Approx(u).epsilon(1e-4));
    }
}
