// Categorical parameters against sums over all that they can be, with everything else integrated numerically.
#include <doctest/doctest.h>

#include <cmath>
#include <numbers>

#include "oracle.hpp"
#include "studies.hpp"

using namespace bam;
using namespace bam::test;

namespace {

constexpr double weights[] = {0.5, 0.3, 0.2};
constexpr double centres[] = {-1, 0.3, 1.2};
constexpr double tau = 0.4;
constexpr double sigma = 0.7;

char const* const table =
    "seq,t,x,y\na,0,1.0,-0.4\na,1,0.5,0.3\na,2,-0.7,\nb,0,0.4,0.9\nb,1,1.3,1.1\nc,0,-0.2,0.5\nd,0,1.5,2.9\nd,1,0.8,1.7\nd,2,1.1,0.9\n";

std::string model_of(std::string const& z, std::string const& slope, std::string const& mean) {
    return "model known\ndims { sequence seq; time t; group = 3 }\ndata { x[seq, t]; y[seq, t] missing }\nparam {\nz[seq, group] ~ " + z +
           "\nmu[group] fixed [-1, 0.3, 1.2]\n" + slope + "\n}\nobserve { y ~ normal(" + mean +
           ", 0.7) }\ntable { seq = seq; t = order(t); x = x; y = y }\n";
}

double log_normal(double x, double mean, double sd) {
    return -0.5 * std::log(2 * std::numbers::pi * sd * sd) - 0.5 * (x - mean) * (x - mean) / (sd * sd);
}

/// p(outputs of a sequence, slope) over the weights of a group.
double density(Study const& study, std::size_t sequence, double slope) {
    Bound const& bound = study.problem.bound;
    std::size_t const y = study.problem.plan.layout.factors.back().target;
    double log = 0;
    for (std::size_t t = 0; t < bound.grid.length(sequence); ++t) {
        std::size_t const cell = bound.grid.cell(sequence, t);
        auto const& masks = study.problem.masks.back();
        if (masks.empty() || masks[cell] > 0) log += log_normal(bound.data[y][cell], slope * bound.data[1 - y][cell], sigma);
    }
    return std::exp(log);
}

/// weight * p(outputs of a sequence | group), the slope integrated out by the trapezoidal rule.
double evidence(Study const& study, std::size_t sequence, std::size_t group) {
    constexpr double width = 0.002;
    double sum = 0;
    for (double slope = -6; slope < 7; slope += width)
        sum += width * density(study, sequence, slope) * std::exp(log_normal(slope, centres[group], tau));
    return weights[group] * sum;
}

}  // namespace

TEST_CASE("choices: Gibbs draws them as often as the sum over all that they can be says") {
    auto const study = test::study(model_of("categorical([5, 3, 2])", "theta[seq] ~ normal(z' * mu, 0.4)", "theta * x"), table);
    REQUIRE(study->problem.plan.layout.variables[0].name == "x");
    Replica replica(study->problem, 3, 1, {});
    replica.start(0);
    constexpr std::size_t draws = 20000;
    std::size_t const size = study->problem.bound.grid.sequences;
    std::vector<double> counts(3 * size);
    // The slopes are integrated out, so that draws of z are independent.
    for (std::size_t i = 0; i < draws; ++i) {
        replica.sweep(i);
        auto const& z = replica.state().values[2];
        for (std::size_t e = 0; e < counts.size(); ++e) counts[e] += z[e];
    }
    for (std::size_t s = 0; s < size; ++s) {
        double sum = 0;
        for (std::size_t g = 0; g < 3; ++g) sum += evidence(*study, s, g);
        for (std::size_t g = 0; g < 3; ++g) {
            CAPTURE(s);
            CAPTURE(g);
            double const p = evidence(*study, s, g) / sum;
            CHECK(std::abs(counts[g * size + s] / draws - p) < 4 * std::sqrt(p * (1 - p) / draws));
        }
    }
}

TEST_CASE("choices: alone unknown their factors are the posterior and the ELBO is the evidence") {
    auto const study = test::study(model_of("categorical([5, 3, 2])", "", "z' * mu * x"), table);
    ExpectationPlan const expectations = expectations_of(*study);
    MeanField field(study->problem, expectations);
    field.start(start_of(*study, 1));
    double const elbo = field.pass();
    double log_evidence = 0;
    std::size_t const size = study->problem.bound.grid.sequences;
    for (std::size_t s = 0; s < size; ++s) {
        double sum = 0;
        for (std::size_t g = 0; g < 3; ++g) sum += weights[g] * density(*study, s, centres[g]);
        log_evidence += std::log(sum);
        for (std::size_t g = 0; g < 3; ++g)
            CHECK(field.posterior().state.values[2][g * size + s] ==
                  doctest::Approx(weights[g] * density(*study, s, centres[g]) / sum).epsilon(1e-12));
    }
    CHECK(elbo == doctest::Approx(log_evidence).epsilon(1e-12));
}

TEST_CASE("choices: with the slopes unknown too the ELBO is below the evidence") {
    auto const study = test::study(model_of("categorical([5, 3, 2])", "theta[seq] ~ normal(z' * mu, 0.4)", "theta * x"), table);
    ExpectationPlan const expectations = expectations_of(*study);
    MeanField field(study->problem, expectations);
    field.start(start_of(*study, 1));
    double elbo = field.pass();
    for (int i = 0; i < 200; ++i) elbo = field.pass();
    double log_evidence = 0;
    for (std::size_t s = 0; s < study->problem.bound.grid.sequences; ++s) {
        double sum = 0;
        for (std::size_t g = 0; g < 3; ++g) sum += evidence(*study, s, g);
        log_evidence += std::log(sum);
    }
    CHECK(elbo < log_evidence);
    CHECK(elbo > log_evidence - 4);  // the factors hold z and theta independent
}

TEST_CASE("choices: what weighs nothing is never chosen and a statement on one sequence holds for it") {
    auto const study = test::study(model_of("categorical([5, 3, 2])", "theta[seq] ~ normal(z' * mu, 0.4)", "theta * x") +
                                       "priors { z[seq = d] ~ categorical([1, 0, 0]) }\n",
                                   table);
    Replica replica(study->problem, 3, 1, {});
    Oracle const oracle(*study);
    std::size_t const size = study->problem.bound.grid.sequences;
    auto const& labels = study->problem.bound.sequence_labels;
    auto const d = static_cast<std::size_t>(std::find(labels.begin(), labels.end(), "d") - labels.begin());
    for (std::uint64_t start = 0; start < 5; ++start) {
        replica.start(start, start % 2 == 1);
        CHECK(replica.state().values[2][d] == 1);
        for (std::size_t i = 0; i < 50; ++i) {
            replica.sweep(i);
            CHECK(replica.state().values[2][d] == 1);
            for (std::size_t s = 0; s < size; ++s)
                CHECK(replica.state().values[2][s] + replica.state().values[2][size + s] + replica.state().values[2][2 * size + s] == 1);
        }
        CHECK(replica.log_joint() == doctest::Approx(oracle.log_joint(replica.state())).epsilon(1e-12));
    }
    ExpectationPlan const expectations = expectations_of(*study);
    MeanField field(study->problem, expectations);
    field.start(start_of(*study, 1));
    for (int i = 0; i < 20; ++i) CHECK(std::isfinite(field.pass()));
    CHECK(field.posterior().state.values[2][d] == 1);
}
