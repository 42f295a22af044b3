#include "degrees_of_freedom.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "scale_family.hpp"

using namespace bam;

namespace {

double c(double df) { return df / 2 * std::log(df / 2) - std::lgamma(df / 2); }

struct Integrals {
    double mass = 0, mean = 0, log_mean = 0;
};

/// By the midpoint rule in ν itself, where the factor sums in log ν.
Integrals integrate(ScalePriorLayout const& prior, LocalSums const& sums) {
    Integrals result;
    double const h = 1e-3;
    for (double df = h / 2; df < 400; df += h) {
        double const p = std::exp(log_density(prior, df) + sums.count * c(df) + df / 2 * sums.sum);
        result.mass += p * h;
        result.mean += p * h * df;
        result.log_mean += p * h * std::log(df);
    }
    result.mean /= result.mass;
    result.log_mean /= result.mass;
    return result;
}

}  // namespace

TEST_CASE("degrees of freedom: the factor has the moments of its density") {
    ScalePriorLayout const prior{{}, ScaleFamily::Gamma, 2, 0.1, {}};
    for (LocalSums const& sums : {LocalSums{0, 0}, LocalSums{3, -4}, LocalSums{40, -50}, LocalSums{40, -41}}) {
        CAPTURE(sums.count);
        Integrals const exact = integrate(prior, sums);
        ScaleFactor const q = make_degrees_of_freedom_factor(prior, sums);
        CHECK(q.mean == doctest::Approx(exact.mean).epsilon(1e-5));
        CHECK(q.log_precision == doctest::Approx(-2 * exact.log_mean).epsilon(1e-5));
        CHECK(q.log_normaliser == doctest::Approx(std::log(exact.mass) - sums.count * c(q.mean) - q.mean / 2 * sums.sum).epsilon(1e-5));
        DegreesOfFreedomSampler const sampler(prior, sums);
        CHECK(std::exp(sampler.log_density(7.0)) ==
              doctest::Approx(std::exp(log_density(prior, 7.0) + sums.count * c(7) + 3.5 * sums.sum) / exact.mass).epsilon(1e-5));
        double mean = 0, squares = 0;
        constexpr int draws = 100000;
        for (int i = 0; i < draws; ++i) {
            Stream stream(1, 0, static_cast<std::uint64_t>(i), 0);
            double const df = sampler.draw(stream);
            mean += df / draws;
            squares += df * df / draws;
        }
        CHECK(std::abs(mean - exact.mean) < 4 * std::sqrt((squares - mean * mean) / draws));
    }
}
