// Geweke's joint distribution test (2004): parameters and outputs simulated from the model must have the moments of a chain that alternates
// a sweep with new outputs. It sees what no check of single conditionals can: a wrong order, a stale cache, a move that is not reversible.
#include <doctest/doctest.h>

#include "simulate.hpp"

using namespace bam;
using namespace bam::test;

namespace {

std::filesystem::path const studies = std::filesystem::path(BAM_TEST_DIR) / "studies";

/// First and second moments of every parameter, some products, and of the outputs.
std::vector<double> statistics(Problem const& problem, State const& state, bool has_outputs = true) {
    std::vector<double> result;
    double previous = 0;
    for (auto const& values : state.values) {
        for (double x : values) {
            // Bounded, since scales have heavy tails.
            double const u = x / (1 + std::abs(x));
            result.push_back(u);
            result.push_back(u * u);
            result.push_back(u * previous);
            previous = u;
        }
    }
    for (std::size_t v = 0; has_outputs && v < problem.plan.layout.variables.size(); ++v) {
        if (problem.bound.data[v].empty() || !state.values[v].empty() || !problem.plan.layout.variables[v].may_be_missing) continue;
        double sum = 0, squares = 0;
        for (double y : problem.bound.data[v]) {
            sum += y / (1 + std::abs(y));
            squares += std::abs(y) / (1 + std::abs(y));
        }
        result.push_back(sum);
        result.push_back(squares);
    }
    return result;
}

/// Sum and squares of independent numbers.
struct Sample {
    double n = 0, sum = 0, squares = 0;
    void add(double x) {
        n += 1;
        sum += x;
        squares += x * x;
    }
    double mean() const { return sum / n; }
    double error_squared() const { return std::max(0.0, squares / n - mean() * mean()) / (n - 1); }
};

/// At power 0 of the likelihood (math.md, 9b. Powers of the likelihood) outputs stay as they are: no parameter sees them.
/// Every chain starts from parameters and outputs as simulated, so that it has their distribution at each of its sweeps, and chains are
/// independent: the error of a moment is known however slowly a chain moves.
void check_geweke(std::string const& name, std::string const& table, bool draws_rows = false, double relaxation = 0, double power = 1) {
    CAPTURE(name);
    auto const study = study_file(studies / (name + ".bam"), text_of(studies / (table + ".csv")));
    Problem& problem = study->problem;
    Simulator simulator(*study, 11);
    Replica replica(problem, 5, 1, {draws_rows, true, relaxation});
    replica.set_power(power);
    State state = replica.state();
    constexpr std::size_t independent = 20000;
    constexpr std::size_t chains = 500;
    constexpr std::size_t sweeps = 120;
    constexpr double most_errors = 4.5;  // 7e-6 of a normal lies further out, and all studies together compare some 5000 moments
    std::size_t const size = statistics(problem, state, power > 0).size();
    std::vector<Sample> prior(size), chain(size);
    for (std::size_t i = 0; i < independent; ++i) {
        simulator.parameters(state);
        if (power > 0) simulator.outputs(problem, state);
        auto const values = statistics(problem, state, power > 0);
        for (std::size_t k = 0; k < size; ++k) prior[k].add(values[k]);
    }
    for (std::size_t c = 0; c < chains; ++c) {
        simulator.parameters(state);
        if (power > 0) simulator.outputs(problem, state);
        std::vector<double> means(size, 0.0);
        replica.set_state(state);
        for (std::size_t i = 0; i < sweeps; ++i) {
            replica.sweep(c * sweeps + i);
            State swept = replica.state();
            if (power > 0) simulator.outputs(problem, swept);
            replica.set_state(swept);
            auto const values = statistics(problem, swept, power > 0);
            for (std::size_t k = 0; k < size; ++k) means[k] += values[k] / static_cast<double>(sweeps);
        }
        for (std::size_t k = 0; k < size; ++k) chain[k].add(means[k]);
    }
    std::size_t compared = 0;
    for (std::size_t k = 0; k < size; ++k) {
        double const error = std::sqrt(prior[k].error_squared() + chain[k].error_squared());
        if (prior[k].error_squared() == 0) continue;  // an entry that does not exist
        CAPTURE(k);
        CHECK(std::abs(chain[k].mean() - prior[k].mean()) / error < most_errors);
        ++compared;
    }
    CHECK(compared >= (name == "random_walk" || name == "eight_schools" || name == "ar" ? 20 : 30));
}

}  // namespace

TEST_SUITE_BEGIN("slow");

TEST_CASE("geweke: attention") { check_geweke("attention", "small"); }
TEST_CASE("geweke: attention a row at a time") { check_geweke("attention", "small", true); }
TEST_CASE("geweke: attention over-relaxed") { check_geweke("attention", "small", false, -0.6); }
TEST_CASE("geweke: attention a row at a time and over-relaxed") { check_geweke("attention", "small", true, -0.6); }
TEST_CASE("geweke: levels over-relaxed") { check_geweke("levels", "small", false, -0.7); }
TEST_CASE("geweke: entries per step and per cell over-relaxed") { check_geweke("steps", "small", false, -0.7); }
TEST_CASE("geweke: random walk over-relaxed") { check_geweke("random_walk", "small", false, -0.7); }
TEST_CASE("geweke: attention at power 0 over-relaxed") { check_geweke("attention", "small", false, -0.6, 0); }
TEST_CASE("geweke: heavy tails at power 0") { check_geweke("robust", "small", false, 0, 0); }
TEST_CASE("geweke: levels at power 0") { check_geweke("levels", "small", false, 0, 0); }
TEST_CASE("geweke: attention with a skip term") { check_geweke("attention_skip", "small"); }
TEST_CASE("geweke: a decay per unit") { check_geweke("attention_unit_decay", "small"); }
TEST_CASE("geweke: attention with heavy tails in priors and outputs") { check_geweke("robust", "small"); }
TEST_CASE("geweke: attention with outputs of unknown degrees of freedom") { check_geweke("learnt_df", "small"); }
TEST_CASE("geweke: attention with truncated priors") { check_geweke("truncated", "small"); }
TEST_CASE("geweke: attention with truncated priors over-relaxed") { check_geweke("truncated", "small", false, -0.6); }
TEST_CASE("geweke: attention with binary outputs") { check_geweke("binary", "small"); }
TEST_CASE("geweke: attention with binary outputs over-relaxed") { check_geweke("binary", "small", false, -0.6); }
TEST_CASE("geweke: attention with a horseshoe and a cut flat prior") { check_geweke("sparse_attention", "small"); }
TEST_CASE("geweke: regression with outliers and truncated priors") { check_geweke("robust_regression", "rows"); }
TEST_CASE("geweke: logistic regression") { check_geweke("logistic", "rows"); }
TEST_CASE("geweke: horseshoe and laplace in a regression") { check_geweke("shrinkage", "rows"); }
TEST_CASE("geweke: groups by labels of columns") { check_geweke("grouped", "groups"); }
TEST_CASE("geweke: spreads by labels of columns") { check_geweke("group_noise", "groups"); }
TEST_CASE("geweke: decays and paths by labels of columns") { check_geweke("group_paths", "groups"); }
TEST_CASE("geweke: latent groups and readings that are off") { check_geweke("latent", "small"); }
TEST_CASE("geweke: latent groups over-relaxed") { check_geweke("latent", "small", false, -0.6); }
TEST_CASE("geweke: choices of no sequence and no step") { check_geweke("picked", "small"); }
TEST_CASE("geweke: a kernel that is learnt") { check_geweke("learnt_kernel", "small"); }
TEST_CASE("geweke: two heads") { check_geweke("two_heads", "small"); }
TEST_CASE("geweke: a bank of decays") { check_geweke("attention_kernel", "small"); }
TEST_CASE("geweke: decays about what the time since the last step says") { check_geweke("attention_uneven", "small"); }
TEST_CASE("geweke: a bank of decays times a decay per cell") { check_geweke("kernel_decays", "small"); }
TEST_CASE("geweke: regression by group with fixed attention") { check_geweke("group_regression", "small"); }
TEST_CASE("geweke: random walk with gaps") { check_geweke("random_walk", "small"); }
TEST_CASE("geweke: growth") { check_geweke("growth", "small"); }
TEST_CASE("geweke: eight schools") { check_geweke("eight_schools", "rows"); }
TEST_CASE("geweke: autoregression with gaps") { check_geweke("ar", "series"); }
TEST_CASE("geweke: entries per step and per cell with noise per sequence") { check_geweke("steps", "small"); }
TEST_CASE("geweke: a vector of levels with a transition matrix") { check_geweke("levels", "small"); }
TEST_CASE("geweke: a local linear trend that is read a step late") { check_geweke("trend", "one_series"); }
TEST_CASE("geweke: a path of level and speed with tails around labels") { check_geweke("smooth", "groups"); }
TEST_CASE("geweke: two outputs with gaps that look back at both") { check_geweke("two_gaps", "small"); }
TEST_CASE("geweke: selective decay per sequence") { check_geweke("selective", "small"); }
