#include "tempering.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <filesystem>

#include "study.hpp"

using namespace bam;

namespace {

/// Two outputs of their own noise: `first` and `second` cells of them.
std::unique_ptr<test::Study> two_outputs(std::string const& coefficient, std::string const& noise, int first, int second) {
    std::string rows = "y,w\n";
    for (int i = 0; i < std::max(first, second); ++i)
        rows += fmt::format("{},{}\n", i < first ? std::to_string(i % 5) : "", i < second ? std::to_string(i % 3) : "");
    return test::study("dims { sequence row }\ndata { y[row] missing; w[row] missing }\nparam { k ~ normal(0, 1); q ~ " + coefficient +
                           "; s ~ " + noise + "; u ~ " + noise +
                           " }\nobserve { y ~ normal(k * q, s); w ~ normal(k, u) }\ntable { y = y; w = w }\n",
                       rows);
}

}  // namespace

TEST_CASE("tempering: the lowest power leaves every spread a posterior") {
    ChainOptions const options;
    CHECK(tempering_of(two_outputs("normal(0, 1)", "half_normal(1)", 200, 6)->problem, options).lowest == doctest::Approx(0.05));
    // Three flat numbers: at 5 of 200 cells of the one spread, and at 5 of the 100 of the other.
    CHECK(tempering_of(two_outputs("flat()", "flat()", 200, 100)->problem, options).lowest == doctest::Approx(0.05));
    CHECK(tempering_of(two_outputs("flat()", "flat()", 200, 20)->problem, options).lowest == doctest::Approx(0.25));
    // Of 6 cells nothing would be left at any power that is worth an exchange.
    CHECK(tempering_of(two_outputs("flat()", "flat()", 200, 6)->problem, options).most_rungs() == 0);
    ChainOptions all_along;
    all_along.exchange = ReplicaExchange::AllAlong;
    CHECK(refuse_tempering(two_outputs("flat()", "flat()", 200, 6)->problem, all_along)->code == 548);
    CHECK(!refuse_tempering(two_outputs("flat()", "flat()", 200, 100)->problem, all_along));
}

TEST_CASE("tempering: without a warmup exchanges before the first draw do not count") {
    std::filesystem::path const studies = std::filesystem::path(BAM_TEST_DIR) / "studies";
    auto const study = test::study_file(studies / "attention.bam", test::text_of(studies / "small.csv"));
    ChainOptions options;
    options.chains = 1;
    options.num_warmup = 0;
    options.num_samples = 1;
    options.sweeps = 1;
    options.rungs = 3;
    options.exchange = ReplicaExchange::AllAlong;
    std::size_t before = 0;
    options.tell_rates = [&](std::size_t, std::size_t, ExchangeRates const& rates) {
        if (rates.phase == Phase::Start) before = rates.round_trips;
    };
    Run const run = run_chains(study->problem, options, {}, {});
    CHECK(before > 0);
    REQUIRE(run.exchange);
    CHECK(run.exchange->chains.front().round_trips == 0);
}
