#include "linear_response.hpp"

#include <doctest/doctest.h>

#include <Eigen/Dense>
#include <stop_token>

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

    std::vector<double> sds(ResponseProgress const& progress = {}, std::stop_token const& stop = {}) const {
        return linear_response(study->problem, expectations, field->posterior(), *recorder, progress, stop);
    }
    double sd_of(std::string const& name, std::vector<double> const& sds) const {
        for (std::size_t k = 0; k < sds.size(); ++k)
            if (label_name(recorder->columns()[k]) == name) return sds[k];
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
    CHECK(climbed.sd_of("u", sds) == doctest::Approx(std::sqrt(covariance(0, 0))).epsilon(1e-5));
    CHECK(climbed.sd_of("w", sds) == doctest::Approx(std::sqrt(covariance(1, 1))).epsilon(1e-5));
    Eigen::Vector2d const at_three(1, 3);
    CHECK(climbed.sd_of("mean_y[3]", sds) == doctest::Approx(std::sqrt(at_three.dot(covariance * at_three))).epsilon(1e-5));
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
    CHECK(std::isnan(climbed.sd_of("mean_y[1]", sds)));
    CHECK(climbed.sd_of("sigma", sds) > 0);
}

TEST_CASE("linear response: what a stop request leaves out is no number") {
    Climbed const climbed(line, line_table);
    std::stop_source stop;
    stop.request_stop();
    for (double const sd : climbed.sds({}, stop.get_token())) CHECK(std::isnan(sd));
}
