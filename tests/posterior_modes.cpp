// Simulated problems whose posteriors have several modes: twelve seeds each, or six, with what is done by default.
#include <doctest/doctest.h>
#include <fmt/core.h>

#include <algorithm>
#include <cstddef>

#include "chains.hpp"
#include "modes.hpp"
#include "summary.hpp"

using namespace bam;
using namespace bam::test;

namespace {

constexpr std::size_t seeds = 12;
/// Nats of mean log joint, below the best of all chains, from which a chain is in another mode: modes here are further apart, means of
/// chains closer together.
constexpr double gap = 10;

double mean_log_joint(Chain const& chain) {
    double sum = 0;
    for (double const value : chain.log_joint) sum += value / static_cast<double>(chain.log_joint.size());
    return sum;
}

std::vector<double> mean_log_joints(Run const& run) {
    std::vector<double> means;
    for (Chain const& chain : run.chains) means.push_back(mean_log_joint(chain));
    return means;
}

std::ptrdiff_t count_worse(std::vector<double> const& means, double best) {
    return std::count_if(means.begin(), means.end(), [&](double mean) { return mean < best - gap; });
}

void check_modes(std::size_t which) {
    auto const study = modes_problem(which);
    Problem const& problem = study->problem;
    std::vector<double> tempered, plain;
    double worst_rhat = 0;
    std::size_t above = 0;
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
        ChainOptions options;
        options.seed = seed;
        Run const run = run_chains(problem, options, {}, {});
        REQUIRE(run.exchange.has_value());
        for (double const mean : mean_log_joints(run)) tempered.push_back(mean);
        double rhat = 0;
        for (SummaryRow const& row : summarize(run))
            if (row.column.is_identified) rhat = std::max(rhat, row.quantity.rhat);
        worst_rhat = std::max(worst_rhat, rhat);
        if (!(rhat <= highest_rhat)) ++above;
        options.exchange = ReplicaExchange::Off;
        options.starts = 1;
        options.num_warmup = 200;
        options.num_samples = 20;
        for (double const mean : mean_log_joints(run_chains(problem, options, {}, {}))) plain.push_back(mean);
    }
    double const best = *std::max_element(tempered.begin(), tempered.end());
    auto const failed = [&](std::vector<double> const& means) { return count_worse(means, best); };
    MESSAGE(
        fmt::format("problem {}: of {} chains {} end in a worse mode, of {} plain ones {}; worst R-hat {:.4f}, above {} in {} of {} runs",
                    which, tempered.size(), failed(tempered), plain.size(), failed(plain), worst_rhat, highest_rhat, above, seeds));
    CHECK(failed(tempered) == 0);
    CHECK(failed(plain) > 0);  // or the problem shows nothing
    CHECK(above == 0);
}

/// Where chains end, and no more: draws of outputs that are 0 or 1 take too long for the rest.
void check_ends(std::size_t which) {
    auto const study = modes_problem(which);
    std::vector<double> tempered, plain;
    for (std::uint64_t seed = 1; seed <= 6; ++seed) {
        ChainOptions options;
        options.seed = seed;
        options.num_warmup = 100;
        options.num_samples = 50;
        for (double const mean : mean_log_joints(run_chains(study->problem, options, {}, {}))) tempered.push_back(mean);
        options.exchange = ReplicaExchange::Off;
        options.starts = 1;
        for (double const mean : mean_log_joints(run_chains(study->problem, options, {}, {}))) plain.push_back(mean);
    }
    double const best = *std::max_element(tempered.begin(), tempered.end());
    auto const failed = [&](std::vector<double> const& means) { return count_worse(means, best); };
    MESSAGE(fmt::format("problem {}: of {} chains {} end in a worse mode, of {} plain ones {}", which, tempered.size(), failed(tempered),
                        plain.size(), failed(plain)));
    CHECK(failed(tempered) == 0);
    CHECK(failed(plain) > 0);
}

}  // namespace

TEST_SUITE("slow") {
    TEST_CASE("modes: attention of width 2") { check_modes(0); }
    TEST_CASE("modes: a slow and a fast unit and two outputs") { check_modes(1); }
    TEST_CASE("modes: two heads") { check_modes(2); }
    TEST_CASE("modes: a slow and a fast unit and two outputs that are 0 or 1") { check_ends(3); }
}
