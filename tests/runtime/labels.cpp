#include "labels.hpp"

#include <doctest/doctest.h>

#include <bam/bam.hpp>
#include <cmath>
#include <numeric>
#include <random>

using namespace bam;

namespace {

constexpr char const* model = R"(
dims { sequence seq; time t; group }
data { of[seq] in group; y[seq, t] missing }
param {
  theta[group] ~ normal(mu, tau)
  mu           ~ normal(0, 10)
  tau          ~ half_normal(2)
  sigma[group] ~ half_normal(1)
}
observe { y ~ normal(theta[of], sigma[of]) }
table { seq = seq; t = t; of = g; y = y }
)";

/// `groups` groups of four sequences of five rows.
std::string table_of(int groups) {
    std::mt19937_64 random(5);
    std::normal_distribution<double> normal;
    std::string text = "seq,t,g,y\n";
    for (int s = 0; s < 4 * groups; ++s)
        for (int t = 0; t < 5; ++t)
            text += std::to_string(s) + "," + std::to_string(t) + "," + std::to_string(10 * (s % groups)) + "," +
                    std::to_string(s % groups + 0.5 * normal(random)) + "\n";
    return text;
}

Csv csv(std::string text) {
    Csv table;
    table.text = std::move(text);
    return table;
}

std::vector<double> all(Fit const& fit, std::string const& name) {
    std::vector<double> values;
    for (auto const& chain : fit.draws(name)) values.insert(values.end(), chain.begin(), chain.end());
    return values;
}

double mean_of(std::vector<double> const& values) {
    return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

std::vector<std::string> labels_in(std::string const& text, std::vector<std::string> known = {}) {
    Diagnostics diagnostics;
    Sources sources;
    std::uint32_t const source = sources.add_table("table.csv", text);
    auto const table = Table::parse(sources[source].text, source, {}, diagnostics);
    REQUIRE(table);
    ColumnExpr column;
    column.op = ColumnOp::Column;
    column.name = "g";
    add_labels({"group", {column}}, *table, known, diagnostics);
    CHECK(diagnostics.empty());
    return known;
}

}  // namespace

TEST_CASE("labels: numbers in their order - texts in that of their letters - none twice and none of a missing cell") {
    using Labels = std::vector<std::string>;
    CHECK(labels_in("g,y\n10,1\n2,1\nNA,1\n10,1\n0.5,1\n") == Labels{"0.5", "2", "10"});
    CHECK(labels_in("g,y\nb,1\n10,1\n2,1\n,1\na,1\n") == Labels{"10", "2", "a", "b"});
    CHECK(labels_in("g,y\nb,1\n\"fish meal\",1\nb,2\n") == Labels{"b", "fish meal"});
}

TEST_CASE("labels: those that are known stay where they are and new ones come behind them") {
    using Labels = std::vector<std::string>;
    CHECK(labels_in("g,y\n10,1\n2,1\n7,1\n", {"10", "30"}) == Labels{"10", "30", "2", "7"});
}

TEST_CASE("labels: a new table keeps those of the run and a new one is a new group") {
    FitOptions options;
    options.seed = 3;
    options.num_samples = 2000;
    Fit const fit = Program::from_text(model).fit(csv(table_of(3)), options);
    // The same rows, without their outputs and in another order of groups; and a group that the run has not seen.
    Predictions const predictions = fit.predict(csv("seq,t,g,y\nx,0,20,\ny,0,0,\nz,0,40,\n"));
    REQUIRE(predictions.cells().size() == 3);
    auto const theta = all(fit, "theta[20]");
    auto const sigma = all(fit, "sigma[20]");
    double square = 0;
    for (double const s : sigma) square += s * s / static_cast<double>(sigma.size());
    double spread = 0;
    for (double const t : theta) spread += (t - mean_of(theta)) * (t - mean_of(theta)) / static_cast<double>(theta.size());
    CHECK(predictions.cells()[0].mean == doctest::Approx(mean_of(theta)).epsilon(0.02));
    CHECK(predictions.cells()[0].sd == doctest::Approx(std::sqrt(square + spread)).epsilon(0.05));
    CHECK(std::abs(predictions.cells()[1].mean - mean_of(all(fit, "theta[0]"))) < 0.05);
    // theta ~ normal(mu, tau) anew for each draw, sigma from half_normal(1), whose mean square is 1.
    auto const mu = all(fit, "mu");
    auto const tau = all(fit, "tau");
    double variance = 1;
    for (std::size_t i = 0; i < mu.size(); ++i)
        variance += (tau[i] * tau[i] + (mu[i] - mean_of(mu)) * (mu[i] - mean_of(mu))) / static_cast<double>(mu.size());
    CHECK(std::abs(predictions.cells()[2].mean - mean_of(mu)) < 5 * std::sqrt(variance / static_cast<double>(mu.size())));
    CHECK(predictions.cells()[2].sd == doctest::Approx(std::sqrt(variance)).epsilon(0.05));
}
