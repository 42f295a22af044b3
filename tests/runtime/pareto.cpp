#include "pareto.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "random.hpp"

using namespace bam;

TEST_CASE("pareto: the shape of ratios whose tail is known") {
    // u^-k has a generalised Pareto tail of shape k.
    for (double const k : {0.1, 0.5, 0.9}) {
        Stream stream(7, 1, 1, 1);
        std::vector<double> log_ratios;
        for (int i = 0; i < 100000; ++i) log_ratios.push_back(-k * std::log(stream.uniform()));
        CHECK(std::abs(pareto_k(log_ratios) - k) < 0.08);
    }
}

TEST_CASE("pareto: light tails are below a half, and shifts change nothing") {
    Stream stream(3, 1, 1, 1);
    std::vector<double> log_ratios, shifted;
    for (int i = 0; i < 4000; ++i) {
        log_ratios.push_back(0.3 * stream.normal());
        shifted.push_back(log_ratios.back() + 1000);
    }
    CHECK(pareto_k(log_ratios) < 0.5);
    CHECK(pareto_k(shifted) == doctest::Approx(pareto_k(log_ratios)).epsilon(1e-9));
}

TEST_CASE("pareto: too few ratios have no shape and a tail of one weight is bounded") {
    CHECK(std::isnan(pareto_k(std::vector<double>(10, 0.0))));
    CHECK(pareto_k(std::vector<double>(100, 0.0)) == -HUGE_VAL);
    // Two weights, of which a third of the draws has the larger one: no few draws carry anything.
    std::vector<double> two(3000, 0.0);
    for (std::size_t i = 0; i < two.size(); i += 3) two[i] = 0.2;
    CHECK(pareto_k(two) == -HUGE_VAL);
    CHECK(smooth_weights(two).weights[0] / smooth_weights(two).weights[1] == doctest::Approx(std::exp(0.2)));
    // Of 3000 draws ten carry all: they tie, but they are few.
    std::vector<double> few(3000, 0.0);
    for (std::size_t i = 0; i < 10; ++i) few[i] = 20;
    CHECK(pareto_k(few) == HUGE_VAL);
}
