#include "memory.hpp"

#include <doctest/doctest.h>

#include <string>

#include "../study.hpp"

using namespace bam;

namespace {

std::unique_ptr<test::Study> attention() {
    auto const studies = std::filesystem::path(BAM_TEST_DIR) / "studies";
    return test::study_file(studies / "attention.bam", test::text_of(studies / "small.csv"));
}

}  // namespace

TEST_CASE("memory: draws that do not fit are refused, and how to have fewer") {
    auto const study = attention();
    FitOptions options;
    CHECK_FALSE(find_excess(study->problem, options, 1 << 30));
    options.num_samples = std::size_t{1} << 40;
    auto const excess = find_excess(study->problem, options, double{1 << 30} * 1024);
    REQUIRE(excess);
    CHECK(excess->code == 508);
    CHECK(excess->notes.front().find("--thin") != std::string::npos);
    options.thin = options.num_samples;
    CHECK_FALSE(find_excess(study->problem, options, 1 << 30));
}

TEST_CASE("memory: matrices that do not fit are refused, and which block they are of") {
    auto const study = attention();
    FitOptions options;
    options.num_samples = 1;
    auto const excess = find_excess(study->problem, options, 1000);
    REQUIRE(excess);
    CHECK(excess->code == 508);
    REQUIRE(excess->labels.size() == 1);
    CHECK(excess->labels.front().text.find(" together") != std::string::npos);
}

TEST_CASE("memory: what replicas see for the evidence counts and of --until the most there may be") {
    auto const study = attention();
    FitOptions options;
    options.num_samples = 1000000;
    options.thin = 1000;
    options.exchange = ReplicaExchange::AllAlong;
    CHECK_FALSE(find_excess(study->problem, options, 1 << 30));
    options.evidence = true;  // 64 rungs of 4 chains: 2 GiB
    auto const excess = find_excess(study->problem, options, 1 << 30);
    REQUIRE(excess);
    CHECK(excess->notes.front().find("evidence") != std::string::npos);
    options.evidence = false;
    options.until = "ess>400";
    options.thin = 1;
    auto const open = find_excess(study->problem, options, 1 << 26);
    REQUIRE(open);
    CHECK(open->notes.front().find("--max-draws") != std::string::npos);
}
