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
    REQUIRE(again.predictions().size() == fit.predictions().size());
    for (std::size_t i = 0; i < fit.predictions().size(); ++i) {
        PredictedCell const& written = fit.predictions()[i];
        PredictedCell const& read = again.predictions()[i];
        CHECK(read.sequence == written.sequence);
        CHECK(read.time == written.time);
        CHECK(read.output == written.output);
        CHECK(std::isnan(read.observed) == std::isnan(written.observed));
        CHECK(read.mean == doctest::Approx(written.mean).epsilon(1e-7));
        CHECK(read.q95 == doctest::Approx(written.q95).epsilon(1e-7));
    }
    for (std::string const name : {"config.json", "chain_1.csv", "summary.csv", "predictions.csv"}) {
        try {
            bam::check_not_of_run(folder / name);
            FAIL("it may be written");
        } catch (bam::Error const& error) {
            CHECK(error.report().diagnostics().front().code == 537);
        }
    }
    CHECK_NOTHROW(bam::check_not_of_run(folder / "new.csv"));
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
        PredictedCell const& cell = predictions.cells()[steps - 1 + static_cast<std::size_t>(h)];
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

TEST_CASE("forecast: missing outputs of a new sequence are drawn given those observed before and after them") {
    Program const program = Program::from_text(R"(
dims { sequence seq; time t }
data { y[seq, t] missing }
param { c ~ normal(0, 0.0000001) }
observe { y[t > 0] ~ normal(0.9 * y[t-1] + c, 0.5) }
table { seq = id; t = day; y = y }
)");
    Fit const fit = program.fit({.text = "id,day,y\na,0,1\na,1,2\n"}, {.num_warmup = 100, .num_samples = 5000});
    Predictions const predictions = fit.predict({.text = "id,day,y\nb,0,1\nb,1,\nb,2,\nb,3,6\nb,4,\n"});
    REQUIRE(predictions.cells().size() == 4);
    // Of (y1, y2): precision [[1.81, -0.9], [-0.9, 1.81]] / 0.25, linear (0.9 * 1, 0.9 * 6) / 0.25.
    double const determinant = 1.81 * 1.81 - 0.81;
    double const means[] = {(1.81 * 0.9 + 0.9 * 5.4) / determinant, (0.9 * 0.9 + 1.81 * 5.4) / determinant};
    double const sd = std::sqrt(0.25 * 1.81 / determinant);
    for (std::size_t k = 0; k < 2; ++k) {
        PredictedCell const& cell = predictions.cells()[k];
        CHECK(std::abs(cell.mean - means[k]) < 5 * sd / std::sqrt(20000));
        CHECK(cell.sd == doctest::Approx(sd).epsilon(0.03));
    }
    CHECK(std::abs(predictions.cells()[3].mean - 5.4) < 5 * 0.5 / std::sqrt(20000));
    CHECK(predictions.cells()[3].sd == doctest::Approx(0.5).epsilon(0.03));
}

// The fit draws missing cells one after another along with the parameters, a prediction draws them at once for each draw of these: two ways
// to the same distribution.
TEST_CASE("forecast: gaps of the table that was fitted are predicted as the fit did") {
    auto const folder = std::filesystem::path(BAM_TEST_DIR) / "studies";
    for (auto const& [model, table] : {std::pair{"two_gaps.bam", "small.csv"}, std::pair{"ar.bam", "series.csv"}}) {
        CAPTURE(model);
        Csv const csv = Csv::read((folder / table).string());
        Fit const fit = Program::from_file((folder / model).string()).fit(csv, {.num_warmup = 500, .num_samples = 10000});
        auto const again = fit.predict(csv).cells();
        REQUIRE(again.size() == fit.predictions().size());
        std::size_t gaps = 0;
        for (std::size_t i = 0; i < again.size(); ++i) {
            PredictedCell const& cell = fit.predictions()[i];
            if (!std::isnan(cell.observed)) continue;
            ++gaps;
            CAPTURE(i);
            // Both are of 40 000 draws; one in ten counts, as those of the fit depend on one another.
            CHECK(std::abs(again[i].mean - cell.mean) < 5 * cell.sd * std::sqrt(2.0 / 4000));
            CHECK(std::abs(again[i].sd / cell.sd - 1) < 5 * std::sqrt(1.0 / 4000));
        }
        CHECK(gaps > 2);
    }
}

TEST_CASE("forecast: missing outputs that cannot be drawn with what looks back at them are refused") {
    auto const code_of = [](char const* model, char const* table, char const* later) {
        Fit const fit = Program::from_text(model).fit({.text = table}, {.chains = 1, .num_warmup = 20, .num_samples = 20});
        try {
            fit.predict({.text = later});
        } catch (bam::Error const& error) {
            CHECK(error.exit_code() == 65);
            return error.report().diagnostics().front().code;
        }
        return 0;
    };
    char const* const product = R"(
dims { sequence seq; time t }
data { y[seq, t] missing; z[seq, t] missing }
param { b ~ normal(0, 1); c ~ normal(0, 1); s ~ half_cauchy(1) }
observe { y[t] ~ normal(b * y[t-1] * z[t-1], s); z[t] ~ normal(c, s) }
table { seq = id; t = day; y = y; z = z }
)";
    char const* const two = "id,day,y,z\na,0,1,2\na,1,2,1\na,2,1.5,1.7\n";
    CHECK(code_of(product, two, "id,day,y,z\nb,0,,\nb,1,,\n") == 485);
    CHECK(code_of(product, two, "id,day,y,z\nb,0,,1\nb,1,,2\n") == 0);
    char const* const prior = R"(
dims { sequence seq; time t }
data { y[seq, t] missing }
param { m[seq, t] ~ normal(0.5 * y[t-1], 1); s ~ half_cauchy(1) }
observe { y[t] ~ normal(m, s) }
table { seq = id; t = day; y = y }
)";
    char const* const one = "id,day,y\na,0,1\na,1,2\na,2,1.5\n";
    CHECK(code_of(prior, one, "id,day,y\nb,0,1\nb,1,\nb,2,\n") == 485);
    CHECK(code_of(prior, one, "id,day,y\na,0,1\na,1,\na,2,1.5\n") == 0);
}

TEST_CASE("forecast: a mean that is infinite in the unit of the table is left out, and the quantiles stay") {
    Program const program = Program::from_text(R"(
dims { sequence seq }
data { y[seq] missing }
param { theta[seq] ~ normal(0, 1000); sigma ~ half_normal(0.5) }
observe { y ~ normal(theta, sigma) }
table { seq = id; y = log(y) }
)");
    Fit const fit = program.fit({.text = "id,y\na,2\nb,3\n"}, {.num_warmup = 50, .num_samples = 500});
    Predictions const predictions = fit.predict({.text = "id\nnew\n"});
    PredictedCell const& cell = predictions.cells().at(0);
    CHECK(std::isnan(cell.mean));
    CHECK(std::isnan(cell.sd));
    CHECK(cell.q5 < cell.q50);
    REQUIRE(predictions.notes().size() == 1);
    CHECK(predictions.notes().front().find("no finite mean") != std::string::npos);
    CHECK(predictions.csv().find(",,,") != std::string::npos);
    CHECK(predictions.json().find("\"mean\": null") != std::string::npos);
}

TEST_CASE("forecast: moments that noise of few degrees of freedom does not have are left out") {
    std::string table = "id,y\n";
    for (int k = 0; k < 12; ++k) table += "a" + std::to_string(k) + "," + std::to_string(0.3 * ((k * 5) % 12) - 2) + "\n";
    auto const first_cell = [&](std::string const& noise, bam::FitOptions const& options, std::string& notes) {
        Program const program = Program::from_text(
            "dims { sequence seq }\ndata { y[seq] missing }\nparam { mu ~ normal(0, 3); sigma ~ half_normal(1); nu ~ gamma(2, 0.1) }\n"
            "observe { y ~ " +
            noise + " }\ntable { seq = id; y = y }\nreport { r = nu }\n");
        Fit const fit = program.fit({.text = table}, options);
        Predictions const predictions = fit.predict({.text = "id\nnew\n"});
        notes = predictions.notes().empty() ? "" : predictions.notes().front();
        return predictions.cells().at(0);
    };
    std::string notes;
    bam::FitOptions gibbs{.chains = 1, .num_warmup = 50, .num_samples = 300};
    bam::FitOptions const vi{.backend = bam::Backend::Variational, .num_samples = 300};
    for (bam::FitOptions const& options : {gibbs, vi}) {
        PredictedCell cell = first_cell("student_t(1, mu, sigma)", options, notes);
        CHECK(std::isnan(cell.mean));
        CHECK(std::isnan(cell.sd));
        CHECK(std::isfinite(cell.q5));
        CHECK(notes.find("have no mean and no sd") != std::string::npos);
        cell = first_cell("student_t(2, mu, sigma)", options, notes);
        CHECK(std::isfinite(cell.mean));
        CHECK(std::isnan(cell.sd));
        CHECK(notes.find("have no sd") != std::string::npos);
        cell = first_cell("student_t(2.5, mu, sigma)", options, notes);
        CHECK(std::isfinite(cell.sd));
        CHECK(notes.empty());
    }
}

TEST_CASE("forecast: labels that only the new table has are listed, with what they may be meant for (BAM0495)") {
    Program const program = Program::from_text(
        "dims { sequence row; g }\ndata { k[row] in g; y[row] missing }\nparam { theta[g] ~ normal(0, 1) }\n"
        "observe { y ~ normal(theta[k], 1) }\ntable { k = k; y = y }\n");
    Fit const fit = program.fit({.text = "k,y\n1,1\n2,2\nnorth,3\n"}, {.chains = 1, .num_warmup = 20, .num_samples = 20});
    auto const report = fit.predict({.text = "k\n1.0\n02\nNorth\neast\n"}).report().diagnostics();
    REQUIRE(report.size() == 1);
    CHECK(report[0].code == 495);
    CHECK(report[0].severity == bam::Severity::Note);
    CHECK(report[0].message.find("4 labels of `g`") != std::string::npos);
    REQUIRE(report[0].notes.size() == 4);
    CHECK(report[0].notes[1].find("`1.0` is `1` of the run as a number") == 0);
    CHECK(report[0].notes[0].find("`02` is `2` of the run as a number") == 0);
    CHECK(report[0].notes[2] == "`North`: did you mean `north`?");
    CHECK(fit.predict({.text = "k\n1\n2\nnorth\n"}).report().diagnostics().empty());
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
        CHECK(error.report().diagnostics().front().message.find("has not seen: `c`") != std::string::npos);
    }
    CHECK(fit.predict({.text = "id,day\nb,0\n"}).cells().size() == 1);
}

TEST_CASE("forecast: a label that only the new table has is refused where a list counts the labels") {
    std::string const text = R"(
dims { sequence seq; kind }
data { is[seq] in kind; y[seq] missing }
param { theta[kind] ~ @; sigma ~ half_cauchy(1) }
observe { y ~ normal(theta[is], sigma) }
table { seq = id; is = kind; y = y }
)";
    for (std::string const prior : {"normal([0, 1], 1)", "normal(0, [1, 2])", "normal(0, 1)"}) {
        std::string model = text;
        Fit const fit =
            Program::from_text(model.replace(model.find('@'), 1, prior))
                .fit({.text = "id,kind,y\na,p,1\nb,q,2\nc,p,0.5\nd,q,2.5\n"}, {.chains = 1, .num_warmup = 20, .num_samples = 20});
        Csv const other{.text = "id,kind\ne,q\nf,r\ng,s\n", .name = "new.csv"};
        if (prior == "normal(0, 1)") {
            CHECK(fit.predict(other).cells().size() == 3);
            continue;
        }
        try {
            fit.predict(other);
            FAIL("it predicts");
        } catch (bam::Error const& error) {
            bam::Diagnostic const& said = error.report().diagnostics().front();
            CHECK(error.exit_code() == 65);
            CHECK(said.code == 494);
            CHECK(said.message.find("`r` and `s` are new in `kind`") == 0);
            CHECK(said.labels.size() == 3);
            CHECK(said.labels.front().text == "the run has `p` and `q`");
        }
    }
}

TEST_CASE("forecast: a sequence that is given from its middle only is warned of") {
    Fit const fit = Program::from_text(walk_model).fit({.text = walk_table(12, 12)}, {.chains = 1, .num_warmup = 20, .num_samples = 20});
    Predictions const shifted = fit.predict({.text = "id,day\na,11\na,12\n"});
    REQUIRE(shifted.report().diagnostics().size() >= 1);
    CHECK(shifted.report().diagnostics().front().code == 484);
    CHECK(fit.predict({.text = walk_table(13, 12)}).report().diagnostics().empty());
}
