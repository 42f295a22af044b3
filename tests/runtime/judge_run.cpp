#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <bam/bam.hpp>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "random.hpp"
#include "thrown.hpp"

using namespace bam;
using bam::test::code_of;
using Json = nlohmann::json;

namespace {

/// A walk with known noise, so that a wrong sd is a matter of one number.
std::string model(std::string const& sd, std::string const& column = "y") {
    return "model walk\ndims { sequence seq; time t }\ndata { y[seq, t] missing }\nparam { mu ~ normal(0, 3) }\nobserve { y[t] ~ "
           "normal(mu, " +
           sd + ") }\ntable { seq = id; t = day; y = " + column + " }\n";
}

/// 10 sequences of 30 steps about 1, with sd 1. `share`: of the step before that a step keeps.
Csv table(std::uint64_t number, double share = 0) {
    std::string text = "id,day,y\n";
    for (int s = 0; s < 10; ++s) {
        Stream stream(42, number, static_cast<std::uint64_t>(s), 0);
        double x = stream.normal();
        for (int t = 0; t < 30; ++t) {
            text += fmt::format("s{},{},{:.17g}\n", s, static_cast<std::uint64_t>(t) + 100 * number, 1 + x);
            x = share * x + std::sqrt(1 - share * share) * stream.normal();
        }
    }
    return {.text = text, .name = "t.csv"};
}

Fit fit_of(std::string const& text, Csv const& data) {
    FitOptions options;
    options.chains = 2;
    options.num_warmup = 100;
    options.num_samples = 400;
    return Program::from_text(text).fit(data, options);
}

double covered(Json const& calibration, std::size_t level) { return calibration["outputs"][0]["coverage"][level]["covered"]; }

Json quantity(Json const& checks, std::string const& name) {
    for (Json const& one : checks["quantities"])
        if (one["quantity"] == name) return one;
    return {};
}

}  // namespace

TEST_CASE("calibration: a right model covers what it says and a wrong one does not") {
    // mu is known to 1/17 sd: PIT is that of a normal about the mean of the others.
    Csv const data = table(1);
    Judgement const right = fit_of(model("1"), data).calibration(data);
    Json const json = Json::parse(right.json);
    for (std::size_t l = 0; l < 4; ++l) {
        Json const& at = json["outputs"][0]["coverage"][l];
        CHECK(std::abs(at["covered"].get<double>() - at["level"].get<double>()) < 3 * at["se"].get<double>());
    }
    CHECK(json["outputs"][0]["coverage"][0]["se"].get<double>() == doctest::Approx(std::sqrt(0.25 / 300)));
    CHECK(right.text.find("Nothing is off by 3 standard errors.") != std::string::npos);
    Judgement const sure = fit_of(model("0.4"), data).calibration(data);
    CHECK(covered(Json::parse(sure.json), 2) < 0.7);  // 2 Φ(1.645 * 0.4) - 1 = 0.49
    CHECK(sure.text.find("Predictions of y are too sure") != std::string::npos);
    Judgement const wide = fit_of(model("3"), data).calibration(data);
    CHECK(wide.text.find("Predictions of y are too wide") != std::string::npos);
}

TEST_CASE("calibration: PIT by hand and in the direction of the table") {
    Csv const data = table(1);
    Json const up = Json::parse(fit_of(model("1"), data).calibration(data).json);
    Json const down = Json::parse(fit_of(model("1", "1 - y"), data).calibration(data).json);
    // The mean of the 299 others, and its own variance on top of the noise.
    std::vector<double> values;
    for (std::size_t at = data.text.find('\n'); at + 1 < data.text.size(); at = data.text.find('\n', at + 1))
        values.push_back(std::stod(data.text.substr(data.text.find_last_of(',', data.text.find('\n', at + 1)) + 1)));
    double sum = 0;
    for (double const value : values) sum += value;
    for (std::size_t const i : {0UL, 17UL, 150UL, 299UL}) {
        CAPTURE(i);
        double const precision = 299 + 1.0 / 9;
        double const z = (values[i] - (sum - values[i]) / precision) / std::sqrt(1 + 1 / precision);
        CHECK(up["points"][i]["pit"].get<double>() == doctest::Approx(0.5 * std::erfc(-z / std::sqrt(2.0))).epsilon(0.02));
        CHECK(down["points"][i]["pit"].get<double>() == doctest::Approx(up["points"][i]["pit"].get<double>()).epsilon(0.02));
    }
}

TEST_CASE("score: only what the run has not seen counts") {
    Csv const data = table(1);
    Csv fresh = table(2);
    Fit const fit = fit_of(model("1"), data);
    Json const json = Json::parse(fit.score(fresh).json);
    CHECK(json["held_out"] == true);
    CHECK(json["outputs"][0]["cells"] == 300);
    CHECK(json["outputs"][0]["rmse"].get<double>() == doctest::Approx(1).epsilon(0.15));
    CHECK(json["outputs"][0]["elpd"]["value"].get<double>() / 300 == doctest::Approx(-1.42).epsilon(0.1));  // -0.5 log(2 π e)
    CHECK(code_of([&] { fit.score(data); }) == 555);
    CHECK(code_of([&] { fit.score({.text = "id,day\ns1,1\n"}); }) == 555);
    fresh.text += data.text.substr(data.text.find("s0,"), data.text.find("s0,103,") - data.text.find("s0,"));
    Judgement const both = fit.score(fresh);
    CHECK(Json::parse(both.json)["outputs"][0]["cells"] == 300);
    CHECK(both.text.find("3 cells were fitted, and are not scored") != std::string::npos);
}

TEST_CASE("score: rows without a label are seen only where the whole table is the one that was fitted") {
    std::string const text =
        "dims { sequence row }\ndata { y[row] missing }\nparam { mu ~ normal(0, 3) }\nobserve { y ~ normal(mu, 1) }\ntable { y = y }\n";
    auto const csv = [](std::uint64_t number, int rows) {
        Stream stream(42, number, 0, 0);
        std::string lines = "y\n";
        for (int i = 0; i < rows; ++i) lines += fmt::format("{:.17g}\n", stream.normal());
        return Csv{.text = lines, .name = "t.csv"};
    };
    auto const scored = [](Fit const& fit, Csv const& data) { return Json::parse(fit.score(data).json)["outputs"][0]["cells"]; };
    Fit const fit = fit_of(text, csv(1, 30));
    CHECK(scored(fit, csv(2, 20)) == 20);
    CHECK(scored(fit, csv(2, 40)) == 40);
    CHECK(scored(fit, csv(1, 40)) == 10);
    CHECK(code_of([&] { fit.score(csv(1, 30)); }) == 555);
    CHECK(code_of([&] { fit.score(csv(1, 20)); }) == 555);
}

TEST_CASE("score: what stands in a hole would know of what comes after it") {
    Fit const fit = fit_of(
        "dims { sequence seq; time t }\ndata { y[seq, t] missing }\nparam { phi ~ normal(0.5, 0.2) }\n"
        "observe { y[t = 0] ~ normal(0, 2)\n y[t > 0] ~ normal(phi * y[t - 1], 1) }\ntable { seq = id; t = day; y = y }\n",
        table(1, 0.5));
    CHECK(code_of([&] { fit.score({.text = "id,day,y\na,0,1\na,1,\na,2,0.5\n"}); }) == 554);
    CHECK(code_of([&] { fit.score({.text = "id,day,y\na,0,1\na,1,2\na,2,\n"}); }) == 0);
}

TEST_CASE("score: a cell of which draws have no finite mean is in no interval and is said") {
    std::string const text =
        "dims { sequence seq; time t }\ndata { x[seq, t]; y[seq, t] missing }\nparam { a[t > 0] ~ normal(30, 1); d[t > 0] ~ normal(30, 1); "
        "b ~ normal(0, 1) }\n"
        "state { g[t] = a[t] * g[t-1] + x[t]; h[t] = d[t] * h[t-1] + x[t] }\n"
        "observe { y[t] ~ normal(b * x[t] + g[t] - h[t], 1) }\ntable { seq = id; t = day; x = x; y = y }\n";
    Fit const fit = fit_of(text, {.text = "id,day,x,y\na,0,0,0.1\na,1,0,0.5\na,2,0,-0.2\n"});
    std::string rows = "id,day,x,y\n";
    for (int t = 0; t < 300; ++t) rows += fmt::format("b,{},{},{}\n", t, t == 0 ? 1 : 0, t % 2);
    Judgement const judged = fit.score({.text = rows});
    Json const output = Json::parse(judged.json)["outputs"][0];
    CHECK(!output["pit"].is_null());
    CHECK(judged.text.find("0 or 1") == std::string::npos);
    CHECK(judged.text.find("have no finite prediction") != std::string::npos);
    CHECK(judged.text.find("nan") == std::string::npos);
}

TEST_CASE("predictive checks: an autocorrelation and a spread that the model does not have stand out and others do not") {
    Csv const independent = table(1), walking = table(1, 0.8);
    Json const fine = Json::parse(fit_of(model("1"), independent).predictive_checks(independent).json);
    for (Json const& one : fine["quantities"]) CHECK(std::abs(one["p"].get<double>() - 0.5) < 0.49);
    CHECK(fine["tables"] == 800);
    CHECK(fine["by_sequence"].size() == 50);
    Judgement const found = fit_of(model("1"), walking).predictive_checks(walking);
    Json const json = Json::parse(found.json);
    CHECK(quantity(json, "lag1")["observed"].get<double>() == doctest::Approx(0.7).epsilon(0.2));
    CHECK(quantity(json, "lag1")["p"] == 0);
    CHECK(found.text.find("The lag-1 autocorrelation of y is large") != std::string::npos);
    Json const narrow = Json::parse(fit_of(model("0.5"), independent).predictive_checks(independent).json);
    CHECK(quantity(narrow, "sd")["p"] == 0);
    CHECK(quantity(narrow, "mean")["p"].get<double>() > 0.02);
}

TEST_CASE("predictive checks: quantities by hand") {
    Csv const data{.text = "id,day,y\na,0,1\na,1,4\na,2,2\na,3,\na,4,5\nb,0,0\nb,1,1\n", .name = "t.csv"};
    Json const json = Json::parse(fit_of(model("1"), data).predictive_checks(data).json);
    CHECK(quantity(json, "mean")["observed"].get<double>() == doctest::Approx(13.0 / 6));
    CHECK(quantity(json, "min")["observed"] == 0);
    CHECK(quantity(json, "max")["observed"] == 5);
    CHECK(quantity(json, "sd")["observed"].get<double>() == doctest::Approx(std::sqrt((47 - 169.0 / 6) / 5)));
    // Means 3 and 0.5; pairs of steps (0, 1), (1, 2) of a and (0, 1) of b.
    CHECK(quantity(json, "lag1")["observed"].get<double>() == doctest::Approx((-2.0 * 1 + 1.0 * -1 - 0.25) / (4 + 1 + 1 + 4 + 0.5)));
}

TEST_CASE("judging: a mode and draws of factors are refused where they do not do") {
    Csv const data = table(1);
    FitOptions map, vi;
    map.backend = Backend::Map;
    vi.backend = Backend::Variational;
    Fit const mode = Program::from_text(model("1")).fit(data, map), factors = Program::from_text(model("1")).fit(data, vi);
    CHECK(code_of([&] { mode.calibration(data); }) == 552);
    CHECK(code_of([&] { mode.score(data); }) == 552);
    CHECK(code_of([&] { mode.predictive_checks(data); }) == 552);
    CHECK(code_of([&] { factors.calibration(data); }) == 552);
    CHECK(code_of([&] { factors.score(table(2)); }) == 0);
    CHECK(code_of([&] { factors.predictive_checks(data); }) == 0);
}
