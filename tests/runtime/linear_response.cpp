#include "linear_response.hpp"

#include <doctest/doctest.h>

#include <Eigen/Dense>
#include <cmath>
#include <stop_token>
#include <string>

#include "study.hpp"
#include "variational.hpp"

using namespace bam;

namespace {

/// A study climbed to its optimum.
struct Climbed {
    std::unique_ptr<test::Study> study;
    ExpectationPlan expectations;
    std::unique_ptr<MeanField> field;
    std::unique_ptr<Recorder> recorder;

    Climbed(std::string const& model, std::string const& table) : study(test::study(model, table)) {
        expectations = plan_expectations(study->model, study->derivation, study->laid_out, drawn_outputs(study->problem));
        field = std::make_unique<MeanField>(study->problem, expectations);
        REQUIRE(climb(*field, {}, {}, {}).ending == ClimbEnding::Converged);
        Replica const replica(study->problem, 1, 1, {});
        recorder = std::make_unique<Recorder>(study->problem, replica.inputs());
    }

    LinearResponse response(ResponseProgress const& progress = {}, std::stop_token const& stop = {}) const {
        return linear_response(study->problem, expectations, field->posterior(), *recorder, progress, stop);
    }
    std::vector<double> sds(ResponseProgress const& progress = {}, std::stop_token const& stop = {}) const {
        return response(progress, stop).sds;
    }
    double value_of(std::string const& name, std::vector<double> const& values) const {
        for (std::size_t k = 0; k < values.size(); ++k)
            if (label_name(recorder->columns()[k]) == name) return values[k];
        FAIL("no column " << name);
        return 0;
    }
};

constexpr char const* line = R"(
dims { sequence row }
data { x[row]; y[row] }
param { u ~ normal(0, 2); w ~ normal(0, 3) }
observe { y ~ normal(u + w * x, 1) }
table { row = row; x = x; y = y }
)";
constexpr char const* line_table = "row,x,y\n1,1,0.2\n2,2,2.1\n3,3,1.7\n4,4,4.4\n";

/// Of little data: the products of weights shrink to 0.
constexpr char const* shrunk = R"(
dims { sequence row; unit = 2 }
data { x[row]; y[row] }
param { u[unit] ~ normal(0, 1); w[unit] ~ normal(0, 1); sigma ~ half_cauchy(1) }
observe { y ~ normal(u' * w * x, sigma) }
table { row = row; x = x; y = y }
)";
constexpr char const* shrunk_table = "row,x,y\n1,0.1,1.3\n2,-0.1,0.8\n3,0.2,-0.9\n4,-0.2,-1.1\n";

}  // namespace

TEST_CASE("linear response: the sds of a Gaussian posterior, which factors miss, are exact") {
    Climbed const climbed(line, line_table);
    std::vector<double> const sds = climbed.sds();
    Eigen::Matrix2d precision;
    precision << 1.0 / 4 + 4, 10, 10, 1.0 / 9 + 30;
    Eigen::Matrix2d const covariance = precision.inverse();
    CHECK(climbed.value_of("u", sds) == doctest::Approx(std::sqrt(covariance(0, 0))).epsilon(1e-5));
    CHECK(climbed.value_of("w", sds) == doctest::Approx(std::sqrt(covariance(1, 1))).epsilon(1e-5));
    Eigen::Vector2d const at_three(1, 3);
    CHECK(climbed.value_of("mean_y[3]", sds) == doctest::Approx(std::sqrt(at_three.dot(covariance * at_three))).epsilon(1e-5));
}

TEST_CASE("linear response: it says how far it is") {
    Climbed const climbed(line, line_table);
    std::vector<std::size_t> done;
    std::size_t const columns = climbed.recorder->columns().size();
    climbed.sds([&](std::size_t k, std::size_t total) {
        done.push_back(k);
        CHECK(total == columns);
    });
    REQUIRE(done.size() == columns);
    CHECK(done.front() == 1);
    CHECK(done.back() == columns);
}

TEST_CASE("linear response: of products that shrank to 0 there is none") {
    Climbed const climbed(shrunk, shrunk_table);
    std::vector<double> const sds = climbed.sds();
    CHECK(std::isnan(climbed.value_of("mean_y[1]", sds)));
    CHECK(climbed.value_of("sigma", sds) > 0);
}

TEST_CASE("linear response: the mean of a noise that two blocks for one mean puff up comes to that of its posterior") {
    // y ~ normal(u + w, sigma): u + w is one normal, integrated out; what is left is a density of sigma alone.
    std::size_t const n = 20;
    std::string table = "row,y\n";
    double sum = 0, squares = 0;
    for (std::size_t i = 0; i < n; ++i) {
        double const y = 1 + 0.7 * std::sin(5.0 * static_cast<double>(i));
        table += std::to_string(i) + "," + std::to_string(y) + "\n";
        sum += std::stod(std::to_string(y));
        squares += std::pow(std::stod(std::to_string(y)), 2);
    }
    Climbed const climbed(R"(
dims { sequence row }
data { y[row] }
param { u ~ normal(0, 3); w ~ normal(0, 2); sigma ~ half_cauchy(1.5) }
observe { y ~ normal(u + w, sigma) }
table { row = row; y = y }
)",
                          table);
    double mass = 0, sigma_mean = 0;
    for (double log_sigma = -4; log_sigma < 4; log_sigma += 1e-3) {
        double const p = std::exp(-2 * log_sigma);
        double const precision = static_cast<double>(n) * p + 1 / 13.0;  // of u + w
        double const log_density = -static_cast<double>(n) * log_sigma - 0.5 * squares * p + 0.5 * p * p * sum * sum / precision -
                                   0.5 * std::log(precision) - std::log1p(std::exp(2 * log_sigma) / 2.25) + log_sigma;
        double const weight = std::exp(log_density);
        mass += weight;
        sigma_mean += weight * std::exp(log_sigma);
    }
    LinearResponse const response = climbed.response();
    double const exact = sigma_mean / mass;
    double const alone = climbed.field->posterior().scales[0][0].mean;
    double const repaired = climbed.value_of("sigma", response.means);
    CAPTURE(exact);
    CAPTURE(alone);
    CAPTURE(repaired);
    CHECK(alone > 1.02 * exact);  // one cell too many of 20
    CHECK(std::abs(repaired - exact) < 0.2 * std::abs(alone - exact));
}

TEST_CASE("linear response: without a learnt scale there are no means") { CHECK(Climbed(line, line_table).response().means.empty()); }

TEST_CASE("linear response: where blocks multiply only scales have means, and only below those of the factors") {
    Climbed const climbed(shrunk, shrunk_table);
    LinearResponse const response = climbed.response();
    CHECK(std::isnan(climbed.value_of("mean_y[1]", response.means)));
    CHECK(climbed.value_of("sigma", response.means) <= climbed.field->posterior().scales[0][0].mean);
}

TEST_CASE("linear response: what a stop request leaves out is no number") {
    Climbed const climbed(line, line_table);
    std::stop_source stop;
    stop.request_stop();
    for (double const sd : climbed.sds({}, stop.get_token())) CHECK(std::isnan(sd));
}
