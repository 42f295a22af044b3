// Every block of every model against the definition of the log joint, at random states, with missing cells, ragged lengths and different
// priors on every block.
#include <doctest/doctest.h>

#include "certificate.hpp"
#include "certify.hpp"

using namespace bam;
using namespace bam::test;

namespace {

std::filesystem::path const studies = std::filesystem::path(BAM_TEST_DIR) / "studies";

std::unique_ptr<Study> study_of(std::string const& name, std::string const& table) {
    return study_file(studies / (name + ".bam"), text_of(studies / (table + ".csv")));
}

void check_study(std::string const& name, std::string const& table, std::size_t chunk_cells = 512) {
    CAPTURE(name);
    CAPTURE(chunk_cells);
    auto const study = study_of(name, table);
    study->problem.bound.grid.chunk_cells = chunk_cells;
    for (std::uint64_t seed = 1; seed <= 4; ++seed) {
        Certificate certificate(*study, seed);
        CHECK(certificate.log_joint_error() < 1e-10);
        CHECK(certificate.worst_block() < 1e-9);
        // Again where a chain has been for a while.
        for (std::uint64_t i = 0; i < 20; ++i) certificate.replica().sweep(i);
        CHECK(certificate.log_joint_error() < 1e-10);
        CHECK(certificate.worst_block() < 1e-9);
    }
}

}  // namespace

TEST_CASE("conditionals: every chunk boundary") {
    for (std::size_t const cells : std::initializer_list<std::size_t>{1, 3, 7}) {
        for (char const* name : {"attention", "attention_skip", "attention_unit_decay", "two_heads", "group_regression", "random_walk",
                                 "selective", "steps", "levels", "attention_kernel", "attention_uneven", "kernel_decays"}) {
            check_study(name, "small", cells);
        }
        check_study("ar", "series", cells);
    }
}
TEST_CASE("conditionals: groups by labels of columns - spreads by labels - decays and paths by labels") {
    for (char const* name : {"grouped", "group_noise", "group_paths"})
        for (std::size_t const cells : std::initializer_list<std::size_t>{512, 1, 3, 7}) check_study(name, "groups", cells);
}
TEST_CASE("conditionals: entries per step and per cell with noise per sequence") { check_study("steps", "small"); }
TEST_CASE("conditionals: a vector of levels with a transition matrix that all sequences share") { check_study("levels", "small"); }
TEST_CASE("conditionals: a local linear trend that is read a step late") {
    for (std::size_t const cells : std::initializer_list<std::size_t>{512, 2}) check_study("trend", "one_series", cells);
}
TEST_CASE("conditionals: a path of level and speed with tails around labels") {
    for (std::size_t const cells : std::initializer_list<std::size_t>{512, 1, 3}) check_study("smooth", "groups", cells);
}
TEST_CASE("conditionals: two outputs with gaps that look back at both") { check_study("two_gaps", "small"); }
TEST_CASE("conditionals: attention with heavy tails in priors and outputs") {
    for (std::size_t const cells : std::initializer_list<std::size_t>{512, 3}) check_study("robust", "small", cells);
}
TEST_CASE("conditionals: attention with outputs of unknown degrees of freedom") { check_study("learnt_df", "small"); }
TEST_CASE("conditionals: attention with truncated priors") {
    for (std::size_t const cells : std::initializer_list<std::size_t>{512, 3}) check_study("truncated", "small", cells);
}
TEST_CASE("conditionals: latent groups and readings that are off") {
    for (std::size_t const cells : std::initializer_list<std::size_t>{512, 3}) check_study("latent", "small", cells);
}
TEST_CASE("conditionals: choices of no sequence and no step") { check_study("picked", "small"); }
TEST_CASE("conditionals: a kernel that is learnt") {
    for (std::size_t const cells : std::initializer_list<std::size_t>{512, 3}) check_study("learnt_kernel", "small", cells);
}
TEST_CASE("conditionals: attention with binary outputs") {
    for (std::size_t const cells : std::initializer_list<std::size_t>{512, 3}) check_study("binary", "small", cells);
}
TEST_CASE("conditionals: attention with a horseshoe and a cut flat prior") { check_study("sparse_attention", "small"); }
TEST_CASE("conditionals: regression with outliers and truncated priors") { check_study("robust_regression", "rows"); }
TEST_CASE("conditionals: logistic regression") { check_study("logistic", "rows"); }
TEST_CASE("conditionals: horseshoe and laplace in a regression") { check_study("shrinkage", "rows"); }
TEST_CASE("conditionals: attention") { check_study("attention", "small"); }
TEST_CASE("conditionals: attention with a skip term") { check_study("attention_skip", "small"); }
TEST_CASE("conditionals: a decay per unit") { check_study("attention_unit_decay", "small"); }
TEST_CASE("conditionals: two heads") { check_study("two_heads", "small"); }
TEST_CASE("conditionals: a bank of decays") { check_study("attention_kernel", "small"); }
TEST_CASE("conditionals: decays about what the time since the last step says") { check_study("attention_uneven", "small"); }
TEST_CASE("conditionals: a bank of decays times a decay per cell") { check_study("kernel_decays", "small"); }
TEST_CASE("conditionals: regression by group with fixed attention") { check_study("group_regression", "small"); }
TEST_CASE("conditionals: random walk with gaps") { check_study("random_walk", "small"); }
TEST_CASE("conditionals: growth") { check_study("growth", "small"); }
TEST_CASE("conditionals: regression") { check_study("regression", "rows"); }
TEST_CASE("conditionals: eight schools") { check_study("eight_schools", "rows"); }
TEST_CASE("conditionals: autoregression") { check_study("ar", "series"); }
TEST_CASE("conditionals: selective decay per sequence") { check_study("selective", "small"); }

namespace {

/// Outliers among outputs with gaps, of which a level and another output remember the last.
constexpr char const* robust_gaps = R"(
dims { sequence seq; time t }
data { y[seq, t] missing; z[seq, t] missing }
param {
  phi         ~ normal(0.4, 0.5)
  rho         ~ normal(-0.2, 0.7)
  level[t]    ~ normal(0.3 * mu, tau)
  mu          ~ normal(0.5, 1.2)
  tau         ~ half_normal(0.6)
  sigma       ~ half_student_t(4, 0.8)
  width[seq]  ~ half_normal(1.1)
  nu          ~ gamma(2, 0.3)
}
observe {
  y[t < 1]  ~ normal(0.2, 1.3)
  y[t >= 1] ~ student_t(nu, level + phi * y[t-1], sigma * width)
  z[t >= 1] ~ normal(rho * y[t-1], sigma)
}
table { seq = seq; t = t; y = y; z = z }
)";
constexpr char const* robust_gaps_table =
    "seq,t,y,z\n1,1,,0.2\n1,2,0.7,0.1\n1,3,,-0.4\n1,4,,\n1,5,-0.8,0.3\n1,6,,\n2,1,0.4,\n2,2,,0.5\n2,3,3.1,-0.2\n2,4,0.6,0.4\n";

void check_powers(Study const& study) {
    for (double const power : {0.37, 0.0, 1.0}) {
        CAPTURE(power);
        for (std::uint64_t seed = 1; seed <= 2; ++seed) {
            Certificate certificate(study, seed, power);
            for (std::uint64_t i = 0; i < 5; ++i) {
                CHECK(certificate.log_change_error() < 1e-10);
                CHECK(certificate.log_joint_error() < 1e-10);
                CHECK(certificate.worst_block() < 1e-9);
                certificate.replica().sweep(i);
            }
            // Of scales and missing cells, given that log joints are those of the definition.
            for (Check const& check : certify(study.problem, seed, power))
                CHECK_MESSAGE(check.passed, check.name << " " << check.of << " " << check.worst);
        }
    }
}

}  // namespace

TEST_CASE("conditionals: at powers of the likelihood against the definition at that power") {
    for (auto const& [name, table] : {std::pair{"attention", "small"},
                                      {"binary", "small"},
                                      {"logistic", "rows"},
                                      {"ar", "series"},
                                      {"two_gaps", "small"},
                                      {"robust", "small"},
                                      {"learnt_df", "small"}}) {
        CAPTURE(name);
        check_powers(*study_of(name, table));
    }
}

TEST_CASE("conditionals: at powers of the likelihood where outliers have gaps among them") {
    auto const study = bam::test::study(robust_gaps, robust_gaps_table);
    check_powers(*study);
}

// A power that is on the drawn cells too, or on none: what is off must be seen.
TEST_CASE("conditionals: a power that is on other cells is found") {
    auto const study = bam::test::study(robust_gaps, robust_gaps_table);
    auto const differ = [&](bool forgets) {
        auto const other = bam::test::study(robust_gaps, robust_gaps_table);
        if (forgets)
            for (auto& cells : other->problem.augmented) std::fill(cells.begin(), cells.end(), false);
        Replica replica(other->problem, 3, 1, {});
        replica.set_power(0.4);
        replica.start(0);
        double const expected = Oracle(*study).log_observed(replica.state());
        return std::abs(replica.log_change(0, 1) - expected);
    };
    CHECK(differ(false) < 1e-10);
    CHECK(differ(true) > 0.1);
}

namespace {

/// Draws every block once from the same normals with and without the faster forms.
void check_recognition(std::string const& name, bool is_expected) {
    CAPTURE(name);
    auto const fast = study_of(name, "small");
    auto const plain = study_of(name, "small");
    plain->problem.plan =
        make_plan(plain->model, plain->derivation, plain->symmetries, plain->laid_out, plain->problem.weighted, Recognition::Off);
    bool is_used = false;
    for (BlockPlan const& block : fast->problem.plan.blocks) {
        for (Equations const& equations : block.equations) is_used = is_used || equations.kronecker;
    }
    CHECK(is_used == is_expected);
    Replica one(fast->problem, 3, 1, {});
    Replica other(plain->problem, 3, 1, {});
    one.start(0);
    for (std::uint64_t i = 0; i < 10; ++i) one.sweep(i);
    for (std::size_t b = 0; b < fast->problem.plan.blocks.size(); ++b) {
        State const start = one.state();
        other.set_state(start);
        Stream first(1, 1, 1, b), second(1, 1, 1, b);
        one.draw_block(b, first);
        other.draw_block(b, second);
        std::uint32_t const v = fast->problem.plan.blocks[b].variable;
        for (std::size_t i = 0; i < start.values[v].size(); ++i) {
            CHECK(one.state().values[v][i] == doctest::Approx(other.state().values[v][i]).epsilon(1e-10));
        }
    }
}

}  // namespace

TEST_CASE("recognition: the Kronecker form draws what the rows draw") {
    check_recognition("attention", true);
    check_recognition("attention_skip", true);
    check_recognition("selective", true);
    check_recognition("group_regression", false);
}

namespace {

void check_prior_starts(std::string const& name, std::string const& table) {
    CAPTURE(name);
    auto const study = study_of(name, table);
    Layout const& layout = study->problem.plan.layout;
    Replica replica(study->problem, 7, 1, {});
    constexpr std::size_t starts = 2000;
    std::vector<double> squares(layout.factors.size());
    std::vector<double> counts(layout.factors.size());
    for (std::size_t k = 0; k < starts; ++k) {
        replica.start(k, true);
        for (std::size_t f = 0; f < layout.factors.size(); ++f) {
            FactorLayout const& factor = layout.factors[f];
            if (factor.is_observation || factor.is_flat() || factor.has_covariance()) continue;
            squares[f] += replica.factors().quadratic(f);
            counts[f] += replica.factors().cells(f);
        }
    }
    for (std::size_t f = 0; f < layout.factors.size(); ++f) {
        if (counts[f] == 0) continue;
        CAPTURE(layout.variables[layout.factors[f].target].name);
        CHECK(std::abs(squares[f] / counts[f] - 1) < 5 * std::sqrt(2 / counts[f]));  // chi-squared
    }
}

}  // namespace

TEST_CASE("starts: drawn from the priors in the order in which they read one another and paths step after step") {
    for (char const* name : {"attention", "growth", "levels", "random_walk", "selective", "steps", "two_heads", "group_regression"})
        check_prior_starts(name, "small");
    check_prior_starts("trend", "one_series");
    check_prior_starts("eight_schools", "rows");
}
