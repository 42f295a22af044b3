#include "scale_factor.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <functional>

#include "scale_family.hpp"

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

TEST_CASE("scale factor: draws are those of the density") {
    struct Case {
        ScalePriorLayout prior;
        SpreadKind spread;
    };
    for (Case const& one :
         {Case{prior(ScaleFamily::InverseGamma, 3, 1), SpreadKind::Variance}, Case{prior(ScaleFamily::Gamma, 3, 1), SpreadKind::Precision},
          Case{prior(ScaleFamily::Exponential, 0.7, 0), SpreadKind::Variance},
          Case{prior(ScaleFamily::Exponential, 0.7, 0), SpreadKind::Sd}, Case{prior(ScaleFamily::HalfNormal, 1.3, 0), SpreadKind::Sd},
          Case{prior(ScaleFamily::HalfStudentT, 3, 0.8), SpreadKind::Sd}}) {
        ScaleFactor const q = make_scale_factor(one.prior, one.spread, 6, 2.5);
        ScaleSampler const sampler(one.prior, one.spread, 6, 2.5);
        constexpr int draws = 40000;
        double precision = 0, squares = 0, log_precision = 0, log_squares = 0;
        for (int i = 0; i < draws; ++i) {
            Stream stream(3, 0, static_cast<std::uint64_t>(i), 0);
            double const sd = sampler.draw(stream);
            precision += 1 / (sd * sd) / draws;
            squares += 1 / (sd * sd * sd * sd) / draws;
            log_precision += -2 * std::log(sd) / draws;
            log_squares += 4 * std::log(sd) * std::log(sd) / draws;
        }
        CAPTURE(static_cast<int>(one.prior.family));
        CHECK(std::abs(precision - q.precision) < 4 * std::sqrt((squares - precision * precision) / draws));
        CHECK(std::abs(log_precision - q.log_precision) < 4 * std::sqrt((log_squares - log_precision * log_precision) / draws));
        CHECK(0.5 * std::sqrt(log_squares - log_precision * log_precision) == doctest::Approx(q.sd_of_log).epsilon(0.05));
    }
}

// Γ(a + 1) = a Γ(a), and 10^9 is beyond what the difference of two logarithms can tell.
TEST_CASE("scale factor: with so many degrees of freedom that it is a point") {
    for (double const a : {3.0, 999.9, 1e3, 1e6, 1e9, 1e15}) {
        CHECK(log_gamma_ratio(a, 1) == doctest::Approx(std::log(a)).epsilon(1e-13));
        CHECK(log_gamma_ratio(a, 0.5) + log_gamma_ratio(a + 0.5, 0.5) == doctest::Approx(std::log(a)).epsilon(1e-13));
        if (a < 1e6) continue;
        // gamma(a, a) is the point 1: one cell with square S has normaliser exp(-S / 2).
        ScaleFactor const q = make_scale_factor(prior(ScaleFamily::Gamma, a, a), SpreadKind::Precision, 1, 2.5);
        CHECK(q.log_normaliser == doctest::Approx(-1.25).epsilon(10 / a));
    }
}
