#include "loo.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "stacking.hpp"

using namespace bam;

namespace {

/// Columns of numbers of a fixture that tests/fixtures/loo/make.R made with the R package loo.
std::vector<std::vector<double>> columns_of(std::string const& name) {
    std::ifstream file(std::string(BAM_TEST_DIR) + "/fixtures/loo/" + name);
    if (!file) throw std::runtime_error("no fixture " + name);
    std::string line;
    std::getline(file, line);
    std::vector<std::vector<double>> columns(static_cast<std::size_t>(std::count(line.begin(), line.end(), ',')) + 1);
    while (std::getline(file, line)) {
        std::istringstream cells(line);
        for (std::vector<double>& column : columns) {
            std::string cell;
            std::getline(cells, cell, ',');
            column.push_back(std::stod(cell));
        }
    }
    return columns;
}

}  // namespace

TEST_CASE("loo: elpd and p and k and r_eff and weights are those of the R package") {
    auto const log_lik = columns_of("log_lik.csv");
    auto const expected = columns_of("expected.csv");
    constexpr std::size_t elpd = 0, p = 1, k = 2, r_eff = 3, largest = 4, squares = 5;
    REQUIRE(log_lik.size() == 7);
    bool has_good = false, has_bad = false;
    for (std::size_t i = 0; i < log_lik.size(); ++i) {
        CAPTURE(i);
        std::vector<double> weights;
        Expected const found = leave_out(log_lik[i], 2, &weights);
        CHECK(found.elpd == doctest::Approx(expected[elpd][i]).epsilon(1e-6));
        CHECK(log_mean_exp(log_lik[i]) - found.elpd == doctest::Approx(expected[p][i]).epsilon(1e-6));
        CHECK(found.k == doctest::Approx(expected[k][i]).epsilon(1e-6));
        CHECK(found.efficiency == doctest::Approx(expected[r_eff][i]).epsilon(1e-6));
        double sum = 0, sum_of_squares = 0;
        for (double const weight : weights) {
            sum += weight;
            sum_of_squares += weight * weight;
        }
        CHECK(sum == doctest::Approx(1).epsilon(1e-12));
        CHECK(*std::max_element(weights.begin(), weights.end()) == doctest::Approx(expected[largest][i]).epsilon(1e-6));
        CHECK(sum_of_squares == doctest::Approx(expected[squares][i]).epsilon(1e-6));
        has_good = has_good || found.k < 0.5;
        has_bad = has_bad || found.k > 0.7;
    }
    CHECK(has_good);
    CHECK(has_bad);
}

TEST_CASE("loo: densities in another unit move elpd and nothing else") {
    auto const log_lik = columns_of("log_lik.csv");
    std::vector<double> moved = log_lik[1];
    for (double& value : moved) value -= 900;  // far below what exp can hold
    Expected const one = leave_out(log_lik[1], 2), other = leave_out(moved, 2);
    CHECK(other.elpd == doctest::Approx(one.elpd - 900).epsilon(1e-12));
    CHECK(other.k == doctest::Approx(one.k).epsilon(1e-9));
    CHECK(other.mcse == doctest::Approx(one.mcse).epsilon(1e-9));
}

TEST_CASE("loo: a plain mean and weights that are all the same agree and the same density at every draw has no error") {
    auto const log_lik = columns_of("log_lik.csv");
    std::vector<double> const none(log_lik[0].size(), 0.0);
    Expected const plain = average(log_lik[0], 2), same = reweighted(log_lik[0], none, 2);
    CHECK(plain.elpd == doctest::Approx(log_mean_exp(log_lik[0])));
    CHECK(same.elpd == doctest::Approx(plain.elpd));
    CHECK(same.k == -HUGE_VAL);
    Expected const constant = leave_out(std::vector<double>(400, -2.5), 2);
    CHECK(constant.elpd == doctest::Approx(-2.5));
    CHECK(constant.mcse < 1e-12);
    CHECK(constant.k == -HUGE_VAL);
    CHECK(average(std::vector<double>(400, -2.5), 2).k == -HUGE_VAL);
}

TEST_CASE("loo: what no draw comes near has a finite elpd") {
    // Left out, all weight is on the draws of the least density: products of weights and densities are below all numbers there are.
    std::vector<double> log_lik;
    for (int d = 0; d < 4000; ++d) log_lik.push_back(-405000 - 3.0 * (d % 1000));
    Expected const expected = leave_out(log_lik, 4);
    CHECK(std::isfinite(expected.elpd));
    CHECK(expected.elpd < -405000);
    CHECK(expected.k > 0.7);
    CHECK(std::isnan(stacking_weights({{-1.0, std::nan("")}, {-1.0, -2.0}}).weights[0]));
}

TEST_CASE("stacking: weights are those of the R package and one of equals gets no more than another") {
    auto const fixture = columns_of("stacking.csv");
    auto const weights = stacking_weights({fixture[0], fixture[1]}).weights;
    CHECK(weights[0] == doctest::Approx(fixture[2][0]).epsilon(1e-3));
    CHECK(weights[0] + weights[1] == doctest::Approx(1).epsilon(1e-9));
    auto const equals = stacking_weights({fixture[0], fixture[0]}).weights;
    CHECK(equals[0] == doctest::Approx(0.5));
    // One that is worse everywhere has no place in the mixture.
    std::vector<double> worse = fixture[0];
    for (double& value : worse) value -= 0.5;
    CHECK(stacking_weights({fixture[0], worse}).weights[1] < 1e-5);
    CHECK(stacking_weights({fixture[0]}).weights == std::vector<double>{1});
}

TEST_CASE("stacking: what no model gives a density counts for none and the gap is what is left") {
    double const never = -HUGE_VAL;
    Stacking const stacking = stacking_weights({{-1, never, -2}, {-2, never, -1}});
    CHECK(stacking.weights[0] == doctest::Approx(0.5));
    CHECK(stacking.gap <= stacking_gap);
    CHECK(stacking_weights({{never}, {never}}).weights == std::vector<double>{0.5, 0.5});
    // The gap bounds what other weights reach.
    auto const fixture = columns_of("stacking.csv");
    Stacking const best = stacking_weights({fixture[0], fixture[1]});
    auto const mean_elpd = [&](double w) {
        double sum = 0;
        for (std::size_t i = 0; i < fixture[0].size(); ++i)
            sum += std::log(w * std::exp(fixture[0][i]) + (1 - w) * std::exp(fixture[1][i]));
        return sum / static_cast<double>(fixture[0].size());
    };
    for (int k = 0; k <= 100; ++k) CHECK(mean_elpd(k / 100.0) <= mean_elpd(best.weights[0]) + best.gap + 1e-12);
}
