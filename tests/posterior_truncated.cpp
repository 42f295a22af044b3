// Truncated priors against closed forms, and against the same model without an interval where that is far away.
#include <doctest/doctest.h>

#include <map>
#include <numbers>

#include "certificate.hpp"
#include "maximise.hpp"
#include "mean_field.hpp"
#include "posterior_sampler.hpp"
#include "simulation.hpp"
#include "studies.hpp"

using namespace bam;
using namespace bam::test;

namespace {

double phi(double z) { return std::exp(-0.5 * z * z) / std::sqrt(2 * std::numbers::pi); }
double Phi(double z) { return 0.5 * std::erfc(-z / std::numbers::sqrt2); }

/// y = b x + noise of sd 0.5.
std::string line(std::string const& prior) {
    return "model line\ndims { sequence row }\ndata { x[row]; y[row] missing }\nparam { b ~ " + prior +
           " }\nobserve { y ~ normal(b * x, 0.5) }\ntable { row = row; x = x; y = y }\n";
}
char const* const points = "row,x,y\n1,0.5,0.7\n2,-1,-0.9\n3,0.8,1.1\n4,0.3,\n";

/// Precision and linear term of the likelihood of b, and its log at b = 0.
struct Likelihood {
    double precision = 4 * (0.25 + 1 + 0.64);
    double linear = 4 * (0.35 + 0.9 + 0.88);
    double constant = -3 * std::log(0.5 * std::sqrt(2 * std::numbers::pi)) - 2 * (0.49 + 0.81 + 1.21);
};

}  // namespace

TEST_CASE("truncated: draws of a prior that nothing else is known of have its moments") {
    auto const study = test::study(
        "model prior\ndims { sequence seq; time t }\ndata { x[seq, t]; y[seq, t] missing; z[seq, t] missing }\n"
        "param { a[t > 0] ~ normal(0.9, 0.3) in 0..1; b ~ normal(-0.5, 1) in 0..; u ~ flat() in -1..2; theta[seq] ~ normal(1, 0.5) in "
        "..0.8 "
        "}\nstate { h[t] = a[t] * h[t-1] + b * x[t] }\nobserve { y[t] ~ normal(h[t] + u * x[t] + theta, 1); z[t] ~ normal(0, 1) }\n"
        "table { seq = seq; t = order(t); x = x; y = y; z = z }\n",
        "seq,t,x,y,z\np,0,1,,\np,1,-1,,\np,2,2,,0.4\nq,0,0.5,,\nq,1,1,,\n");
    struct Expected {
        double low, high, mean, variance;
    };
    auto const of_normal = [](double m, double s, double low, double high) {
        double const a = (low - m) / s, b = (high - m) / s, share = Phi(b) - Phi(a), tilt = (phi(a) - phi(b)) / share;
        double const ends = (std::isfinite(a) ? a * phi(a) : 0) - (std::isfinite(b) ? b * phi(b) : 0);
        return Expected{low, high, m + s * tilt, s * s * (1 + ends / share - tilt * tilt)};
    };
    std::map<std::string, Expected> const expected{{"a", of_normal(0.9, 0.3, 0, 1)},
                                                   {"b", of_normal(-0.5, 1, 0, HUGE_VAL)},
                                                   {"u", {-1, 2, 0.5, 9.0 / 12}},
                                                   {"theta", of_normal(1, 0.5, -HUGE_VAL, 0.8)}};
    CHECK(find_flat(study->problem).empty());
    constexpr std::size_t draws = 20000;
    Replica replica(study->problem, 3, 1, {});
    Replica starts(study->problem, 4, 1, {});
    Simulation simulation(study->problem, 5);
    replica.start(0);
    for (auto const& [name, e] : expected) {
        CAPTURE(name);
        auto const v = variable_of(*study, name);
        std::size_t const absent = name == "a" ? 1 : 0;
        for (int way = 0; way < 3; ++way) {
            CAPTURE(way);
            double sum = 0, squares = 0, n = 0;
            for (std::size_t i = 0; i < draws; ++i) {
                if (way == 0) replica.sweep(i);
                if (way == 1 && i < 2000) starts.start(i, true);
                State const& state = way == 0 ? replica.state() : way == 1 ? starts.state() : simulation.draw(i);
                if (way == 1 && i >= 2000) break;
                for (std::size_t k = absent; k < state.values[v].size(); ++k) {
                    double const x = state.values[v][k];
                    CHECK_UNARY(x >= e.low && x <= e.high);
                    sum += x - e.mean;
                    squares += (x - e.mean) * (x - e.mean);
                    n += 1;
                }
            }
            if (way == 1 && name == "u") continue;  // a start about 0
            CHECK(std::abs(sum / n) < 4.5 * std::sqrt(e.variance / n));
            CHECK(std::abs(squares / n / e.variance - 1) < 4.5 * std::sqrt(9 / n));
        }
    }
    // Other starts lie inside, too.
    for (std::size_t i = 0; i < 500; ++i) {
        starts.start(i);
        CHECK(std::isfinite(starts.log_joint()));
        for (auto const& [name, e] : expected)
            for (std::size_t k = name == "a" ? 1 : 0; k < starts.state().values[variable_of(*study, name)].size(); ++k) {
                double const x = starts.state().values[variable_of(*study, name)][k];
                CHECK_UNARY(x >= e.low && x <= e.high);
            }
    }
}

TEST_CASE("truncated: one free number has the posterior - and the ELBO the log evidence - of its closed form") {
    Likelihood const of;
    struct Case {
        char const* prior;
        double precision, linear, log_prior, low, high;
    };
    double const log_sd = std::log(0.8 * std::sqrt(2 * std::numbers::pi));
    double const p = 1 / 0.64;
    for (Case const& c : {Case{"normal(0.3, 0.8) in 0..1", p, 0.3 * p, -log_sd - 0.045 * p - std::log(Phi(0.875) - Phi(-0.375)), 0, 1},
                          {"normal(0.3, 0.8) in 1.2..", p, 0.3 * p, -log_sd - 0.045 * p - std::log(Phi(-1.125)), 1.2, HUGE_VAL},
                          {"flat() in -0.5..0.5", 0, 0, 0, -0.5, 0.5}}) {
        CAPTURE(c.prior);
        auto const study = test::study(line(c.prior), points);
        double const precision = of.precision + c.precision, mean = (of.linear + c.linear) / precision, root = std::sqrt(precision);
        double const a = (c.low - mean) * root, b = (c.high - mean) * root, share = Phi(b) - Phi(a);
        double const evidence =
            of.constant + c.log_prior + 0.5 * precision * mean * mean + std::log(share * std::sqrt(2 * std::numbers::pi) / root);
        ExpectationPlan const expectations = expectations_of(*study);
        MeanField field(study->problem, expectations);
        field.start(start_of(*study, 0));
        field.pass();
        auto const v = variable_of(*study, "b");
        CHECK(field.elbo() == doctest::Approx(evidence).epsilon(1e-11));
        CHECK(field.posterior().state.values[v][0] == doctest::Approx(mean + (phi(a) - phi(b)) / share / root).epsilon(1e-11));
        // log p(y, b) - log q(b) is the log evidence at every draw.
        PosteriorSampler const sampler(field);
        Replica replica(study->problem, 1, 1, {});
        State state;
        for (std::uint64_t i = 0; i < 20; ++i) {
            double const log_q = sampler.draw(1, i, state);
            replica.set_state(state);
            CHECK(replica.log_joint() - log_q == doctest::Approx(evidence).epsilon(1e-10));
            CHECK(Oracle(*study).log_joint(state) - log_q == doctest::Approx(evidence).epsilon(1e-10));
        }
    }
}

TEST_CASE("truncated: a mode beyond an end lies at the end - and the others answer to it") {
    // y = b x + c + noise: the best b with both free is above 1; at b = 1 the best c is that of one equation.
    auto const study = test::study(
        "model two\ndims { sequence row }\ndata { x[row]; y[row] missing }\nparam { b ~ normal(0, 3) in 0..1; c ~ normal(0, 2) }\n"
        "observe { y ~ normal(b * x + c, 0.5) }\ntable { row = row; x = x; y = y }\n",
        "row,x,y\n1,0.5,1.7\n2,-1,-1.9\n3,0.8,2.1\n4,0.3,\n");
    Maximum const maximum = maximise(study->problem, {}, {});
    Ascent const& ascent = maximum.ascents[maximum.best];
    CHECK(ascent.ending == Ending::Still);
    auto const b = variable_of(*study, "b");
    auto const c = variable_of(*study, "c");
    CHECK(ascent.state.values[b][0] == 1);
    CHECK(std::isnan(ascent.sds[b][0]));
    CHECK(ascent.state.values[c][0] == doctest::Approx(4 * (1.2 - 0.9 + 1.3) / (12 + 0.25)).epsilon(1e-9));
    CHECK(ascent.sds[c][0] == doctest::Approx(1 / std::sqrt(12.25)).epsilon(1e-12));
}

TEST_CASE("truncated: an interval that is far away changes nothing") {
    auto const changed = [&](std::string const& ends) {
        std::string text = text_of(studies / "truncated.bam");
        for (std::string const from : {" in 0..1", " in 0.1..", " in ..0.5", " in -0.5..1.5"})
            text.replace(text.find(from), from.size(), ends);
        return test::study(text, text_of(studies / "small.csv"));
    };
    auto const plain = changed("");
    auto const truncated = changed(" in -1000..1000");
    State const start = start_of(*plain, 0);
    ExpectationPlan const one_plan = expectations_of(*plain), other_plan = expectations_of(*truncated);
    MeanField one(plain->problem, one_plan, false), other(truncated->problem, other_plan, false);
    one.start(start);
    other.start(start);
    for (int pass = 0; pass < 10; ++pass) CHECK(other.pass() == doctest::Approx(one.pass()).epsilon(1e-10));
    Replica first(plain->problem, 1, 1, {false, false, 0}), second(truncated->problem, 1, 1, {false, false, 0});
    first.set_state(start);
    second.set_state(start);
    CHECK(second.log_joint() == doctest::Approx(first.log_joint()).epsilon(1e-12));
    for (int pass = 0; pass < 5; ++pass) {
        first.ascend();
        second.ascend();
        CHECK(second.log_joint() == doctest::Approx(first.log_joint()).epsilon(1e-10));
    }
    for (std::size_t v = 0; v < start.values.size(); ++v) {
        for (std::size_t e = 0; e < start.values[v].size(); ++e) {
            CHECK(std::abs(other.posterior().state.values[v][e] - one.posterior().state.values[v][e]) < 1e-10);
            CHECK(std::abs(second.state().values[v][e] - first.state().values[v][e]) < 1e-10);
        }
        auto const& expected = one.posterior().covariances[v].same;
        for (std::size_t k = 0; k < expected.size(); ++k) CHECK(std::abs(other.posterior().covariances[v].same[k] - expected[k]) < 1e-10);
    }
}

TEST_CASE("truncated: the orbits of a truncated block are known - and not moved along") {
    auto const study = study_file(studies / "truncated.bam", text_of(studies / "small.csv"));
    std::size_t moved = 0, still = 0;
    for (OrbitPlan const& orbit : study->problem.plan.orbits) {
        bool const is_truncated = study->problem.plan.layout.variables[orbit.first].name == "gain" ||
                                  study->problem.plan.layout.variables[orbit.second].name == "gain" ||
                                  study->problem.plan.layout.variables[orbit.first].name == "level" ||
                                  study->problem.plan.layout.variables[orbit.second].name == "level";
        CHECK(orbit.is_moved != is_truncated);
        (orbit.is_moved ? moved : still) += 1;
    }
    CHECK(moved > 0);
    CHECK(still > 0);
}
