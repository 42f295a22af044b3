#include <doctest/doctest.h>
#include <fmt/format.h>

#include <Eigen/Dense>
#include <algorithm>
#include <bam/bam.hpp>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numbers>
#include <string>
#include <vector>

#include "comparison.hpp"
#include "density_parts.hpp"
#include "log_densities.hpp"
#include "record.hpp"
#include "studies.hpp"
#include "thrown.hpp"

using namespace bam;
using bam::test::code_of;
using Json = nlohmann::json;

namespace {

constexpr std::size_t sequences = 4, steps = 6;

/// Levels of sequences about a common one, and noise: everything is normal, and every predictive density has a closed form.
constexpr char const* levels = R"(model levels
dims { sequence seq; time t }
data { y[seq, t] missing }
param { mu ~ normal(1, 2); b[seq] ~ normal(mu, 1) }
observe { y[t] ~ normal(b, 0.5) }
table { seq = id; t = day; y = @ }
)";

std::string model(std::string const& column) {
    std::string text = levels;
    return text.replace(text.find('@'), 1, column);
}

/// One cell that no one expects.
double outlier = 1.7;

double value_of(std::size_t s, std::size_t t) {
    double const noise[] = {0.31, -0.44, 0.12, 0.62, -0.83, 0.21, -0.05};
    double const level[] = {0.4, 1.9, -0.7, 2.6};
    return s == 2 && t == 1 ? outlier : level[s] + noise[(3 * s + 2 * t) % 7];
}

Csv table(bool as_exp = false) {
    std::string text = "id,day,y\n";
    for (std::size_t s = 0; s < sequences; ++s)
        for (std::size_t t = 0; t < steps; ++t)
            text += fmt::format("s{},{},{:.17g}\n", s, t, as_exp ? std::exp(value_of(s, t)) : value_of(s, t));
    return {.text = text, .name = "t.csv"};
}

/// log p(y at `now` | y at `before`), cells numbered s * steps + t.
class Oracle {
  public:
    /// `between`: variance of levels about the common one.
    explicit Oracle(double between = 1)
        : mean_(Eigen::VectorXd::Constant(sequences * steps, 1)), covariance_(sequences * steps, sequences * steps), y_(sequences * steps) {
        for (std::size_t i = 0; i < sequences * steps; ++i) {
            y_(static_cast<Eigen::Index>(i)) = value_of(i / steps, i % steps);
            for (std::size_t j = 0; j < sequences * steps; ++j)
                covariance_(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(j)) =
                    4 + (i / steps == j / steps ? between : 0) + (i == j ? 0.25 : 0);
        }
    }
    double conditional(std::vector<std::size_t> const& now, std::vector<std::size_t> const& before) const {
        std::vector<std::size_t> all = before;
        all.insert(all.end(), now.begin(), now.end());
        return log_density(all) - log_density(before);
    }

  private:
    double log_density(std::vector<std::size_t> const& cells) const {
        if (cells.empty()) return 0;
        std::vector<Eigen::Index> at(cells.begin(), cells.end());
        Eigen::MatrixXd const part = covariance_(at, at);
        Eigen::VectorXd const rest = (y_ - mean_)(at);
        Eigen::LLT<Eigen::MatrixXd> const factor(part);
        Eigen::VectorXd const white = factor.matrixL().solve(rest);
        double log_determinant = 0;
        for (Eigen::Index i = 0; i < part.rows(); ++i) log_determinant += 2 * std::log(factor.matrixL()(i, i));
        return -0.5 * (static_cast<double>(cells.size()) * std::log(2 * std::numbers::pi) + log_determinant + white.squaredNorm());
    }
    Eigen::VectorXd mean_;
    Eigen::MatrixXd covariance_;
    Eigen::VectorXd y_;
};

std::vector<std::size_t> all_but(auto is_out) {
    std::vector<std::size_t> cells;
    for (std::size_t i = 0; i < sequences * steps; ++i)
        if (!is_out(i)) cells.push_back(i);
    return cells;
}

FitOptions options() {
    FitOptions fit;
    fit.chains = 2;
    fit.num_warmup = 200;
    fit.num_samples = 3000;
    return fit;
}

Json points_of(Comparison const& comparison) { return Json::parse(comparison.json)["runs"][0]["points"]; }

/// By how many Monte Carlo standard errors; a tolerance of a tenth of a percent for those that have none to speak of.
double off(Json const& point, double exact) {
    return std::abs(point["elpd"].get<double>() - exact) / std::max(point["mcse"].get<double>(), 1e-3);
}

}  // namespace

TEST_CASE("compare: cells have the density that the closed form gives them and those that weights cannot tell are fitted anew") {
    outlier = 3;
    Fit const fit = Program::from_text(model("y")).fit(table(), options());
    Oracle const oracle;
    Json const points = points_of(compare({{"levels", fit}}, table()));
    REQUIRE(points.size() == sequences * steps);
    for (std::size_t i = 0; i < points.size(); ++i) {
        CAPTURE(i);
        double const exact = oracle.conditional({i}, all_but([&](std::size_t j) { return j == i; }));
        CHECK(off(points[i], exact) < 4.5);
        CHECK(points[i]["from"] == (i == 2 * steps + 1 ? "refit" : "psis"));
    }
    Comparison const held = compare({{"levels", fit}}, table(), {.refits = 0});
    CHECK(points_of(held)[2 * steps + 1]["from"] == "doubtful");
    CHECK(held.runs[0].doubtful == 1);
    CHECK(held.text.find("hangs on a few draws") != std::string::npos);
    outlier = 1.7;
}

TEST_CASE("compare: sequences and steps have the density that the closed form gives them") {
    Fit const fit = Program::from_text(model("y")).fit(table(), options());
    Oracle const oracle;
    Json const by_sequence = points_of(compare({{"levels", fit}}, table(), {.leave_out = LeaveOut::Sequence}));
    REQUIRE(by_sequence.size() == sequences);
    for (std::size_t s = 0; s < sequences; ++s) {
        CAPTURE(s);
        std::vector<std::size_t> const now = all_but([&](std::size_t i) { return i / steps != s; });
        CHECK(by_sequence[s]["from"] == "refit");
        CHECK(off(by_sequence[s], oracle.conditional(now, all_but([&](std::size_t i) { return i / steps == s; }))) < 4.5);
    }
    constexpr std::size_t known = 2;
    Comparison const comparison = compare({{"levels", fit}}, table(), {.leave_out = LeaveOut::Future, .known_steps = known});
    Json const future = points_of(comparison);
    REQUIRE(future.size() == sequences * (steps - known));
    CHECK(comparison.runs[0].refits >= 1);
    for (std::size_t k = 0; k < future.size(); ++k) {
        CAPTURE(k);
        std::size_t const t = known + k / sequences, i = k % sequences * steps + t;
        CHECK(off(future[k], oracle.conditional({i}, all_but([&](std::size_t j) { return j % steps >= t; }))) < 4.5);
    }
}

TEST_CASE("compare: a logarithm in the model leaves densities in the units of the table") {
    Program const program = Program::from_text(model("log(y)"));
    Fit const fit = program.fit(table(true), options());
    Oracle const oracle;
    Json const points = points_of(compare({{"levels", fit}}, table(true)));
    for (std::size_t i = 0; i < points.size(); ++i) {
        CAPTURE(i);
        double const exact = oracle.conditional({i}, all_but([&](std::size_t j) { return j == i; }));
        CHECK(off(points[i], exact - value_of(i / steps, i % steps)) < 4.5);  // d log(y) / dy = 1 / y
    }
    // And compares with one without.
    Fit const plain = Program::from_text(model("y / 3")).fit(table(true), options());
    Comparison const comparison = compare({{"plain", plain}, {"log", fit}}, table(true));
    CHECK(comparison.runs[0].name == "log");
    CHECK(comparison.runs[0].difference == 0);
    CHECK(comparison.runs[1].difference == doctest::Approx(comparison.runs[1].elpd - comparison.runs[0].elpd));
    CHECK(comparison.runs[0].weight + comparison.runs[1].weight == doctest::Approx(1));
}

TEST_CASE("compare: what does not compare is refused") {
    Fit const fit = Program::from_text(model("y")).fit(table(), options());
    Csv other = table();
    other.text += "s9,0,1\n";
    CHECK(code_of([&] { compare({{"a", fit}, {"b", Program::from_text(model("y")).fit(other, options())}}); }) == 550);
    Fit const day = Program::from_text(model("day")).fit(table(), options());
    CHECK(code_of([&] { compare({{"a", fit}, {"b", day}}, table()); }) == 551);
    FitOptions map;
    map.backend = Backend::Map;
    CHECK(code_of([&] { compare({{"a", fit}, {"b", Program::from_text(model("y")).fit(table(), map)}}, table()); }) == 552);
    CHECK(code_of([&] { compare({{"a", fit}}, table(), {.leave_out = LeaveOut::Future, .known_steps = steps}); }) == 553);
    CHECK(code_of([&] { compare({{"a", fit}}, other); }) == 528);
    CHECK(code_of([&] { compare({{"a", fit}, {"b", Program::from_text(model("y")).fit(table(), options())}}, table()); }) == 563);
    Csv const gaps{.text = "id,day,y\na,0,1\na,1,\na,2,0.5\na,3,1.5\n", .name = "g.csv"};
    Program const robust = Program::from_text(
        "dims { sequence seq; time t }\ndata { y[seq, t] missing }\nparam { phi ~ normal(0, 0.5) }\n"
        "observe { y[t = 0] ~ normal(0, 2)\n y[t > 0] ~ student_t(4, phi * y[t - 1], 1) }\ntable { seq = id; t = day; y = y }\n");
    CHECK(code_of([&] { compare({{"a", robust.fit(gaps, options())}}, gaps); }) == 554);
    CHECK(code_of([&] { robust.fit(gaps, options()).calibration(gaps); }) == 554);
    // Sequences that no prior speaks of cannot be predicted.
    std::string flat = model("y");
    flat.replace(flat.find("normal(mu, 1)"), 13, "flat()");
    Json const points =
        points_of(compare({{"a", Program::from_text(flat).fit(table(), options())}}, table(), {.leave_out = LeaveOut::Sequence}));
    for (Json const& point : points) CHECK(point["from"] == "doubtful");
}

TEST_CASE("compare: cells are the same in both but not what is left out together") {
    Fit const levels = Program::from_text(model("y")).fit(table(), options());
    // One sequence of all rows; and rows that stand alone.
    Fit const one = Program::from_text(
                        "dims { time t }\ndata { y[t] missing }\nparam { mu ~ normal(1, 2) }\n"
                        "observe { y[t] ~ normal(mu, 0.5) }\ntable { t = order(y); y = y }\n")
                        .fit(table(), options());
    Fit const rows = Program::from_text(
                         "dims { sequence row }\ndata { y[row] missing }\nparam { mu ~ normal(1, 2) }\n"
                         "observe { y ~ normal(mu, 0.5) }\ntable { y = y }\n")
                         .fit(table(), options());
    CHECK(code_of([&] { compare({{"a", levels}, {"b", one}, {"c", rows}}, table()); }) == 0);
    for (Fit const* const other : {&one, &rows}) {
        CHECK(code_of([&] { compare({{"a", levels}, {"b", *other}}, table(), {.leave_out = LeaveOut::Sequence}); }) == 553);
        CHECK(code_of([&] { compare({{"b", *other}, {"a", levels}}, table(), {.leave_out = LeaveOut::Sequence}); }) == 553);
        CHECK(code_of([&] { compare({{"a", levels}, {"b", *other}}, table(), {.leave_out = LeaveOut::Future}); }) == 553);
        CHECK(code_of([&] { compare({{"b", *other}, {"a", levels}}, table(), {.leave_out = LeaveOut::Future}); }) == 553);
    }
}

TEST_CASE("log densities: those of sequences add up to the likelihood with missing outputs that means look back at") {
    auto const study = test::study(
        "dims { sequence seq; time t }\ndata { y[seq, t] missing }\n"
        "param { phi ~ normal(0, 0.5); sigma ~ half_normal(1) }\n"
        "observe { y[t = 0] ~ normal(0, 2)\n y[t > 0] ~ normal(phi * y[t - 1], sigma) }\ntable { seq = s; t = t; y = y }\n",
        "s,t,y\na,0,1\na,1,\na,2,0.5\na,3,\na,4,\na,5,-1\nb,0,0.3\nb,1,0.7\nb,2,1.1\nc,0,\nc,1,-0.4\nc,2,\n");
    Replica replica(study->problem, 1, 1, {});
    replica.start(1);
    Recorder recorder(study->problem, replica.inputs());
    Run run;
    run.columns = recorder.columns();
    run.chains.resize(1);
    for (std::size_t i = 0; i < 5; ++i) {
        replica.sweep(i);
        run.chains[0].values.resize((i + 1) * run.columns.size());
        recorder.record(replica.state(), run.chains[0].values.data() + i * run.columns.size());
        run.chains[0].log_joint.push_back(replica.log_joint());
        run.chains[0].log_likelihood.push_back(replica.log_likelihood());
    }
    Diagnostics diagnostics;
    DensityParts const parts = density_parts(study->problem, prior_statements(study->problem.plan), run, 1, diagnostics);
    auto const each = each_sequence(study->problem);
    DrawNumbers const densities = log_densities(study->problem, study->problem, run, 1, each, 1, diagnostics);
    REQUIRE(!has_error(diagnostics));
    REQUIRE(each.size() == 3);
    for (std::size_t i = 0; i < 5; ++i) {
        double sum = 0;
        for (std::size_t s = 0; s < 3; ++s) sum += densities.of(s)[i];
        CHECK(sum == doctest::Approx(parts.log_likelihood[i]).epsilon(1e-9));
    }
    // And they do not depend on the missing cells that were drawn on the way.
    DrawNumbers const others = log_densities(study->problem, study->problem, run, 99, each, 1, diagnostics);
    for (std::size_t k = 0; k < densities.values.size(); ++k) CHECK(others.values[k] == doctest::Approx(densities.values[k]).epsilon(1e-9));
}

TEST_CASE("compare: log evidence and Bayes factor have their closed form in the units of the table") {
    FitOptions with = options();
    with.evidence = true;
    with.num_samples = 2000;
    auto const program = [](std::string const& column, std::string const& spread) {
        std::string text = model(column);
        return Program::from_text(text.replace(text.find("normal(mu, 1)"), 13, "normal(mu, " + spread + ")"));
    };
    Fit const narrow = program("log(y)", "1").fit(table(true), with);
    Fit const wide = program("log(y)", "2").fit(table(true), with);
    Comparison const comparison = compare({{"wide", wide}, {"narrow", narrow}}, table(true), {.refits = 0, .by_evidence = true});
    // y ~ log-normal, so that every cell adds -log(y) to the density of log(y).
    double jacobian = 0;
    for (std::size_t i = 0; i < sequences * steps; ++i) jacobian -= value_of(i / steps, i % steps);
    std::vector<std::size_t> const all = all_but([](std::size_t) { return false; });
    double const exact_narrow = Oracle(1).conditional(all, {}) + jacobian;
    double const exact_wide = Oracle(4).conditional(all, {}) + jacobian;
    bool const is_narrow = exact_narrow > exact_wide;
    REQUIRE(comparison.runs[0].name == (is_narrow ? "narrow" : "wide"));
    double const best = is_narrow ? exact_narrow : exact_wide, other = is_narrow ? exact_wide : exact_narrow;
    CHECK(std::abs(comparison.runs[0].log_evidence - best) < 4 * comparison.runs[0].se_log_evidence);
    CHECK(std::abs(comparison.runs[1].log_evidence - other) < 4 * comparison.runs[1].se_log_evidence);
    CHECK(std::abs(comparison.runs[1].log_bayes_factor - (other - best)) < 4 * comparison.runs[1].se_log_bayes_factor);
    CHECK(comparison.runs[0].log_bayes_factor == 0);
    CHECK(comparison.runs[1].se_log_bayes_factor < 0.2);
    CHECK(comparison.text.find("log_evidence") != std::string::npos);
    CHECK(Json::parse(comparison.json)["by"] == "evidence");
    // Beside a run that has none it is shown, and cannot be ranked by.
    Fit const plain = program("log(y)", "1").fit(table(true), options());
    Comparison const mixed = compare({{"plain", plain}, {"wide", wide}}, table(true), {.refits = 0});
    CHECK(mixed.text.find("`plain` has no evidence") != std::string::npos);
    CHECK(code_of([&] { compare({{"plain", plain}, {"wide", wide}}, table(true), {.by_evidence = true}); }) == 567);
}

TEST_CASE("compare: what is no number comes last and best is never what has none") {
    double const none = std::nan("");
    Ranking ranking;
    ranking.by_evidence = true;
    for (double const value : {none, -3.0, none, -1.0, -2.0}) {
        ScoredRun run;
        run.name = std::to_string(value);
        run.scores.points.resize(2);
        for (auto& point : run.scores.points) point.expected.elpd = value;
        // Both estimates are the same but for the last digits, and have no error, as where the likelihood is known.
        run.evidence = LogEvidence{{10 * value, 0}, {10 * value + 1e-12, 0}};
        ranking.runs.push_back(run);
    }
    rank(ranking);
    std::vector<std::size_t> order;
    for (ComparisonRow const& row : ranking.rows) order.push_back(row.run);
    CHECK(order == std::vector<std::size_t>{3, 4, 1, 0, 2});
    CHECK(ranking.rows.front().bayes_factor.value == 0);
    CHECK(ranking.rows[1].bayes_factor.value == doctest::Approx(-10));
    for (std::string const& note : ranking.notes) {
        CAPTURE(note);
        bool const is_of_number = note.find("do not agree") != std::string::npos && note.find("-1.0") != std::string::npos;
        CHECK_FALSE(is_of_number);
    }
}
