// Sweeps and what is kept of them allocate nothing. A program of its own, because operator new is another there. In the builds
// with sanitizers Eigen is told not to allocate, and says so by an assertion.
#include <doctest/doctest.h>

#include <utility>

#include "count_allocations.hpp"
#include "ladder.hpp"
#include "predict.hpp"
#include "record.hpp"
#include "studies.hpp"

namespace {

using namespace bam;
using namespace bam::test;

void allow_eigen([[maybe_unused]] bool is_allowed) {
#ifdef EIGEN_RUNTIME_NO_MALLOC
    Eigen::internal::set_is_malloc_allowed(is_allowed);
#endif
}

void check_sweeps(std::filesystem::path const& model, std::string const& table, SweepOptions const& options) {
    CAPTURE(model);
    auto const study = study_file(model, table);
    constexpr std::size_t draws = 10;
    Predictor predictor(study->problem, 1, draws, 1);
    Replica replica(study->problem, 1, 1, options);
    Recorder recorder(study->problem, replica.inputs());
    PredictionRecorder predictions(predictor, study->problem, replica.inputs(), 0);
    Recovery recovery(replica);
    std::vector<double> row(recorder.columns().size());
    replica.start(0);
    for (std::size_t i = 0; i < 5; ++i) replica.sweep(i);

    bool is_repaired = false;
    std::size_t const before = allocations;
    allow_eigen(false);
    for (std::size_t i = 0; i < draws; ++i) {
        is_repaired = recovery.sweep(5 + i) || is_repaired;
        recorder.record(replica.state(), row.data());
        predictions.record(i, replica.factors());
    }
    allow_eigen(true);
    CHECK(allocations == before);
    CHECK(!is_repaired);
}

}  // namespace

TEST_CASE("allocations: none in a step of a ladder") {
    for (auto const& [model, table] : {Case{"attention", "small"}, {"binary", "small"}, {"two_gaps", "small"}, {"ar", "series"}}) {
        CAPTURE(model);
        auto const study = study_file(studies / (std::string(model) + ".bam"), text_of(studies / (std::string(table) + ".csv")));
        for (std::size_t const threads : {1U, 2U}) {
            Ladder ladder(study->problem, {4, 0.1, 1, 1, threads, {false, true, -0.6}, {}});
            ladder.start(false);
            for (std::uint64_t i = 0; i < 15; ++i) ladder.step(i);  // after ten of them threads have joined
            std::size_t const before = allocations;
            allow_eigen(false);
            for (std::uint64_t i = 15; i < 60; ++i) ladder.step(i);
            allow_eigen(true);
            CHECK(allocations == before);
        }
    }
}

TEST_CASE("allocations: none in a sweep or in what is kept of it") {
    for (auto const& [model, table] : cases) {
        std::string const text = text_of(studies / (std::string(table) + ".csv"));
        for (bool const draws_rows : {false, true}) check_sweeps(studies / (std::string(model) + ".bam"), text, {draws_rows, true, -0.6});
    }
}
