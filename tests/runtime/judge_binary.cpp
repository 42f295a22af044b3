// Outputs that are 0 or 1 beside what judges predictions: their log probabilities count, their places in intervals do not exist.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <bam/bam.hpp>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>

#include "thrown.hpp"

using namespace bam;
using bam::test::code_of;
using Json = nlohmann::json;

namespace {

constexpr int rows = 30, ones = 21;

std::string model(std::string const& outputs) {
    return "dims { sequence row }\ndata { y[row] missing }\nparam { b ~ normal(0.3, 1.2) }\nobserve { y ~ " + outputs +
           " }\ntable { row = row; y = y }\n";
}

Csv table(int from = 0) {
    std::string text = "row,y\n";
    for (int i = 0; i < rows; ++i) text += fmt::format("{},{}\n", from + i, i < ones ? 1 : 0);
    return {.text = text, .name = "t.csv"};
}

Fit fit_of(std::string const& outputs) {
    FitOptions options;
    options.chains = 2;
    options.num_warmup = 200;
    options.num_samples = 4000;
    return Program::from_text(model(outputs)).fit(table(), options);
}

/// Log of the integral of p^k (1 - p)^(n - k) over the prior of the log odds: smooth and falling as a normal does.
double log_integral(int k, int n) {
    double const step = 0.01;
    double sum = 0;
    for (double b = -9; b < 10; b += step)
        sum += step * std::exp(-0.5 * std::pow((b - 0.3) / 1.2, 2) - k * std::log1p(std::exp(-b)) - (n - k) * std::log1p(std::exp(b)));
    return std::log(sum / (1.2 * std::sqrt(2 * 3.141592653589793)));
}

}  // namespace

TEST_CASE("binary outputs are judged by their log probabilities and have no places in intervals") {
    Fit const fit = fit_of("bernoulli_logit(b)");
    double const all = log_integral(ones, rows);
    double const of_one = all - log_integral(ones - 1, rows - 1), of_zero = all - log_integral(ones, rows - 1);
    Json const left_out = Json::parse(fit.calibration(table()).json)["outputs"][0];
    CHECK(left_out["elpd"]["value"].get<double>() == doctest::Approx(ones * of_one + (rows - ones) * of_zero).epsilon(0.005));
    CHECK(left_out["coverage"].empty());
    CHECK(left_out["pit"].is_null());

    Json const held_out = Json::parse(fit.score(table(rows)).json)["outputs"][0];
    double const p = std::exp(log_integral(ones + 1, rows + 1) - all);
    CHECK(held_out["elpd"]["value"].get<double>() == doctest::Approx(ones * std::log(p) + (rows - ones) * std::log(1 - p)).epsilon(0.005));
    CHECK(held_out["rmse"].get<double>() ==
          doctest::Approx(std::sqrt((ones * (1 - p) * (1 - p) + (rows - ones) * p * p) / rows)).epsilon(0.005));
    CHECK(held_out["pit"].is_null());

    Json const checks = Json::parse(fit.predictive_checks(table()).json);
    CHECK(checks["quantities"][0]["observed"].get<double>() == doctest::Approx(static_cast<double>(ones) / rows));
}

TEST_CASE("a probability is not compared with a density") {
    Fit const binary = fit_of("bernoulli_logit(b)"), normal = fit_of("normal(b, 0.5)");
    CHECK(code_of([&] { compare({{"binary", binary}, {"normal", normal}}, table(), {}); }) == 551);
    CHECK(code_of([&] { compare({{"one", binary}, {"other", fit_of("bernoulli_logit(b + 0.5)")}}, table(), {}); }) == 0);
}
