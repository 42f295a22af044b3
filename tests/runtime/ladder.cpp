// Replica exchange: where rungs are placed, and what each of them draws from.
#include "ladder.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "certify.hpp"
#include "convergence.hpp"
#include "study.hpp"

using namespace bam;
using namespace bam::test;

namespace {

constexpr char const* regression = R"(
dims { sequence row; feat }
data { x[row, feat]; y[row] }
param { b[feat] ~ normal(0.5, 2) }
observe { y ~ normal(x' * b, 0.7) }
table { row = row; feat = [one = 1, x1]; y = y }
)";
constexpr char const* rows = "row,x1,y\n1,0.3,1.1\n2,-1.2,0.2\n3,0.8,2.5\n4,1.9,2.2\n5,-0.4,0.1\n";

/// The barrier at a power, linear between rungs in the height that rungs are placed by.
double barrier_at(std::vector<double> const& powers, std::vector<double> const& refusals, double power) {
    auto const height = [](double p) { return std::log1p(p / 1e-6); };
    double barrier = 0;
    for (std::size_t k = 0; k + 1 < powers.size(); ++k) {
        if (power >= powers[k]) break;
        double const low = std::max(power, powers[k + 1]);
        barrier += refusals[k] * (height(powers[k]) - height(low)) / (height(powers[k]) - height(powers[k + 1]));
    }
    return barrier;
}

}  // namespace

TEST_CASE("ladder: first powers fall from 1 to the lowest") {
    for (double const lowest : {0.0, 0.05}) {
        std::vector<double> const powers = first_powers(6, lowest);
        REQUIRE(powers.size() == 6);
        CHECK(powers.front() == 1);
        CHECK(powers.back() == doctest::Approx(lowest));
        for (std::size_t k = 1; k < powers.size(); ++k) CHECK(powers[k] < powers[k - 1]);
    }
}

TEST_CASE("ladder: rungs part the barrier evenly") {
    std::vector<double> const powers{1, 0.3, 0.02, 1e-4, 0};
    std::vector<double> const refusals{0.1, 0.7, 0.4, 0.2};
    for (std::size_t const rungs : {3U, 5U, 9U}) {
        std::vector<double> const placed = even_powers(powers, refusals, rungs);
        REQUIRE(placed.size() == rungs);
        CHECK(placed.front() == 1);
        CHECK(placed.back() == 0);
        for (std::size_t r = 0; r < rungs; ++r)
            CHECK(barrier_at(powers, refusals, placed[r]) ==
                  doctest::Approx(1.4 * static_cast<double>(r) / static_cast<double>(rungs - 1)));
    }
}

TEST_CASE("ladder: rungs stay apart where every exchange is taken") {
    std::vector<double> const placed = even_powers({1, 0.5, 0.25, 0.125}, {0, 0, 0.5}, 4);
    for (std::size_t k = 1; k < placed.size(); ++k) CHECK(placed[k] < placed[k - 1]);
}

// Conditional on the power a regression is normal: precision 1/2^2 + power x'x / 0.7^2.
TEST_CASE("ladder: every rung draws from its own power and exchanges keep it so") {
    auto const study = bam::test::study(regression, rows);
    Ladder ladder(study->problem, {4, 0, 3, 1, 1, {}});
    ladder.start(false);
    std::uint64_t index = 0;
    for (; index < 200; ++index) ladder.step(index);
    ladder.place(5);
    REQUIRE(ladder.rungs() == 5);
    constexpr std::size_t draws = 20000;
    std::vector<std::vector<double>> slopes(5), squares(5);
    std::uint32_t const b = study->problem.plan.blocks.front().variable;
    for (std::size_t d = 0; d < draws; ++d) {
        ladder.step(index++);
        for (std::size_t r = 0; r < 5; ++r) slopes[r].push_back(ladder.at(r).state().values[b][1]);
    }
    CHECK(ladder.round_trips() > 100);
    double const x[] = {0.3, -1.2, 0.8, 1.9, -0.4}, y[] = {1.1, 0.2, 2.5, 2.2, 0.1};
    for (std::size_t r = 0; r < 5; ++r) {
        double const w = ladder.powers()[r] / 0.49;
        CAPTURE(ladder.powers()[r]);
        double p00 = 0.25, p01 = 0, p11 = 0.25, e0 = 0.125, e1 = 0.125;
        for (std::size_t i = 0; i < 5; ++i) {
            p00 += w;
            p01 += w * x[i];
            p11 += w * x[i] * x[i];
            e0 += w * y[i];
            e1 += w * x[i] * y[i];
        }
        double const determinant = p00 * p11 - p01 * p01;
        double const mean = (p00 * e1 - p01 * e0) / determinant, variance = p00 / determinant;
        for (double const s : slopes[r]) squares[r].push_back((s - mean) * (s - mean));
        QuantitySummary const slope = summarize(ChainDraws{slopes[r], draws, 1});
        QuantitySummary const square = summarize(ChainDraws{squares[r], draws, 1});
        CHECK(std::abs(slope.mean - mean) < 4 * slope.mcse_mean);
        CHECK(std::abs(square.mean - variance) < 4 * square.mcse_mean);
    }
}

TEST_CASE("ladder: the same bits for any number of threads") {
    auto const study = bam::test::study(regression, rows);
    std::vector<double> ends;
    for (std::size_t const threads : {1U, 3U}) {
        Ladder ladder(study->problem, {4, 0.01, 3, 2, threads, {}, {}});  // threads join whatever a sweep takes
        ladder.start(true);
        for (std::uint64_t k = 0; k < 60; ++k) {
            if (k == 30) ladder.place(6);
            ladder.step(k);
        }
        for (std::size_t r = 0; r < ladder.rungs(); ++r) ends.push_back(ladder.at(r).log_joint());
        for (double const power : ladder.powers()) ends.push_back(power);
    }
    REQUIRE(ends.size() == 24);
    for (std::size_t k = 0; k < 12; ++k) CHECK(ends[k] == ends[k + 12]);
}

TEST_CASE("ladder: fewer rungs keep replicas and the power of the first") {
    auto const study = bam::test::study(regression, rows);
    Ladder ladder(study->problem, {9, 0.01, 3, 2, 1, {}});
    ladder.start(false);
    for (std::uint64_t k = 0; k < 20; ++k) ladder.step(k);
    double const first = ladder.at(0).log_joint(), last = ladder.at(8).log_joint();
    ladder.place(4);
    CHECK(ladder.rungs() == 4);
    CHECK(ladder.at(0).log_joint() == first);
    CHECK(ladder.at(3).log_joint() == last);
    CHECK(ladder.round_trips() == 0);
    for (double const refusal : ladder.refusals()) CHECK(refusal == 0);
}
