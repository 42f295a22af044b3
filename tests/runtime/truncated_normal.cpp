#include "truncated_normal.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <numbers>
#include <vector>

#include "normal_quantile.hpp"
#include "random.hpp"
#include "uncut.hpp"

using namespace bam;

namespace {

constexpr double inf = std::numeric_limits<double>::infinity();

struct Case {
    double precision, linear, low, high;
};

/// In the bulk, at an end, far out in either tail, narrow, uniform, nearly uniform, wide.
constexpr Case cases[] = {{1, 0, -1, 2},        {25, 20, 0, 1},    {25, 30, 0, 1},      {1, -3, 0, inf},    {4, 2, -inf, 0.1},
                          {1, -8, 0, inf},      {1, -40, 0, inf},  {1, 1000, -inf, -5}, {1, 0, 50, 50.001}, {1, 0, -1000, -30},
                          {1e4, 1e4, 0.5, 0.6}, {1e-6, 0.1, 0, 1}, {1e6, 3e5, 0, 1},    {0, 0, -2, 3},      {1e-300, 0, -2, 3},
                          {1, 0.3, -inf, inf},  {2, 1, -100, 100}};

/// Sums of Simpson's rule in the distance from the mode over all that counts, in as many pieces as it takes.
TruncatedNormal::Moments by_quadrature(Case const& c) {
    using Real = long double;
    Real const p = c.precision, r = c.linear;
    Real mode = 0;
    if (p > 0)
        mode = std::clamp<Real>(r / p, c.low, c.high);
    else
        mode = 0.5L * (c.low + c.high);
    Real const slope = p * mode - r;
    auto const drop = [&](Real d) { return (slope + 0.5L * p * d) * d; };
    auto const reach = [&](Real end, Real sign) {
        Real d = 1e-12L;
        if (std::isfinite(end) && drop(end - mode) < 60) return end - mode;
        while (drop(sign * d) < 60) d *= 1.5L;
        return sign * d;
    };
    Real zero = 0, one = 0, two = 0, entropy = 0;
    for (Real const end : {reach(c.low, -1), reach(c.high, 1)}) {
        constexpr int pieces = 100000;
        Real const h = end / pieces;
        for (int k = 0; k <= pieces; ++k) {
            Real const d = h * k;
            Real const w = std::abs(h) / 3 * (k == 0 || k == pieces ? 1 : (k % 2 == 1 ? 4 : 2)) * std::exp(-drop(d));
            zero += w;
            one += w * d;
            two += w * d * d;
            entropy += w * drop(d);
        }
    }
    one /= zero;
    two /= zero;
    return {static_cast<double>(mode + one), static_cast<double>(two - one * one), static_cast<double>(std::log(zero)),
            static_cast<double>(std::log(zero) + entropy / zero)};
}

}  // namespace

TEST_CASE("truncated normal: moments - integral and entropy are those of a fine sum") {
    for (Case const& c : cases) {
        CAPTURE(c.precision);
        CAPTURE(c.linear);
        CAPTURE(c.low);
        TruncatedNormal const density(c.precision, c.linear, {c.low, c.high});
        REQUIRE(density.is_proper());
        auto const found = density.moments();
        auto const expected = by_quadrature(c);
        CHECK(found.mean - density.mode() == doctest::Approx(expected.mean - density.mode()).epsilon(1e-9));
        CHECK(found.mean == doctest::Approx(expected.mean).epsilon(1e-13));
        CHECK(found.variance == doctest::Approx(expected.variance).epsilon(1e-11));
        CHECK(std::abs(found.log_integral - expected.log_integral) < 1e-12);
        CHECK(std::abs(found.entropy - expected.entropy) < 1e-12);
    }
}

TEST_CASE("truncated normal: in the middle the closed forms of math.md - without an interval a normal") {
    double const m = 0.3, s = 0.7, low = -0.5, high = 1.1;
    auto const phi = [](double z) { return std::exp(-0.5 * z * z) / std::sqrt(2 * std::numbers::pi); };
    auto const Phi = [](double z) { return 0.5 * std::erfc(-z / std::numbers::sqrt2); };
    double const a = (low - m) / s, b = (high - m) / s, share = Phi(b) - Phi(a);
    TruncatedNormal const density(1 / (s * s), m / (s * s), {low, high});
    auto const moments = density.moments();
    double const tilt = (phi(a) - phi(b)) / share;
    CHECK(moments.mean == doctest::Approx(m + s * tilt).epsilon(1e-14));
    CHECK(moments.variance == doctest::Approx(s * s * (1 + (a * phi(a) - b * phi(b)) / share - tilt * tilt)).epsilon(1e-13));
    CHECK(density.log_share() == doctest::Approx(std::log(share)).epsilon(1e-13));
    CHECK(moments.entropy ==
          doctest::Approx(std::log(std::sqrt(2 * std::numbers::pi * std::numbers::e) * s * share) + (a * phi(a) - b * phi(b)) / (2 * share))
              .epsilon(1e-13));
    auto const whole = TruncatedNormal(4, 2, {}).moments();
    CHECK(whole.mean == doctest::Approx(0.5).epsilon(1e-15));
    CHECK(whole.variance == doctest::Approx(0.25).epsilon(1e-14));
    CHECK(whole.entropy == doctest::Approx(0.5 * std::log(2 * std::numbers::pi * std::numbers::e / 4)).epsilon(1e-14));
    CHECK(std::abs(TruncatedNormal(4, 2, {}).log_share()) < 1e-14);
}

TEST_CASE("truncated normal: far out its mean and variance are those of the asymptotic series") {
    // Mills: for z above c, E[z] = c + 1/c - 2/c^3 + 10/c^5 - 74/c^7 + ..., var = 1/c^2 - 6/c^4 + 50/c^6 - ...
    for (double const c : {1e2, 1e4, 1e7}) {
        auto const moments = TruncatedNormal(1, 0, {c, inf}).moments();
        CHECK(moments.mean == doctest::Approx(c + 1 / c - 2 / std::pow(c, 3) + 10 / std::pow(c, 5) - 74 / std::pow(c, 7)).epsilon(1e-15));
        CHECK(moments.variance * c * c == doctest::Approx(1 - 6 / (c * c) + 50 / (c * c * c * c)).epsilon(1e-7));
        CHECK(TruncatedNormal(1, 0, {c, inf}).log_share() ==
              doctest::Approx(-0.5 * c * c - std::log(c * std::sqrt(2 * std::numbers::pi)) - 1 / (c * c)).epsilon(1e-9));
    }
}

TEST_CASE("truncated normal: draws lie inside - have the moments and the distribution") {
    constexpr std::size_t n = 40000;
    std::uint64_t block = 0;
    for (Case const& c : cases) {
        CAPTURE(c.precision);
        CAPTURE(c.linear);
        CAPTURE(c.low);
        TruncatedNormal const density(c.precision, c.linear, {c.low, c.high});
        auto const moments = density.moments();
        Stream stream(7, 1, 0, block++);
        std::vector<double> draws(n);
        double sum = 0, squares = 0;
        for (double& x : draws) {
            x = density.draw(stream);
            CHECK_UNARY(x >= c.low && x <= c.high);
            sum += x - moments.mean;
            squares += (x - moments.mean) * (x - moments.mean);
        }
        double const se = std::sqrt(moments.variance / n);
        CHECK(std::abs(sum / n) < 4.5 * se);
        double fourth = 0;
        for (double const x : draws) fourth += std::pow((x - moments.mean) / std::sqrt(moments.variance), 4) / n;
        CHECK(std::abs(squares / n / moments.variance - 1) < 4.5 * std::sqrt((fourth - 1) / n));
        // Kolmogorov's statistic against shares by the same sums on a part of the interval.
        std::sort(draws.begin(), draws.end());
        double worst = 0;
        auto const integral_to = [&](double x) {
            TruncatedNormal const part(c.precision, c.linear, {c.low, x});
            return std::exp(part.moments().log_integral - density.drop(part.mode()) - moments.log_integral);
        };
        for (std::size_t k = 500; k < n; k += 1500)
            worst = std::max(worst, std::abs(integral_to(draws[k]) - (static_cast<double>(k) + 0.5) / n));
        CHECK(worst < 1.95 / std::sqrt(static_cast<double>(n)));  // p = 0.001
    }
}

TEST_CASE("truncated normal: what has no integral is not proper") {
    CHECK_FALSE(TruncatedNormal(0, 0, {0, inf}).is_proper());
    CHECK_FALSE(TruncatedNormal(-1, 0, {0, 1}).is_proper());
    CHECK_FALSE(TruncatedNormal(std::nan(""), 0, {0, 1}).is_proper());
    CHECK_FALSE(TruncatedNormal(inf, 0, {0, 1}).is_proper());
    CHECK(TruncatedNormal(0, 0, {0, 1}).is_proper());
}

TEST_CASE("truncated normal: the mode is the end that is nearest to the mean - and the log density falls from it") {
    CHECK(TruncatedNormal(1, 5, {0, 1}).mode() == 1);
    CHECK(TruncatedNormal(1, -5, {0, 1}).mode() == 0);
    TruncatedNormal const density(2, 1, {0, 1});
    CHECK(density.mode() == 0.5);
    CHECK(density.drop(0.8) == doctest::Approx(0.09).epsilon(1e-15));
    CHECK(TruncatedNormal(1, 5, {0, 1}).drop(0.25) == doctest::Approx(5 * 0.75 - 0.5 * (1 - 0.0625)).epsilon(1e-15));
}

TEST_CASE("normal quantile: known values") {
    CHECK(normal_quantile(0.975) == doctest::Approx(1.959963984540054).epsilon(1e-15));
    CHECK(normal_quantile(1e-10) == doctest::Approx(-6.361340902404056).epsilon(1e-14));
    CHECK(normal_quantile(0.5) == 0);
}

TEST_CASE("truncated normal: the normal that leaves a mean and an sd") {
    for (auto const& [low, high] : {std::pair(0.0, inf), std::pair(-1.0, 2.0), std::pair(-inf, 0.5)}) {
        Interval const interval{low, high};
        for (double const mean : {-1.0, 0.0, 0.5, 2.0}) {
            for (double const sd : {0.3, 1.0, 2.0}) {
                CAPTURE(mean);
                CAPTURE(sd);
                double const precision = 1 / (sd * sd);
                TruncatedNormal::Moments const left = TruncatedNormal(precision, precision * mean, interval).moments();
                auto const whole = uncut(left.mean, std::sqrt(left.variance), interval);
                if (std::min(std::abs(mean - low), std::abs(mean - high)) > 4 * sd && (mean < low || mean > high)) continue;
                REQUIRE(whole);
                CHECK(std::abs(whole->mean - mean) < 1e-3 * sd);
                CHECK(whole->sd == doctest::Approx(sd).epsilon(1e-4));
            }
        }
    }
    // Wider than a uniform density between its ends, 1 / sqrt(12), and than an exponential one, whose sd is its mean.
    CHECK_FALSE(uncut(0.5, 0.3, {0, 1}));
    CHECK_FALSE(uncut(1, 1.1, {0, inf}));
}
