// Half-t scales by the degrees of freedom of their priors.
#include "half_t.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "scales.hpp"

using namespace bam;

namespace {

struct Moments {
    double mean = 0, square = 0;
};

/// Of log sd, by the midpoint rule.
Moments integrate(ScalePriorLayout const& prior, double n, double squares) {
    Moments moments;
    double mass = 0;
    for (double u = -12; u < 8; u += 1e-3) {
        double const sd = std::exp(u);
        double const p = std::exp(log_density(prior, sd) + u - n * u - 0.5 * squares / (sd * sd));
        mass += p;
        moments.mean += p * u;
        moments.square += p * u * u;
    }
    return {moments.mean / mass, moments.square / mass};
}

}  // namespace

TEST_CASE("half-t: slices leave its density as it is") {
    constexpr int draws = 40000;
    for (double const df : {3.0, 30.0, 1e4, 1e300}) {
        for (auto const& of_cells : {std::pair(0.0, 0.0), std::pair(5.0, 8.0), std::pair(60.0, 3.0)}) {
            double const n = of_cells.first;
            double const squares = of_cells.second;
            CAPTURE(df);
            CAPTURE(n);
            ScalePriorLayout const prior{{}, ScaleFamily::HalfStudentT, df, 1.5, {}};
            REQUIRE(is_sliced(prior));
            Moments const exact = integrate(prior, n, squares);
            double const sd = std::sqrt(exact.square - exact.mean * exact.mean);
            Stream stream(3, 1, 0, static_cast<std::uint64_t>(n));
            double variance = 1, sum = 0, sum_of_squares = 0;
            // Batches know of the correlation of draws.
            constexpr int batch = 200;
            double of_batch = 0, squares_of_batches = 0;
            for (int i = 1; i <= draws; ++i) {
                variance = draw_half_t(prior, n, squares, variance, stream);
                double const u = 0.5 * std::log(variance);
                sum += u;
                sum_of_squares += u * u;
                of_batch += u;
                if (i % batch != 0) continue;
                squares_of_batches += of_batch * of_batch / batch / batch;
                of_batch = 0;
            }
            double const mean = sum / draws;
            double const batches = draws / batch;
            double const error = std::sqrt((squares_of_batches / batches - mean * mean) / batches);
            CHECK(std::abs(mean - exact.mean) < 4.5 * error);
            CHECK(std::sqrt(sum_of_squares / draws - mean * mean) == doctest::Approx(sd).epsilon(0.04));
            double const effective = sd * sd / (error * error);
            CHECK(effective > 0.6 * draws);
        }
    }
}

TEST_CASE("half-t: of few cells draws count for half at least - whatever the degrees of freedom") {
    constexpr int draws = 40000, batch = 200;
    for (double const df : {1.0, 2.0, 2.9, 3.0, 7.0, 15.0, 19.9, 100.0}) {
        CAPTURE(df);
        ScalePriorLayout const prior{{}, ScaleFamily::HalfStudentT, df, 1, {}};
        double const n = 4, squares = 4;
        Stream stream(7, 1, 0, 0);
        double variance = 1, auxiliary = 1, sum = 0, sum_of_squares = 0, of_batch = 0, squares_of_batches = 0;
        for (int i = 1; i <= draws; ++i) {
            if (is_sliced(prior)) {
                variance = draw_half_t(prior, n, squares, variance, stream);
            } else {
                Kernel const k = kernel(prior, SpreadKind::Sd, auxiliary);
                variance = inverse_gamma(stream, k.alpha + n / 2, k.beta + squares / 2);
                InverseGamma const given = auxiliary_given(prior, variance);
                auxiliary = inverse_gamma(stream, given.shape, given.rate);
            }
            double const u = 0.5 * std::log(variance);
            sum += u;
            sum_of_squares += u * u;
            of_batch += u / batch;
            if (i % batch != 0) continue;
            squares_of_batches += of_batch * of_batch;
            of_batch = 0;
        }
        double const mean = sum / draws;
        double const batches = draws / batch;
        double const error = (squares_of_batches / batches - mean * mean) / batches;
        CHECK((sum_of_squares / draws - mean * mean) / error > 0.5 * draws);
    }
}

TEST_CASE("half-t: with degrees of freedom without end it is a half-normal") {
    ScalePriorLayout const wide{{}, ScaleFamily::HalfStudentT, 1e300, 1.5, {}};
    ScalePriorLayout const normal{{}, ScaleFamily::HalfNormal, 1.5, 0, {}};
    for (double const x : {0.01, 1.0, 4.0}) CHECK(log_density(wide, x) == doctest::Approx(log_density(normal, x)).epsilon(1e-10));
    for (auto const& [n, squares] : {std::pair(5.0, 8.0), std::pair(60.0, 3.0), std::pair(1.0, 400.0)}) {
        ScalePeak const of_wide = peak(wide, SpreadKind::Sd, n, squares);
        ScalePeak const of_normal = peak(normal, SpreadKind::Sd, n, squares);
        CHECK(of_wide.variance == doctest::Approx(of_normal.variance).epsilon(1e-10));
        CHECK(of_wide.curvature == doctest::Approx(of_normal.curvature).epsilon(1e-10));
    }
}
