#include "each_chain.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

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
