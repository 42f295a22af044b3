// What a chain says of its predictions while it runs.
#include "chain_scores.hpp"

#include <doctest/doctest.h>

#include <Eigen/Dense>
#include <cmath>
#include <numbers>
#include <random>

#include "left_out.hpp"
#include "studies.hpp"

using namespace bam;
using namespace bam::test;

namespace {

std::string small() { return text_of(studies / "small.csv"); }

}  // namespace

TEST_CASE("scores: running sums give what all draws give at once") {
    for (char const* name : {"attention", "binary", "robust"}) {
        CAPTURE(name);
        auto const made = study_file(studies / (std::string(name) + ".bam"), small());
        Problem const& problem = made->problem;
        Replica replica(problem, 3, 1, {});
        replica.start(0);
        ScoreKeeper keeper(problem, replica.inputs(), replica.factors());
        CellDensities densities(problem, replica.inputs(), replica.factors());
        std::vector<LeftOut> const cells = each_cell(problem);
        std::vector<std::vector<double>> logs(cells.size());
        for (std::uint64_t k = 0; k < 40; ++k) {
            replica.sweep(k);
            keeper.record();
            for (std::size_t i = 0; i < cells.size(); ++i)
                logs[i].push_back(densities.of(cells[i].cells.front().factor)[entry_of(problem, cells[i].cells.front())]);
        }
        ChainScores const& scores = keeper.report(true);
        double elpd = 0, p = 0;
        std::vector<double> by_step(scores.elpd_by_step.size(), 0.0);
        for (std::size_t i = 0; i < cells.size(); ++i) {
            double mean = 0, density = 0, square = 0;
            for (double const value : logs[i]) {
                mean += value / 40;
                density += std::exp(value) / 40;
            }
            for (double const value : logs[i]) square += (value - mean) * (value - mean) / 39;
            double const one = cells[i].log_slope + std::log(density) - square;
            elpd += one;
            p += square;
            by_step.at(cells[i].step) += one;
        }
        CHECK(scores.draws == 40);
        CHECK(scores.elpd == doctest::Approx(elpd).epsilon(1e-10));
        CHECK(scores.effective_parameters == doctest::Approx(p).epsilon(1e-10));
        for (std::size_t t = 0; t < by_step.size(); ++t) CHECK(scores.elpd_by_step[t] == doctest::Approx(by_step[t]).epsilon(1e-10));
    }
}

TEST_CASE("scores: a mean of a normal has one effective parameter less what is small") {
    std::string table = "row,y\n";
    std::mt19937_64 random(1);
    std::normal_distribution<double> normal;
    for (int i = 0; i < 400; ++i) table += std::to_string(i) + "," + std::to_string(normal(random)) + "\n";
    auto const made = study(
        "dims { sequence row }\ndata { y[row] missing }\nparam { m ~ normal(0, 10) }\n"
        "observe { y ~ normal(m, 1) }\ntable { row = row; y = y }\n",
        table);
    Replica replica(made->problem, 3, 1, {});
    replica.start(0);
    ScoreKeeper keeper(made->problem, replica.inputs(), replica.factors());
    for (std::uint64_t k = 0; k < 4000; ++k) {
        replica.sweep(k);
        keeper.record();
    }
    // Var of the log density of cell i is (y_i - m)² / n + 1 / (2 n²): the sum is the sample's mean square, near 1.
    double square = 0, mean = 0;
    auto const& y = made->problem.bound.data[0];
    for (double const value : y) mean += value / 400;
    for (double const value : y) square += (value - mean) * (value - mean) / 400;
    CHECK(keeper.report(true).effective_parameters == doctest::Approx(square).epsilon(0.1));
    CHECK(std::isnan(keeper.report(true).state_dimension));
}

TEST_CASE("scores: the dimension of the state is that of no coordinates and between one and all") {
    auto const made = study_file(studies / "attention.bam", small());
    Problem const& problem = made->problem;
    Replica replica(problem, 3, 1, {});
    replica.start(0);
    for (std::uint64_t k = 0; k < 20; ++k) replica.sweep(k);
    StateDimension dimension(problem.plan, replica.inputs(), replica.factors());
    REQUIRE(dimension.has_states());
    double const before = dimension.at_present();
    CHECK(before >= 1);
    CHECK(before <= 4);  // two units, two outputs
    State state = replica.state();
    OrbitPlan const* full = nullptr;
    for (OrbitPlan const& orbit : problem.plan.orbits)
        if (orbit.has_dim) full = &orbit;
    REQUIRE(full != nullptr);
    // A shear: A[0] += 3 A[1], B[1] -= 3 B[0].
    for (std::size_t k = 0; k < full->first_slices[0].size(); ++k)
        state.values[full->first][full->first_slices[0][k]] += 3 * state.values[full->first][full->first_slices[1][k]];
    for (std::size_t k = 0; k < full->second_slices[0].size(); ++k)
        state.values[full->second][full->second_slices[1][k]] -= 3 * state.values[full->second][full->second_slices[0][k]];
    replica.set_state(state);
    CHECK(dimension.at_present() == doctest::Approx(before).epsilon(1e-8));
    // With one unit off, no output reads or holds anything of it: at most the two outputs are left.
    for (std::size_t k = 0; k < full->first_slices[1].size(); ++k) state.values[full->first][full->first_slices[1][k]] = 0;
    replica.set_state(state);
    CHECK(dimension.at_present() <= 2 + 1e-9);
}
