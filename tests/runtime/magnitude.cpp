// What rounding is measured against, in closed form.
#include "magnitude.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>

#include "exact_fit.hpp"
#include "mean_field.hpp"
#include "replica.hpp"
#include "study.hpp"
#include "trouble.hpp"

using namespace bam;
using namespace bam::test;

namespace {

std::string const regression = R"(dims {
  sequence row
  feat
}
data {
  x[row, feat]
  y[row]
}
param {
  b[feat] ~ normal(0, 100)
  sigma   ~ half_cauchy(1)
}
observe {
  y ~ normal(b' * x, sigma)
}
table {
  row  = row
  feat = [one = 1, x = x]
  y    = y
}
)";

std::string const decay = R"(dims {
  sequence s
  time t
}
data {
  x[s, t]
  y[s, t]
}
param {
  a[t > 0] ~ normal(0, 1)
  b        ~ normal(0, 1)
}
state {
  h[t] = a[t] * h[t-1] + b * x[t]
}
observe {
  y[t] ~ normal(h[t], 0.5)
}
table {
  s = s
  t = t
  x = x
  y = y
}
)";

std::size_t observation(Plan const& plan) {
    std::size_t f = 0;
    while (!plan.layout.factors[f].is_observation) ++f;
    return f;
}

}  // namespace

TEST_CASE("magnitude: terms of a mean add up without their signs") {
    auto const study = bam::test::study(regression, "row,x,y\n1,2,3\n2,-4,5\n3,7,-6\n");
    Problem const& problem = study->problem;
    Replica replica(problem, 1, 1, {});
    replica.start(0);
    State state = replica.state();
    state.values[bam::test::variable_of(*study, "b")] = {10, -3};
    state.values[bam::test::variable_of(*study, "sigma")] = {2};
    replica.set_state(state);
    Magnitudes magnitudes(problem.plan, replica.inputs(), replica.factors());
    double sum = 0;
    double const x[] = {2, -4, 7}, y[] = {3, 5, -6};
    for (int i = 0; i < 3; ++i) sum += std::pow(std::abs(y[i]) + 10 + 3 * std::abs(x[i]), 2);
    CHECK(magnitudes.quadratic(observation(problem.plan)) == doctest::Approx(sum / 4));
}

TEST_CASE("magnitude: of a recurrence, whose terms cancel over time") {
    auto const study = bam::test::study(decay, "s,t,x,y\n1,1,2,1\n1,2,-1,-1\n1,3,3,0.5\n");
    Problem const& problem = study->problem;
    Replica replica(problem, 1, 1, {});
    replica.start(0);
    State state = replica.state();
    state.values[bam::test::variable_of(*study, "a")] = {0, -0.5, -0.5};
    state.values[bam::test::variable_of(*study, "b")] = {2};
    replica.set_state(state);
    Magnitudes magnitudes(problem.plan, replica.inputs(), replica.factors());
    double const x[] = {2, -1, 3}, y[] = {1, -1, 0.5};
    double h = 0, sum = 0;
    for (int t = 0; t < 3; ++t) {
        h = 0.5 * h + 2 * std::abs(x[t]);
        sum += std::pow(std::abs(y[t]) + h, 2) / 0.25;
    }
    CHECK(magnitudes.quadratic(observation(problem.plan)) == doctest::Approx(sum));
}

TEST_CASE("magnitude: at points, what is expected of squares is at least the square of the magnitude") {
    auto const study = bam::test::study(decay, "s,t,x,y\n1,1,2,1\n1,2,-1,-1\n1,3,3,0.5\n");
    Problem const& problem = study->problem;
    Replica replica(problem, 1, 1, {});
    replica.start(0);
    Model model = study->model;
    ExpectationPlan const plan = plan_expectations(model, study->derivation, study->laid_out, drawn_outputs(problem));
    MeanField field(problem, plan);
    field.start(replica.state());
    Magnitudes magnitudes(problem.plan, replica.inputs(), replica.factors());
    Posterior const& posterior = field.posterior();
    Factors factors(problem, posterior.state);
    ExpectedFactors expected(problem.plan, plan, field.inputs(), factors, posterior.covariances);
    std::size_t const f = observation(problem.plan);
    double const at_points = expected_magnitude(expected, f, plan.squares[f].pass, field.inputs(), posterior.covariances);
    CHECK(at_points >= magnitudes.quadratic(f) * (1 - 1e-12));
}

TEST_CASE("magnitude: what moves the log joint by rounding is below what is said of it") {
    // An offset of 1e6 that the coefficients cancel: the log joint in another order of summation is another.
    std::string table = "row,x,y\n";
    for (int i = 0; i < 40; ++i) table += fmt::format("{},{},{}\n", i + 1, 1e6 + i % 7, i % 5);
    auto const study = bam::test::study(regression, table);
    Replica replica(study->problem, 1, 1, {});
    replica.start(0);
    State state = replica.state();
    auto const b = static_cast<std::uint32_t>(bam::test::variable_of(*study, "b"));
    auto const sigma = static_cast<std::uint32_t>(bam::test::variable_of(*study, "sigma"));
    state.values[b] = {-3e6 + 2, 3};
    state.values[sigma] = {1};
    replica.set_state(state);
    double of_double = replica.log_joint();
    long double sum = 0;
    for (int i = 0; i < 40; ++i) {
        long double const r = i % 5 - (-3e6L + 2 + 3 * (1e6L + i % 7));
        sum += -0.5L * r * r - 0.5L * std::log(2 * std::acos(-1.0L));
    }
    for (double const value : {-3e6 + 2, 3.0})
        sum += -0.5L * value * value / 1e4L - std::log(100.0L) - 0.5L * std::log(2 * std::acos(-1.0L));
    sum += std::log(2 / std::acos(-1.0L)) - std::log1p(1.0L);
    CHECK(std::abs(static_cast<double>(sum) - of_double) <= replica.cancellation());
    CHECK(replica.cancellation() > replica.rounding());
}

TEST_CASE("exact fit: weights of residuals are weights of outputs") {
    // sd = sigma * w with w of 1e-8: the residuals are 0.1 of the outputs, whatever their weights are.
    auto const study = bam::test::study(R"(dims {
  sequence row
}
data {
  y[row]
  w[row]
}
param {
  mu    ~ normal(0, 10)
  sigma ~ half_cauchy(1)
}
observe {
  y ~ normal(mu, sigma * w)
}
table {
  row = row
  y   = y
  w   = w
}
)",
                                        "row,y,w\n1,1,1e16\n2,1.1,1e16\n3,0.9,1e16\n");
    Replica replica(study->problem, 1, 1, {});
    replica.start(0);
    CHECK_NOTHROW(replica.sweep(0));
}
