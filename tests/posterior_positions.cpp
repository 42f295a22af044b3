// Position kernels as decay banks: a kernel that made the data is learnt, by models/attention_kernel.bam, around the centre of another one.
#include <doctest/doctest.h>
#include <fmt/core.h>

#include <cmath>
#include <random>

#include "chains.hpp"
#include "convergence.hpp"
#include "study.hpp"
#include "variational.hpp"

using namespace bam;
using namespace bam::test;

namespace {

constexpr double scale = 4;
constexpr double shape = 0.7;
double kernel(double lag) { return std::exp(-std::pow(lag / scale, shape)); }

/// y[t] = sum over s <= t of g(t - s) x[s] + noise, 30 sequences of 60 steps: by the kernel itself, not by decays.
std::string simulate() {
    std::mt19937_64 random(20260301);
    std::normal_distribution<double> normal;
    std::string table = "seq,t,x,y\n";
    for (int sequence = 0; sequence < 30; ++sequence) {
        std::vector<double> x;
        for (int t = 0; t < 60; ++t) {
            x.push_back(normal(random));
            double y = 0.3 * normal(random);
            for (int s = 0; s <= t; ++s) y += kernel(t - s) * x[static_cast<std::size_t>(s)];
            table += fmt::format("{},{},{},{}\n", sequence, t, x.back(), y);
        }
    }
    return table;
}

std::string model_of(std::string const& priors) {
    std::string model = text_of(std::filesystem::path(BAM_ROOT_DIR) / "models/attention_kernel.bam");
    return model + "table { seq = seq; t = order(t); feat = [one = 1, x]; y = y }\npriors { " + priors + " }\n";
}

// Keys and queries are the constant, values are x: what is left is the kernel. W_v stays free, as its size and that of w are one.
char const* const known = "d fixed 0; W_k fixed [[1, 0]]; W_q fixed [[1, 0]]; W_v ~ normal(0, 1); ";

void check_left(std::string const& name, double lag, double mean, double sd) {
    CAPTURE(name);
    CAPTURE(mean);
    CAPTURE(sd);
    CHECK(std::abs(mean - kernel(lag)) < 4 * sd);
    CHECK(std::abs(mean - kernel(lag)) < 0.03);
    CHECK(sd < 0.05);
}

std::vector<double> draws_of(Run const& run, std::string const& name) {
    std::vector<double> values;
    for (std::size_t k = 0; k < run.columns.size(); ++k) {
        if (run.columns[k].name != name) continue;
        for (Chain const& chain : run.chains)
            for (std::size_t d = 0; d * run.columns.size() < chain.values.size(); ++d)
                values.push_back(chain.values[d * run.columns.size() + k]);
    }
    return values;
}

constexpr std::pair<char const*, double> lefts[] = {{"left_1", 1}, {"left_4", 4}, {"left_16", 16}};

}  // namespace

TEST_CASE("positions: the kernel that made the data is learnt around the centre of another") {
    std::string const table = simulate();
    // The centre is 0.78, 0.61 and 0.37 after 1, 4 and 16 steps, the truth 0.68, 0.37 and 0.07.
    auto const made =
        study(model_of(std::string(known) + "w ~ normal(ggd_weights(scale = 16, shape = 0.5), 0.3)"), table, {{{"unit", 1}}, {}});
    ChainOptions options;
    options.seed = 7;
    options.num_warmup = 500;
    options.num_samples = 1000;
    Run const run = run_chains(made->problem, options, {}, {});
    for (auto const& [name, lag] : lefts) {
        std::vector<double> const values = draws_of(run, name);
        QuantitySummary const summary = summarize({values, values.size() / run.chains.size(), run.chains.size()});
        CHECK(summary.rhat < 1.02);
        check_left(name, lag, summary.mean, summary.sd);
    }
}

TEST_CASE("positions: a kernel that is held is the kernel") {
    // With everything else known the mean of y is the sum over g itself, to the tolerance of the bank.
    std::string const table = simulate();
    auto const made = study(model_of("d fixed 0; W_k fixed [[1, 0]]; W_q fixed [[1, 0]]; W_v ~ normal([0, 1], 1e-6); "
                                     "b fixed ggd_decays(scale = 4, shape = 0.7, tolerance = 0.01); "
                                     "w fixed ggd_weights(scale = 4, shape = 0.7, tolerance = 0.01)"),
                            table, {{{"unit", 1}}, {}});
    ChainOptions options;
    options.seed = 8;
    options.chains = 1;
    options.num_warmup = 50;
    options.num_samples = 200;
    Run const run = run_chains(made->problem, options, {}, {});
    for (auto const& [name, lag] : lefts)
        for (double const left : draws_of(run, name)) CHECK(left == doctest::Approx(kernel(lag)).epsilon(0.021));  // of a quotient of two
    // sigma is that of the noise: nothing is left over.
    std::vector<double> const sigma = draws_of(run, "sigma");
    REQUIRE(!sigma.empty());
    double mean = 0;
    for (double const value : sigma) mean += value / static_cast<double>(sigma.size());
    CHECK(std::abs(mean - 0.3) < 4 * 0.3 / std::sqrt(2 * 1800.0));
}
