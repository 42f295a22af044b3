// The mode against the definition of the log joint: there its gradient is 0. Models with and without one, known answers, and the same bits
// every time.
#include <doctest/doctest.h>
#include <fmt/core.h>

#include <Eigen/Dense>

#include "maximise.hpp"
#include "oracle.hpp"

using namespace bam;
using namespace bam::test;

namespace {

std::filesystem::path const studies = std::filesystem::path(BAM_TEST_DIR) / "studies";

std::unique_ptr<Study> study_of(std::string const& name, std::string const& table) {
    return study_file(studies / (name + ".bam"), text_of(studies / (table + ".csv")));
}

AscentOptions with_seed(std::uint64_t seed) {
    AscentOptions options;
    options.seed = seed;
    return options;
}

/// A study with changed priors.
std::unique_ptr<Study> study_with(std::string const& name, std::string const& table, std::string const& priors) {
    std::string const text = fmt::format("use \"{}.bam\"\npriors {{ {} }}\n", (studies / name).string(), priors);
    Reader const reader = [&](std::string const& asked) {
        return asked == "changed.bam" ? ReadText{text, asked, {}, {}} : read_text(asked);
    };
    auto result = std::make_unique<Study>();
    detail::finish(*result, load({"changed.bam"}, reader, result->sources, result->diagnostics).files, text_of(studies / (table + ".csv")),
                   {});
    return result;
}

Interval interval_of(Study const& study, std::uint32_t v, std::size_t e) {
    return Replica(study.problem, 1, 1, {}).factors().interval(v, e);
}

/// Whether the density rises towards the end of its interval at which an entry lies; nothing if it lies at none.
std::optional<bool> rises_beyond(Study const& study, State state, std::uint32_t v, std::size_t e) {
    Interval const interval = interval_of(study, v, e);
    double& x = state.values[v][e];
    if (x != interval.low && x != interval.high) return std::nullopt;
    Oracle const oracle(study);
    double const there = oracle.log_joint(state);
    x += (x == interval.low ? 1 : -1) * 1e-4;
    return oracle.log_joint(state) < there;
}

/// The largest entry of the oracle's gradient, times the sd of the parameter given all others. Entries that do not exist have no sd, nor do
/// those at an end of their interval: there the density must fall to the inside.
double steepest(Study const& study, Ascent const& ascent) {
    Oracle const oracle(study);
    Layout const& layout = study.problem.plan.layout;
    double worst = 0;
    std::size_t compared = 0;
    State state = ascent.state;
    for (std::uint32_t v = 0; v < ascent.sds.size(); ++v) {
        for (std::size_t e = 0; e < ascent.sds[v].size(); ++e) {
            double const sd = ascent.sds[v][e];
            if (auto const rises = rises_beyond(study, ascent.state, v, e)) {
                CHECK(*rises);
                CHECK(std::isnan(sd));
                continue;
            }
            if (!(sd > 0) || !std::isfinite(sd)) continue;
            double& x = state.values[v][e];
            double const at = x;
            // Blocks are quadratic, where a wide difference is exact; along a scale the error is of the fourth order.
            Interval const interval = interval_of(study, v, e);
            double const room = std::min(at - interval.low, interval.high - at) / 2;
            double const h = std::min(room, (layout.variables[v].kind == VariableKind::Block ? 0.5 : 0.02) * sd);
            auto const there = [&](double steps) {
                x = at + steps * h;
                return oracle.log_joint(state);
            };
            double const slope = (8 * (there(1) - there(-1)) - (there(2) - there(-2))) / (12 * h);
            x = at;
            worst = std::max(worst, std::abs(slope) * sd);
            ++compared;
        }
    }
    CHECK(compared > 1);
    return worst;
}

void check_mode(std::unique_ptr<Study> const& study) {
    for (std::uint64_t seed = 1; seed <= 2; ++seed) {
        Maximum const maximum = maximise(study->problem, with_seed(seed), {});
        for (Ascent const& ascent : maximum.ascents) {
            if (ascent.without_mode) continue;
            CHECK(ascent.ending == Ending::Still);
            CHECK(steepest(*study, ascent) < 1e-6);
            CHECK(ascent.log_joint <= maximum.ascents[maximum.best].log_joint);
        }
        CHECK_FALSE(maximum.ascents[maximum.best].without_mode);
        CHECK(Oracle(*study).log_joint(maximum.ascents[maximum.best].state) ==
              doctest::Approx(maximum.ascents[maximum.best].log_joint).epsilon(1e-10));
    }
}

}  // namespace

TEST_CASE("mode: the gradient is 0 at the end - for every model that has one") {
    // Few cells and many parameters: without their scales held, most of these can fit exactly, or a learnt spread goes to 0.
    struct Case {
        char const* name;
        char const* table;
        char const* priors;
    };
    for (Case const& one : {Case{"attention", "small", "sigma fixed 0.4"},
                            {"attention_skip", "small", "sigma fixed 0.4"},
                            {"attention_unit_decay", "small", "sigma fixed 0.4"},
                            {"two_heads", "small", "sigma fixed 0.4"},
                            {"attention_kernel", "small", "sigma fixed 0.4"},
                            {"attention_uneven", "small", "sigma fixed 0.4"},
                            {"kernel_decays", "small", "sigma fixed 0.4"},
                            {"growth", "small", ""},
                            {"two_gaps", "small", ""},
                            {"regression", "rows", ""},
                            {"ar", "series", ""},
                            {"truncated", "small", "sigma fixed 0.4"},
                            {"levels", "small", "tau fixed 0.3"},
                            {"trend", "one_series", "tau fixed 0.3"},
                            {"selective", "small", "tau fixed 0.3"},
                            {"steps", "small", "tau fixed 0.3; sigma fixed 0.5"},
                            {"eight_schools", "rows", "tau fixed 0.7"},
                            {"random_walk", "small", "tau fixed 0.7; sigma fixed 0.5"},
                            {"group_regression", "small", "tau fixed 0.7; sigma fixed 0.4"}}) {
        CAPTURE(std::string(one.name));
        for (bool const is_held : {true, false}) {
            auto const study = study_with(one.name, one.table, is_held ? one.priors : "");
            for (std::uint64_t seed = 1; seed <= 2; ++seed) {
                for (Ascent const& ascent : maximise(study->problem, with_seed(seed), {}).ascents) {
                    if (ascent.without_mode) {
                        CHECK_FALSE(is_held);
                        CHECK(study->problem.plan.layout.variables[ascent.without_mode->variable].kind == VariableKind::Scale);
                        continue;
                    }
                    CHECK(ascent.ending == Ending::Still);
                    CHECK(steepest(*study, ascent) < 1e-6);
                    CHECK(Oracle(*study).log_joint(ascent.state) == doctest::Approx(ascent.log_joint).epsilon(1e-10));
                }
            }
        }
    }
}

TEST_CASE("mode: where a learnt spread goes to 0 the density has no bound - and the ascent says whose") {
    for (auto const& [name, table] : {std::pair("eight_schools", "rows"), {"group_regression", "small"}}) {
        CAPTURE(std::string(name));
        auto const study = study_of(name, table);
        Maximum const maximum = maximise(study->problem, with_seed(1), {});
        REQUIRE(maximum.ascents[maximum.best].without_mode);
        CHECK(study->problem.plan.layout.variables[maximum.ascents[maximum.best].without_mode->variable].name == "tau");
    }
}

TEST_CASE("mode: every prior of a scale - on every use of it") {
    struct Case {
        char const* prior;
        char const* use;
    };
    for (Case const& one : {Case{"half_cauchy(0.7)", "s"},
                            {"half_normal(0.6)", "s"},
                            {"flat()", "s"},
                            {"inverse_gamma(3, 1.2)", "var = s"},
                            {"gamma(2, 0.5)", "precision = s"}}) {
        CAPTURE(one.prior);
        CAPTURE(one.use);
        auto const text = fmt::format(
            "model m\ndims {{ sequence row; feat }}\ndata {{ x[row, feat]; y[row] missing }}\n"
            "param {{ b[feat] ~ normal(0.4, 1.2); s ~ {} }}\nobserve {{ y ~ normal(b' * x, {}) }}\n"
            "table {{ row = row; feat = [one = 1, x1, x2]; y = y1 }}\n",
            one.prior, one.use);
        check_mode(study(text, text_of(studies / "rows.csv")));
    }
}

TEST_CASE("mode: ridge regression - whose answer is one linear system") {
    auto const study = bam::test::study(
        "model m\ndims { sequence row; feat }\ndata { x[row, feat]; y[row] }\n"
        "param { b[feat] ~ normal(0.3, 0.5) }\nobserve { y ~ normal(b' * x, 0.2) }\n"
        "table { row = row; feat = [one = 1, u, v]; y = y }\n",
        "row,u,v,y\n1,0.5,2,1.1\n2,-1,0.3,0.2\n3,2,1,3.1\n4,0.1,-1,-0.6\n");
    Eigen::MatrixXd x(4, 3);
    x << 1, 0.5, 2, 1, -1, 0.3, 1, 2, 1, 1, 0.1, -1;
    Eigen::VectorXd const y = Eigen::Vector4d(1.1, 0.2, 3.1, -0.6);
    Eigen::MatrixXd const precision = x.transpose() * x / 0.04 + Eigen::MatrixXd::Identity(3, 3) / 0.25;
    Eigen::VectorXd const linear = x.transpose() * y / 0.04 + Eigen::VectorXd::Constant(3, 0.3 / 0.25);
    Eigen::VectorXd const expected = precision.ldlt().solve(linear);
    Maximum const maximum = maximise(study->problem, with_seed(5), {});
    REQUIRE(maximum.ascents.size() == 1);
    Ascent const& ascent = maximum.ascents.front();
    CHECK(ascent.passes == 2);
    std::size_t found = 0;
    for (std::size_t v = 0; v < ascent.sds.size(); ++v) {
        for (std::size_t e = 0; e < ascent.sds[v].size(); ++e, ++found) {
            CHECK(ascent.state.values[v][e] == doctest::Approx(expected(static_cast<Eigen::Index>(e))).epsilon(1e-12));
            CHECK(ascent.sds[v][e] ==
                  doctest::Approx(1 / std::sqrt(precision(static_cast<Eigen::Index>(e), static_cast<Eigen::Index>(e)))).epsilon(1e-12));
        }
    }
    CHECK(found == 3);
}

TEST_CASE("mode: an exact fit has none") {
    auto const study = bam::test::study(
        "model m\ndims { sequence row; feat }\ndata { x[row, feat]; y[row] }\n"
        "param { b[feat] ~ flat(); s ~ half_normal(1) }\nobserve { y ~ normal(b' * x, s) }\n"
        "table { row = row; feat = [one = 1, u]; y = y }\n",
        "row,u,y\n1,0.5,2\n2,-1,0.3\n");
    Maximum const maximum = maximise(study->problem, with_seed(1), {});
    REQUIRE(maximum.ascents.front().without_mode);
    CHECK(study->problem.plan.layout.variables[maximum.ascents.front().without_mode->variable].name == "s");
}

TEST_CASE("mode: the same bits every time - on any number of threads") {
    auto const study = study_of("attention", "small");
    AscentOptions options = with_seed(3);
    Maximum const one = maximise(study->problem, options, {});
    options.threads = 3;
    Maximum const other = maximise(study->problem, options, {});
    REQUIRE(one.ascents.size() == 8);
    CHECK(one.best == other.best);
    for (std::size_t k = 0; k < one.ascents.size(); ++k) {
        CHECK(one.ascents[k].passes == other.ascents[k].passes);
        CHECK(one.ascents[k].log_joint == other.ascents[k].log_joint);
        CHECK(one.ascents[k].state.values == other.ascents[k].state.values);
    }
}

TEST_CASE("mode: moves along symmetries and extrapolation spare passes") {
    auto const study = study_of("attention", "small");
    auto const passes = [&](bool moves_orbits, bool extrapolates) {
        AscentOptions options = with_seed(1);
        options.max_passes = 100000;
        options.sweep.moves_orbits = moves_orbits;
        options.extrapolates = extrapolates;
        Maximum const maximum = maximise(study->problem, options, {});
        CHECK(maximum.ascents[maximum.best].ending == Ending::Still);
        std::size_t sum = 0;
        for (Ascent const& ascent : maximum.ascents) sum += ascent.passes;
        return sum;
    };
    std::size_t const both = passes(true, true);
    CHECK(both < passes(false, true));
    CHECK(both < passes(true, false));
}

TEST_CASE("mode: a chain that starts there has its log joint") {
    auto const study = study_of("attention", "small");
    Maximum const maximum = maximise(study->problem, with_seed(3), {});
    Replica replica(study->problem, 3, 1, {});
    replica.set_state(maximum.ascents[maximum.best].state);
    CHECK(replica.log_joint() == doctest::Approx(maximum.ascents[maximum.best].log_joint).epsilon(1e-12));
}
