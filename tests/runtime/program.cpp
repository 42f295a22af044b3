#include <doctest/doctest.h>

#include <bam/bam.hpp>
#include <cmath>
#include <limits>
#include <string>

#include "thrown.hpp"

using bam::Csv;
using bam::Error;
using bam::Fit;
using bam::Prepared;
using bam::Program;
using bam::test::code_of;

namespace {

constexpr char const* line = R"(model line
dims { sequence seq; time t }
data { x[seq, t]; y[seq, t] missing }
param { b ~ normal(0, 10); sigma ~ half_cauchy(1) }
observe { y[t] ~ normal(b * x[t], sigma) }
table { seq = id; t = day; x = x; y = y }
)";

Csv table() { return {.text = "id,day,x,y\np,1,1,2.1\np,2,2,3.9\np,3,3,6.2\nq,1,1,\nq,2,2,4.1\n", .name = "t.csv"}; }

}  // namespace

TEST_CASE("program: a model from text can be looked at before it has a table") {
    Program const program = Program::from_text(line);
    CHECK(program.name() == "line");
    CHECK(program.overview() ==
          "  dims      seq (sequence), t (time)\n"
          "  inputs    x[seq,t]\n"
          "  outputs   y[seq,t]\n"
          "  unknowns  1 in 1 block: b\n"
          "            1 scale: sigma\n");
    CHECK(program.symmetries().empty());
    CHECK(program.explain("b").find("b | rest") == 0);
    CHECK(code_of([&] { program.explain("c"); }) == 505);
}

TEST_CASE("program: errors of the model and of the table show their place") {
    try {
        Program::from_text("dims { time t }\nobserve { y[t] ~ normal(0, 1) }\n", {}, "m.bam");
        FAIL("it compiles");
    } catch (Error const& error) {
        CHECK(error.exit_code() == 1);
        CHECK(std::string(error.what()).find("--> m.bam:2:") != std::string::npos);
    }
    Program const program = Program::from_text(line);
    try {
        program.with({.text = "id,day,x,y\np,1,one,2\n", .name = "t.csv"});
        FAIL("it fits");
    } catch (Error const& error) {
        CHECK(error.exit_code() == 65);
        CHECK(std::string(error.what()).find("t.csv:2:") != std::string::npos);
    }
}

TEST_CASE("program: a table is counted") {
    Prepared const prepared = Program::from_text(line).with(table());
    CHECK(prepared.counts() == "5 rows; seq 2, t 2 to 3; y 4 observed, 1 missing");
    CHECK(prepared.overview() ==
          "  dims      seq 2, t up to 3 (time)\n"
          "  inputs    x[seq,t]\n"
          "  y         4 observed, 1 missing (seq `q`)\n"
          "  unknowns  1 in 1 block: b\n"
          "            1 scale: sigma\n");
    CHECK(prepared.samplers() ==
          "1\tgaussian-joint(1)\tb\n"
          "2\tinverse-gamma+mixture\tsigma\n"
          "3\tpredictive\ty (5 cells, 1 missing)\n");
}

TEST_CASE("program: a fit gives draws by name") {
    Fit const fit = Program::from_text(line).fit(table(), {.chains = 3, .num_warmup = 100, .num_samples = 200, .thin = 2});
    CHECK(fit["b"].mean == doctest::Approx(2.03).epsilon(0.05));
    auto const draws = fit.draws("b");
    REQUIRE(draws.size() == 3);
    CHECK(draws[0].size() == 100);
    CHECK(fit.draws("log_joint")[2].size() == 100);
    CHECK(fit.predictions().size() == 5);
    CHECK_FALSE(fit.is_interrupted());
    CHECK(code_of([&] { fit["sigm"]; }) == 506);
}

TEST_CASE("program: predictions that the inverse of a transform cannot reach are infinite, and their quantiles with them") {
    Fit const fit =
        Program::from_text(
            "dims { sequence seq }\ndata { y[seq] }\nparam { m ~ normal(0, 1); sigma ~ half_cauchy(1) }\n"
            "observe { y ~ normal(m, sigma) }\ntable { seq = id; y = exp(c) }\n")
            .fit({.text = "id,c\na,-3\nb,-2\nc,-0.1\nd,0\ne,0.2\nf,-4\n"}, {.chains = 2, .num_warmup = 100, .num_samples = 200});
    for (bam::PredictedCell const& cell : fit.predictions()) {
        CHECK(cell.q5 == -std::numeric_limits<double>::infinity());
        CHECK(std::isfinite(cell.q50));
        CHECK(std::isfinite(cell.q95));
    }
}

TEST_CASE("program: a stop request ends a run with what it has") {
    std::stop_source source;
    std::size_t shown = 0;
    Fit const fit = Program::from_text(line).fit(
        table(), {.chains = 1, .num_warmup = 10, .num_samples = 1000},
        [&](bam::Progress const& progress) {
            ++shown;
            if (progress.iteration == 60) source.request_stop();
        },
        source.get_token());
    CHECK(shown == 60);
    CHECK(fit.is_interrupted());
    CHECK(fit.num_draws() == 50);
}

TEST_CASE("program: options that no run can have are refused") {
    Prepared const prepared = Program::from_text(line).with(table());
    CHECK(code_of([&] { prepared.fit({.chains = 0}); }) == 507);
    CHECK(code_of([&] { prepared.fit({.num_samples = 0}); }) == 507);
    CHECK(code_of([&] { prepared.fit({.thin = 0}); }) == 507);
    CHECK(code_of([&] { prepared.fit({.num_samples = std::size_t{1} << 50}); }) == 508);  // draws of petabytes
}

TEST_CASE("program: dims can be set, and sets of priors chosen") {
    std::string const model = R"(
dims { time t; unit = 2 }
data { x[t]; y[t] }
param { w[unit] ~ normal(0, 1); v[unit] ~ normal(0, 1); sigma ~ half_cauchy(1) }
observe { y[t] ~ normal(v' * (w * x[t]), sigma) }
priors wide { w ~ normal(0, 100) }
table { t = day; x = x; y = y }
)";
    CHECK(Program::from_text(model).overview().find("4 in 2 blocks: w 2, v 2") != std::string::npos);
    CHECK(Program::from_text(model, {.dims = {{"unit", 3}}, .priors = {"wide"}}).overview().find("6 in 2 blocks: w 3, v 3") !=
          std::string::npos);
    CHECK(code_of([&] { Program::from_text(model, {.dims = {{"unti", 3}}, .priors = {}}); }) != 0);
    CHECK(code_of([&] { Program::from_text(model, {.dims = {}, .priors = {"wider"}}); }) == 511);
    CHECK(code_of([&] { Program::from_text(model, {.dims = {}, .priors = {"wider.bam"}}); }) == 501);
}

TEST_CASE("program: texts are formatted, and names guessed") {
    CHECK(bam::format_model("m", "dims { time t }\n") == bam::format_model("m", bam::format_model("m", "dims { time t }\n")));
    CHECK(code_of([] { bam::format_model("m", "dims { time t \n"); }) != 0);
    CHECK(bam::nearest("sgima", {"sigma", "tau"}) == "sigma");
    CHECK(bam::version().find('.') != std::string_view::npos);
}
