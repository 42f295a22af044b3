#include <doctest/doctest.h>
#include <fmt/format.h>

#include <bam/bam.hpp>

using bam::Csv;
using bam::Program;

namespace {

/// Outputs -2, -1, 1, 2 times `size`, at inputs 1 and -1: their sd is 1.826 `size`.
Csv table(double size) {
    std::string text = "x,y\n";
    int k = 0;
    for (double const y : {-2.0, -1.0, 1.0, 2.0}) text += fmt::format("{},{}\n", k++ % 2 == 0 ? 1 : -1, y * size);
    return {.text = text};
}

/// Codes of what is said of `b ~ normal(mean, sd)` and a noise with prior half_normal(noise).
std::vector<int> said(double mean, double sd, double noise, double size, std::string const& beside = "") {
    Program const program = Program::from_text(
        fmt::format("dims {{ sequence row }}\ndata {{ x[row]; y[row] }}\nparam {{ b ~ normal({}, {}); s ~ half_normal({}) }}\n"
                    "observe {{ y ~ normal(b * x, s) }}\ntable {{ x = x; y = y }}\n{}",
                    mean, sd, noise, beside));
    std::vector<int> codes;
    bam::PriorListing const listing = program.with(table(size)).priors();
    for (bam::Diagnostic const& d : listing.report.diagnostics()) codes.push_back(d.code);
    return codes;
}

}  // namespace

// The prior of the mean at every cell is normal with the sd of b. 400 draws know an sd to 5 %: the cases are a factor of 1.5 away from
// the limits of 10 times and a tenth of the outputs' sd.
TEST_CASE("priors against a table: an sd is too wide or too narrow by the size of the outputs, not of numbers") {
    using Codes = std::vector<int>;
    for (double const size : {0.05, 1.0, 1e5}) {
        double const sd = 1.826 * size;
        CHECK(said(0, sd, sd, size) == Codes{});
        CHECK(said(0, 6.5 * sd, sd, size) == Codes{});
        CHECK(said(0, 15 * sd, sd, size) == Codes{323});
        CHECK(said(sd, 0.15 * sd, sd, size) == Codes{});
        CHECK(said(sd, 0.065 * sd, sd, size) == Codes{323});
    }
}

// Of half_normal(s) the median is 0.674 s.
TEST_CASE("priors against a table: noise beyond all that is observed, or far below it") {
    using Codes = std::vector<int>;
    CHECK(said(0, 1, 1.826 * 10, 1) == Codes{});
    CHECK(said(0, 1, 1.826 * 22, 1) == Codes{324});
    CHECK(said(0, 1, 1.826 * 0.022, 1) == Codes{});
    CHECK(said(0, 1, 1.826 * 0.01, 1) == Codes{324});
}

TEST_CASE("priors against a table: nothing can be drawn from a flat prior, which is said") {
    CHECK(said(0, 1, 1, 1, "priors { b ~ flat() }\n") == std::vector<int>{325});
}
