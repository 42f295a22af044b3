#include "stability.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdio>
#include <string>

#include "study.hpp"

using namespace bam;
using namespace bam::test;

namespace {

/// A state with the decay `coefficient`, on a table of two sequences, of 21 and of 11 steps; dt is 0, then 1, 2, 3, ...
Diagnostics warnings(std::string const& params, std::string const& coefficient) {
    std::string const model =
        "dims { sequence seq; time t; two = 2 }\n"
        "data { x[seq, t]; y[seq, t]; dt[seq, t] }\n"
        "param {\n" +
        params + "\n}\nstate { h[t] = " + coefficient +
        " * h[t-1] + x }\n"
        "observe { y ~ normal(h, 1) }\n"
        "table { seq = s; t = order(t); x = x; y = y; dt = difference(t ^ 2 / 2 + t / 2) }\n";
    std::string table = "s,t,x,y\n";
    for (int s = 0; s < 2; ++s)
        for (int t = 0; t <= (s == 0 ? 20 : 10); ++t) table += std::to_string(s) + ',' + std::to_string(t) + ",1,1\n";
    auto const made = study(model, table);
    Diagnostics diagnostics;
    warn_unstable(made->problem, diagnostics);
    return diagnostics;
}

}  // namespace

TEST_CASE("stability: a growth beyond every number is told by its exponent") {
    auto const found = warnings("a[t > 0] ~ normal(1e9, 1e9)", "a[t]");
    REQUIRE(found.size() == 1);
    CHECK(found[0].labels[0].text.find("by a factor of 1.0e+366") != std::string::npos);  // (2e18)^20 = 2^20 1e360
}

namespace {

std::string factor(double value) {
    char text[64];
    std::snprintf(text, sizeof text, "by a factor of %.2g", value);
    return text;
}

void check_growth(Diagnostics const& found, double growth, int steps) {
    REQUIRE(found.size() == 1);
    CHECK(found[0].code == 330);
    CHECK(found[0].severity == Severity::Warning);
    CHECK(found[0].labels[0].text.find("over " + std::to_string(steps) + " steps") == 0);
    CHECK(found[0].labels[0].text.find(factor(growth)) != std::string::npos);
}

}  // namespace

TEST_CASE("stability: the mean square of a product of decays - over the steps of the longest sequence") {
    CHECK(warnings("a[t > 0] ~ normal(0.8, 0.2)", "a[t]").empty());
    check_growth(warnings("a[t > 0] ~ normal(0.9, 0.6)", "a[t]"), std::pow(0.81 + 0.36, 20), 20);
    check_growth(warnings("a[t > 0] ~ normal(1.2, var = 0.04)", "a[t]"), std::pow(1.48, 20), 20);
    check_growth(warnings("a[t > 0] ~ normal(-1.2, precision = 25)", "a[t]"), std::pow(1.48, 20), 20);
    check_growth(warnings("a[seq, t > 0] ~ uniform_position(0.5)", "a[t]"), std::pow(1.25, 20), 20);
}

TEST_CASE("stability: an interval leaves other moments") {
    CHECK(warnings("a[t > 0] ~ normal(0.5, 1) in -1..1", "a[t]").empty());  // no decay is above 1
    CHECK(warnings("a[t > 0] ~ normal(0, 1) in 0..", "a[t]").empty());      // as of the whole normal, 1
    check_growth(warnings("a[t > 0] ~ flat() in 0..2", "a[t]"), std::pow(4.0 / 3, 20), 20);
    // normal(1, 1) above 0: E[a^2] = 1 + 2 L + (1 - L) with L = density / share at -1.
    double const ratio = std::exp(-0.5) / std::sqrt(2 * std::acos(-1.0)) / (0.5 * std::erfc(-1 / std::sqrt(2.0)));
    check_growth(warnings("a[t > 0] ~ normal(1, 1) in 0..", "a[t]"), std::pow(2 + ratio, 20), 20);
    auto const found = warnings("a[t > 0] ~ flat() in 0..2", "a[t]");
    CHECK(found[0].notes.back() == "or an interval that no decay leaves above 1: `in 0..1`");
    CHECK(warnings("a[t > 0] ~ flat() in 0..1", "a[t]").empty());
    CHECK(warnings("a[t > 0] ~ flat() in 0..", "a[t]").empty());  // no moments to judge by
}

TEST_CASE("stability: the advice helps") {
    auto const found = warnings("a[t > 0] ~ uniform_position(0.5)", "a[t]");
    REQUIRE(found.size() == 1);
    CHECK(found[0].notes[1] == "an sd of at most 1 / sqrt(20) = 0.22 keeps the factor below 3");
    CHECK(warnings("a[t > 0] ~ uniform_position(0.22)", "a[t]").empty());
    auto const large = warnings("a[t > 0] ~ normal(1.2, 0.01)", "a[t]");
    REQUIRE(large.size() == 1);
    CHECK(large[0].notes[1] == "the mean alone lets it grow: take one of at most 1");
}

TEST_CASE("stability: the worst stretch counts where decays differ from step to step") {
    check_growth(warnings("a[t < 11] ~ normal(0.1, 0.1); a[t >= 11] ~ normal(1, 1)", "a[t]"), std::pow(2.0, 10), 10);
    double growth = 1;  // exp(-2 dt / 8) + 1 for dt = 1, 2, ...
    for (int t = 1; t <= 20; ++t) growth *= std::exp(-t / 4.0) + 1;
    check_growth(warnings("a[seq, t > 0] ~ normal(exp(-dt / 8), 1)", "a[t]"), growth, 20);
}

TEST_CASE("stability: what the decay is multiplied with counts") {
    CHECK(warnings("a[t > 0] ~ normal(1, 0.5); c fixed 0.5", "a[t] * c").empty());
    check_growth(warnings("a[t > 0] ~ normal(1, 0.5)", "2 * a[t]"), std::pow(5.0, 20), 20);
}

TEST_CASE("stability: what hangs on other parameters is not judged") {
    CHECK(warnings("a[t > 0] ~ normal(m, 0.5); m ~ normal(1, 1)", "a[t]").empty());
    CHECK(warnings("a[t > 0] ~ normal(1, s); s ~ half_normal(1)", "a[t]").empty());
    CHECK(warnings("a fixed 1.5", "a").empty());
    CHECK(warnings("a[t > 0] ~ normal(1, 1); c[t > 0] ~ normal(1, 1)", "a[t] * c[t]").empty());
}
