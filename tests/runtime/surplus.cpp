#include "surplus.hpp"

#include <doctest/doctest.h>
#include <fmt/core.h>

#include <Eigen/Dense>
#include <cmath>
#include <limits>
#include <stop_token>

#include "studies.hpp"
#include "variational.hpp"

using namespace bam;

namespace {

/// A study climbed to its optimum, and its surplus.
struct Found {
    std::unique_ptr<test::Study> study;
    ExpectationPlan expectations;
    std::unique_ptr<MeanField> field;
    std::size_t pushed = 0;

    explicit Found(std::unique_ptr<test::Study> made) : study(std::move(made)), expectations(test::expectations_of(*study)) {
        field = std::make_unique<MeanField>(study->problem, expectations);
        VariationalOptions options;
        options.tolerance = 1e-13;
        climb(*field, options, {}, {});
    }
    Surplus surplus(std::stop_token const& stop = {}) {
        auto const found = find_surplus(
            study->problem, expectations, field->posterior(), [&] { ++pushed; }, stop);
        REQUIRE(found);
        return *found;
    }
    double precision(std::size_t scale) const { return field->posterior().scales[scale].front().precision; }
    std::vector<double> const& data(std::string const& name) const { return study->problem.bound.data[test::variable_of(*study, name)]; }
};

std::string table_of(std::size_t rows, double shift) {
    std::string table = "row,x,y\n";
    for (std::size_t i = 0; i < rows; ++i) {
        double const x = shift + static_cast<double>(i) / static_cast<double>(rows - 1) - 0.5;
        table += fmt::format("{},{},{}\n", i, x, 0.4 + 0.7 * x + 0.3 * std::sin(37.0 * static_cast<double>(i)));
    }
    return table;
}

constexpr char const* line = R"(
dims { sequence row }
data { x[row]; y[row] }
param { u ~ normal(0.1, 2); w ~ normal(0.2, 0.7); v ~ inverse_gamma(3, 0.2) }
observe { y ~ normal(u + w * x, var = v) }
table { row = row; x = x; y = y }
)";

}  // namespace

TEST_CASE("surplus: of a regression whose blocks lean on one another it is that of matrices") {
    Found found(test::study(line, table_of(20, 1.5)));
    double const p = found.precision(0);
    Eigen::MatrixXd design(20, 2);
    for (Eigen::Index i = 0; i < 20; ++i) design.row(i) << 1, found.data("x")[static_cast<std::size_t>(i)];
    Eigen::Matrix2d const gram = p * design.transpose() * design;
    Eigen::Matrix2d precision = gram;
    precision.diagonal() += Eigen::Vector2d(1 / 4.0, 1 / 0.49);
    Eigen::Matrix2d alone = Eigen::Matrix2d::Zero();
    alone.diagonal() = precision.diagonal().cwiseInverse();
    double const expected = (gram * (alone - precision.inverse())).trace();
    CHECK(expected > 0.02);  // there is something to find
    CHECK(found.surplus()[0][0] == doctest::Approx(expected).epsilon(1e-5));
    CHECK(found.pushed == 2);
}

TEST_CASE("surplus: blocks that only their sum tells apart count one cell too many") {
    Found found(test::study(R"(
dims { sequence row }
data { y[row] }
param { u ~ normal(0, 30); w ~ normal(0, 30); sigma ~ half_cauchy(1) }
observe { y ~ normal(u + w, sigma) }
table { row = row; y = y }
)",
                            table_of(20, 0)));
    CHECK(found.surplus()[0][0] == doctest::Approx(1).epsilon(1e-3));  // but for what the priors say, (sigma / 30)^2 / 20
}

TEST_CASE("surplus: of attention it is the number of its symmetries") {
    std::filesystem::path const folder = std::filesystem::path(BAM_TEST_DIR) / "reference";
    Found found(test::study_file(folder / "attention_small.bam", test::text_of(folder / "attention_small.csv")));
    double const surplus = found.surplus()[0][0];  // W_k against W_q, 2 x 2, and a scale against W_v; priors hardly hold them
    CHECK(surplus > 4.95);
    CHECK(surplus < 5.005);
}

TEST_CASE("surplus: there is none where the factors are right") {
    SUBCASE("blocks that do not meet") {
        Found found(test::study(line, table_of(20, 0)));
        CHECK(std::abs(found.surplus()[0][0]) < 1e-6);
    }
    SUBCASE("a path, whose neighbouring steps go together") {
        Found found(test::study_file(test::studies / "random_walk.bam", test::text_of(test::studies / "small.csv")));
        for (auto const& scale : found.surplus())
            for (double const one : scale) CHECK(std::abs(one) < 1e-5);
    }
}

TEST_CASE("surplus: what is put into one place is missing at another") {
    // Given its scales the model is Gaussian with as many directions as means: over all statements, those with known spreads among them,
    // factors count as many cells as there are. Here every spread is learnt but that of mu, whose precision is near 0.
    Found found(test::study(R"(
dims { sequence seq; time t }
data { y[seq, t] missing }
param { theta[seq] ~ normal(mu, tau); mu ~ normal(0, 1000); tau ~ half_normal(0.8); sigma ~ half_cauchy(0.7) }
observe { y ~ normal(theta, sigma) }
table { seq = seq; t = order(t); y = y1 }
)",
                            test::text_of(test::studies / "small.csv")));
    Surplus const surplus = found.surplus();
    CHECK(std::abs(surplus[0][0]) > 0.1);
    CHECK(surplus[0][0] + surplus[1][0] == doctest::Approx(0).epsilon(1e-5));
}

TEST_CASE("surplus: a stop request leaves nothing") {
    Found const found(test::study(line, table_of(20, 1.5)));
    std::stop_source stop;
    stop.request_stop();
    CHECK_FALSE(find_surplus(found.study->problem, found.expectations, found.field->posterior(), {}, stop.get_token()));
}
