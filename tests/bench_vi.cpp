// The variational backend in numbers that a run of this program measures: growth of a pass with the length of the sequences, passes with
// and without moves along symmetries, time against Gibbs, how far its means and sds are from those of Gibbs, and so the means of scales of
// every study. `bam_bench_vi [seconds per figure]`
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>

#include "bench.hpp"
#include "chains.hpp"
#include "linear_response.hpp"
#include "studies.hpp"
#include "summary.hpp"
#include "variational.hpp"

namespace {

using namespace bam;
using test::cpu_seconds;
using test::expectations_of;
using test::Study;

State start_of(Study const& study) {
    Replica replica(study.problem, 1, 1, {});
    replica.start(0);
    return replica.state();
}

std::unique_ptr<Study> study_of(std::string const& folder, std::string const& model, std::string const& table) {
    std::filesystem::path const place = std::filesystem::path(BAM_TEST_DIR) / folder;
    return test::study_file(place / (model + ".bam"), test::text_of(place / (table + ".csv")));
}

void growth() {
    fmt::print("pass of the attention model, one sequence, N = 3, R = 4, P = 2\n{:>8}{:>14}{:>14}{:>12}\n", "T", "us/pass", "ns/step",
               "slope");
    std::size_t const lengths[] = {12, 100, 1000, 10000, 100000};
    double previous = 0, first = 0;
    std::size_t previous_steps = 0;
    for (std::size_t const steps : lengths) {
        auto const study = test::study(test::attention_model, test::attention_table(1, steps));
        ExpectationPlan const expectations = expectations_of(*study);
        MeanField field(study->problem, expectations);
        field.start(start_of(*study));
        double const seconds = test::time_of([&] { field.pass(); }, test::cpu_seconds);
        std::string slope;
        if (previous_steps > 0)
            slope = fmt::format("{:.2f}",
                                std::log(seconds / previous) / std::log(static_cast<double>(steps) / static_cast<double>(previous_steps)));
        else
            first = seconds;
        fmt::print("{:>8}{:>14.1f}{:>14.1f}{:>12}\n", steps, 1e6 * seconds, 1e9 * seconds / static_cast<double>(steps), slope);
        std::fflush(stdout);
        previous = seconds;
        previous_steps = steps;
    }
    fmt::print("log-log slope over all: {:.3f}\n\n", std::log(previous / first) / std::log(100000.0 / 12.0));
}

/// From one start, until a pass changes the ELBO by less than 1e-9 of it.
void along_orbits(std::string const& folder, std::string const& model, std::string const& table) {
    auto const study = study_of(folder, model, table);
    ExpectationPlan const expectations = expectations_of(*study);
    VariationalOptions options;
    options.start = start_of(*study);
    options.max_passes = 100000;
    for (bool const moves : {true, false}) {
        MeanField field(study->problem, expectations, moves);
        Climb const climbed = climb(field, options, {}, {});
        fmt::print("{:<24}{:>12}{:>10}{:>16.6f}\n", model, moves ? "with" : "without", climbed.trace.size(), climbed.trace.back());
    }
}

/// What is told of a group of columns: the largest distance of means in sds of Gibbs, and sds over those of Gibbs.
struct Group {
    double distance = 0;
    double least = HUGE_VAL, most = 0;
    double least_response = HUGE_VAL, most_response = 0;
    double response_distance = -1;  ///< as `distance`, of means by linear response; below 0 where there are none
};

void add(Group& group, QuantitySummary const& gibbs, QuantitySummary const& own, double response, double response_mean) {
    group.distance = std::max(group.distance, std::abs(own.mean - gibbs.mean) / gibbs.sd);
    group.least = std::min(group.least, own.sd / gibbs.sd);
    group.most = std::max(group.most, own.sd / gibbs.sd);
    if (!std::isnan(response_mean))
        group.response_distance = std::max(group.response_distance, std::abs(response_mean - gibbs.mean) / gibbs.sd);
    if (std::isnan(response)) return;
    group.least_response = std::min(group.least_response, response / gibbs.sd);
    group.most_response = std::max(group.most_response, response / gibbs.sd);
}

std::string range(double least, double most) {
    if (least > most) return "-";
    std::string const low = fmt::format("{:.2f}", least);
    std::string const high = fmt::format("{:.2f}", most);
    return low == high ? low : low + " to " + high;
}

/// Seconds are those of the processor, of updates alone. Gibbs as `bam fit` runs it: its sweeps are counted after warmup.
void against_gibbs(std::string const& model, std::string const& table) {
    auto const study = study_of("reference", model, table);
    Problem const& problem = study->problem;

    ChainOptions sampling;
    sampling.num_samples = 5000;
    sampling.seed = 1;
    sampling.threads = 1;
    Run const gibbs = run_chains(problem, sampling, {}, {});
    std::vector<SummaryRow> const gibbs_rows = summarize(gibbs);
    double worst = HUGE_VAL;
    std::string worst_name;
    for (std::size_t k = 0; k < gibbs.columns.size(); ++k) {
        if (!gibbs.columns[k].is_identified || !(gibbs_rows[k].quantity.ess_bulk < worst)) continue;
        worst = gibbs_rows[k].quantity.ess_bulk;
        worst_name = label_name(gibbs.columns[k]);
    }
    SweepOptions sweeping;
    sweeping.relaxation = relaxation_of(problem, sampling);
    Replica replica(problem, 1, 1, sweeping);
    replica.start(0);
    std::uint64_t const timed = 20000;
    double const sweep_begin = cpu_seconds();
    for (std::uint64_t i = 0; i < timed; ++i) replica.sweep(i);
    double const sweep = (cpu_seconds() - sweep_begin) / static_cast<double>(timed);
    double const sweeps = static_cast<double>(sampling.chains * sampling.num_samples * sweeps_of(problem, sampling));

    double const begin = cpu_seconds();
    ExpectationPlan const expectations = expectations_of(*study);
    MeanField field(problem, expectations);
    Climb const climbed = climb(field, {}, {}, {});
    double const climbing = cpu_seconds() - begin;
    Recorder const recorder(problem, replica.inputs());
    double const response_begin = cpu_seconds();
    LinearResponse const responses = linear_response(problem, expectations, field.posterior(), recorder);
    double const responding = cpu_seconds() - response_begin;
    std::vector<SummaryRow> const own_rows = summarize(draw_factors(field, 20000, 1).run);

    fmt::print("{}\n  vi: {} starts, {} passes, {:.0f} ms; linear response of {} columns {:.1f} s\n", model, climbed.starts.size(),
               climbed.trace.size(), 1e3 * climbing, responses.sds.size(), responding);
    fmt::print("  Gibbs: {:.1f} us a sweep; 1000 effective draws of {} take {:.0f} sweeps, {:.0f} ms\n", 1e6 * sweep, worst_name,
               1000 * sweeps / worst, 1e3 * sweep * 1000 * sweeps / worst);
    std::map<std::string, Group> groups;
    for (std::size_t k = 0; k < gibbs.columns.size(); ++k) {
        if (gibbs.columns[k].is_identified)
            add(groups[gibbs.columns[k].name], gibbs_rows[k].quantity, own_rows[k].quantity, responses.sd(k), responses.mean(k));
    }
    fmt::print("  {:<12}{:>20}{:>20}{:>20}{:>24}\n", "", "means off by (sd)", "LR_mean off by (sd)", "sd / Gibbs sd", "LR_sd / Gibbs sd");
    for (auto const& [name, group] : groups)
        fmt::print("  {:<12}{:>20.2f}{:>20}{:>20}{:>24}\n", name, group.distance,
                   group.response_distance < 0 ? "-" : fmt::format("{:.2f}", group.response_distance), range(group.least, group.most),
                   range(group.least_response, group.most_response));
    fmt::print("\n");
    std::fflush(stdout);
}

/// Means of one model's scales, and the worst of its other quantities that have means by linear response, in sds of Gibbs from its means.
void means_of(test::Case const& which) {
    auto const study = test::study_of(which);
    Problem const& problem = study->problem;
    ChainOptions sampling;
    sampling.num_samples = 5000;
    sampling.seed = 1;
    Run const gibbs = run_chains(problem, sampling, {}, {});
    std::vector<SummaryRow> const rows = summarize(gibbs);
    ExpectationPlan const expectations = expectations_of(*study);
    MeanField field(problem, expectations);
    climb(field, {}, {}, {});
    Replica replica(problem, 1, 1, {});
    Recorder const recorder(problem, replica.inputs());
    LinearResponse const response = linear_response(problem, expectations, field.posterior(), recorder);
    std::vector<SummaryRow> const own = summarize(draw_factors(field, 20000, 1).run);
    double worst = 0, worst_response = -1;
    for (std::size_t k = 0; k < gibbs.columns.size(); ++k) {
        if (std::isnan(response.mean(k))) continue;
        QuantitySummary const& of_gibbs = rows[k].quantity;
        Recorder::Source const source = recorder.source(k);
        bool const is_scale = source.term == nullptr && problem.plan.layout.variables[source.variable].kind == VariableKind::Scale;
        double const off_response = (response.mean(k) - of_gibbs.mean) / of_gibbs.sd;
        if (is_scale) {
            auto const& scales = problem.plan.layout.scales;
            auto const scale = std::find_if(scales.begin(), scales.end(), [&](auto const& one) { return one.variable == source.variable; });
            auto const s = static_cast<std::size_t>(scale - scales.begin());
            double const mean = field.posterior().scales[s][source.offset].mean;
            fmt::print("{:<22}{:<20}{:>8.0f}{:>12.2f}{:>12.2f}\n", which.model, label_name(gibbs.columns[k]),
                       field.counts(s)[source.offset], (mean - of_gibbs.mean) / of_gibbs.sd, off_response);
        } else {
            worst = std::max(worst, std::abs(own[k].quantity.mean - of_gibbs.mean) / of_gibbs.sd);
            worst_response = std::max(worst_response, std::abs(off_response));
        }
    }
    if (worst_response >= 0) fmt::print("{:<22}{:<20}{:>8}{:>12.2f}{:>12.2f}\n", which.model, "others, at most", "", worst, worst_response);
    std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
    if (argc > 1) test::seconds_per_figure = std::atof(argv[1]);
    growth();
    fmt::print("{:<24}{:>12}{:>10}{:>16}\n", "moves along symmetries", "", "passes", "ELBO");
    along_orbits("studies", "attention", "small");
    along_orbits("reference", "attention_small", "attention_small");
    fmt::print("\n");
    against_gibbs("attention_small", "attention_small");
    against_gibbs("attention_theoph", "attention_theoph");
    against_gibbs("eight_schools-eight_schools_noncentered", "eight_schools");
    against_gibbs("rats", "rats");
    against_gibbs("rats_missing", "rats_missing");
    fmt::print("{:<22}{:<20}{:>8}{:>12}{:>12}\n", "means off by (sd)", "", "cells", "factors", "LR_mean");
    for (test::Case const& which : test::cases) means_of(which);
}
