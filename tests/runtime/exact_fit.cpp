// Outputs that are fitted exactly, where their cells have local scales, and where only those of one entry are.
#include "exact_fit.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <Eigen/Core>
#include <limits>

#include "mean_field.hpp"
#include "priors.hpp"
#include "study.hpp"
#include "trouble.hpp"

using namespace bam;
using namespace bam::test;

namespace {

std::string model_of(std::string const& output, std::string const& param) {
    return "dims { sequence seq; time t }\ndata { y[seq, t] }\nparam { " + param + " }\nobserve { y ~ " + output +
           " }\ntable { seq = s; t = order(t); y = y }\n";
}

/// Three sequences of eight steps: what `cell` says of (sequence, step).
template <class Cell>
std::string table_of(Cell cell) {
    std::string table = "s,t,y\n";
    for (int s = 0; s < 3; ++s)
        for (int t = 0; t < 8; ++t) table += fmt::format("s{},{},{}\n", s, t, cell(s, t));
    return table;
}

double noise(int s, int t) { return ((7 * s + 5 * t) % 11) / 3.0 - 1.5; }

/// Which entry a chain, and a climb, find to go to 0; empty if none within so many sweeps and passes.
struct Found {
    std::string by_sweeps, by_passes;
};

Found search(std::string const& model, std::string const& table) {
    auto const study = bam::test::study(model, table);
    Found found;
    try {
        Replica replica(study->problem, 1, 1, {});
        replica.start(0);
        for (std::uint64_t i = 0; i < 1000; ++i) replica.sweep(i);
    } catch (ExactFit const& fit) {
        found.by_sweeps = fit.entry;
    }
    try {
        Replica replica(study->problem, 1, 1, {});
        replica.start(0);
        Model expected = study->model;
        ExpectationPlan const plan = plan_expectations(expected, study->derivation, study->laid_out, drawn_outputs(study->problem));
        MeanField field(study->problem, plan);
        field.start(replica.state());
        for (int i = 0; i < 200; ++i) field.pass();
    } catch (ExactFit const& fit) {
        found.by_passes = fit.entry;
    }
    return found;
}

void check_found(std::string const& model, std::string const& table, std::string const& entry) {
    CAPTURE(model);
    Found const found = search(model, table);
    CHECK(found.by_sweeps == entry);
    CHECK(found.by_passes == entry);
}

char const* const outputs[] = {"normal(m, sigma)", "student_t(4, m, sigma)", "laplace(m, sigma)"};

}  // namespace

TEST_CASE("exact fit: constant outputs under every noise") {
    std::string const constant = table_of([](int, int) { return 3.7; });
    for (char const* output : outputs) {
        check_found(model_of(output, "m ~ normal(0, 10); sigma ~ half_cauchy(1)"), constant, "sigma");
        check_found(model_of(output, "m ~ normal(0, 10); sigma ~ flat()"), constant, "sigma");
    }
    check_found(model_of("student_t(df, m, sigma)", "df ~ gamma(2, 0.1); m ~ normal(0, 10); sigma ~ half_normal(1)"), constant, "sigma");
}

TEST_CASE("exact fit: one sequence of several is named") {
    std::string const one = table_of([](int s, int t) { return s == 1 ? 3.7 : noise(s, t); });
    for (char const* output : outputs)
        check_found(model_of(output, "m[seq] ~ normal(0, 10); sigma[seq] ~ half_cauchy(1)"), one, "sigma[s1]");
}

TEST_CASE("exact fit: what is left over decides by its tails") {
    // Of 24 cells 22 are the same. With 2 degrees of freedom the others have s^2 each, less than what the 22 take; Laplace's tails fall off
    // exponentially, and hold the spread.
    std::string const most = table_of([](int s, int t) { return s == 2 && t > 5 ? 4.0 + t : 0.0; });
    check_found(model_of("student_t(2, m, sigma)", "m ~ normal(0, 10); sigma ~ half_cauchy(1)"), most, "sigma");
    check_found(model_of("laplace(m, sigma)", "m ~ normal(0, 10); sigma ~ half_cauchy(1)"), most, "");
    check_found(model_of("normal(m, sigma)", "m ~ normal(0, 10); sigma ~ half_cauchy(1)"), most, "");
    // Of 24 cells 14 are the same: 14 - 1 is less than 4 times 10.
    std::string const many = table_of([](int s, int t) { return s == 2 || t > 6 ? noise(s, t) + 0.01 : 0.0; });
    check_found(model_of("student_t(4, m, sigma)", "m ~ normal(0, 10); sigma ~ half_cauchy(1)"), many, "");
}

TEST_CASE("exact fit: outputs that a mean absorbs have lost their digits instead") {
    // 1e120 b takes up a whatever it is, and y with it.
    auto const study = bam::test::study(
        "dims { sequence row }\ndata { x[row]; y[row] }\nparam { a ~ normal(0, 1); b ~ normal(0, 1); sigma ~ half_cauchy(1) }\n"
        "observe { y ~ normal(a + b * x, sigma) }\ntable { x = x; y = y }\n",
        "x,y\n1e120,1\n1e120,2.5\n1e120,0.3\n1e120,1.9\n");
    Replica replica(study->problem, 1, 1, {});
    replica.start(0);
    CHECK_THROWS_AS(
        [&] {
            for (std::uint64_t i = 0; i < 100; ++i) replica.sweep(i);
        }(),
        LostDigits);
}

namespace {

class Zeros final : public NormalSource {
  public:
    double normal() override { return 0; }
    double truncated(TruncatedNormal const&) override { return 0; }
    std::size_t categorical(std::span<double const>) override { return 0; }
};

/// Whether a normal with the second moments of columns u and v is drawn, where no prior determines it.
bool is_drawn(Eigen::VectorXd const& u, Eigen::VectorXd const& v) {
    Eigen::MatrixXd precision(2, 2);
    precision << u.dot(u), 0, u.dot(v), v.dot(v);
    Eigen::VectorXd linear = Eigen::VectorXd::Ones(2);
    Zeros zeros;
    return draw_normal(precision, linear, linear, Relaxation(), zeros, 64 * std::numeric_limits<double>::epsilon());
}

}  // namespace

TEST_CASE("undetermined: columns that are multiples of one another, to rounding, are refused, and others of any size drawn") {
    Eigen::VectorXd u(5), v(5);
    u << 0.3, -1.7, 2.2, 0.9, 4.1;
    v << 1.3, 0.7, -0.4, 2.9, 0.1;
    for (double const factor : {1.0, 0.1, 0.3, 3.0, 1e-7, 1e9}) CHECK_FALSE(is_drawn(u, factor * u));
    for (double const factor : {1.0, 0.1, 1e-100, 1e100}) CHECK(is_drawn(u, factor * v));
    // Years beside a constant: what is left of them is 1e-6 of their squares; 1e-5 apart of 1e5 are 1e-20.
    CHECK(is_drawn(Eigen::VectorXd::Ones(5), Eigen::VectorXd::Constant(5, 2000) + v));
    CHECK_FALSE(is_drawn(Eigen::VectorXd::Ones(5), Eigen::VectorXd::Constant(5, 1e5) + 1e-5 * v));
}
