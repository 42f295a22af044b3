#include <doctest/doctest.h>
#include <fmt/format.h>

#include <bam/bam.hpp>
#include <cmath>
#include <filesystem>
#include <numeric>

using bam::Csv;
using bam::Fit;
using bam::FitOptions;
using bam::PredictedCell;
using bam::Predictions;
using bam::Program;

namespace {

double mean_of(std::vector<double> const& values) {
    return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double variance_of(std::vector<double> const& values) {
    double const mean = mean_of(values);
    double sum = 0;
    for (double const value : values) sum += (value - mean) * (value - mean);
    return sum / static_cast<double>(values.size() - 1);
}

std::vector<double> all(Fit const& fit, std::string const& name) {
    std::vector<double> values;
    for (auto const& chain : fit.draws(name)) values.insert(values.end(), chain.begin(), chain.end());
    return values;
}

double mean_square(std::vector<double> const& values) { return variance_of(values) + mean_of(values) * mean_of(values); }

void check_same(std::vector<PredictedCell> const& a, std::vector<PredictedCell> const& b) {
    REQUIRE(a.size() == b.size());
    for (std::size_t i = 0; i < a.size(); ++i) {
        CHECK(a[i].mean == b[i].mean);
        CHECK(a[i].sd == b[i].sd);
        CHECK(a[i].q5 == b[i].q5);
        CHECK(a[i].q95 == b[i].q95);
    }
}

constexpr char const* groups_model = R"(
dims { sequence seq; time t }
data { x[seq, t]; y[seq, t] missing }
param {
  theta[seq] ~ normal(mu, tau)
  mu         ~ normal(0, 10)
  tau        ~ half_normal(1)
  b          ~ normal(0, 10)
  sigma      ~ half_cauchy(1)
}
observe { y[t] ~ normal(theta + b * x[t], sigma) }
table { seq = id; t = day; x = standardize(x); y = y / 2 }
)";

std::string groups_table() {
    std::string text = "id,day,x,y\n";
    for (int s = 0; s < 6; ++s)
        for (int t = 0; t < 5; ++t)
            text += fmt::format("g{},{},{},{}\n", s, t, t * t,
                                s == 2 && t == 3 ? "" : fmt::format("{}", 2 * (s % 3 - 1 + 0.5 * t * t + 0.1 * ((s * 7 + t * 3) % 5))));
    return text;
}

constexpr char const* walk_model = R"(
dims { sequence seq; time t }
data { y[seq, t] missing }
param {
  level[seq, t = 0] ~ normal(0, 10)
  level[seq, t > 0] ~ normal(level[t-1], tau)
  tau   ~ half_cauchy(1)
  sigma ~ half_cauchy(1)
}
observe { y[t] ~ normal(level[t], sigma) }
table { seq = id; t = day; y = y }
)";

std::string walk_table(int steps, int given) {
    std::string text = "id,day,y\n";
    for (int t = 0; t < steps; ++t)
        text += fmt::format("a,{},{}\n", t, t < given ? fmt::format("{}", 3 + 0.3 * t + ((t * 5) % 7) * 0.2) : "");
    return text;
}

}  // namespace

TEST_CASE("forecast: the table that was fitted gets the predictions of the fit, bit for bit, also from its folder") {
    Fit const fit = Program::from_text(groups_model).fit({.text = groups_table()}, {.chains = 2, .num_warmup = 100, .num_samples = 200});
    check_same(fit.predict({.text = groups_table()}).cells(), fit.predictions());

    auto const folder = std::filesystem::temp_directory_path() / fmt::format("bam_forecast_{}", static_cast<void const*>(&fit));
    fit.write(folder);
    Fit const again = Fit::open(folder);
    check_same(again.predict({.text = groups_table()}).cells(), fit.predictions());
    CHECK(again["mu"].mean == fit["mu"].mean);
    CHECK(again["theta[g3]"].q95 == fit["theta[g3]"].q95);
    std::filesystem::remove_all(folder);
}

TEST_CASE("forecast: columns of outputs may be absent, and transforms keep their constants") {
    Fit const fit = Program::from_text(groups_model).fit({.text = groups_table()}, {.chains = 2, .num_warmup = 100, .num_samples = 200});
    Predictions const one = fit.predict({.text = "id,day,x\ng0,0,0\ng0,1,1\ng0,2,4\n"});
    REQUIRE(one.cells().size() == 3);
    for (std::size_t t = 0; t < 3; ++t) {
        CHECK(std::isnan(one.cells()[t].observed));
        // The same place in the fitted table: only the noise is another.
        CHECK(one.cells()[t].mean == doctest::Approx(fit.predictions()[t].mean).epsilon(0.05));
    }
}

TEST_CASE("forecast: a new sequence is drawn from its prior given the others") {
    Fit const fit = Program::from_text(groups_model).fit({.text = groups_table()}, {.num_warmup = 500, .num_samples = 5000});
    Predictions const predictions = fit.predict({.text = "id,day,x\nnew,0,0\n"});
    REQUIRE(predictions.cells().size() == 1);
    PredictedCell const& cell = predictions.cells()[0];
    // y / 2 = mu + tau z + b x + sigma e; x = 0 is standardised with the constants of the fit.
    double const mean_x = 6.0, sd_x = std::sqrt(1.0 * (36 + 25 + 4 + 9 + 100) * 6 / 29);
    auto const mu = all(fit, "mu");
    auto const b = all(fit, "b");
    std::vector<double> center(mu.size());
    for (std::size_t i = 0; i < mu.size(); ++i) center[i] = mu[i] + b[i] * (0 - mean_x) / sd_x;
    double const variance = variance_of(center) + mean_square(all(fit, "tau")) + mean_square(all(fit, "sigma"));
    double const sd = 2 * std::sqrt(variance);
    double const se = sd / std::sqrt(static_cast<double>(mu.size()));  // draws of theta and noise are independent
    CHECK(std::abs(cell.mean - 2 * mean_of(center)) < 5 * se);
    CHECK(cell.sd == doctest::Approx(sd).epsilon(0.05));
}

TEST_CASE("forecast: later steps of a Markov prior spread as a random walk does") {
    constexpr int steps = 12, ahead = 6;
    Fit const fit = Program::from_text(walk_model).fit({.text = walk_table(steps, steps)}, {.num_warmup = 500, .num_samples = 5000});
    Predictions const predictions = fit.predict({.text = walk_table(steps + ahead, steps)});
    REQUIRE(predictions.cells().size() == steps + ahead);
    auto const last = all(fit, "level[a,11]");
    auto const tau = all(fit, "tau");
    auto const sigma = all(fit, "sigma");
    for (int h = 1; h <= ahead; ++h) {
        PredictedCell const& cell = predictions.cells()[static_cast<std::size_t>(steps - 1 + h)];
        double const sd = std::sqrt(variance_of(last) + h * mean_square(tau) + mean_square(sigma));
        CHECK(std::abs(cell.mean - mean_of(last)) < 5 * sd / std::sqrt(static_cast<double>(last.size())));
        CHECK(cell.sd == doctest::Approx(sd).epsilon(0.06));
    }
}

TEST_CASE("forecast: a new sequence of a Markov prior begins at its own beginning") {
    Fit const fit = Program::from_text(walk_model).fit({.text = walk_table(12, 12)}, {.num_warmup = 200, .num_samples = 5000});
    Predictions const predictions = fit.predict({.text = "id,day\nb,0\nb,1\n"});
    REQUIRE(predictions.cells().size() == 2);
    double const first = 100 + mean_square(all(fit, "sigma"));
    CHECK(predictions.cells()[0].sd == doctest::Approx(std::sqrt(first)).epsilon(0.04));
    CHECK(predictions.cells()[1].sd == doctest::Approx(std::sqrt(first + mean_square(all(fit, "tau")))).epsilon(0.04));
}

TEST_CASE("forecast: an autoregression goes on from its own predictions") {
    Program const program = Program::from_text(R"(
dims { sequence seq; time t }
data { y[seq, t] missing }
param { phi ~ normal(0.5, 0.0001); sigma ~ half_normal(0.5) }
observe { y[t > 0] ~ normal(phi * y[t-1], sigma) }
table { seq = id; t = day; y = y }
)");
    std::string text = "id,day,y\n";
    double y = 0;
    for (int t = 0; t < 40; ++t) {
        text += fmt::format("a,{},{}\n", t, y);
        y = 0.5 * y + ((t * 11) % 7 - 3) * 0.5;
    }
    double const last = std::stod(text.substr(text.rfind(',') + 1));
    Fit const fit = program.fit({.text = text}, {.num_warmup = 100, .num_samples = 5000});
    Predictions const predictions = fit.predict({.text = text + "a,40,\na,41,\n"});
    double const variance = mean_square(all(fit, "sigma"));
    REQUIRE(predictions.cells().size() == 41);  // of the steps from 1 on
    PredictedCell const& one = predictions.cells()[39];
    PredictedCell const& two = predictions.cells()[40];
    CHECK(std::abs(one.mean - 0.5 * last) < 5 * std::sqrt(variance / 20000));
    CHECK(one.sd == doctest::Approx(std::sqrt(variance)).epsilon(0.03));
    CHECK(std::abs(two.mean - 0.25 * last) < 5 * std::sqrt(1.25 * variance / 20000));
    CHECK(two.sd == doctest::Approx(std::sqrt(1.25 * variance)).epsilon(0.03));
}

TEST_CASE("forecast: a missing output that later steps look back at is predicted from both sides") {
    Program const program = Program::from_text(R"(
dims { sequence seq; time t }
data { y[seq, t] missing }
param { c ~ normal(0, 0.0000001) }
observe { y[t > 0] ~ normal(0.9 * y[t-1] + c, 0.5) }
table { seq = id; t = day; y = y }
)");
    Fit const fit = program.fit({.text = "id,day,y\na,0,1\na,1,2\na,2,\na,3,4\n"}, {.num_warmup = 100, .num_samples = 5000});
    PredictedCell const& cell = fit.predictions().at(2 - 1);
    CHECK(std::isnan(cell.observed));
    double const precision = (1 + 0.81) / 0.25;
    CHECK(cell.sd == doctest::Approx(1 / std::sqrt(precision)).epsilon(0.03));
    CHECK(std::abs(cell.mean - 0.9 * (2 + 4) / 1.81) < 5 / std::sqrt(precision * 20000));
}

TEST_CASE("forecast: what nothing is known of is refused") {
    Program const program = Program::from_text(R"(
dims { sequence seq; time t }
data { y[seq, t] missing }
param { theta[seq] ~ flat(); sigma ~ half_cauchy(1) }
observe { y[t] ~ normal(theta, sigma) }
table { seq = id; t = day; y = y }
)");
    Fit const fit = program.fit({.text = "id,day,y\na,0,1\na,1,2\nb,0,3\nb,1,3.5\n"}, {.chains = 1, .num_warmup = 20, .num_samples = 20});
    try {
        fit.predict({.text = "id,day\nc,0\n"});
        FAIL("it predicts");
    } catch (bam::Error const& error) {
        CHECK(error.exit_code() == 65);
        CHECK(error.report().diagnostics().front().code == 483);
    }
    CHECK(fit.predict({.text = "id,day\nb,0\n"}).cells().size() == 1);
}

TEST_CASE("forecast: a sequence that is given from its middle only is warned of") {
    Fit const fit = Program::from_text(walk_model).fit({.text = walk_table(12, 12)}, {.chains = 1, .num_warmup = 20, .num_samples = 20});
    Predictions const shifted = fit.predict({.text = "id,day\na,11\na,12\n"});
    REQUIRE(shifted.report().diagnostics().size() >= 1);
    CHECK(shifted.report().diagnostics().front().code == 484);
    CHECK(fit.predict({.text = walk_table(13, 12)}).report().diagnostics().empty());
}
