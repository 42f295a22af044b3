#include "stopping.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <bam/bam.hpp>
#include <cmath>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "checkpoints.hpp"
#include "each_chain.hpp"

using namespace bam;

namespace {

constexpr char const* line = R"(model line
dims { sequence seq }
data { x[seq]; y[seq] missing }
param { a ~ normal(0, 10); b ~ normal(0, 10); sigma ~ half_cauchy(1) }
observe { y ~ normal(a + b * x, sigma) }
table { x = x; y = y }
)";

Csv table() { return {.text = "x,y\n0,2.1\n1,3.9\n2,6.2\n3,6.9\n4,10.1\n5,10.5\n", .name = "t.csv"}; }

Fit fit_until(std::string const& until, std::size_t threads, std::size_t most = 5000) {
    FitOptions options;
    options.chains = 3;
    options.num_warmup = 50;
    options.until = until;
    options.max_draws = most;
    options.threads = threads;
    return Program::from_text(line).fit(table(), options);
}

std::string refusal(std::string const& text, bool is_until = true) {
    try {
        is_until ? parse_until(text) : parse_warn(text);
    } catch (Error const& error) {
        CHECK(error.report().diagnostics().front().code == (is_until ? 556 : 557));
        return error.what();
    }
    return "";
}

}  // namespace

TEST_CASE("until: chains end at the first look at which the conditions hold and threads change nothing") {
    Fit const one = fit_until("rhat<1.02,ess>250", 1);
    CHECK(one.num_draws() < 5000);
    CHECK(one.num_draws() >= 100);
    CHECK(one.options().num_samples == one.num_draws());
    CHECK(one.verdict().find("rhat<1.02,ess>250 holds.") != std::string::npos);
    for (Quantity const& quantity : one.summary()) {
        CHECK(quantity.rhat < 1.02);
        CHECK(std::min(quantity.ess_bulk, quantity.ess_tail) > 250);
    }
    for (std::size_t const threads : {std::size_t{2}, std::size_t{3}, std::size_t{7}}) {
        Fit const other = fit_until("rhat<1.02,ess>250", threads);
        CHECK(other.draws("b") == one.draws("b"));
    }
    // The same draws as those of a run that was asked for as many.
    FitOptions options;
    options.chains = 3;
    options.num_warmup = 50;
    options.num_samples = one.num_draws();
    CHECK(Program::from_text(line).fit(table(), options).draws("b") == one.draws("b"));
}

TEST_CASE("until: what is not reached ends at the most there may be and is said") {
    Fit const fit = fit_until("ess>100000", 2, 230);
    CHECK(fit.num_draws() == 230);
    CHECK(fit.verdict().find("as `--max-draws` says: ess>100000 does not hold.") != std::string::npos);
}

TEST_CASE("until: draws are those that are kept") {
    FitOptions options;
    options.chains = 2;
    options.num_warmup = 50;
    options.thin = 7;
    options.until = "rhat<1.5";
    Fit const fit = Program::from_text(line).fit(table(), options);
    CHECK(fit.num_draws() == 100);
    CHECK(fit.options().num_samples == 700);
    CHECK(fit.verdict().find("Stopped after 100 draws") != std::string::npos);
    CHECK(refusal("rhat<1").find("needs a number above 1") != std::string::npos);
}

TEST_CASE("until: a program that asks for it where there are no chains is refused") {
    FitOptions options;
    options.backend = Backend::Map;
    options.until = "ess>10";
    CHECK_THROWS_AS(Program::from_text(line).fit(table(), options), Error);
    options.backend = Backend::Gibbs;
    options.until = "ess<10";
    CHECK_THROWS_AS(Program::from_text(line).fit(table(), options), Error);
}

TEST_CASE("checkpoints: so many run at a time as there may and all are at rest when they are looked at") {
    constexpr std::size_t chains = 5, threads = 2;
    std::atomic<int> running = 0, most = 0, looks = 0;
    std::vector<std::size_t> draws(chains, 0);
    std::vector<std::vector<std::size_t>> seen;
    Run const run;
    Checkpoints checkpoints(chains, threads, {3, 4, 9}, [&](Run const&) {
        seen.push_back(draws);
        return ++looks == 2;
    });
    each_chain(chains, chains, [&](std::size_t c, std::stop_token const& failed) {
        checkpoints.enter(failed);
        ++running;
        for (std::size_t i = 1; i <= 20; ++i) {
            most = std::max<int>(most, running);
            draws[c] = i;
            --running;
            bool const goes_on = checkpoints.go_on(run, i, {}, failed);
            ++running;
            if (!goes_on) break;
        }
        --running;
        checkpoints.leave();
    });
    CHECK(most <= static_cast<int>(threads));
    CHECK(seen == std::vector<std::vector<std::size_t>>{{3, 3, 3, 3, 3}, {4, 4, 4, 4, 4}});
    CHECK(draws == std::vector<std::size_t>(chains, 4));
    CHECK(check_schedule(400) == std::vector<std::size_t>{100, 150, 225, 337, 400});
    CHECK(check_schedule(60) == std::vector<std::size_t>{60});
}

TEST_CASE("checkpoints: a chain that fails or a stop lets the others go") {
    Checkpoints failing(3, 1, {5}, [](Run const&) { return false; });
    Run const run;
    CHECK_THROWS_AS(each_chain(3, 3,
                               [&](std::size_t c, std::stop_token const& failed) {
                                   failing.enter(failed);
                                   if (c == 1) {
                                       failing.leave();
                                       throw std::runtime_error("no");
                                   }
                                   failing.go_on(run, 5, {}, failed);
                                   failing.leave();
                               }),
                    std::runtime_error);
    Checkpoints stopped(2, 2, {5}, [](Run const&) { return true; });
    std::stop_source source;
    std::jthread const other([&] { source.request_stop(); });
    CHECK(stopped.go_on(run, 5, source.get_token(), {}));
}

TEST_CASE("thresholds: what they say and where they are wrong") {
    auto const until = parse_until(" rhat < 1.05 , ess>1e3");
    REQUIRE(until.size() == 2);
    CHECK(until[0].holds(1.04));
    CHECK(!until[0].holds(1.05));
    CHECK(until[1].value == 1000);
    CHECK(until[1].holds(1001));
    CHECK(parse_warn("memory>2G")[0].value == 2.0 * 1024 * 1024 * 1024);
    CHECK(parse_warn("slow>1.5,memory>10K")[1].value == 10240);
    CHECK(refusal("ess<400").find("`ess` goes with a >") != std::string::npos);
    CHECK(refusal("rhat>1").find("`rhat` goes with a <") != std::string::npos);
    CHECK(refusal("rhat<1.01,es>400").find("did you mean `ess`?") != std::string::npos);
    CHECK(refusal("rhat<1.01,es>400").find("--until:1:11") != std::string::npos);
    CHECK(refusal("rhat").find("says nothing of how large") != std::string::npos);
    CHECK(refusal("rhat<").find("needs a number above 1") != std::string::npos);
    CHECK(refusal("rhat<x").find("needs a number above 1") != std::string::npos);
    CHECK(refusal("ess>4K").find("needs a number above 0") != std::string::npos);
    CHECK(refusal("ess>-1").find("needs a number above 0") != std::string::npos);
    CHECK(refusal("").find("a condition is missing") != std::string::npos);
    CHECK(refusal("ess>4,").find("a condition is missing") != std::string::npos);
    CHECK(refusal("memory<3", false).find("`memory` goes with a >") != std::string::npos);
}

TEST_CASE("until: choices whose tails have no effective size let a run end") {
    Program const program = Program::from_text(R"(dims { sequence seq; kind = 2 }
data { y[seq] }
param { z[seq, kind] ~ categorical([0.3, 0.7]); m[kind] ~ normal([0, 1.5], 0.2); sigma ~ half_normal(1) }
observe { y ~ normal(m' * z, sigma) }
table { y = y }
)");
    Csv const cells{.text = "y\n0.1\n1.6\n0.7\n0.9\n-0.6\n1.9\n0.4\n1.2\n", .name = "t.csv"};
    FitOptions options;
    options.chains = 2;
    options.num_warmup = 200;
    options.until = "rhat<1.05,ess>200";
    Fit const fit = program.fit(cells, options);
    CHECK(fit.num_draws() < 10000);
    CHECK(fit.verdict().find("holds.") != std::string::npos);
    // There is such a choice: it is judged, and has a bulk only.
    bool has_one = false;
    for (Quantity const& quantity : fit.summary())
        has_one = has_one || (quantity.is_judged && std::isnan(quantity.ess_tail) && quantity.ess_bulk > 200);
    CHECK(has_one);
}

TEST_CASE("until: predictions are those of a run that was asked for as many draws") {
    Fit const until = fit_until("rhat<1.5", 2, 100000);
    FitOptions options;
    options.chains = 3;
    options.num_warmup = 50;
    options.num_samples = until.num_draws();
    Fit const asked = Program::from_text(line).fit(table(), options);
    REQUIRE(until.predictions().size() == asked.predictions().size());
    for (std::size_t k = 0; k < until.predictions().size(); ++k) {
        CHECK(until.predictions()[k].mean == asked.predictions()[k].mean);
        CHECK(until.predictions()[k].q5 == asked.predictions()[k].q5);
    }
    CHECK(until.notes() == asked.notes());
}
