// Outputs in the order in which their means need one another.
#include "simulation.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "study.hpp"

using namespace bam;
using namespace bam::test;

namespace {

/// y is said first, and its mean holds z of the same step.
std::string model(std::string const& mean_of_y, std::string const& mean_of_z) {
    return R"(dims {
  sequence s
  time t
}
data {
  y[s, t]
  z[s, t]
}
param {
  b ~ normal(2, 0.1)
}
observe {
  y[t] ~ normal()" +
           mean_of_y + R"(, 0.000001)
  z[t] ~ normal()" +
           mean_of_z + R"(, 1)
}
table {
  s = s
  t = t
  y = y
  z = z
}
)";
}

std::string const table = "s,t,y,z\n1,1,100,100\n1,2,100,100\n1,3,100,100\n2,1,100,100\n2,2,100,100\n";

std::vector<double> const& output(Problem const& problem, std::string const& name) {
    auto const& variables = problem.plan.layout.variables;
    for (std::size_t v = 0; v < variables.size(); ++v)
        if (variables[v].name == name) return problem.bound.data[v];
    FAIL("no output ", name);
    return problem.bound.data[0];
}

double value_of_b(Problem const& problem, State const& state) {
    auto const& variables = problem.plan.layout.variables;
    for (std::size_t v = 0; v < variables.size(); ++v)
        if (variables[v].name == "b") return state.values[v].front();
    return 0;
}

}  // namespace

TEST_CASE("simulation: a mean reads new outputs of its own step") {
    for (char const* const mean_of_z : {"0", "0.5 * z[t-1]"}) {
        CAPTURE(mean_of_z);
        auto const study = bam::test::study(model("b * z[t]", mean_of_z), table);
        Problem problem = study->problem;
        Simulation simulation(problem, 7);
        for (std::uint64_t number = 0; number < 3; ++number) {
            double const b = value_of_b(problem, simulation.draw(number));
            for (std::size_t i = 0; i < 5; ++i) CHECK(std::abs(output(problem, "y")[i] - b * output(problem, "z")[i]) < 1e-4);
        }
    }
}

TEST_CASE("simulation: a mean that looks back reads the step before, as it was simulated") {
    auto const study = bam::test::study(model("b * z[t-1]", "0.5 * z[t-1]"), table);
    Problem problem = study->problem;
    Simulation simulation(problem, 7);
    double const b = value_of_b(problem, simulation.draw(1));
    Grid const& grid = problem.bound.grid;
    for (std::size_t t = 1; t < grid.steps; ++t)
        for (std::size_t s = 0; s < grid.lanes(t); ++s)
            CHECK(std::abs(output(problem, "y")[grid.cell(s, t)] - b * output(problem, "z")[grid.cell(s, t - 1)]) < 1e-4);
}
