// `bam verify`: it passes where all is right, and finds what a corrupted derivation does.
#include <doctest/doctest.h>
#include <fmt/core.h>

#include <cmath>
#include <numbers>

#include "certificate.hpp"
#include "certify.hpp"
#include "geweke.hpp"
#include "sbc.hpp"
#include "simulation.hpp"
#include "studies.hpp"
#include "tails.hpp"

using namespace bam;
using namespace bam::test;

namespace {

/// Names of the checks that fail: "quadratic level".
std::vector<std::string> failures(Problem const& problem) {
    std::vector<std::string> names;
    try {
        for (Check const& check : certify(problem, 3))
            if (!check.passed) names.push_back(check.name + " " + check.of);
    } catch (NumericalTrouble const& trouble) {
        names.emplace_back(trouble.what());
    }
    return names;
}

bool has(std::vector<std::string> const& names, std::string const& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
}

BlockPlan& block_of(Study& study, std::string const& name) {
    for (BlockPlan& block : study.problem.plan.blocks)
        if (study.problem.plan.layout.variables[block.variable].name == name) return block;
    throw std::runtime_error("no block " + name);
}

/// Doubles a register where the pass is at its end.
std::uint32_t doubled(Pass& pass, std::uint32_t reg) {
    Register const two{Extent::One, From::Constant, 0, 0, 0, 2.0};
    pass.registers.push_back(two);
    pass.registers.push_back({pass.registers[reg].extent, From::Scratch, 0, 0, 0, 0});
    auto const out = static_cast<std::uint32_t>(pass.registers.size() - 1);
    pass.instructions.push_back({Code::Multiply, out, reg, out - 1});
    return out;
}

}  // namespace

TEST_CASE("verify: every study passes - with a check of every block - scale and symmetry") {
    for (Case const& which : cases) {
        CAPTURE(which.model);
        auto const study = study_of(which);
        auto const checks = certify(study->problem, 1);
        Plan const& plan = study->problem.plan;
        std::size_t const missing = static_cast<std::size_t>(std::count_if(study->problem.augmented.begin(), study->problem.augmented.end(),
                                                                           [](auto const& cells) { return !cells.empty(); }));
        std::size_t const moves = static_cast<std::size_t>(
            std::count_if(plan.orbits.begin(), plan.orbits.end(), [](OrbitPlan const& orbit) { return orbit.is_moved; }));
        CHECK(checks.size() == plan.blocks.size() + plan.layout.scales.size() + moves + missing);
        for (Check const& check : checks) {
            CAPTURE(check.of);
            CHECK_MESSAGE(check.passed, check.name << " " << check.of << " " << check.worst);
            CHECK(check.count >= 4);
        }
    }
}

// At power 0 what is left is the prior, at which a chain walks as far as that is wide.
TEST_CASE("verify: every study passes at powers of the likelihood") {
    for (Case const& which : cases) {
        CAPTURE(which.model);
        auto const study = study_of(which);
        for (double const power : {0.3, 0.0}) {
            CAPTURE(power);
            for (Check const& check : certify(study->problem, 1, power))
                CHECK_MESSAGE(check.passed, check.name << " " << check.of << " " << check.worst);
        }
    }
}

TEST_CASE("verify: a power that a conditional does not see is found") {
    auto const study = study_of({"attention", "small"});
    Replica replica(study->problem, 3, 1, {});
    replica.start(0);
    State const start = replica.state();
    auto const difference = [&](double asked, double drawn) {
        double sum = 0;
        for (double const z : {0.0, 2.0}) {
            replica.set_state(start);
            replica.set_power(drawn);
            ChosenNormals chosen(std::vector<double>(6, z));
            replica.draw_block(0, chosen);
            replica.set_power(asked);
            sum += (z == 0 ? 1 : -1) * (log_augmented(study->problem, replica) + 0.5 * chosen.squares());
        }
        return std::abs(sum);
    };
    CHECK(difference(0.5, 0.5) < 1e-9);
    CHECK(difference(0.5, 1.0) > 0.01);
}

TEST_CASE("verify: a dropped offset is found") {
    auto const study = study_of({"regression", "rows"});
    CHECK(failures(study->problem).empty());
    // The target stands in it.
    for (auto& group : block_of(*study, "b").equations.front().groups)
        for (EquationRow& row : group) row.offset = no_register;
    CHECK(has(failures(study->problem), "quadratic b"));
}

TEST_CASE("verify: swapped registers are found") {
    auto const study = study_of({"growth", "small"});
    CHECK(failures(study->problem).empty());
    for (Equations& equations : block_of(*study, "rate").equations)
        for (auto& group : equations.groups)
            for (EquationRow& row : group) std::swap(row.covariates.front(), row.offset);
    CHECK(has(failures(study->problem), "quadratic rate"));
}

TEST_CASE("verify: a scaled covariate is found") {
    auto const study = study_of({"growth", "small"});
    for (Equations& equations : block_of(*study, "rate").equations)
        for (auto& group : equations.groups)
            for (EquationRow& row : group)
                if (row.covariates.front() != no_register) row.covariates.front() = doubled(equations.pass, row.covariates.front());
    CHECK(has(failures(study->problem), "quadratic rate"));
}

TEST_CASE("verify: a dropped step before is found") {
    auto const study = study_of({"random_walk", "small"});
    for (Equations& equations : block_of(*study, "level").equations)
        for (auto& group : equations.groups)
            for (EquationRow& row : group) row.lagged.clear();
    CHECK(has(failures(study->problem), "quadratic level"));
}

TEST_CASE("verify: a swept block that reads less than there is - is found") {
    auto const study = study_of({"attention", "small"});
    for (ReadoutPlan& readout : block_of(*study, "a").sweep.readouts)
        for (ReadoutRow& row : readout.rows) row.offset = no_register;
    CHECK(has(failures(study->problem), "quadratic a"));
}

TEST_CASE("verify: a scale that is told of fewer factors is found") {
    auto const fewer = study_of({"random_walk", "small"});
    fewer->problem.plan.layout.scales.front().uses.clear();
    CHECK_FALSE(failures(fewer->problem).empty());
}

TEST_CASE("verify: a symmetry that there is not - is found") {
    auto const study = study_of({"attention", "small"});
    REQUIRE(!study->problem.plan.orbits.empty());
    OrbitPlan& orbit = study->problem.plan.orbits.front();
    if (orbit.second_slices.size() > 1)
        std::swap(orbit.second_slices[0], orbit.second_slices[1]);
    else
        orbit.second = orbit.first;
    bool is_found = false;
    for (std::string const& name : failures(study->problem)) is_found = is_found || name.starts_with("symmetry");
    CHECK(is_found);
}

TEST_CASE("verify: the tail of chi-square") {
    CHECK(chi_square_tail(3.841458820694124, 1) == doctest::Approx(0.05).epsilon(1e-10));
    CHECK(chi_square_tail(18.307038053275146, 10) == doctest::Approx(0.05).epsilon(1e-10));
    CHECK(chi_square_tail(2, 2) == doctest::Approx(std::exp(-1)).epsilon(1e-12));
    CHECK(chi_square_tail(0, 7) == 1);
    CHECK(chi_square_tail(200, 10) < 1e-30);
}

TEST_CASE("verify: the tails of Student's t") {
    CHECK(student_tail(2.2281388519649385, 10) == doctest::Approx(0.05).epsilon(1e-10));
    CHECK(student_tail(-1, 1) == doctest::Approx(0.5).epsilon(1e-12));
    CHECK(student_tail(0, 3) == 1);
    // Of two degrees of freedom it is 1 - t / sqrt(2 + t^2), of one 1 - 2 atan(t) / pi.
    for (double const t : {0.01, 0.5, 3.0, 20.0}) {
        CHECK(student_tail(t, 2) == doctest::Approx(1 - t / std::sqrt(2 + t * t)).epsilon(1e-10));
        CHECK(student_tail(t, 1) == doctest::Approx(1 - 2 * std::atan(t) / std::numbers::pi).epsilon(1e-10));
    }
    CHECK(student_tail(1e4, 2) == doctest::Approx(1e-8 - 1.5e-16).epsilon(1e-10));
    CHECK(student_tail(3, 1e9) == doctest::Approx(std::erfc(3 / std::numbers::sqrt2)).epsilon(1e-6));
}

TEST_CASE("verify: flat priors cannot be simulated") {
    CHECK(find_flat(study_of({"regression", "rows"})->problem).empty());
    auto const study = study_file(std::filesystem::path(BAM_ROOT_DIR) / "examples/kidiq/kidiq.bam",
                                  text_of(std::filesystem::path(BAM_ROOT_DIR) / "examples/kidiq/kidiq.csv"));
    CHECK(find_flat(study->problem) == std::vector<std::string>{"b"});
}

TEST_CASE("geweke: right samplers keep the moments of their priors") {
    for (Case const& which :
         {Case{"attention", "small"}, Case{"regression", "rows"}, Case{"random_walk", "small"}, Case{"growth", "small"}}) {
        CAPTURE(which.model);
        auto const study = study_of(which);
        JointTestOptions options;
        options.seed = 4;
        options.sweeps = 3000;
        JointTest const test = compare_joint(study->problem, options);
        CHECK(test.chains == 100);
        CHECK(test.sweeps == 30);
        CHECK(test.quantities.back().name == "log_likelihood");
        // A check of every parameter, and of the log likelihood.
        CHECK(to_checks(test).size() == study->problem.plan.blocks.size() + study->problem.plan.layout.scales.size() + 1);
        for (Check const& check : to_checks(test)) {
            CAPTURE(check.of);
            CHECK_MESSAGE(check.passed, moments_text(test));
        }
        options.threads = 1;
        CHECK(moments_json(compare_joint(study->problem, options)) == moments_json(test));
    }
}

TEST_CASE("geweke: a covariate that is too large is found - and a scale that is told of fewer factors") {
    JointTestOptions options;
    options.sweeps = 3000;
    auto const study = study_of({"regression", "rows"});
    for (Equations& equations : block_of(*study, "b").equations)
        for (auto& group : equations.groups)
            for (EquationRow& row : group)
                if (row.covariates.front() != no_register) row.covariates.front() = doubled(equations.pass, row.covariates.front());
    CHECK_FALSE(has_passed(to_checks(compare_joint(study->problem, options))));

    auto const fewer = study_of({"random_walk", "small"});
    fewer->problem.plan.layout.scales.front().uses.clear();
    // It is drawn from its prior whatever the data are: its own moments are right, those of what depends on it are not.
    CHECK_FALSE(has_passed(to_checks(compare_joint(fewer->problem, options))));
}

namespace {

/// Ranks of so many simulations; p of every quantity above 0.001 over their number (Bonferroni): of a right sampler one run in a thousand
/// fails.
void check_calibration(std::size_t replicates, std::vector<Case> const& list) {
    for (Case const& which : list) {
        CAPTURE(which.model);
        auto const study = study_of(which);
        CalibrationOptions options;
        options.seed = 20;
        options.replicates = replicates;
        Calibration const calibration = calibrate(study->problem, options);
        MESSAGE(ranks_text(calibration));
        CHECK(calibration.quantities.size() >= 3);
        for (Check const& check : to_checks(calibration)) {
            CAPTURE(check.of);
            CHECK(check.worst >= check.tolerance);
        }
    }
}

}  // namespace

TEST_SUITE("slow") {
    TEST_CASE("sbc of Gibbs: binary outputs in attention and in a regression") {
        check_calibration(200, {Case{"binary", "small"}, Case{"logistic", "rows"}});
    }
    TEST_CASE("sbc of Gibbs: a horseshoe in attention - outliers and truncation in a regression") {
        check_calibration(200, {Case{"sparse_attention", "small"}, Case{"robust_regression", "rows"}});
    }
    TEST_CASE("sbc of Gibbs: attention - attention with a skip term - regression - random walk") {
        check_calibration(
            512, {Case{"attention", "small"}, Case{"attention_skip", "small"}, Case{"regression", "rows"}, Case{"random_walk", "small"}});
    }
    TEST_CASE("sbc of Gibbs: heavy tails - shrinkage - truncated priors") {
        check_calibration(200, {Case{"learnt_df", "small"}, Case{"shrinkage", "rows"}, Case{"truncated", "small"}});
    }
    TEST_CASE("sbc of Gibbs: groups - spreads - decays and paths by labels of columns") {
        check_calibration(200, {Case{"grouped", "groups"}, Case{"group_noise", "groups"}, Case{"group_paths", "groups"}});
    }
    TEST_CASE("sbc of Gibbs: latent groups - choices - a learnt kernel") {
        check_calibration(200, {Case{"latent", "small"}, Case{"picked", "small"}, Case{"learnt_kernel", "small"}});
    }
    TEST_CASE("sbc of Gibbs finds a covariate that is too large") {
        auto const study = study_of({"regression", "rows"});
        for (Equations& equations : block_of(*study, "b").equations)
            for (auto& group : equations.groups)
                for (EquationRow& row : group)
                    if (row.covariates.front() != no_register) row.covariates.front() = doubled(equations.pass, row.covariates.front());
        CalibrationOptions options;
        options.replicates = 256;
        CHECK_FALSE(has_passed(to_checks(calibrate(study->problem, options))));
    }
}

TEST_CASE("verify: the variational factors of every study pass") {
    for (Case const& which : cases) {
        CAPTURE(which.model);
        auto const study = study_of(which);
        auto const checks = certify_variational(study->problem, expectations_of(*study), 1);
        CHECK(checks.back().name == "ascent");
        for (Check const& check : checks) {
            CAPTURE(check.of);
            CHECK_MESSAGE(check.passed, check.name << " " << check.of << " " << check.worst);
        }
    }
}

TEST_CASE("verify: a corrupted expectation is found") {
    auto const study = study_of({"attention", "small"});
    ExpectationPlan broken = expectations_of(*study);
    CHECK(has_passed(certify_variational(study->problem, broken, 1)));
    // The expected square of the observations without one of its instructions: a sum that misses a product.
    TermPlan& square = broken.squares.back();
    auto const last = std::find_if(square.pass.instructions.rbegin(), square.pass.instructions.rend(),
                                   [](Instruction const& instruction) { return instruction.code == Code::MultiplyAdd; });
    REQUIRE(last != square.pass.instructions.rend());
    square.pass.instructions.erase(std::next(last).base());
    bool is_found = false;
    try {
        is_found = !has_passed(certify_variational(study->problem, broken, 1));
    } catch (NumericalTrouble const&) {
        is_found = true;  // a precision that is none
    }
    CHECK(is_found);
}
