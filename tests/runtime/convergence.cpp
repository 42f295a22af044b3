#include "convergence.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "autocovariance.hpp"
#include "random.hpp"

namespace bam {
namespace {

std::string const folder = std::string(BAM_TEST_DIR) + "/fixtures/convergence/";

struct Table {
    std::vector<std::string> cells;  // by row
    std::size_t columns = 0;

    std::size_t rows() const { return cells.size() / columns; }
    std::string const& at(std::size_t row, std::size_t column) const { return cells[row * columns + column]; }
};

Table read_csv(std::string const& name) {
    std::ifstream file(folder + name);
    if (!file) throw std::runtime_error("no fixture " + name);
    std::string line;
    std::getline(file, line);
    Table table;
    table.columns = static_cast<std::size_t>(std::count(line.begin(), line.end(), ',')) + 1;
    while (std::getline(file, line)) {
        std::istringstream cells(line);
        for (std::string cell; std::getline(cells, cell, ',');) table.cells.push_back(cell);
    }
    return table;
}

double number(std::string const& text) {
    return text == "NA" ? std::numeric_limits<double>::quiet_NaN() : std::strtod(text.c_str(), nullptr);
}

struct Case {
    std::vector<double> values;
    std::size_t draws = 0, chains = 0;
    ChainDraws view() const { return {values, draws, chains}; }
};

Case read_case(std::string const& name) {
    Table const table = read_csv(name + ".csv");
    Case result;
    result.draws = table.rows();
    result.chains = table.columns;
    for (std::size_t chain = 0; chain < result.chains; ++chain) {
        for (std::size_t draw = 0; draw < result.draws; ++draw) result.values.push_back(number(table.at(draw, chain)));
    }
    return result;
}

/// Relative 1e-8; NaN equals NaN, and infinities themselves.
bool is_near(double value, double expected) {
    if (std::isnan(expected)) return std::isnan(value);
    if (std::isinf(expected) || expected == 0) return value == expected;
    return std::abs(value - expected) <= 1e-8 * std::abs(expected);
}

using Statistic = std::function<double(ChainDraws const&)>;

template <double QuantitySummary::*field>
double of_summary(ChainDraws const& draws) {
    return summarize(draws).*field;
}

Statistic quantile_at(double probability) {
    return [=](ChainDraws const& draws) { return quantile({draws.values.begin(), draws.values.end()}, probability); };
}

/// Every way in which a statistic of the fixtures can be had here.
std::map<std::string, std::vector<Statistic>> const statistics{
    {"mean", {of_summary<&QuantitySummary::mean>}},
    {"median",
     {of_summary<&QuantitySummary::median>,
      [](ChainDraws const& draws) {
          return median({draws.values.begin(), draws.values.end()});
      }}},
    {"sd", {of_summary<&QuantitySummary::sd>}},
    {"mad",
     {of_summary<&QuantitySummary::mad>,
      [](ChainDraws const& draws) {
          return mad({draws.values.begin(), draws.values.end()});
      }}},
    {"q0", {quantile_at(0)}},
    {"q5", {of_summary<&QuantitySummary::q5>, quantile_at(0.05)}},
    {"q37", {quantile_at(0.37)}},
    {"q95", {of_summary<&QuantitySummary::q95>, quantile_at(0.95)}},
    {"q100", {quantile_at(1)}},
    {"rhat", {of_summary<&QuantitySummary::rhat>, rhat}},
    {"ess_bulk", {of_summary<&QuantitySummary::ess_bulk>, ess_bulk}},
    {"ess_tail", {of_summary<&QuantitySummary::ess_tail>, ess_tail}},
    {"ess_mean", {ess_mean}},
    {"ess_sd", {ess_sd}},
    {"mcse_mean", {of_summary<&QuantitySummary::mcse_mean>, mcse_mean}},
    {"mcse_sd", {of_summary<&QuantitySummary::mcse_sd>, mcse_sd}},
};

}  // namespace

TEST_CASE("convergence statistics are those of the R package posterior") {
    std::map<std::string, Case> cases;
    Table const table = read_csv("expected.csv");
    for (std::size_t row = 0; row < table.rows(); ++row) {
        std::string const& name = table.at(row, 0);
        std::string const& statistic = table.at(row, 1);
        double const expected = number(table.at(row, 2));
        if (!cases.contains(name)) cases[name] = read_case(name);
        for (Statistic const& compute : statistics.at(statistic)) {
            double const value = compute(cases[name].view());
            CAPTURE(name);
            CAPTURE(statistic);
            CAPTURE(value);
            CAPTURE(expected);
            if (name == "all_stuck" && statistic == "rhat") {
                CHECK(std::isinf(value));  // divided by a variance of 0, which posterior has as 1e-30
            } else {
                CHECK(is_near(value, expected));
            }
        }
    }
    CHECK(cases.size() >= 37);
}

TEST_CASE("quantiles of sorted values are those of any order, infinite ones too") {
    constexpr double inf = std::numeric_limits<double>::infinity();
    std::vector<double> const sorted{-inf, -inf, -2, 0.5, 3, inf};
    for (double const probability : {0.0, 0.05, 0.1, 0.3, 0.37, 0.5, 0.9, 1.0}) {
        CAPTURE(probability);
        CHECK(sorted_quantile(sorted, probability) == quantile({3, -inf, 0.5, inf, -2, -inf}, probability));
    }
    CHECK(sorted_quantile(sorted, 0.1) == -inf);
    CHECK(sorted_quantile(sorted, 0.3) == -inf);
    CHECK(sorted_quantile(sorted, 0.5) == -0.75);
    CHECK(sorted_quantile(sorted, 0.9) == inf);
    CHECK(std::isnan(sorted_quantile({}, 0.5)));
}

TEST_CASE("there is nothing to say about too few draws") {
    for (std::size_t draws = 0; draws < 4; ++draws) {
        for (std::size_t chains = 0; chains < 3; ++chains) {
            std::vector<double> values(draws * chains);
            std::iota(values.begin(), values.end(), 0.0);
            QuantitySummary const summary = summarize({values, draws, chains});
            CHECK(std::isnan(summary.mean) == values.empty());
            CHECK(std::isnan(summary.median) == values.empty());
            CHECK(std::isnan(summary.mad) == values.empty());
            CHECK(std::isnan(summary.q5) == values.empty());
            CHECK(std::isnan(summary.sd) == (values.size() < 2));
            for (double value : {summary.rhat, summary.ess_bulk, summary.ess_tail, summary.mcse_mean, summary.mcse_sd})
                CHECK(std::isnan(value));
        }
    }
}

TEST_CASE("draws of any scale have the ESS of their unit") {
    Stream stream(1, 0, 0, 0);
    std::vector<double> values(800);
    for (double& x : values) x = stream.normal();
    QuantitySummary const unit = summarize({values, 200, 4});
    for (double& x : values) x *= 0x1p-70;
    QuantitySummary const tiny = summarize({values, 200, 4});
    CHECK(tiny.ess_bulk == unit.ess_bulk);
    CHECK(tiny.ess_tail == unit.ess_tail);
    CHECK(tiny.mcse_mean == unit.mcse_mean * 0x1p-70);
    CHECK(tiny.mcse_sd == unit.mcse_sd * 0x1p-70);
}

TEST_CASE("autocovariances are the sums they stand for at every lag") {
    for (std::size_t length : {1UL, 2UL, 63UL, 64UL, 65UL, 127UL, 128UL, 129UL, 400UL, 512UL, 513UL}) {
        for (std::size_t chains : {1UL, 2UL, 3UL}) {
            CAPTURE(length);
            CAPTURE(chains);
            Stream stream(2, length, chains, 0);
            std::vector<double> values(length * chains);
            double last = 5;
            for (double& x : values) x = last = 0.9 * last + stream.normal();
            Autocovariance autocovariance(values, length);
            double worst = 0;
            for (std::size_t lag = 0; lag < length; ++lag) {
                double expected = 0;
                for (std::size_t chain = 0; chain < chains; ++chain) {
                    double const* const x = values.data() + chain * length;
                    double const mean = std::accumulate(x, x + length, 0.0) / static_cast<double>(length);
                    for (std::size_t i = 0; i + lag < length; ++i) expected += (x[i] - mean) * (x[i + lag] - mean);
                }
                worst = std::max(worst, std::abs(autocovariance[lag] - expected / static_cast<double>(values.size())));
            }
            CHECK(worst < 1e-12 * std::max(1.0, autocovariance[0]));
        }
    }
}

}  // namespace bam
