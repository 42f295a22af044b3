// What replicas that exchange bring and cost: effective draws of the worst identified quantity per second of processor time, and chains in
// worse modes, without them, before the warmup, and all along. `bam_bench_modes [seeds]`.
#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "bench.hpp"
#include "chains.hpp"
#include "modes.hpp"
#include "summary.hpp"

namespace {

using namespace bam;

double mean_of(std::vector<double> const& values) {
    double sum = 0;
    for (double const value : values) sum += value / static_cast<double>(values.size());
    return sum;
}

/// The lower one of bulk and tail of the worst identified quantity.
double worst_ess(Run const& run) {
    double worst = std::numeric_limits<double>::infinity();
    for (SummaryRow const& row : summarize(run)) {
        if (!row.column.is_identified || row.condition == Condition::Fixed) continue;
        worst = std::min({worst, row.quantity.ess_bulk, row.quantity.ess_tail});
    }
    return worst;
}

struct Figures {
    std::vector<double> per_second, log_joints;
};

Figures run_seeds(Problem const& problem, ReplicaExchange exchange, std::size_t starts, std::size_t seeds) {
    Figures figures;
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
        ChainOptions options;
        options.seed = seed;
        options.exchange = exchange;
        options.starts = starts;
        double const begin = test::cpu_seconds();
        Run const run = run_chains(problem, options, {}, {});
        double const seconds = test::cpu_seconds() - begin;
        figures.per_second.push_back(worst_ess(run) / seconds);
        for (Chain const& chain : run.chains) figures.log_joints.push_back(mean_of(chain.log_joint));
    }
    return figures;
}

void compare(std::string const& name, Problem const& problem, std::size_t seeds) {
    Figures const all[] = {run_seeds(problem, ReplicaExchange::Off, 1, seeds), run_seeds(problem, ReplicaExchange::Off, 8, seeds),
                           run_seeds(problem, ReplicaExchange::Start, 8, seeds), run_seeds(problem, ReplicaExchange::AllAlong, 8, seeds)};
    double best = -std::numeric_limits<double>::infinity();
    for (Figures const& figures : all)
        for (double const value : figures.log_joints) best = std::max(best, value);
    fmt::print("{:<18}", name);
    for (Figures const& figures : all) {
        auto const failed = std::count_if(figures.log_joints.begin(), figures.log_joints.end(), [&](double v) { return v < best - 10; });
        fmt::print("{:>11.0f}{:>5}/{:<3}", mean_of(figures.per_second), failed, figures.log_joints.size());
    }
    fmt::print("\n");
}

}  // namespace

int main(int count, char** arguments) {
    std::setvbuf(stdout, nullptr, _IOLBF, 0);
    std::size_t const seeds = count > 1 ? std::strtoul(arguments[1], nullptr, 10) : 3;
    fmt::print(
        "worst effective draws per second of 4 x (1000 + 1000), mean over {} seeds, and chains in a worse "
        "mode\n{:<18}{:>20}{:>20}{:>20}{:>20}\n",
        seeds, "", "one start", "best of 8 runs", "exchange before", "all along");
    std::filesystem::path const reference = std::filesystem::path(BAM_TEST_DIR) / "reference";
    for (char const* name : {"attention_small", "attention_theoph"}) {
        auto const study =
            test::study_file(reference / (std::string(name) + ".bam"), test::text_of(reference / (std::string(name) + ".csv")));
        compare(name, study->problem, seeds);
    }
    for (std::size_t which = 0; which < test::modes_problems; ++which)
        compare(fmt::format("simulated {}", which + 1), test::modes_problem(which)->problem, seeds);
}
