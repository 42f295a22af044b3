// Binary outputs (math.md, 7b) against quadrature, counts and the priors.
#include <doctest/doctest.h>
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "chains.hpp"
#include "convergence.hpp"
#include "geweke.hpp"
#include "linear_response.hpp"
#include "polya_gamma.hpp"
#include "scales.hpp"
#include "simulation.hpp"
#include "studies.hpp"
#include "variational.hpp"

using namespace bam;
using namespace bam::test;

namespace {

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

/// Rows x, y; a missing y is empty.
struct Row {
    double x = 0;
    int y = -1;
};

std::vector<Row> const ten_rows{{-1.6, 0}, {-1.1, 0}, {-0.9, 1}, {-0.3, 0}, {-0.1, 0}, {0.2, 1},
                                {0.4, 0},  {0.9, 1},  {1.3, 1},  {2.1, 1},  {0.6, -1}};

std::string table_of(std::vector<Row> const& rows) {
    std::string text = "row,x,y\n";
    for (std::size_t i = 0; i < rows.size(); ++i)
        text += fmt::format("{},{},{}\n", i, rows[i].x, rows[i].y < 0 ? "" : std::to_string(rows[i].y));
    return text;
}

std::unique_ptr<Study> line(std::vector<Row> const& rows) {
    return study(
        "dims { sequence row }\ndata { x[row]; y[row] missing }\nparam { b ~ normal(0.4, 1.5); c ~ normal(-0.2, 2) }\n"
        "observe { y ~ bernoulli_logit(b * x + c) }\ntable { row = row; x = x; y = y }\n",
        table_of(rows));
}

struct Exact {
    double log_evidence = 0;
    std::array<double, 2> mean{}, sd{};
    std::vector<double> probability;  ///< of a new 1 in every row
};

/// Sums over a grid: the integrand is smooth and falls as a normal, so that the trapezoidal rule has all digits that are looked at.
Exact by_quadrature(std::vector<Row> const& rows) {
    double const step = 0.02;
    double mass = 0;
    std::array<double, 2> first{}, second{};
    std::vector<double> ones(rows.size(), 0.0);
    for (double b = -9; b <= 10; b += step) {
        for (double c = -12; c <= 12; c += step) {
            double log_density = -std::log(2 * M_PI * 1.5 * 2) - 0.5 * std::pow((b - 0.4) / 1.5, 2) - 0.5 * std::pow((c + 0.2) / 2, 2);
            for (Row const& row : rows)
                if (row.y >= 0) log_density -= std::log1p(std::exp((row.y == 1 ? -1 : 1) * (b * row.x + c)));
            double const p = std::exp(log_density) * step * step;
            mass += p;
            first[0] += p * b, first[1] += p * c;
            second[0] += p * b * b, second[1] += p * c * c;
            for (std::size_t i = 0; i < rows.size(); ++i) ones[i] += p * sigmoid(b * rows[i].x + c);
        }
    }
    Exact exact;
    exact.log_evidence = std::log(mass);
    for (std::size_t k = 0; k < 2; ++k) {
        exact.mean[k] = first[k] / mass;
        exact.sd[k] = std::sqrt(second[k] / mass - exact.mean[k] * exact.mean[k]);
    }
    for (double const one : ones) exact.probability.push_back(one / mass);
    return exact;
}

std::vector<double> column_of(Run const& run, std::string const& name, std::size_t samples) {
    std::size_t column = 0;
    while (run.columns[column].name != name) ++column;
    std::vector<double> values;
    for (Chain const& chain : run.chains)
        for (std::size_t d = 0; d < samples; ++d) values.push_back(chain.values[d * run.columns.size() + column]);
    return values;
}

struct Moments {
    double mean = 0, sd = 0, error = 0, error_of_sd = 0;
};

Moments moments_of(std::vector<double> const& values, std::size_t samples) {
    Moments m;
    auto const n = static_cast<double>(values.size());
    for (double const v : values) m.mean += v / n;
    std::vector<double> squares;
    for (double const v : values) squares.push_back((v - m.mean) * (v - m.mean));
    double variance = 0, fourth = 0;
    for (double const s : squares) variance += s / n;
    for (double const s : squares) fourth += (s - variance) * (s - variance) / n;
    m.sd = std::sqrt(variance);
    m.error = m.sd / std::sqrt(ess_mean({values, samples, values.size() / samples}));
    m.error_of_sd = std::sqrt(fourth / ess_mean({squares, samples, values.size() / samples})) / (2 * m.sd);
    return m;
}

constexpr std::size_t samples = 20000;

Run run_of(Study const& study) {
    ChainOptions options;
    options.num_warmup = 1000;
    options.num_samples = samples;
    options.seed = 3;
    return run_chains(study.problem, options, {}, {});
}

}  // namespace

TEST_CASE("binary: the posterior of a logistic regression is that of quadrature - its predictions too") {
    auto const study = line(ten_rows);
    Exact const exact = by_quadrature(ten_rows);
    Run const run = run_of(*study);
    std::array<char const*, 2> const names{"b", "c"};
    for (std::size_t k = 0; k < 2; ++k) {
        Moments const m = moments_of(column_of(run, names[k], samples), samples);
        CAPTURE(names[k]);
        CAPTURE(m.mean);
        CAPTURE(exact.mean[k]);
        CHECK(std::abs(m.mean - exact.mean[k]) < 4 * m.error);
        CHECK(std::abs(m.sd - exact.sd[k]) < 4 * m.error_of_sd);
        CHECK(m.error < 0.02 * m.sd);
    }
    REQUIRE(run.predictions.size() == ten_rows.size());
    for (std::size_t i = 0; i < ten_rows.size(); ++i) {
        Prediction const& p = run.predictions[i];
        CHECK(std::abs(p.mean - exact.probability[i]) < 0.005);
        CHECK(p.sd == doctest::Approx(std::sqrt(p.mean * (1 - p.mean))));
        CHECK(std::isnan(p.observed) == (ten_rows[i].y < 0));
        CHECK(p.q5 == (p.mean > 0.95 ? 1 : 0));
        CHECK(p.q50 == (p.mean > 0.5 ? 1 : 0));
        CHECK(p.q95 == (p.mean > 0.05 ? 1 : 0));
    }
}

TEST_CASE("binary: at a power of the likelihood local scales are drawn from a tilt of sqrt(power) mean") {
    auto const study = line(ten_rows);
    Problem const& problem = study->problem;
    State state = Replica(problem, 1, 1, {}).state();
    state.values[variable_of(*study, "b")].front() = 2.3;
    state.values[variable_of(*study, "c")].front() = -1.1;
    Factors factors(problem, state);
    factors.score({problem.plan.layout, problem.bound, state, factors.weights()});
    auto const& scales = problem.plan.layout.scales;
    ScaleLayout const& local = *std::find_if(scales.begin(), scales.end(), [](ScaleLayout const& scale) { return is_binary(scale); });
    constexpr std::size_t draws = 100000;
    for (double const power : {1.0, 0.36, 1e-6, 0.0}) {
        CAPTURE(power);
        factors.set_power(power);
        std::vector<double> sums(ten_rows.size(), 0.0), squares(ten_rows.size(), 0.0);
        for (std::size_t d = 0; d < draws; ++d) {
            Stream stream(5, 1, d, 0);
            draw_scale(local, problem.plan.layout, factors, state, stream);
            for (std::size_t i = 0; i < ten_rows.size(); ++i) {
                double const w = state.values[local.variable][i];
                sums[i] += w;
                squares[i] += w * w;
            }
        }
        for (std::size_t i = 0; i < ten_rows.size(); ++i) {
            bool const is_seen = ten_rows[i].y >= 0;  // what no output says anything of has its prior, PG(1, 0)
            double const tilt = is_seen ? std::sqrt(power) * std::abs(2.3 * ten_rows[i].x - 1.1) : 0;
            CAPTURE(tilt);
            // At 0 the limits of what stands for other tilts.
            double const mean = tilt < 1e-2 ? 0.25 - tilt * tilt / 48 : std::tanh(tilt / 2) / (2 * tilt);
            double const variance = tilt < 1e-2 ? 1.0 / 24 - tilt * tilt / 120
                                                : (std::sinh(tilt) - tilt) / (4 * std::pow(tilt, 3) * std::pow(std::cosh(tilt / 2), 2));
            double const m = sums[i] / draws, v = squares[i] / draws - m * m;
            CHECK(std::abs(m - mean) < 4.5 * std::sqrt(variance / draws));
            CHECK(std::abs(v / variance - 1) < 0.05);
        }
    }
}

TEST_CASE("binary: the log likelihood at a power is that of the local scales integrated out - and its slopes are its derivatives") {
    auto const study = line(ten_rows);
    Replica replica(study->problem, 1, 1, {});
    State state = replica.state();
    state.values[variable_of(*study, "b")].front() = 1.7;
    state.values[variable_of(*study, "c")].front() = -0.6;
    replica.set_state(state);
    auto const by_quadrature = [](double power) {
        double sum = 0;
        for (Row const& row : ten_rows) {
            if (row.y < 0) continue;
            double const m = 1.7 * row.x - 0.6;
            double integral = 0;
            double const step = 0.01;
            for (double u = -6; u <= 4; u += step) {  // of log w
                double const w = std::exp(u);
                integral += step * w * std::exp(log_polya_gamma(w, 0) + power * ((row.y - 0.5) * m - 0.5 * w * m * m - std::log(2)));
            }
            sum += std::log(integral);
        }
        return sum;
    };
    for (double const power : {1.0, 0.7, 0.05, 0.0})
        CHECK(replica.log_change(0, power) == doctest::Approx(by_quadrature(power)).epsilon(1e-7));
    for (double const power : {0.9, 0.3, 1e-3}) {
        CAPTURE(power);
        replica.set_power(power);
        double const h = 1e-2 * power;
        double const up = replica.log_change(power, power + h), down = replica.log_change(power, power - h);
        CHECK((up - down) / (2 * h) == doctest::Approx(replica.slope().first).epsilon(1e-4));
        CHECK((up + down) / (h * h) == doctest::Approx(replica.slope().second).epsilon(1e-3));
    }
}

TEST_CASE("binary: the ELBO of a logistic regression stays below its log evidence - and is close") {
    auto const study = line(ten_rows);
    Exact const exact = by_quadrature(ten_rows);
    ExpectationPlan const expectations = expectations_of(*study);
    MeanField field(study->problem, expectations);
    VariationalOptions options;
    options.tolerance = 1e-13;
    field.start(start_of(*study, 1));
    double last = field.pass();
    for (int pass = 0; pass < 200; ++pass) {
        double const next = field.pass();
        CHECK(next >= last - 1e-12);
        last = next;
    }
    CHECK(last < exact.log_evidence);
    CHECK(last > exact.log_evidence - 0.5);
    // Factors know nothing of one another: linear response tells what the sd of either is.
    Replica const replica(study->problem, 1, 1, {});
    Recorder const recorder(study->problem, replica.inputs());
    std::vector<double> const sds = linear_response(study->problem, expectations, field.posterior(), recorder).sds;
    for (std::size_t k = 0; k < sds.size(); ++k) {
        std::string const name = label_name(recorder.columns()[k]);
        if (name != "b" && name != "c") continue;
        std::size_t const which = name == "b" ? 0 : 1;
        CAPTURE(name);
        CAPTURE(sds[k]);
        CAPTURE(exact.sd[which]);
        CHECK(sds[k] > 0.75 * exact.sd[which]);
        CHECK(sds[k] < 1.1 * exact.sd[which]);
    }
}

TEST_CASE("binary: with many rows alike the log odds are those of the counts") {
    // n rows of which k are 1, a wide prior: log(k / (n - k)) with variance 1 / k + 1 / (n - k), both to the order of 1 / n.
    std::size_t const n = 4000, k = 1400;
    std::string table = "row,y\n";
    for (std::size_t i = 0; i < n; ++i) table += fmt::format("{},{}\n", i, i < k ? 1 : 0);
    auto const study = test::study(
        "dims { sequence row }\ndata { y[row] missing }\nparam { c ~ normal(0, 50) }\nobserve { y ~ bernoulli_logit(c) }\n"
        "table { row = row; y = y }\n",
        table);
    double const mean = std::log(1400.0 / 2600.0);
    double const sd = std::sqrt(1 / 1400.0 + 1 / 2600.0);
    ChainOptions options;
    options.num_warmup = 200;
    options.num_samples = 2000;
    Run const run = run_chains(study->problem, options, {}, {});
    Moments const m = moments_of(column_of(run, "c", 2000), 2000);
    CHECK(std::abs(m.mean - mean) < 4 * m.error + 1.0 / static_cast<double>(n));
    CHECK(std::abs(m.sd / sd - 1) < 4 * m.error_of_sd / sd + 10.0 / static_cast<double>(n));
}

TEST_CASE("binary: without outputs parameters keep their priors and predictions are those of the priors") {
    auto const study = test::study(  // z says nothing of b and c, but something has to be observed
        "dims { sequence row }\ndata { x[row]; y[row] missing; z[row] }\nparam { b ~ normal(0.4, 1.5); c ~ normal(-0.2, 2); d ~ normal(0, "
        "1) "
        "}\nobserve { y ~ bernoulli_logit(b * x + c); z ~ normal(d, 1) }\ntable { row = row; x = x; y = y; z = x }\n",
        table_of({{-1.6, -1}, {0.5, -1}, {2.1, -1}, {0.3, -1}}));
    Run const run = run_of(*study);
    std::array<double, 2> const means{0.4, -0.2}, sds{1.5, 2};
    std::array<char const*, 2> const names{"b", "c"};
    for (std::size_t k = 0; k < 2; ++k) {
        Moments const m = moments_of(column_of(run, names[k], samples), samples);
        CHECK(std::abs(m.mean - means[k]) < 4 * m.error);
        CHECK(std::abs(m.sd - sds[k]) < 4 * m.error_of_sd);
    }
    Exact const exact = by_quadrature({{-1.6, -1}, {0.5, -1}, {2.1, -1}, {0.3, -1}});
    CHECK(exact.log_evidence == doctest::Approx(0).epsilon(1e-6));
    std::size_t compared = 0;
    for (Prediction const& p : run.predictions)
        if (p.output == "y") CHECK(std::abs(p.mean - exact.probability[compared++]) < 0.005);
    CHECK(compared == 4);
}

TEST_CASE("binary: simulated outputs are 1 as often as their probability says - also a step after one another") {
    auto const study = test::study(
        "dims { sequence seq; time t }\ndata { y[seq, t] }\nparam { c ~ normal(0.5, 0.001); d ~ normal(-1.5, 0.001) }\n"
        "observe { y ~ bernoulli_logit(c + d * y[t-1]) }\ntable { seq = seq; t = order(t); y = y }\n",
        "seq,t,y\na,0,1\na,1,0\na,2,1\n");
    Simulation simulation(study->problem, 5);
    std::size_t const n = 40000;
    std::array<double, 3> ones{};
    double both = 0;
    for (std::size_t i = 0; i < n; ++i) {
        simulation.draw(i);
        std::vector<double> const& y = study->problem.bound.data[0];
        for (std::size_t t = 0; t < 3; ++t) ones[t] += y[t];
        both += y[1] * y[2];
    }
    double const p0 = sigmoid(0.5), p1 = p0 * sigmoid(-1) + (1 - p0) * sigmoid(0.5);
    auto const close = [&](double count, double p) {
        CHECK(std::abs(count / static_cast<double>(n) - p) < 4 * std::sqrt(p * (1 - p) / static_cast<double>(n)) + 1e-4);
    };
    close(ones[0], p0);
    close(ones[1], p1);
    close(both, p1 * sigmoid(-1));
}

TEST_CASE("binary: Geweke's test of outputs that look back at themselves and at one another") {
    auto const study = test::study(
        "dims { sequence seq; time t }\ndata { y[seq, t]; z[seq, t] }\nparam { c ~ normal(0.5, 1); d ~ normal(-0.5, 1.5); e ~ normal(0.3, "
        "1.2) }\n"
        "observe { y ~ bernoulli_logit(c + d * y[t-1]); z ~ bernoulli_logit(e * y + d) }\ntable { seq = seq; t = order(t); y = y; z = z "
        "}\n",
        "seq,t,y,z\na,0,1,0\na,1,0,1\na,2,1,1\na,3,1,0\nb,0,0,0\nb,1,0,1\nb,2,1,1\n");
    JointTestOptions options;
    options.sweeps = 20000;
    JointTest const test = compare_joint(study->problem, options);
    for (Check const& check : to_checks(test)) {
        CAPTURE(check.of);
        CHECK_MESSAGE(check.passed, moments_text(test));
    }
}
