// Every block of every model against the definition of the log joint, at random states, with missing cells, ragged lengths and different priors on every block.
#include <doctest/doctest.h>

#include "certificate.hpp"

using namespace bam;
using namespace bam::test;

namespace {

std::filesystem::path const studies = std::filesystem::path(BAM_TEST_DIR) / "studies";

std::unique_ptr<Study> study_of(std::string const& name, std::string const& table) {
    return study_file(studies / (name + ".bam"), text_of(studies / (table + ".csv")));
}

void check_study(std::string const& name, std::string const& table) {
    CAPTURE(name);
    auto const study = study_of(name, table);
    for (std::uint64_t seed = 1; seed <= 4; ++seed) {
        Certificate certificate(*study, seed);
        CHECK(certificate.log_joint_error() < 1e-10);
        CHECK(certificate.worst_block() < 1e-9);
        // Again where a chain has been for a while.
        for (std::uint64_t i = 0; i < 20; ++i) certificate.replica().sweep(i);
        CHECK(certificate.log_joint_error() < 1e-10);
        CHECK(certificate.worst_block() < 1e-9);
    }
}

}  // namespace

TEST_CASE("conditionals: attention") { check_study("attention", "small"); }
TEST_CASE("conditionals: attention with a skip term") { check_study("attention_skip", "small"); }
TEST_CASE("conditionals: a decay per unit") { check_study("attention_unit_decay", "small"); }
TEST_CASE("conditionals: two heads") { check_study("two_heads", "small"); }
TEST_CASE("conditionals: regression by group with fixed attention") { check_study("group_regression", "small"); }
TEST_CASE("conditionals: random walk with gaps") { check_study("random_walk", "small"); }
TEST_CASE("conditionals: growth") { check_study("growth", "small"); }
TEST_CASE("conditionals: regression") { check_study("regression", "rows"); }
TEST_CASE("conditionals: eight schools") { check_study("eight_schools", "rows"); }
TEST_CASE("conditionals: autoregression") { check_study("ar", "series"); }
TEST_CASE("conditionals: selective decay per sequence") { check_study("selective", "small"); }
