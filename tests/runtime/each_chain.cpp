#include "each_chain.hpp"

#include <doctest/doctest.h>
#include <pthread.h>

#include <atomic>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "bam/bam.hpp"
#include "checkpoints.hpp"
#include "crew.hpp"

using bam::each_chain;

TEST_CASE("chains: each is run once, whatever the number of threads") {
    for (std::size_t const threads : std::initializer_list<std::size_t>{0, 1, 3, 50}) {
        CAPTURE(threads);
        std::vector<int> runs(20, 0);
        each_chain(runs.size(), threads, [&](std::size_t chain, std::stop_token const&) { ++runs[chain]; });
        CHECK(runs == std::vector<int>(20, 1));
    }
    each_chain(0, 4, [](std::size_t, std::stop_token const&) { FAIL("there is no chain"); });
}

TEST_CASE("chains: one thread runs them in order") {
    std::vector<std::size_t> order;
    each_chain(4, 1, [&](std::size_t chain, std::stop_token const&) { order.push_back(chain); });
    CHECK(order == std::vector<std::size_t>{0, 1, 2, 3});
}

TEST_CASE("chains: what one throws stops the others and comes out") {
    std::atomic<std::size_t> begun = 0;
    auto const run = [&] {
        each_chain(1000, 3, [&](std::size_t chain, std::stop_token const& failed) {
            ++begun;
            if (chain == 1) throw std::runtime_error("chain 1 failed");
            while (!failed.stop_requested()) std::this_thread::yield();
        });
    };
    CHECK_THROWS_WITH_AS(run(), "chain 1 failed", std::runtime_error);
    CHECK(begun <= 3);
}

TEST_CASE("chains: a thread that the system does not start ends those that wait for it") {
    // Threads of a size that there is no room for.
    pthread_attr_t usual, vast;
    REQUIRE(pthread_getattr_default_np(&usual) == 0);
    REQUIRE(pthread_getattr_default_np(&vast) == 0);
    REQUIRE(pthread_attr_setstacksize(&vast, std::size_t{1} << 47) == 0);
    REQUIRE(pthread_setattr_default_np(&vast) == 0);
    bam::Checkpoints checkpoints(3, 1, {5}, [](bam::Run const&) { return false; });
    std::string message;
    try {
        each_chain(3, 3, [&](std::size_t, std::stop_token const& failed) {
            checkpoints.enter(failed);
            checkpoints.go_on({}, 5, {}, failed);
            checkpoints.leave();
        });
    } catch (bam::Error const& error) {
        message = error.what();
        CHECK(error.exit_code() == 71);
        CHECK(error.report().diagnostics().front().code == 571);
    }
    REQUIRE(pthread_setattr_default_np(&usual) == 0);
    CHECK(message.find("only 1 of 3 threads could be started") != std::string::npos);
}

TEST_CASE("crew: all work is done in every round and what it throws comes out") {
    for (std::size_t const threads : {1U, 2U, 5U}) {
        bam::Crew crew(threads);
        std::vector<int> done(7, 0);
        for (int round = 0; round < 2000; ++round) crew.each(done.size(), [&](std::size_t k) { ++done[k]; });
        CHECK(done == std::vector<int>(7, 2000));
        auto const failing = [&] {
            crew.each(done.size(), [&](std::size_t k) {
                if (k == 3) throw std::runtime_error("piece 3 failed");
                ++done[k];
            });
        };
        CHECK_THROWS_WITH_AS(failing(), "piece 3 failed", std::runtime_error);
        crew.each(done.size(), [&](std::size_t k) { ++done[k]; });
        CHECK(done == std::vector<int>{2002, 2002, 2002, 2001, 2002, 2002, 2002});
    }
}
