// Groups, of a column's labels and of sequences, against closed forms: at the ends of their spread they are one regression, or one each;
// and what made a table is found again.
#include <doctest/doctest.h>

#include <Eigen/Dense>
#include <map>
#include <random>

#include "chains.hpp"
#include "convergence.hpp"
#include "studies.hpp"

using namespace bam;
using namespace bam::test;

namespace {

constexpr double sigma = 0.5;
constexpr double wide = 10;  ///< sd of the prior of mu

struct Row {
    std::size_t group = 0;
    double x = 0;
    double y = 0;
};

/// What observed cells there are, with the group that picks the slope.
std::vector<Row> rows_of(Study const& study, bool is_of_column) {
    Layout const& layout = study.problem.plan.layout;
    Bound const& bound = study.problem.bound;
    std::map<std::string, std::size_t> at;
    for (std::size_t v = 0; v < layout.variables.size(); ++v) at[layout.variables[v].name] = v;
    std::vector<double> const& masks = study.problem.masks.back();
    std::vector<Row> rows;
    bound.grid.for_each(Extent::Cell, [&](std::size_t cell, std::size_t sequence, std::size_t) {
        if (!masks.empty() && masks[cell] == 0) return;
        auto const group = is_of_column ? static_cast<std::size_t>(bound.data[at["fed"]][sequence]) - 1 : sequence;
        rows.push_back({group, bound.data[at["x"]][cell], bound.data[at["y"]][cell]});
    });
    return rows;
}

/// Mean and sd of the posterior of the slopes, then of mu: theta[g] ~ normal(mu, tau), mu ~ normal(0, wide).
std::pair<Eigen::VectorXd, Eigen::VectorXd> posterior(std::vector<Row> const& rows, std::size_t groups, double tau) {
    auto const n = static_cast<Eigen::Index>(groups);
    Eigen::MatrixXd precision = Eigen::MatrixXd::Zero(n + 1, n + 1);
    Eigen::VectorXd linear = Eigen::VectorXd::Zero(n + 1);
    for (Row const& row : rows) {
        auto const g = static_cast<Eigen::Index>(row.group);
        precision(g, g) += row.x * row.x / (sigma * sigma);
        linear(g) += row.x * row.y / (sigma * sigma);
    }
    for (Eigen::Index g = 0; g < n; ++g) {
        double const w = 1 / (tau * tau);
        precision(g, g) += w;
        precision(n, n) += w;
        precision(g, n) -= w;
        precision(n, g) -= w;
    }
    precision(n, n) += 1 / (wide * wide);
    Eigen::MatrixXd const covariance = precision.inverse();
    return {covariance * linear, covariance.diagonal().cwiseSqrt()};
}

/// Slope of the rows of which `counts` says so, about a prior normal(0, sd).
double slope(std::vector<Row> const& rows, double sd, auto counts) {
    double squares = 1 / (sd * sd);
    double products = 0;
    for (Row const& row : rows) {
        if (!counts(row)) continue;
        squares += row.x * row.x / (sigma * sigma);
        products += row.x * row.y / (sigma * sigma);
    }
    return products / squares;
}

struct Limit {
    bool is_of_column;
    bool is_pooled;
    double tau;
};

std::unique_ptr<Study> study_at(Limit const& limit) {
    std::string const dim = limit.is_of_column ? "diet" : "seq";
    std::string const picked = limit.is_of_column ? "theta[fed]" : "theta";
    return test::study("dims { sequence seq; time t; diet }\ndata { x[seq, t]; fed[seq] in diet; y[seq, t] missing }\nparam { theta[" +
                           dim + "] ~ normal(mu, " + std::to_string(limit.tau) + "); mu ~ normal(0, 10) }\nobserve { y ~ normal(" + picked +
                           " * x, 0.5) }\ntable { seq = seq; t = order(t); x = x1; fed = diet; y = y1 }\n",
                       text_of(studies / "groups.csv"));
}

void check_limit(Limit const& limit) {
    CAPTURE(limit.is_of_column);
    CAPTURE(limit.tau);
    auto const study = study_at(limit);
    std::size_t const groups = limit.is_of_column ? 3 : 5;
    auto const rows = rows_of(*study, limit.is_of_column);
    auto const [means, sds] = posterior(rows, groups, limit.tau);
    std::uint32_t theta = 0;
    while (study->problem.plan.layout.variables[theta].name != "theta") ++theta;

    // The closed form is at its limit.
    std::vector<double> limits;
    for (std::size_t g = 0; g < groups; ++g)
        limits.push_back(limit.is_pooled ? slope(rows, wide, [](Row const&) { return true; })
                                         : slope(rows, limit.tau, [g](Row const& row) { return row.group == g; }));
    for (std::size_t g = 0; g < groups; ++g) {
        auto const k = static_cast<Eigen::Index>(g);
        CHECK(std::abs(means(k) - limits[g]) < 0.01 * sds(k));
    }

    // The means of independent normal factors are those of the posterior.
    ExpectationPlan const expectations = expectations_of(*study);
    MeanField field(study->problem, expectations);
    field.start(start_of(*study, 1));
    double before = -HUGE_VAL;
    for (double elbo = field.pass(); elbo - before > 1e-13; elbo = field.pass()) before = elbo;
    for (std::size_t g = 0; g < groups; ++g) {
        auto const k = static_cast<Eigen::Index>(g);
        double const found = field.posterior().state.values[theta][g];
        CHECK(std::abs(found - means(k)) < 1e-3 * sds(k));
        CHECK(std::abs(found - limits[g]) < 0.011 * sds(k));
    }

    ChainOptions options;
    options.chains = 2;
    options.num_samples = 20000;
    options.sweeps = limit.is_pooled ? 60 : 1;  // with a tau of 0.01 theta and mu hardly move in one
    options.seed = 4;
    Run const run = run_chains(study->problem, options, {}, {});
    std::size_t column = 0;
    while (run.columns[column].name != "theta") ++column;
    for (std::size_t place = 0; place < groups; ++place) {
        // Columns of sequences are in the order of the table.
        std::size_t const g = limit.is_of_column ? place : study->problem.bound.appearance[place];
        auto const k = static_cast<Eigen::Index>(g);
        std::vector<double> draws;
        for (Chain const& chain : run.chains)
            for (std::size_t d = 0; d < options.num_samples; ++d) draws.push_back(chain.values[d * run.columns.size() + column + place]);
        double const effective = ess_mean({draws, options.num_samples, run.chains.size()});
        double mean = 0;
        for (double const draw : draws) mean += draw / static_cast<double>(draws.size());
        CAPTURE(effective);
        CHECK(effective > 200);
        CHECK(std::abs(mean - limits[g]) < 4 * sds(k) / std::sqrt(effective) + 0.01 * sds(k));
    }
}

}  // namespace

TEST_CASE("groups: as tau goes without bound they are one regression each - of a column and of sequences") {
    for (bool const is_of_column : {true, false}) check_limit({is_of_column, false, 1000});
}

TEST_SUITE("slow") {
    TEST_CASE("groups: as tau goes to 0 they are one regression - of a column and of sequences") {
        for (bool const is_of_column : {true, false}) check_limit({is_of_column, true, 0.01});
    }
}

TEST_CASE("groups: levels and spreads of four groups are found again") {
    constexpr double levels[] = {-1, 0.5, 2, 4};
    constexpr double spreads[] = {0.2, 0.5, 1, 2};
    std::mt19937_64 random(17);
    std::normal_distribution<double> normal;
    std::string table = "seq,t,g,y\n";
    for (int s = 0; s < 48; ++s) {
        int const g = s % 4;
        for (int t = 0; t < 6; ++t)
            table += std::to_string(s) + "," + std::to_string(t) + ",g" + std::to_string(g) + "," +
                     std::to_string(levels[g] + spreads[g] * normal(random)) + "\n";
    }
    auto const study = test::study(
        "dims { sequence seq; time t; group }\ndata { of[seq] in group; y[seq, t] }\nparam { theta[group] ~ normal(mu, tau)\nmu ~ "
        "normal(1, "
        "3)\ntau ~ half_normal(3)\nsigma[group] ~ half_cauchy(1) }\nobserve { y ~ normal(theta[of], sigma[of]) }\ntable { seq = seq; t = "
        "order(t); of = g; y = y }\n",
        table);
    ChainOptions options;
    options.seed = 2;
    Run const run = run_chains(study->problem, options, {}, {});
    for (bool const is_level : {true, false}) {
        std::string const name = is_level ? "theta" : "sigma";
        double const* const truth = is_level ? levels : spreads;
        std::size_t column = 0;
        while (run.columns[column].name != name) ++column;
        for (std::size_t g = 0; g < 4; ++g) {
            CAPTURE(name);
            CAPTURE(g);
            CHECK(run.columns[column + g].labels.front() == "g" + std::to_string(g));
            double sum = 0;
            double squares = 0;
            double count = 0;
            for (Chain const& chain : run.chains) {
                for (std::size_t d = 0; d < options.num_samples; ++d, ++count) {
                    double const value = chain.values[d * run.columns.size() + column + g];
                    sum += value;
                    squares += value * value;
                }
            }
            double const mean = sum / count;
            double const sd = std::sqrt(squares / count - mean * mean);
            CHECK(std::abs(mean - truth[g]) < 3 * sd);
            CHECK(sd < 0.2 * (1 + std::abs(truth[g])));
        }
    }
}
