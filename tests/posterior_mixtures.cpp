// Distributions that are mixtures of normals (math.md, 7. Scales), against their own densities: without data they are what they are called,
// with data their posterior is that of quadrature, and at the ends of their range they are normal.
#include <doctest/doctest.h>
#include <fmt/core.h>

#include <functional>
#include <numbers>

#include "chains.hpp"
#include "convergence.hpp"
#include "study.hpp"
#include "variational.hpp"

using namespace bam;
using namespace bam::test;

namespace {

struct Sample {
    std::vector<double> values;
    double effective = 0;
    std::size_t samples = 0;  ///< of a chain
    std::size_t chains = 0;
};

/// The mean of numbers in the order of a sample's draws, and its Monte Carlo error.
std::pair<double, double> mean_and_error(std::vector<double> const& values, Sample const& sample) {
    double mean = 0, squares = 0;
    auto const n = static_cast<double>(values.size());
    for (double const x : values) mean += x / n;
    for (double const x : values) squares += (x - mean) * (x - mean) / n;
    return {mean, std::sqrt(squares / ess_mean({values, sample.samples, sample.chains}))};
}

/// Draws of a column; the first of that name.
Sample draws_of(Study const& study, std::string const& name, std::size_t samples) {
    ChainOptions options;
    options.num_warmup = 1000;
    options.num_samples = samples;
    options.seed = 11;
    Run const run = run_chains(study.problem, options, {}, {});
    std::size_t column = 0;
    while (run.columns[column].name != name) ++column;
    Sample sample;
    for (Chain const& chain : run.chains)
        for (std::size_t d = 0; d < samples; ++d) sample.values.push_back(chain.values[d * run.columns.size() + column]);
    sample.samples = samples;
    sample.chains = run.chains.size();
    sample.effective = ess_mean({sample.values, samples, sample.chains});
    return sample;
}

/// The share of draws below x against its probability, at the deciles of the draws' own range.
void check_distribution(Sample const& sample, std::function<double(double)> const& below) {
    CHECK(sample.effective > 1000);
    for (double const x : {-3.0, -1.5, -0.7, -0.2, 0.1, 0.5, 1.0, 2.2, 4.0}) {
        double count = 0;
        for (double const value : sample.values) count += value < x ? 1 : 0;
        double const share = count / static_cast<double>(sample.values.size());
        double const p = below(x);
        CAPTURE(x);
        CAPTURE(share);
        CAPTURE(p);
        // Shares mix at least half as well as the mean does.
        CHECK(std::abs(share - p) < 4 * std::sqrt(p * (1 - p) / (sample.effective / 2)));
    }
}

std::unique_ptr<Study> prior_only(std::string const& prior) {
    return study("dims { sequence row }\ndata { y[row] missing; z[row] }\nparam { m ~ " + prior +
                     " }\nobserve { y ~ normal(m, 1); z ~ normal(0, 1) }\ntable { row = row; y = y; z = z }\n",
                 "row,y,z\n1,,0.5\n2,,-0.5\n");
}

/// Student's t with 3 degrees of freedom, in closed form.
double below_t3(double t) {
    double const u = t / std::sqrt(3.0);
    return 0.5 + (std::atan(u) + u / (1 + u * u)) / std::numbers::pi;
}

double below_laplace(double x) { return x < 0 ? 0.5 * std::exp(x) : 1 - 0.5 * std::exp(-x); }

/// The horseshoe: a normal cdf over the half-Cauchy, by the midpoint rule in the angle.
double below_horseshoe(double x) {
    constexpr int n = 20000;
    double sum = 0;
    for (int i = 0; i < n; ++i) {
        double const sd = std::tan((i + 0.5) / n * std::numbers::pi / 2);
        sum += 0.5 * std::erfc(-x / (sd * std::numbers::sqrt2));
    }
    return sum / n;
}

std::vector<double> const outputs{0.3, -0.4, 0.9, 0.1, 6.5, 0.6, -0.2};

std::string table() {
    std::string text = "row,y\n";
    for (std::size_t i = 0; i < outputs.size(); ++i) text += fmt::format("{},{}\n", i, outputs[i]);
    return text;
}

std::unique_ptr<Study> location(std::string const& noise) {
    return study(
        "dims { sequence row }\ndata { y[row] }\nparam { m ~ normal(0.5, 2) }\nobserve { y ~ " + noise + " }\ntable { row = row; y = y }\n",
        table());
}

struct Moments {
    double mean = 0;
    double sd = 0;
    double log_evidence = 0;
};

/// Of m under its prior and the outputs' log density, by the trapezoidal rule.
Moments integrate(std::function<double(double)> const& log_density) {
    double mass = 0, first = 0, second = 0;
    constexpr double h = 1e-3;
    for (double m = -12; m < 14; m += h) {
        double log_p = -0.5 * std::log(2 * std::numbers::pi * 4) - 0.5 * (m - 0.5) * (m - 0.5) / 4;
        for (double const y : outputs) log_p += log_density(y - m);
        double const p = std::exp(log_p);
        mass += p * h;
        first += p * m * h;
        second += p * m * m * h;
    }
    double const mean = first / mass;
    return {mean, std::sqrt(second / mass - mean * mean), std::log(mass)};
}

void check_location(std::string const& noise, std::function<double(double)> const& log_density) {
    CAPTURE(noise);
    Moments const exact = integrate(log_density);
    auto const study = location(noise);
    Sample const sample = draws_of(*study, "m", 10000);
    std::vector<double> squares;
    for (double const x : sample.values) squares.push_back((x - exact.mean) * (x - exact.mean));
    auto const [mean, error] = mean_and_error(sample.values, sample);
    auto const [variance, error_of_variance] = mean_and_error(squares, sample);
    CHECK(std::abs(mean - exact.mean) < 4 * error);
    CHECK(std::abs(variance - exact.sd * exact.sd) < 4 * error_of_variance);

    ExpectationPlan const expectations = plan_expectations(study->model, study->derivation, study->laid_out, drawn_outputs(study->problem));
    MeanField field(study->problem, expectations);
    CHECK(climb(field, {}, {}, {}).ending == ClimbEnding::Converged);
    CHECK(field.elbo() < exact.log_evidence);
    CHECK(field.elbo() > exact.log_evidence - 1.5);
    CHECK(std::abs(field.posterior().state.values[variable_of(*study, "m")][0] - exact.mean) < 0.5 * exact.sd);
}

}  // namespace

TEST_CASE("mixtures: without data a prior is what it is called") {
    check_distribution(draws_of(*prior_only("student_t(3, 0.5, 2)"), "m", 20000), [](double x) { return below_t3((x - 0.5) / 2); });
    check_distribution(draws_of(*prior_only("laplace(-0.4, 1.3)"), "m", 20000), [](double x) { return below_laplace((x + 0.4) / 1.3); });
    check_distribution(draws_of(*prior_only("horseshoe(0.8)"), "m", 20000), [](double x) { return below_horseshoe(x / 0.8); });
}

TEST_CASE("mixtures: outputs with outliers give the posterior of quadrature - and a bound of its evidence") {
    double const df = 4, scale = 0.5;
    check_location("student_t(4, m, 0.5)", [&](double r) {
        return std::lgamma((df + 1) / 2) - std::lgamma(df / 2) - 0.5 * std::log(df * std::numbers::pi) - std::log(scale) -
               (df + 1) / 2 * std::log1p(r * r / (df * scale * scale));
    });
    check_location("laplace(m, 0.5)", [&](double r) { return -std::log(2 * scale) - std::abs(r) / scale; });
}

TEST_CASE("mixtures: with many degrees of freedom student_t is normal") {
    auto const elbo = [](std::string const& noise) {
        auto const study = location(noise);
        ExpectationPlan const expectations =
            plan_expectations(study->model, study->derivation, study->laid_out, drawn_outputs(study->problem));
        MeanField field(study->problem, expectations);
        climb(field, {}, {}, {});
        return field.elbo();
    };
    CHECK(elbo("student_t(1e7, m, 0.8)") == doctest::Approx(elbo("normal(m, 0.8)")).epsilon(1e-4));
}
