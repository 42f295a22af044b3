#include "power_scaling.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <bam/bam.hpp>
#include <cmath>
#include <limits>

#include "pareto.hpp"
#include "random.hpp"

using namespace bam;

namespace {

double phi(double z) { return 0.5 * std::erfc(-z / std::sqrt(2.0)); }

/// The inverse of phi, by bisection.
double normal_quantile(double p) {
    double low = -10, high = 10;
    for (int i = 0; i < 100; ++i) (phi(0.5 * (low + high)) < p ? low : high) = 0.5 * (low + high);
    return 0.5 * (low + high);
}

/// n points that stand for a standard normal.
std::vector<double> normal_points(std::size_t n) {
    std::vector<double> points;
    for (std::size_t i = 0; i < n; ++i) points.push_back(normal_quantile((static_cast<double>(i) + 0.5) / static_cast<double>(n)));
    return points;
}

struct Normal {
    double mean = 0;
    double sd = 1;
};

/// The distance by its definition, of two normals on an interval, by the midpoint rule.
double distance(Normal const& p, Normal const& q, double low, double high) {
    constexpr int steps = 20000;
    double worst = 0;
    for (double const sign : {1.0, -1.0}) {
        double divergence = 0, bound = 0;
        for (int i = 0; i < steps; ++i) {
            double const x = low + (high - low) * (i + 0.5) / steps;
            double const a = phi(sign * (x - p.mean) / p.sd);
            double const b = phi(sign * (x - q.mean) / q.sd);
            double const m = 0.5 * (a + b);
            divergence += (a > 0 ? a * std::log2(a / m) : 0) + (b > 0 ? b * std::log2(b / m) : 0);
            bound += a + b;
        }
        worst = std::max(worst, std::sqrt(divergence / bound));
    }
    return worst;
}

/// mu ~ normal(m, s), n outputs ~ normal(mu, noise) whose mean is `average`: the posterior with prior and likelihood to these powers.
struct Conjugate {
    double m = 0, s = 1, average = 0, noise = 1;
    double n = 1;
    Normal posterior(double prior_power, double likelihood_power) const {
        double const from_prior = prior_power / (s * s);
        double const from_outputs = likelihood_power * n / (noise * noise);
        return {(from_prior * m + from_outputs * average) / (from_prior + from_outputs), 1 / std::sqrt(from_prior + from_outputs)};
    }
    /// The sensitivity to the prior or to the likelihood, of draws that lie between `low` and `high`.
    double sensitivity(bool is_of_prior, double low, double high) const {
        double sum = 0;
        for (double const power : scaling_powers)
            sum += distance(posterior(1, 1), is_of_prior ? posterior(power, 1) : posterior(1, power), low, high);
        return sum / (2 * std::log2(1.25));
    }
    /// sd of the log density of the prior or of the outputs over the posterior, by the moments of a normal.
    double sd_of_log_density(bool is_of_prior) const {
        Normal const p = posterior(1, 1);
        double const precision = is_of_prior ? 1 / (s * s) : n / (noise * noise);
        double const gap = p.mean - (is_of_prior ? m : average);
        double const v = p.sd * p.sd;
        return 0.5 * precision * std::sqrt(4 * gap * gap * v + 2 * v * v);
    }
};

}  // namespace

TEST_CASE("power-scaling: the distance of draws to their weighted selves is that of the distributions") {
    std::size_t const n = 4000;
    std::vector<double> const points = normal_points(n);
    Normal const moved{0.4, 0.8};
    std::vector<double> weights;
    double sum = 0;
    for (double const x : points) {
        weights.push_back(std::exp(0.5 * x * x - 0.5 * std::pow((x - moved.mean) / moved.sd, 2)));
        sum += weights.back();
    }
    for (double& weight : weights) weight /= sum;
    // A distribution function of n points is off by up to 1 / n.
    CHECK(cumulative_distance(SortedDraws(points), weights) ==
          doctest::Approx(distance({}, moved, points.front(), points.back())).epsilon(10.0 / static_cast<double>(n)));
}

TEST_CASE("power-scaling: neither the unit - the sign nor the order of the draws matters and equal weights move nothing") {
    std::vector<double> const points = normal_points(500);
    Stream stream(3, 1, 1, 1);
    std::vector<double> draws, other, log_density, backward, backward_density;
    for (double const x : points) {
        draws.push_back(x + 0.1 * stream.uniform());
        other.push_back(32 - 8 * draws.back());
        log_density.push_back(-0.5 * (x - 1) * (x - 1));
    }
    backward.assign(draws.rbegin(), draws.rend());
    backward_density.assign(log_density.rbegin(), log_density.rend());
    ScaledWeights const scaled = scale_by_powers(log_density);
    double const value = sensitivity(SortedDraws(draws), scaled);
    CHECK(value > 0.05);
    CHECK(sensitivity(SortedDraws(other), scaled) == doctest::Approx(value).epsilon(1e-9));
    CHECK(sensitivity(SortedDraws(backward), scale_by_powers(backward_density)) == doctest::Approx(value).epsilon(1e-9));
    for (double& density : log_density) density += 1000;  // a constant of a density
    CHECK(sensitivity(SortedDraws(draws), scale_by_powers(log_density)) == doctest::Approx(value).epsilon(1e-9));
    ScaledWeights const flat = scale_by_powers(std::vector<double>(draws.size(), -3.0));
    CHECK(sensitivity(SortedDraws(draws), flat) < 1e-7);  // a root of what rounding leaves
    CHECK(flat.k < 0);
    CHECK(flat.noise < 1e-7);
    CHECK(std::isnan(sensitivity(SortedDraws(std::vector<double>(draws.size(), 2.0)), scaled)));
}

TEST_CASE("power-scaling: of a part that does not know the quantity, the noise is what was announced") {
    // The mean over many data sets of the squared distance is the square of `noise`, up to its larger side: between 1 and 2 times it.
    double squares = 0, announced = 0;
    int const repeats = 200;
    for (int r = 0; r < repeats; ++r) {
        Stream stream(5, 1, static_cast<std::uint64_t>(r), 1);
        std::vector<double> draws, log_density;
        for (int i = 0; i < 1000; ++i) {
            draws.push_back(stream.normal());
            log_density.push_back(2 * stream.normal());
        }
        ScaledWeights const scaled = scale_by_powers(log_density);
        squares += std::pow(sensitivity(SortedDraws(draws), scaled), 2) / repeats;
        announced += scaled.noise * scaled.noise / repeats;
    }
    CHECK(squares > 0.8 * announced);
    CHECK(squares < 2.2 * announced);
}

TEST_CASE("power-scaling: smoothed weights are the ratios where the tail is that of the fit, and never above the largest") {
    Stream stream(7, 1, 1, 1);
    std::vector<double> log_ratios;
    for (int i = 0; i < 20000; ++i) log_ratios.push_back(-0.3 * std::log(stream.uniform()));  // tail of shape 0.3, mean 1 / 0.7
    SmoothedWeights const smoothed = smooth_weights(log_ratios);
    CHECK(smoothed.k == doctest::Approx(pareto_k(log_ratios)));
    double sum = 0, moved = 0, raw = 0, largest = 0;
    for (double const ratio : log_ratios) {
        raw += std::exp(ratio);
        largest = std::max(largest, std::exp(ratio));
    }
    for (std::size_t i = 0; i < log_ratios.size(); ++i) {
        sum += smoothed.weights[i];
        moved += std::abs(smoothed.weights[i] - std::exp(log_ratios[i]) / raw);
        CHECK(smoothed.weights[i] <= 1.1 * largest / raw);
    }
    CHECK(sum == doctest::Approx(1).epsilon(1e-12));
    CHECK(moved < 0.01);
    CHECK(smooth_weights(std::vector<double>(100, 2.0)).weights.front() == doctest::Approx(0.01));
    CHECK(smooth_weights({1, 2, std::numeric_limits<double>::infinity()}).weights.empty());
}

// From a model to its sensitivities. The draws are independent, and the posteriors to any power are normals. The standard error of a
// distance is below the noise of weights that do not depend on the draws, sd(w) / sqrt(8 log(2) n), and the weights have sds of about 0.25
// times that of the log density.
TEST_CASE("prior sensitivity: a normal mean whose posteriors are known to any power") {
    Conjugate const conflict{0, 1, 6, 1, 2};    // the outputs are six sds from where the prior is
    Conjugate const weak{0, 0.2, 1.5, 3, 3};    // the prior is far more exact than the outputs
    Conjugate const agreed{0, 10, 0.5, 1, 12};  // the prior says next to nothing
    std::size_t const draws = 20000;
    for (Conjugate const& one : {conflict, weak, agreed}) {
        std::string table = "y\n";
        for (int i = 0; i < static_cast<int>(one.n); ++i) table += fmt::format("{}\n", one.average + 0.1 * (2 * i + 1 - one.n));
        std::string const model = fmt::format(
            "dims {{ sequence row }}\ndata {{ y[row] }}\nparam {{ mu ~ normal({}, {}) }}\nobserve {{ y ~ normal(mu, {}) }}\n"
            "table {{ y = y }}\n",
            one.m, one.s, one.noise);
        Fit const fit = Program::from_text(model).fit({.text = table}, {.chains = 1, .num_warmup = 20, .num_samples = draws});
        PriorSensitivity const result = fit.prior_sensitivity(Csv{.text = table});
        REQUIRE(result.quantities.size() == 1);
        SensitiveQuantity const& mu = result.quantities.front();
        CHECK(mu.name == "mu");
        auto const values = fit.draws("mu").front();
        auto const [low, high] = std::minmax_element(values.begin(), values.end());
        auto const error = [&](bool is_of_prior) {
            return 0.25 * one.sd_of_log_density(is_of_prior) / std::sqrt(8 * std::log(2.0) * static_cast<double>(draws)) / std::log2(1.25);
        };
        CHECK(std::abs(mu.prior - one.sensitivity(true, *low, *high)) < 4 * error(true));
        CHECK(std::abs(mu.likelihood - one.sensitivity(false, *low, *high)) < 4 * error(false));
    }
}

namespace {

PriorSensitivity sensitivity_of(std::string const& param, std::string const& observe, std::vector<double> const& outputs) {
    std::string table = "y\n";
    for (double const y : outputs) table += fmt::format("{}\n", y);
    std::string const model =
        fmt::format("dims {{ sequence row }}\ndata {{ y[row] }}\nparam {{ {} }}\nobserve {{ {} }}\ntable {{ y = y }}\n", param, observe);
    Fit const fit = Program::from_text(model).fit({.text = table}, {.chains = 4, .num_warmup = 200, .num_samples = 2000});
    return fit.prior_sensitivity(Csv{.text = table});
}

}  // namespace

TEST_CASE("prior sensitivity: conflict, weak likelihood and neither are told apart, and by which prior") {
    auto const conflict = sensitivity_of("mu ~ normal(0, 1)\nsigma ~ half_normal(2)", "y ~ normal(mu, sigma)", {5.1, 4.6, 5.5, 5.2, 4.9});
    CHECK(conflict.quantities.at(0).diagnosis == "potential prior-data conflict");
    CHECK(conflict.quantities.at(0).strongest_prior == "mu");
    auto const weak = sensitivity_of("mu ~ normal(0, 0.1)", "y ~ normal(mu, 10)", {1, -3, 4});
    CHECK(weak.quantities.at(0).diagnosis == "potential strong prior / weak likelihood");
    CHECK(weak.quantities.at(0).strongest_prior == "mu");
    auto const neither = sensitivity_of("mu ~ normal(0, 10)", "y ~ normal(mu, 1)", {1, 0.5, 1.5, 0, 2, 1, 1, 0.7, 1.3, 0.2});
    CHECK(neither.quantities.at(0).diagnosis == "-");
    CHECK(neither.quantities.at(0).strongest_prior.empty());
    CHECK(neither.quantities.at(0).likelihood > sensitivity_threshold);
}

TEST_CASE("prior sensitivity: priors that hold other parameters are part of the model") {
    auto const result = sensitivity_of("mu ~ normal(0, 2)\ntau ~ half_normal(1)\ntheta[row] ~ normal(mu, tau)", "y ~ normal(theta, 1)",
                                       {1, 2, 0.4, -1, 3, 1.1});
    CHECK(result.text.find("scaled: the likelihood; the priors of `mu` and `tau`") != std::string::npos);
    CHECK(result.text.find("part of the model: the prior of `theta`") != std::string::npos);
}

TEST_CASE("prior sensitivity: a table that was not fitted is refused, and so is a mode") {
    std::string const model =
        "dims { sequence row }\ndata { y[row] }\nparam { mu ~ normal(0, 1) }\nobserve { y ~ normal(mu, 1) }\ntable { y = y }\n";
    Csv const table{.text = "y\n1\n2\n"};
    auto const code_of = [&](FitOptions const& options, Csv const& given) {
        try {
            Program::from_text(model).fit(table, options).prior_sensitivity(given);
        } catch (Error const& error) {
            return error.report().diagnostics().front().code;
        }
        return 0;
    };
    CHECK(code_of({.chains = 1, .num_samples = 50}, table) == 0);
    CHECK(code_of({.chains = 1, .num_samples = 50}, Csv{.text = "y\n1\n3\n"}) == 528);
    CHECK(code_of({.backend = Backend::Map}, table) == 527);
}
