#include "active_units.hpp"

#include <doctest/doctest.h>
#include <fmt/core.h>

#include <Eigen/Dense>
#include <cmath>
#include <random>

#include "chains.hpp"
#include "record.hpp"
#include "studies.hpp"

using namespace bam;
using namespace bam::test;

namespace {

/// Attention with a spread for every unit, at rows that are of no account.
std::string attention(std::size_t units, std::string const& priors, bool is_diagonal = false) {
    std::string const decay = is_diagonal ? "a[unit, t > 0] ~ normal(0.6, 0.2)" : "a[t > 0] ~ normal(0.6, 0.2)";
    std::string const step = is_diagonal ? "diag(a[t]) * h[t-1]" : "a[t] * h[t-1]";
    return "dims { sequence seq; time t; feat; unit = " + std::to_string(units) +
           " }\ndata { x[seq, t, feat]; y[seq, t] missing }\nparam {\n" + priors + "\n" + decay +
           "\nsigma ~ half_normal(0.5)\n}\nstate { k = W_k * x[t]\n q = W_q * x[t]\n h[t] = " + step +
           " + k * (w_v' * x[t]) }\nobserve { y[t] ~ normal(h[t]' * q, sigma) }\n"
           "table { seq = seq; t = order(t); feat = [one = 1, x1, x2]; y = y }\n";
}

std::string const plain = "W_k[unit, feat] ~ normal(0, 1)\nW_q[unit, feat] ~ normal(0, 1)\nw_v[feat] ~ normal(0, 1)";

/// A run of one draw.
Run run_of(Study const& study, State const& state) {
    Replica replica(study.problem, 1, 1, {});
    replica.set_state(state);
    Recorder recorder(study.problem, replica.inputs());
    Run run;
    run.columns = recorder.columns();
    Chain chain;
    chain.values.resize(run.columns.size());
    recorder.record(replica.state(), chain.values.data());
    chain.log_joint = chain.log_likelihood = {0};
    run.chains.push_back(chain);
    return run;
}

std::uint32_t variable(Study const& study, std::string const& name) {
    auto const& variables = study.problem.plan.layout.variables;
    for (std::uint32_t v = 0; v < variables.size(); ++v)
        if (variables[v].name == name) return v;
    throw std::runtime_error(name);
}

std::size_t count_of(ActiveUnits const& units) {
    for (std::size_t k = 0; k < units.shares.size(); ++k)
        if (units.shares[k] == 1) return k;
    return units.shares.size();
}

std::string const tiny = "seq,t,x1,x2,y\na,0,0.3,1.2,0.5\na,1,-0.7,0.4,\na,2,1.1,-0.5,0.8\n";

}  // namespace

TEST_CASE("active units: singular values of the product of both blocks, whatever invertible matrix they trade") {
    auto const study = test::study(attention(3, plain), tiny);
    Plan const& plan = study->problem.plan;
    std::mt19937_64 random(4);
    std::normal_distribution<double> normal;
    for (int rank = 1; rank <= 3; ++rank) {
        // Of this rank: sizes 1, 0.5 and 0.3, and what else there is at 0.05, below a tenth of the largest.
        Eigen::Matrix3d a, b;
        for (double& value : a.reshaped()) value = normal(random);
        for (double& value : b.reshaped()) value = normal(random);
        Eigen::Matrix3d const u = Eigen::HouseholderQR<Eigen::Matrix3d>(a).householderQ();
        Eigen::Matrix3d const v = Eigen::HouseholderQR<Eigen::Matrix3d>(b).householderQ();
        Eigen::Vector3d sizes(1, rank > 1 ? 0.5 : 0.05, rank > 2 ? 0.3 : 0.04);
        for (int trial = 0; trial < 3; ++trial) {
            Eigen::Matrix3d g;
            for (double& value : g.reshaped()) value = normal(random);
            Eigen::Matrix3d const first = g * sizes.asDiagonal() * u.transpose();  // [unit, feat]
            Eigen::Matrix3d const second = g.inverse().transpose() * v.transpose();
            State state = start_of(*study, 1);
            for (Eigen::Index i = 0; i < 3; ++i) {
                for (Eigen::Index j = 0; j < 3; ++j) {
                    state.values[variable(*study, "W_k")][static_cast<std::size_t>(3 * i + j)] = first(i, j);
                    state.values[variable(*study, "W_q")][static_cast<std::size_t>(3 * i + j)] = second(i, j);
                }
            }
            auto const units = find_active_units(plan.layout, plan.orbits, run_of(*study, state));
            REQUIRE(units.size() == 1);
            CHECK(units[0].dim == "unit");
            CHECK(units[0].size == 3);
            CHECK(count_of(units[0]) == static_cast<std::size_t>(rank));
        }
    }
}

TEST_CASE("active units: with a decay for each unit they are told apart, and trade a factor") {
    auto const study = test::study(attention(2, plain, true), tiny);
    Plan const& plan = study->problem.plan;
    // Two parallel units: of rank 1, but with decays of their own both have a part.
    for (double const factor : {1.0, 100.0}) {
        State state = start_of(*study, 1);
        state.values[variable(*study, "W_k")] = {1 * factor, 2 * factor, 0, 1, 2, 0};
        state.values[variable(*study, "W_q")] = {1 / factor, 1 / factor, 1 / factor, 0.5, 0.5, 0.5};
        auto units = find_active_units(plan.layout, plan.orbits, run_of(*study, state));
        REQUIRE(units.size() == 1);
        CHECK(count_of(units[0]) == 2);
        state.values[variable(*study, "W_q")] = {1 / factor, 1 / factor, 1 / factor, 0.05, 0.05, 0.05};
        units = find_active_units(plan.layout, plan.orbits, run_of(*study, state));
        CHECK(count_of(units[0]) == 1);
    }
}

TEST_CASE("active units: a dim of one entry has none to count, and without the symmetry there is nothing to say") {
    auto const one = test::study(attention(1, plain), tiny);
    CHECK(find_active_units(one->problem.plan.layout, one->problem.plan.orbits, run_of(*one, start_of(*one, 1))).empty());
    auto const held = test::study(attention(2, "W_k[unit, feat] fixed 1\nW_q[unit, feat] ~ normal(0, 1)\nw_v[feat] ~ normal(0, 1)"), tiny);
    CHECK(find_active_units(held->problem.plan.layout, held->problem.plan.orbits, run_of(*held, start_of(*held, 1))).empty());
}

TEST_CASE("active units: of data that one unit made and four units fit - one counts") {
    // Spreads that are learnt per unit switch off the other three (automatic relevance determination).
    std::string table = "seq,t,x1,x2,y\n";
    std::mt19937_64 random(9);
    std::normal_distribution<double> normal;
    Eigen::Vector3d const k(0.4, 1.2, -0.8), q(0.9, -0.5, 1.1), v(0.5, 0.3, 1.0);
    for (int s = 0; s < 40; ++s) {
        double h = 0;
        for (int t = 0; t < 6; ++t) {
            Eigen::Vector3d const x(1, normal(random), normal(random));
            h = 0.6 * h + k.dot(x) * v.dot(x);
            table += fmt::format("{},{},{},{},{}\n", s, t, x(1), x(2), h * q.dot(x) + 0.3 * normal(random));
        }
    }
    auto const study = test::study(attention(4,
                                             "W_k[unit, feat] ~ normal(0, reach[unit])\nreach[unit] ~ half_cauchy(0.3)\n"
                                             "W_q[unit, feat] ~ normal(0, 1)\nw_v[feat] ~ normal(0, 1)"),
                                   table);
    ChainOptions options;
    options.chains = 2;
    options.num_warmup = 500;
    options.num_samples = 300;
    Run const run = run_chains(study->problem, options, {}, {});
    auto const units = find_active_units(study->problem.plan.layout, study->problem.plan.orbits, run);
    REQUIRE(units.size() == 1);
    CAPTURE(active_units_text(units));
    CHECK(units[0].shares[1] > 0.9);
}

TEST_CASE("active units: in words and numbers") {
    std::vector<ActiveUnits> const units{{"unit", "W_k", "W_q", 4, {0, 0.972, 0.025, 0.003, 0}}};
    CHECK(active_units_text(units) == "units that count (W_k and W_q): 1 of 4 in 97 % of the draws, 2 in 2 %, 3 in under 1 %\n");
    CHECK(active_units_json(units) == R"([{"dim":"unit","blocks":["W_k","W_q"],"size":4,"shares":[0.0,0.972,0.025,0.003,0.0]}])");
}
