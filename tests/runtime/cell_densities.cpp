#include "cell_densities.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "density_parts.hpp"
#include "record.hpp"
#include "scales.hpp"
#include "spread.hpp"
#include "studies.hpp"

using namespace bam;

namespace {

/// The integral of density(x | local) p(local) over the local scale, by the trapezoidal rule in its logarithm: the integrand falls at least
/// exponentially on both sides.
double integrated(ScalePriorLayout const& local, SpreadKind spread, double x, double sd) {
    double const step = 0.01;
    double sum = 0;
    for (double u = -60; u <= 60; u += step) {
        double const scale = std::exp(u);
        double const variance = sd * sd * to_variance(spread, scale);
        sum += step * scale * std::exp(log_density(local, scale)) * std::exp(-x * x / (2 * variance)) /
               std::sqrt(2 * std::numbers::pi * variance);
    }
    return std::log(sum);
}

double log_normal(double x, double sd) { return -0.5 * (std::log(2 * std::numbers::pi * sd * sd) + x * x / (sd * sd)); }

}  // namespace

TEST_CASE("mixtures: the closed density is the integral over the local scale") {
    ScalePriorLayout const of_student{{}, ScaleFamily::Gamma, 2.5, 2.5, {}};
    ScalePriorLayout const of_laplace{{}, ScaleFamily::Exponential, 0.5, 0, {}};
    ScalePriorLayout const of_horseshoe{{}, ScaleFamily::HalfStudentT, 1, 1, {}};
    for (double const sd : {0.3, 2.0}) {
        for (double const x : {-9.0, -1.5, 0.02, 0.4, 2.4, 5.0, 30.0}) {
            auto const check = [&](ScalePriorLayout const& local, SpreadKind spread) {
                CHECK(log_mixture(local, spread, x, sd) == doctest::Approx(integrated(local, spread, x, sd)).epsilon(1e-9));
            };
            check(of_student, SpreadKind::Precision);
            check(of_laplace, SpreadKind::Variance);
            check(of_horseshoe, SpreadKind::Sd);
        }
    }
    CHECK_THROWS_AS(log_mixture({{}, ScaleFamily::HalfNormal, 1, 0, {}}, SpreadKind::Sd, 1, 1), std::logic_error);
}

TEST_CASE("cell densities: with the densities of the families written down, and nothing where a cell is missing") {
    auto const study = test::study(
        "dims { sequence row }\ndata { x[row]; y[row] missing; z[row] }\n"
        "param { mu ~ normal(0, 1); sigma ~ half_normal(1) }\n"
        "observe { y ~ student_t(4, mu * x, 2 * sigma); z ~ normal(mu, sigma) }\ntable { x = x; y = y; z = z }\n",
        "x,y,z\n1,2.5,0\n-1,,1\n0.5,-4,3\n");
    Replica replica(study->problem, 1, 1, {});
    replica.start(1);
    CellDensities cells(study->problem, replica.inputs(), replica.factors());
    Layout const& layout = study->problem.plan.layout;
    auto const value = [&](std::string const& name) { return replica.state().values[test::variable_of(*study, name)].front(); };
    double const mu = value("mu"), sigma = value("sigma");
    std::vector<double> const x{1, -1, 0.5}, y{2.5, std::nan(""), -4}, z{0, 1, 3};
    for (std::size_t f = 0; f < layout.factors.size(); ++f) {
        std::string const& target = layout.variables[layout.factors[f].target].name;
        if (target != "y" && target != "z") continue;
        std::vector<double> const densities = cells.of(f);
        REQUIRE(densities.size() == 3);
        double sum = 0;
        // Sequences of one step each stand in the order of the table.
        for (std::size_t i = 0; i < 3; ++i) {
            if (target == "y" && i == 1) {
                CHECK(std::isnan(densities[i]));
                continue;
            }
            double const scale = 2 * sigma;
            double const gap = (y[i] - mu * x[i]) / scale;
            // Student's t with 4 degrees of freedom: 3/8 (1 + t^2 / 4)^(-5/2).
            double const expected =
                target == "y" ? std::log(0.375) - 2.5 * std::log1p(gap * gap / 4) - std::log(scale) : log_normal(z[i] - mu, sigma);
            CHECK(densities[i] == doctest::Approx(expected).epsilon(1e-10));
            sum += expected;
        }
        CHECK(cells.sum(f) == doctest::Approx(sum).epsilon(1e-10));
    }
}

// In every study: cells add up to what the factors say, given the local scales where there are none.
TEST_CASE("cell densities: of a statement without local scales they add up to its log density") {
    for (test::Case const& which : test::cases) {
        CAPTURE(which.model);
        auto const study = test::study_of(which);
        Replica replica(study->problem, 1, 1, {});
        replica.start(2);
        CellDensities cells(study->problem, replica.inputs(), replica.factors());
        Layout const& layout = study->problem.plan.layout;
        replica.factors().score(replica.inputs());
        for (std::size_t f = 0; f < layout.factors.size(); ++f) {
            FactorLayout const& factor = layout.factors[f];
            bool const has_local = std::any_of(factor.spread.begin(), factor.spread.end(), [&](SpreadLayout const& part) {
                return part.variable && layout.variables[*part.variable].is_local;
            });
            if (has_local || factor.has_covariance()) continue;
            double const expected = replica.factors().log_density(f) - replica.factors().log_truncation(f);
            CHECK(cells.sum(f) == doctest::Approx(expected).epsilon(1e-9));
        }
    }
}

namespace {

/// A run of one chain whose draws are these states.
Run run_of(Problem const& problem, std::vector<State> const& states) {
    Replica replica(problem, 1, 1, {});
    Recorder recorder(problem, replica.inputs());
    Run run;
    run.columns = recorder.columns();
    Chain chain;
    for (State const& state : states) {
        replica.set_state(state);
        chain.values.resize(chain.values.size() + run.columns.size());
        recorder.record(replica.state(), chain.values.data() + chain.values.size() - run.columns.size());
        chain.log_joint.push_back(0);
    }
    run.chains.push_back(chain);
    return run;
}

}  // namespace

// y[0] observed, y[1] missing, y[2] observed; y[t] ~ normal(b y[t-1], 1) with y[-1] = 0. Given b, y[0] ~ normal(0, 1) and
// y[2] | y[0] ~ normal(b^2 y[0], variance 1 + b^2).
TEST_CASE("density parts: missing outputs that means look back at are integrated out of the likelihood") {
    auto const study = test::study(
        "dims { sequence row; time t }\ndata { y[row, t] missing }\nparam { b ~ normal(0.5, 2) }\n"
        "observe { y[t] ~ normal(b * y[t-1], 1) }\ntable { row = row; t = order(t); y = y }\n",
        "row,t,y\n1,0,0.7\n1,1,\n1,2,-1.4\n");
    Problem const& problem = study->problem;
    std::vector<State> states;
    for (std::uint64_t k = 0; k < 5; ++k) states.push_back(test::start_of(*study, k));
    Run const run = run_of(problem, states);
    Diagnostics diagnostics;
    PriorStatements const statements = prior_statements(problem.plan);
    DensityParts const parts = density_parts(problem, statements, run, 3, diagnostics);
    CHECK(diagnostics.empty());
    REQUIRE(statements.scaled.size() == 1);
    for (std::size_t k = 0; k < states.size(); ++k) {
        double const b = states[k].values[statements.scaled[0].variable].front();
        CHECK(parts.log_priors[0][k] == doctest::Approx(log_normal(b - 0.5, 2)).epsilon(1e-10));
        CHECK(parts.log_likelihood[k] ==
              doctest::Approx(log_normal(0.7, 1) + log_normal(-1.4 - b * b * 0.7, std::sqrt(1 + b * b))).epsilon(1e-10));
    }
}

TEST_CASE("density parts: a prior is what is made of numbers and data alone") {
    auto const names = [](test::Study const& study, std::vector<std::uint32_t> const& variables) {
        std::string text;
        for (std::uint32_t const v : variables) text += study.problem.plan.layout.variables[v].name + " ";
        return text;
    };
    auto const scaled = [&](test::Study const& study) {
        std::vector<std::uint32_t> variables;
        for (auto const& group : prior_statements(study.problem.plan).scaled) variables.push_back(group.variable);
        return names(study, variables);
    };
    auto const robust = test::study_of({"robust", "small"});
    CHECK(scaled(*robust) == "W_k W_q W_v width a sigma ratio ");
    CHECK(names(*robust, prior_statements(robust->problem.plan).of_model) == "W_v ");
    auto const learnt = test::study(
        "dims { sequence row }\ndata { y[row] }\nparam { b ~ student_t(df, 0, 1); c ~ student_t(3, 0, 1); df ~ gamma(2, 0.1) }\n"
        "observe { y ~ normal(b + c, 1) }\ntable { row = row; y = y }\n",
        "row,y\n1,0.7\n");
    CHECK(scaled(*learnt) == "c df ");
    CHECK(names(*learnt, prior_statements(learnt->problem.plan).of_model) == "b ");
    auto const shrinkage = test::study_of({"shrinkage", "rows"});
    CHECK(names(*shrinkage, prior_statements(shrinkage->problem.plan).of_model) == "b c ");
}

// The joint density of the parameters and their local scales is that of the parameters times that of the local scales given them; laplace
// is exp(-|x - m| / s) / 2s.
TEST_CASE("density parts: the prior of a parameter is that of its family") {
    auto const study = test::study_of({"robust", "small"});
    Problem const& problem = study->problem;
    std::vector<State> const states{test::start_of(*study, 1), test::start_of(*study, 2)};
    Run const run = run_of(problem, states);
    Diagnostics diagnostics;
    PriorStatements const statements = prior_statements(problem.plan);
    DensityParts const parts = density_parts(problem, statements, run, 3, diagnostics);
    CHECK(diagnostics.empty());
    for (std::size_t k = 0; k < states.size(); ++k) {
        std::vector<double> const& w = states[k].values[statements.scaled[1].variable];
        REQUIRE(problem.plan.layout.variables[statements.scaled[1].variable].name == "W_q");
        double expected = 0;
        for (double const value : w) expected += -std::log(2 * 0.6) - std::abs(value - 0.1) / 0.6;
        CHECK(parts.log_priors[1][k] == doctest::Approx(expected).epsilon(1e-10));
    }
}

TEST_CASE("cell densities: of outputs of 0 and 1 the probability that their log odds say, whatever their local scales are") {
    auto const study = test::study(
        "dims { sequence row }\ndata { x[row]; y[row] missing }\nparam { mu ~ normal(0, 1); level ~ normal(0.3, 1) }\n"
        "observe { y ~ bernoulli_logit(mu * x + level) }\ntable { x = x; y = y }\n",
        "x,y\n1,1\n-1,\n0.5,0\n");
    Replica replica(study->problem, 1, 1, {});
    replica.start(1);
    replica.sweep(0);
    CellDensities cells(study->problem, replica.inputs(), replica.factors());
    Layout const& layout = study->problem.plan.layout;
    auto const value = [&](std::string const& name) { return replica.state().values[test::variable_of(*study, name)].front(); };
    double const first = value("mu") + value("level"), last = 0.5 * value("mu") + value("level");
    std::size_t const f = layout.factors.size() - 1;
    std::vector<double> const densities = cells.of(f);
    CHECK(densities[0] == doctest::Approx(-std::log1p(std::exp(-first))).epsilon(1e-12));
    CHECK(std::isnan(densities[1]));
    CHECK(densities[2] == doctest::Approx(-std::log1p(std::exp(last))).epsilon(1e-12));
    CHECK(cells.sum(f) == doctest::Approx(replica.log_likelihood()).epsilon(1e-12));
    CHECK(replica.factors().log_density(f) == doctest::Approx(densities[0] + densities[2]).epsilon(1e-12));
}
