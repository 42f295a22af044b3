// Ratios that a run of this program measures: growth of a sweep with the length of the sequences, a sweep against the Gram products that it
// cannot avoid, memory per step, allocations per sweep. `bam_bench [seconds per figure]`. Of the variational backend: bench_vi.cpp.
#include "bench.hpp"

#include <fmt/core.h>
#include <sys/resource.h>

#include <Eigen/Core>
#include <cmath>
#include <cstdlib>

#include "count_allocations.hpp"
#include "recovery.hpp"
#include "study.hpp"

namespace {

using namespace bam;
using test::seconds_per_figure;
using test::time_of;

double resident_mib() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return static_cast<double>(usage.ru_maxrss) / 1024;
}

/// The sums of products alone, by the library's best routine, over covariates that are there already.
double gram_seconds(std::size_t cells) {
    constexpr Eigen::Index chunk = 512;
    Eigen::MatrixXd const wide = Eigen::MatrixXd::Random(chunk, 13);
    Eigen::MatrixXd const narrow = Eigen::MatrixXd::Random(chunk, 5);
    Eigen::MatrixXd wide_sum = Eigen::MatrixXd::Zero(13, 13);
    Eigen::MatrixXd narrow_sum = Eigen::MatrixXd::Zero(5, 5);
    auto add = [&](Eigen::MatrixXd const& columns, Eigen::MatrixXd& sum, std::size_t rows) {
        while (rows > 0) {
            auto const n = std::min<std::size_t>(rows, chunk);
            sum.selfadjointView<Eigen::Lower>().rankUpdate(columns.topRows(static_cast<Eigen::Index>(n)).transpose());
            rows -= n;
        }
    };
    return time_of([&] {
        for (int output = 0; output < 2; ++output) {
            add(wide, wide_sum, cells);      // W_k
            add(wide, wide_sum, cells);      // W_q
            add(narrow, narrow_sum, cells);  // W_v, one output
        }
    });
}

void growth() {
    fmt::print("sweep of the attention model, one sequence, N = 3, R = 4, P = 2\n{:>8}{:>14}{:>14}{:>12}{:>16}\n", "T", "us/sweep",
               "ns/step", "slope", "peak MiB");
    double previous_time = 0;
    std::size_t previous_steps = 0;
    double first_time = 0;
    std::size_t const lengths[] = {12, 100, 1000, 10000, 100000};
    for (std::size_t steps : lengths) {
        auto const study = test::study(test::attention_model, test::attention_table(1, steps));
        Replica replica(study->problem, 1, 1, {});
        replica.start(0);
        std::uint64_t index = 0;
        double const seconds = time_of([&] { replica.sweep(index++); });
        std::string slope;
        if (previous_steps > 0) {
            slope = fmt::format(
                "{:.2f}", std::log(seconds / previous_time) / std::log(static_cast<double>(steps) / static_cast<double>(previous_steps)));
        } else {
            first_time = seconds;
        }
        fmt::print("{:>8}{:>14.1f}{:>14.1f}{:>12}{:>16.0f}\n", steps, 1e6 * seconds, 1e9 * seconds / static_cast<double>(steps), slope,
                   resident_mib());
        previous_time = seconds;
        previous_steps = steps;
    }
    fmt::print("log-log slope over all: {:.3f}\n\n", std::log(previous_time / first_time) / std::log(100000.0 / 12.0));
}

void against_gram() {
    std::size_t const sequences = 24, steps = 48;
    auto const study = test::study(test::attention_model, test::attention_table(sequences, steps));
    Replica replica(study->problem, 1, 1, {});
    replica.start(0);
    std::uint64_t index = 0;
    for (; index < 20; ++index) replica.sweep(index);
    std::size_t const before = allocations;
    for (std::uint64_t i = 0; i < 100; ++i) replica.sweep(index++);
    std::size_t const during = allocations - before;
    double const sweep = time_of([&] { replica.sweep(index++); });
    Recovery recovery(replica);
    double const kept = time_of([&] { recovery.sweep(index++); });
    double const gram = gram_seconds(sequences * steps);
    fmt::print("B = {}, T = {}: sweep {:.0f} us, Gram products alone {:.0f} us, ratio {:.2f}; {} allocations in 100 sweeps\n", sequences,
               steps, 1e6 * sweep, 1e6 * gram, sweep / gram, during);
    fmt::print("  with the state kept for another try: {:.0f} us, ratio {:.3f}\n", 1e6 * kept, kept / sweep);
    for (std::size_t b = 0; b < study->problem.plan.blocks.size(); ++b) {
        Stream stream(1, 1, 1, b);
        double const block = time_of([&] { replica.sample_block(b, stream); });
        fmt::print("  {:<8}{:>8.0f} us\n", study->problem.plan.layout.variables[study->problem.plan.blocks[b].variable].name, 1e6 * block);
    }
    fmt::print("\n");
}

}  // namespace

int main(int argc, char** argv) {
    if (argc > 1) seconds_per_figure = std::atof(argv[1]);
    against_gram();
    growth();
}
