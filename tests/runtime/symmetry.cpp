// What the likelihood cannot see, read off the terms.
#include <doctest/doctest.h>

#include "study.hpp"
#include "translation.hpp"

using namespace bam;
using namespace bam::test;

namespace {

std::unique_ptr<Study> study_with(std::string const& param, std::string const& observe, std::string const& report = "") {
    return study("dims { sequence row; feat; unit = 2 }\ndata { x[row, feat]; z[row]; y[row] }\nparam { " + param +
                     "; sigma ~ half_cauchy(1) }\nobserve { y ~ normal(" + observe + ", sigma) }\nreport { " + report +
                     " }\ntable { feat = [one = 1, z]; z = z; y = y }\n",
                 "z,y\n1,2\n2,1\n3,5\n");
}

std::string translations_of(std::string const& param, std::string const& observe) {
    auto const made = study_with(param, observe);
    std::string text;
    for (Translation const& one : translations(made->model))
        text += made->model.symbols[one.first].name + (one.is_opposite ? " - " : " + ") + made->model.symbols[one.second].name + "; ";
    return text;
}

std::vector<bool> identified(std::string const& param, std::string const& observe, std::string const& report) {
    auto const made = study_with(param, observe, report);
    std::vector<bool> found;
    for (ReportPlan const& one : made->problem.plan.reports) found.push_back(one.is_identified);
    return found;
}

}  // namespace

TEST_CASE("symmetry: a product by elements is identified where the mean holds it by elements, and its sum where it holds the sum") {
    std::string const vectors = "u[feat] ~ normal(0, 1); w[feat] ~ normal(0.5, 1)";
    std::string const reports = "uw[feat] = u .* w; dot = u' * w; square[feat] = u .* u; crossed = (u .* w)' * u";
    CHECK(identified(vectors, "(u .* w)' * x", reports) == std::vector<bool>{true, true, false, false});
    CHECK(identified(vectors, "u' * w * z", reports) == std::vector<bool>{false, true, false, false});
}

TEST_CASE("symmetry: of sums and differences of two blocks") {
    std::string const two = "a ~ normal(0, 1); b ~ normal(1, 2)";
    CHECK(translations_of(two, "a - b + z") == "a + b; ");
    CHECK(translations_of(two, "a + b + z") == "a - b; ");
    CHECK(translations_of(two, "(a - b) * z") == "a + b; ");
    CHECK(translations_of(two, "a * z - b") == "");
    CHECK(translations_of(two, "2 * a + b") == "");
    CHECK(translations_of(two, "a * b + z") == "");
    std::string const vectors = "a[feat] ~ normal(0, 1); b[feat] ~ flat()";
    CHECK(translations_of(vectors, "(a + b)' * x") == "a - b; ");
    CHECK(translations_of(vectors, "(a - b)' * x + z") == "a + b; ");
    CHECK(translations_of(vectors + "; c ~ normal(0, 1)", "(a - b)' * x + c") == "a + b; ");
    // A prior that holds both sees the shift, or does not.
    CHECK(translations_of("b ~ normal(0, 1); a ~ normal(b, 1)", "a - b") == "b + a; ");
    CHECK(translations_of("b ~ normal(0, 1); a ~ normal(b, 1)", "a + b") == "");
    // Levels of sequences about a common one are of another shape.
    CHECK(translations_of("a[row] ~ normal(0, 1); b ~ normal(0, 1)", "a + b") == "");
}
