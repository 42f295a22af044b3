// The log evidence against answers that need no chain: in closed form, and by quadrature. Twenty repeats each.
#include <doctest/doctest.h>
#include <fmt/core.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>
#include <utility>
#include <vector>

#include "chains.hpp"
#include "study.hpp"

using namespace bam;
using namespace bam::test;

namespace {

constexpr std::size_t repeats = 20;

constexpr char const* rows = "row,x1,y\n1,0.3,1.1\n2,-1.2,0.2\n3,0.8,2.5\n4,1.9,2.2\n5,-0.4,0.1\n6,0.1,1.4\n7,-0.9,-0.6\n8,1.3,\n";
double const x[] = {0.3, -1.2, 0.8, 1.9, -0.4, 0.1, -0.9};
double const y[] = {1.1, 0.2, 2.5, 2.2, 0.1, 1.4, -0.6};

/// log p(y) of the regression at a variance: b ~ normal((0.5, -0.2), (2, 1.5)), integrated out.
double log_marginal(double variance) {
    Eigen::VectorXd off(7);
    Eigen::MatrixXd covariance = variance * Eigen::MatrixXd::Identity(7, 7);
    for (Eigen::Index i = 0; i < 7; ++i) {
        off(i) = y[i] - 0.5 + 0.2 * x[i];
        for (Eigen::Index j = 0; j < 7; ++j) covariance(i, j) += 4 + 2.25 * x[i] * x[j];
    }
    Eigen::LLT<Eigen::MatrixXd> const factor(covariance);
    double log_determinant = 0;
    for (Eigen::Index i = 0; i < 7; ++i) log_determinant += 2 * std::log(factor.matrixLLT()(i, i));
    return -0.5 * (7 * std::log(2 * std::numbers::pi) + log_determinant + off.dot(factor.solve(off)));
}

double log_normal(double at, double mean, double sd) {
    return -0.5 * std::log(2 * std::numbers::pi) - std::log(sd) - 0.5 * (at - mean) * (at - mean) / (sd * sd);
}

/// log of the integral of exp(f) by the trapezoidal rule.
double log_integral(std::function<double(double)> const& f, double from, double to, std::size_t steps) {
    std::vector<double> values;
    double const h = (to - from) / static_cast<double>(steps);
    for (std::size_t k = 0; k <= steps; ++k) values.push_back(f(from + h * static_cast<double>(k)));
    double const largest = *std::max_element(values.begin(), values.end());
    double sum = 0;
    for (double const value : values) sum += std::exp(value - largest);
    return largest + std::log(h * sum);
}

void check_evidence(std::string const& model, std::string const& table, double exact) {
    auto const study = bam::test::study(model, table);
    double stones = 0, thermo = 0, error = 0, thermo_error = 0;
    for (std::size_t repeat = 0; repeat < repeats; ++repeat) {
        ChainOptions options;
        options.evidence = true;
        options.seed = repeat + 1;
        options.num_warmup = 1000;
        options.num_samples = 1000;
        Run const run = run_chains(study->problem, options, {}, {});
        REQUIRE(run.exchange.has_value());
        REQUIRE(run.exchange->evidence.has_value());
        auto const& [stone, integral] = *run.exchange->evidence;
        CHECK(std::abs(stone.value - exact) < 4 * stone.error);
        CHECK(std::abs(integral.value - exact) < 4 * integral.error);
        stones += std::pow((stone.value - exact) / stone.error, 2);
        thermo += std::pow((integral.value - exact) / integral.error, 2);
        error = std::max(error, stone.error);
        thermo_error = std::max(thermo_error, integral.error);
    }
    // Chi-squared with 20 degrees of freedom: its 0.1 % and 99.9 % points. Of integration the error may be an upper bound.
    MESSAGE(fmt::format("exact {:.3f}: mean square of (estimate - exact) / error {:.2f} and {:.2f}, errors up to {:.3f} and {:.3f}", exact,
                        stones / repeats, thermo / repeats, error, thermo_error));
    CHECK(stones < 45.3);
    CHECK(stones > 5.9);
    CHECK(thermo < 45.3);
    CHECK(error < 0.2);
    CHECK(thermo_error < 0.3);
}

std::string regression(std::string const& prior, std::string const& spread) {
    return "dims { sequence row; feat }\ndata { x[row, feat]; y[row] missing }\nparam { b[feat] ~ normal([0.5, -0.2], [2, 1.5])" + prior +
           " }\nobserve { y ~ normal(x' * b, " + spread + ") }\ntable { row = row; feat = [one = 1, x1]; y = y }\n";
}

}  // namespace

TEST_SUITE("slow") {
    TEST_CASE("evidence: a regression in closed form") { check_evidence(regression("", "0.7"), rows, log_marginal(0.49)); }

    TEST_CASE("evidence: a regression with a variance by quadrature over it") {
        double const exact = log_integral(
            [](double u) {  // of log variance; variance ~ inverse_gamma(2, 1.5)
                double const v = std::exp(u);
                return log_marginal(v) + 2 * std::log(1.5) - 3 * u - 1.5 / v + u;
            },
            -8, 8, 4000);
        check_evidence(regression("; variance ~ inverse_gamma(2, 1.5)", "var = variance"), rows, exact);
    }

    // A half-cauchy sd: at the prior the mean log likelihood is not finite, and the evidence is.
    TEST_CASE("evidence: a regression with a half-cauchy sd by quadrature over it") {
        double const exact = log_integral(
            [](double u) {
                double const sd = std::exp(u);
                return log_marginal(sd * sd) + std::log(2 / std::numbers::pi) - std::log1p(sd * sd) + u;
            },
            -12, 12, 8000);
        check_evidence(regression("; sigma ~ half_cauchy(1)", "sigma"), rows, exact);
    }

    // One feature and one unit: the mean is k q v c[t] with c[t] = x[t] sum of 0.7^(t-s) x[s]^2. Given k and q it is normal in v.
    TEST_CASE("evidence: tiny attention by quadrature over keys and queries") {
        std::string const model = R"(
dims { sequence seq; time t; feat; out; unit = 1 }
data { x[seq, t, feat]; y[seq, t, out] }
param { W_k[unit, feat] ~ normal(0.5, 1); W_q[unit, feat] ~ normal(0.2, 0.8); W_v[out, feat] ~ normal(-0.3, 0.7) }
state { h[t] = 0.7 * h[t-1] + (W_k * x[t]) * (W_v * x[t])' }
observe { y[t] ~ normal(h[t]' * (W_q * x[t]), 0.5) }
table { seq = seq; t = t; feat = [x1]; out = [y1] }
)";
        std::string const table = "seq,t,x1,y1\n1,0,0.8,0.9\n1,1,-1.1,-1.4\n1,2,0.6,1.9\n1,3,1.4,2.8\n";
        double const xs[] = {0.8, -1.1, 0.6, 1.4}, ys[] = {0.9, -1.4, 1.9, 2.8};
        double state = 0, cc = 0, cy = 0, yy = 0;
        for (int t = 0; t < 4; ++t) {
            state = 0.7 * state + xs[t] * xs[t];
            double const c = xs[t] * state;
            cc += c * c;
            cy += c * ys[t];
            yy += ys[t] * ys[t];
        }
        // y = p c v + noise, p = k q; v ~ normal(-0.3, 0.7): by the determinant lemma and Sherman and Morrison.
        auto const given = [&](double p) {
            double const ratio = p * p * 0.49 * cc / 0.25;
            double const squares = yy + 2 * 0.3 * p * cy + 0.09 * p * p * cc, along = p * cy + 0.3 * p * p * cc;
            return -2 * std::log(2 * std::numbers::pi * 0.25) - 0.5 * std::log1p(ratio) -
                   0.5 * (squares / 0.25 - along * along * 0.49 / (0.0625 * (1 + ratio)));
        };
        double const exact = log_integral(
            [&](double k) {
                return log_normal(k, 0.5, 1) +
                       log_integral([&](double q) { return log_normal(q, 0.2, 0.8) + given(k * q); }, 0.2 - 8, 0.2 + 8, 1600);
            },
            0.5 - 9, 0.5 + 9, 1800);
        check_evidence(model, table, exact);
    }

    TEST_CASE("evidence: a logistic regression by quadrature over both coefficients") {
        double const xs[] = {-1.6, -1.1, -0.9, -0.3, -0.1, 0.2, 0.4, 0.9, 1.3, 2.1};
        int const ys[] = {0, 0, 1, 0, 0, 1, 0, 1, 1, 1};
        std::string table = "row,x,y\n";
        for (int i = 0; i < 10; ++i) table += fmt::format("{},{},{}\n", i, xs[i], ys[i]);
        table += "10,0.6,\n";
        double const exact = log_integral(
            [&](double b) {
                return log_normal(b, 0.4, 1.5) + log_integral(
                                                     [&](double c) {
                                                         double sum = log_normal(c, -0.2, 2);
                                                         for (int i = 0; i < 10; ++i)
                                                             sum -= std::log1p(std::exp((1 - 2 * ys[i]) * (b * xs[i] + c)));
                                                         return sum;
                                                     },
                                                     -16, 16, 800);
            },
            -12, 12, 800);
        check_evidence(
            "dims { sequence row }\ndata { x[row]; y[row] missing }\nparam { b ~ normal(0.4, 1.5); c ~ normal(-0.2, 2) }\n"
            "observe { y ~ bernoulli_logit(b * x + c) }\ntable { row = row; x = x; y = y }\n",
            table, exact);
    }

    // Given phi and sigma, an observed value is normal given the last observed one, k steps before: about phi^k of it, with variance
    // sigma^2 (1 + phi^2 + ... + phi^(2 k - 2)).
    TEST_CASE("evidence: an autoregression with gaps by quadrature over both parameters") {
        std::vector<std::pair<int, double>> const seen{{1, 0.7}, {2, 1.1}, {4, 0.8}, {5, -0.3}, {8, 0.4}, {9, 0.9}};
        std::string table = "t,y\n";
        for (int t = 0; t < 11; ++t) {
            auto const it = std::find_if(seen.begin(), seen.end(), [&](auto const& one) { return one.first == t; });
            table += fmt::format("{},{}\n", t, it == seen.end() ? "" : fmt::format("{}", it->second));
        }
        auto const given = [&](double phi, double variance) {
            double sum = 0, mean = 0.3, spread = 1.44;  // of the step at hand, given what was seen before it
            auto one = seen.begin();
            for (int t = 0; t <= seen.back().first; ++t) {
                double value = mean, left = spread;
                if (one->first == t) {
                    sum += log_normal(one->second, mean, std::sqrt(spread));
                    value = one->second;
                    left = 0;
                    ++one;
                }
                mean = phi * value;
                spread = phi * phi * left + variance;
            }
            return sum;
        };
        double const exact = log_integral(
            [&](double u) {  // of log sigma, which is half_normal(0.8)
                double const sigma = std::exp(u);
                double const prior = std::log(2) + log_normal(sigma, 0, 0.8) + u;
                return prior + log_integral([&](double phi) { return log_normal(phi, 0.4, 0.5) + given(phi, sigma * sigma); }, -4, 5, 1200);
            },
            -8, 2, 1200);
        check_evidence(
            "dims { time t }\ndata { y[t] missing }\nparam { phi ~ normal(0.4, 0.5); sigma ~ half_normal(0.8) }\n"
            "observe { y[t < 1] ~ normal(0.3, 1.2); y[t >= 1] ~ normal(phi * y[t-1], sigma) }\ntable { t = t; y = y }\n",
            table, exact);
    }
}
