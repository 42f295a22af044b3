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

TEST_CASE("pareto: too few ratios, and equal ones, have no shape") {
    CHECK(std::isnan(pareto_k(std::vector<double>(10, 0.0))));
    CHECK(std::isinf(pareto_k(std::vector<double>(100, 0.0))));
}
