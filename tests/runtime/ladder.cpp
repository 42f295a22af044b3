// Replica exchange: where rungs are placed, and what each of them draws from.
#include "ladder.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <functional>

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

namespace {

/// The mean and the variance of a density that is given by its logarithm up to a constant, by the trapezoidal rule.
struct Exact {
    double mean = 0, variance = 0;
};

Exact moments_of(std::function<double(double)> const& log_density, double from, double to) {
    double mass = 0, first = 0, second = 0;
    for (double x = from; x <= to; x += (to - from) / 20000) {
        double const p = std::exp(log_density(x));
        mass += p;
        first += p * x;
        second += p * x * x;
    }
    double const mean = first / mass;
    return {mean, second / mass - mean * mean};
}

/// Whether every rung of a ladder down to the prior draws the number `name` from `log_density` at its power.
void check_rungs(Study const& study, std::string const& name, std::function<double(double, double)> const& log_density, double from,
                 double to) {
    constexpr std::size_t rungs = 5, draws = 20000;
    Ladder ladder(study.problem, {rungs, 0, 3, 1, 1, {}});
    ladder.start(false);
    std::uint64_t index = 0;
    for (; index < 200; ++index) ladder.step(index);
    ladder.place(rungs);
    std::vector<std::vector<double>> values(rungs);
    std::size_t const v = variable_of(study, name);
    for (std::size_t d = 0; d < draws; ++d) {
        ladder.step(index++);
        for (std::size_t r = 0; r < rungs; ++r) values[r].push_back(ladder.at(r).state().values[v].front());
    }
    CHECK(ladder.round_trips() > 100);
    for (std::size_t r = 0; r < rungs; ++r) {
        double const power = ladder.powers()[r];
        CAPTURE(power);
        Exact const exact = moments_of([&](double x) { return log_density(x, power); }, from, to);
        std::vector<double> squares;
        for (double const x : values[r]) squares.push_back((x - exact.mean) * (x - exact.mean));
        QuantitySummary const value = summarize(ChainDraws{values[r], draws, 1});
        QuantitySummary const square = summarize(ChainDraws{squares, draws, 1});
        CHECK(std::abs(value.mean - exact.mean) < 4 * value.mcse_mean);
        CHECK(std::abs(square.mean - exact.variance) < 4 * square.mcse_mean);
    }
}

double log_normal(double x, double mean, double variance) { return -0.5 * std::log(variance) - 0.5 * (x - mean) * (x - mean) / variance; }

}  // namespace

// With the local scales integrated out, of PG(1, 0) at every power, exp(power k m) / cosh(sqrt(power) m / 2) is left of a cell.
TEST_CASE("ladder: of binary outputs every rung draws from its own power") {
    double const x[] = {0.3, -1.2, 0.8, 1.9, -0.4, 2.2, -1.5, 0.9}, y[] = {1, 0, 1, 1, 1, 1, 0, 0};
    std::string table = "row,x,y\n";
    for (std::size_t i = 0; i < 8; ++i) table += std::to_string(i) + "," + std::to_string(x[i]) + "," + std::to_string(int(y[i])) + "\n";
    auto const study = bam::test::study(
        "dims { sequence row }\ndata { x[row]; y[row] }\nparam { b ~ normal(0.3, 1.5) }\nobserve { y ~ bernoulli_logit(b * x + 0.4) }\n"
        "table { row = row; x = x; y = y }\n",
        table);
    check_rungs(
        *study, "b",
        [&](double b, double power) {
            double sum = log_normal(b, 0.3, 2.25);
            for (std::size_t i = 0; i < 8; ++i) {
                double const m = b * x[i] + 0.4;
                sum += power * (y[i] - 0.5) * m - std::log(std::cosh(std::sqrt(power) * m / 2));
            }
            return sum;
        },
        -10, 10);
}

// A missing value between two observed ones, at power 1, integrated out of normal(phi y2, s^2) normal(y4; phi y3, s^2)^power: a normal of
// y4 about phi^2 y2 with variance s^2 / power + phi^2 s^2. One that nothing follows says nothing.
TEST_CASE("ladder: with missing outputs that are drawn every rung draws from its own power") {
    auto const study = bam::test::study(
        "dims { time t }\ndata { y[t] missing }\nparam { phi ~ normal(0.4, 0.6) }\nobserve { y[t > 0] ~ normal(phi * y[t-1], 0.7) }\n"
        "table { t = t; y = y }\n",
        "t,y\n1,0.9\n2,1.3\n3,\n4,1.1\n5,0.2\n6,0.5\n7,\n");
    check_rungs(
        *study, "phi",
        [](double phi, double power) {
            double const v = 0.49;
            double sum = log_normal(phi, 0.4, 0.36);
            if (power == 0) return sum;
            for (auto const& [before, after] : {std::pair{0.9, 1.3}, {1.1, 0.2}, {0.2, 0.5}})
                sum += log_normal(after, phi * before, v / power);
            return sum + log_normal(1.1, phi * phi * 1.3, v / power + phi * phi * v);
        },
        -4, 4);
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
