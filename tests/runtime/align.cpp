// Raw weights at one representative of their orbit: for every study that has a symmetry, and for permutations.
#include "align.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <Eigen/Dense>
#include <algorithm>
#include <bam/bam.hpp>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <numeric>
#include <random>

#include "gauge.hpp"
#include "interchange.hpp"
#include "matching.hpp"
#include "record.hpp"
#include "studies.hpp"

using namespace bam;
using namespace bam::test;

namespace {

using Random = std::mt19937_64;

/// A model with its table, and draws of it by hand.
struct Bench {
    Study& study;
    Plan plan;
    Replica replica;
    Recorder recorder;
    Run run;

    explicit Bench(Study& of) : study(of), plan(of.problem.plan), replica(of.problem, 1, 1, {}), recorder(of.problem, replica.inputs()) {
        plan.interchanges = plan_interchanges(study.model, interchanges(study.model, study.symmetries), study.laid_out);
        run.columns = recorder.columns();
        run.chains.emplace_back();
    }
    void add(State const& state, double log_joint) {
        replica.set_state(state);
        Chain& chain = run.chains.front();
        chain.values.resize(chain.values.size() + run.columns.size());
        recorder.record(replica.state(), chain.values.data() + chain.values.size() - run.columns.size());
        chain.log_joint.push_back(log_joint);
        chain.log_likelihood.push_back(0);
    }
    Aligned align() const { return bam::align(plan, run); }
    /// The state with the numbers of one aligned draw.
    State put_back(Aligned const& aligned, std::size_t draw, State state) const {
        for (std::size_t k = 0; k < aligned.of.size(); ++k) {
            Recorder::Source const source = recorder.source(aligned.of[k]);
            state.values[source.variable][source.offset] = aligned.run.chains.front().values[draw * aligned.of.size() + k];
        }
        return state;
    }
    double log_likelihood(State const& state) {
        replica.set_state(state);
        return replica.log_likelihood();
    }
    double log_joint(State const& state) {
        replica.set_state(state);
        return replica.log_joint();
    }
};

/// Along every symmetry that moves, by what is drawn: matrices that are far from singular, numbers of either sign.
void move(Bench const& bench, State& state, Random& random) {
    std::normal_distribution<double> normal;
    auto const number = [&] { return (random() % 2 == 0 ? -1 : 1) * std::exp(0.5 * normal(random)); };
    for (OrbitPlan const& orbit : bench.plan.orbits) {
        if (!orbit.is_moved) continue;
        auto& a = state.values[orbit.first];
        auto& b = state.values[orbit.second];
        if (!orbit.has_dim) {
            double const c = number();
            for (double& value : a) value *= c;
            for (double& value : b) value /= c;
            continue;
        }
        auto const n = static_cast<Eigen::Index>(orbit.first_slices.size());
        Eigen::MatrixXd g(n, n);
        for (double& value : g.reshaped()) value = 0.4 * normal(random);
        for (Eigen::Index i = 0; i < n; ++i) g(i, i) += number();
        if (orbit.is_diagonal) g = Eigen::MatrixXd(g.diagonal().asDiagonal());
        auto const apply = [&](std::vector<double>& values, std::vector<std::vector<std::uint32_t>> const& slices,
                               Eigen::MatrixXd const& by) {
            std::vector<double> const old = values;
            std::size_t const size = values.size() / (slices.size() * slices.front().size());
            for (std::size_t i = 0; i < slices.size(); ++i)
                for (std::size_t k = 0; k < slices[i].size(); ++k)
                    for (std::size_t e = 0; e < size; ++e) {
                        double sum = 0;
                        for (std::size_t j = 0; j < slices.size(); ++j)
                            sum += by(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(j)) * old[slices[j][k] * size + e];
                        values[slices[i][k] * size + e] = sum;
                    }
        };
        apply(a, orbit.first_slices, g);
        apply(b, orbit.second_slices, g.inverse().transpose());
    }
}

void permute(Bench const& bench, State& state, Random& random) {
    for (InterchangePlan const& interchange : bench.plan.interchanges) {
        std::vector<std::size_t> from(interchange.places.size());
        std::iota(from.begin(), from.end(), 0U);
        std::shuffle(from.begin(), from.end(), random);
        State const old = state;
        for (std::size_t i = 0; i < from.size(); ++i)
            for (std::size_t s = 0; s < interchange.places[i].size(); ++s) {
                SlicePlan const& there = interchange.places[i][s];
                SlicePlan const& here = interchange.places[from[i]][s];
                std::size_t const size = old.values[there.variable].size() / bench.plan.layout.variables[there.variable].components;
                for (std::size_t k = 0; k < there.components.size(); ++k)
                    std::copy_n(old.values[here.variable].begin() + static_cast<std::ptrdiff_t>(here.components[k] * size), size,
                                state.values[there.variable].begin() + static_cast<std::ptrdiff_t>(there.components[k] * size));
            }
    }
}

/// Draws of some states, each moved several times, come to one representative each, and their likelihood stays.
std::size_t check_aligning(Study& study) {
    Bench bench(study);
    if (bench.plan.orbits.empty() && bench.plan.interchanges.empty()) return 0;
    constexpr std::size_t states = 3, moves = 4;
    Random random(7);
    std::vector<State> drawn;
    for (std::size_t k = 0; k < states; ++k) {
        State const start = start_of(study, k + 1);
        for (std::size_t m = 0; m < moves; ++m) {
            State moved = start;
            move(bench, moved, random);
            permute(bench, moved, random);
            bench.add(moved, k == 1 && m == 2 ? 1 : 0);
            drawn.push_back(moved);
        }
    }
    Aligned const aligned = bench.align();
    CHECK(!aligned.sentences.empty());
    std::size_t const width = aligned.of.size();
    if (width == 0) return 0;
    auto const& values = aligned.run.chains.front().values;
    for (std::size_t k = 0; k < states; ++k) {
        for (std::size_t m = 0; m < moves; ++m) {
            std::size_t const draw = k * moves + m;
            CAPTURE(draw);
            double worst = 0;
            for (std::size_t c = 0; c < width; ++c) {
                double const first = values[k * moves * width + c];
                worst = std::max(worst, std::abs(values[draw * width + c] - first) / std::max(1.0, std::abs(first)));
            }
            CHECK(worst < 1e-10);
            double const before = bench.log_likelihood(drawn[draw]);
            CHECK(bench.log_likelihood(bench.put_back(aligned, draw, drawn[draw])) == doctest::Approx(before).epsilon(1e-9));
        }
    }
    return width;
}

std::string const heads = R"(dims { sequence seq; time t; feat; head = 3 }
data { x[seq, t, feat]; y[seq, t] missing }
param {
  W_k[head, feat] ~ normal(0, 1)
  W_q[head, feat] ~ normal(0, 1)
  w_v[feat]       ~ normal(0.2, 1)
  a[head, t > 0]  ~ normal(0.6, 0.2)
  sigma           ~ half_normal(0.5)
}
state { k = W_k * x[t]
 q = W_q * x[t]
 h[t] = diag(a[t]) * h[t-1] + k * (w_v' * x[t]) }
observe { y[t] ~ normal(h[t]' * q, sigma) }
table { seq = seq; t = order(t); feat = [one = 1, x1, x2]; y = y1 }
)";

/// Heads that are written one by one.
std::string named(std::size_t count) {
    std::string params, states, mean;
    for (std::size_t i = 1; i <= count; ++i) {
        params += fmt::format(
            "k{0}[unit, feat] ~ normal(0, 1)\nq{0}[unit, feat] ~ normal(0, 0.8)\nv{0}[feat] ~ normal(0, 1)\n"
            "a{0}[t > 0] ~ normal(0.5, 0.3)\n",
            i);
        states += fmt::format("key{0} = k{0} * x[t]\nquery{0} = q{0} * x[t]\nh{0}[t] = a{0}[t] * h{0}[t-1] + key{0} * (v{0}' * x[t])\n", i);
        mean += fmt::format("{}h{}[t]' * query{}", i == 1 ? "" : " + ", i, i);
    }
    return "dims { sequence seq; time t; feat; unit = 2 }\ndata { x[seq, t, feat]; y[seq, t] missing }\nparam {\n" + params +
           "sigma ~ half_normal(0.5)\n}\nstate {\n" + states + "}\nobserve { y[t] ~ normal(" + mean +
           ", sigma) }\ntable { seq = seq; t = order(t); feat = [one = 1, x1, x2]; y = y1 }\n";
}

std::string small() { return text_of(studies / "small.csv"); }

}  // namespace

TEST_CASE("align: draws that a symmetry moved come to one representative in every study") {
    std::size_t aligned = 0;
    for (Case const& which : cases) {
        CAPTURE(which.model);
        aligned += check_aligning(*study_of(which)) > 0 ? 1U : 0U;
    }
    CHECK(aligned >= 12);
}

TEST_CASE("align: heads along a dim and heads of different names come together whatever their order") {
    CHECK(check_aligning(*study(heads, small())) > 0);
    CHECK(check_aligning(*study(named(2), small())) > 0);
    CHECK(check_aligning(*study(named(3), small())) > 0);
}

TEST_CASE("interchange: permutations that are found leave the joint density as it is") {
    Random random(3);
    for (std::string const& text : {heads, named(2), named(3)}) {
        auto const made = study(text, small());
        Bench bench(*made);
        REQUIRE(bench.plan.interchanges.size() == 1);
        State const start = start_of(*made, 1);
        for (int k = 0; k < 5; ++k) {
            State other = start;
            permute(bench, other, random);
            CHECK(bench.log_joint(other) == doctest::Approx(bench.log_joint(start)).epsilon(1e-12));
        }
    }
}

TEST_CASE("interchange: a number of its own in a prior or a table tells apart") {
    auto const count = [](std::string const& text) {
        auto const made = study(text, small());
        return interchanges(made->model, made->symmetries).size();
    };
    auto const with = [](std::string text, std::string const& from, std::string const& to) {
        return text.replace(text.find(from), from.size(), to);
    };
    CHECK(count(heads) == 1);
    CHECK(count(with(heads, "normal(0.6, 0.2)", "normal([0.9, 0.6, 0.3], 0.2)")) == 0);
    CHECK(count(with(heads, "table {", "priors { W_k[head = 2] ~ normal(0, 2) }\ntable {")) == 0);
    CHECK(count(named(2)) == 1);
    CHECK(count(with(named(2), "v2[feat] ~ normal(0, 1)", "v2[feat] ~ normal(0, 2)")) == 0);
    CHECK(count(with(named(2), "h2[t]' * query2", "0.5 * (h2[t]' * query2)")) == 0);
    // Of three, the two that are alike.
    CHECK(count(with(named(3), "v1[feat] ~ normal(0, 1)", "v1[feat] ~ normal(0, 2)")) == 1);
    // Lags have an order of their own.
    CHECK(count("dims { sequence seq; time t; lag = 2 }\ndata { y[seq, t] missing }\nparam { b[lag] ~ normal(0, 0.3) }\n"
                "observe { y[t] ~ normal(b' * y[t - lag], 1) }\ntable { seq = seq; t = order(t); y = y1 }\n") == 0);
}

TEST_CASE("align: blocks have the same norm and units are the singular vectors of their product") {
    auto const made = study_file(studies / "attention.bam", small());
    Bench bench(*made);
    State const start = start_of(*made, 1);
    bench.add(start, 0);
    Aligned const aligned = bench.align();
    State const there = bench.put_back(aligned, 0, start);
    auto const block = [&](State const& state, std::string const& name, Eigen::Index rows) {
        for (std::size_t v = 0; v < bench.plan.layout.variables.size(); ++v)
            if (bench.plan.layout.variables[v].name == name) {
                auto const& values = state.values[v];
                return Eigen::MatrixXd(Eigen::Map<Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor> const>(
                    values.data(), rows, static_cast<Eigen::Index>(values.size()) / rows));
            }
        throw std::runtime_error(name);
    };
    Eigen::MatrixXd const k = block(there, "W_k", 2), q = block(there, "W_q", 2), v = block(there, "W_v", 2);
    CHECK(k.norm() == doctest::Approx(q.norm()).epsilon(1e-12));
    CHECK(k.norm() == doctest::Approx(v.norm()).epsilon(1e-12));
    CHECK(std::abs((k * k.transpose())(0, 1)) < 1e-12);
    CHECK(((k * k.transpose()) - (q * q.transpose())).cwiseAbs().maxCoeff() < 1e-12);
    Eigen::MatrixXd const product = block(start, "W_k", 2).transpose() * block(start, "W_q", 2);
    Eigen::MatrixXd const now = k.transpose() * q;
    Eigen::MatrixXd const values = block(start, "W_v", 2);
    // B (x) W_v is what the likelihood sees.
    for (Eigen::Index i = 0; i < product.size(); ++i)
        for (Eigen::Index j = 0; j < values.size(); ++j)
            CHECK(now.reshaped()(i) * v.reshaped()(j) == doctest::Approx(product.reshaped()(i) * values.reshaped()(j)).epsilon(1e-10));
}

TEST_CASE("align: more units than their product has rank leave rows of 0") {
    std::vector<GaugeGroup> const groups{{{0, 1}, true}};
    Random random(2);
    std::normal_distribution<double> normal;
    BlockValues values{Eigen::MatrixXd(4, 2), Eigen::MatrixXd(4, 3)};
    for (auto& block : values)
        for (double& value : block.reshaped()) value = normal(random);
    Eigen::MatrixXd const product = values[0].transpose() * values[1];
    to_gauge(groups, values);
    CHECK((values[0].transpose() * values[1] - product).cwiseAbs().maxCoeff() < 1e-12);
    CHECK(values[0].bottomRows(2).isZero(0));
    CHECK(values[1].bottomRows(2).isZero(0));
}

TEST_CASE("align: singular values that are nearly equal are told of") {
    auto const made = study_file(studies / "attention.bam", small());
    for (bool const is_near : {false, true}) {
        Bench bench(*made);
        State state = start_of(*made, 1);
        for (OrbitPlan const& orbit : bench.plan.orbits) {
            if (!orbit.has_dim) continue;
            for (auto const& [v, slices] : {std::pair(orbit.first, orbit.first_slices), std::pair(orbit.second, orbit.second_slices)})
                for (std::size_t i = 0; i < slices.size(); ++i)
                    for (std::size_t k = 0; k < slices[i].size(); ++k)
                        state.values[v][slices[i][k]] = k == i ? (i == 0 ? 1 : is_near ? 0.98 : 0.5) : 0;
        }
        bench.add(state, 0);
        CHECK((bench.align().sentences.front().find("within a tenth") != std::string::npos) == is_near);
    }
}

TEST_CASE("align: a prior that is cut off is not left and is named") {
    auto const made = study_file(studies / "truncated.bam", small());
    Bench bench(*made);
    bench.add(start_of(*made, 1), 0);
    Aligned const aligned = bench.align();
    CHECK(aligned.of.empty());
    REQUIRE(!aligned.sentences.empty());
    CHECK(aligned.sentences.front().find("cut off") != std::string::npos);
}

TEST_CASE("matching: the best of all permutations") {
    Random random(5);
    std::normal_distribution<double> normal;
    for (Eigen::Index n = 1; n <= 6; ++n) {
        for (int trial = 0; trial < 20; ++trial) {
            Eigen::MatrixXd gains(n, n);
            for (double& value : gains.reshaped()) value = trial % 2 == 0 ? normal(random) : std::round(2 * normal(random));
            auto const sum = [&](std::vector<std::size_t> const& columns) {
                double total = 0;
                for (std::size_t i = 0; i < columns.size(); ++i)
                    total += gains(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(columns[i]));
                return total;
            };
            std::vector<std::size_t> order(static_cast<std::size_t>(n));
            std::iota(order.begin(), order.end(), 0U);
            double best = sum(order);
            while (std::next_permutation(order.begin(), order.end())) best = std::max(best, sum(order));
            std::vector<std::size_t> found = best_matching(gains);
            CHECK(sum(found) == doctest::Approx(best));
            std::sort(found.begin(), found.end());
            for (std::size_t i = 0; i < found.size(); ++i) CHECK(found[i] == i);
        }
    }
}

TEST_CASE("align: chains that sit apart along a symmetry agree where they are aligned") {
    auto const reference = std::filesystem::path(BAM_TEST_DIR) / "reference";
    FitOptions options;
    options.by_orbits = false;
    Fit const fit = Program::from_file((reference / "attention_small.bam").string())
                        .fit({.text = text_of(reference / "attention_small.csv"), .name = "attention_small.csv"}, options);
    nlohmann::json const json = nlohmann::json::parse(fit.json());
    REQUIRE(json.contains("aligned"));
    CHECK(json["aligned"]["summary"].size() == 15);
    double drawn = 0;
    for (auto const& row : json["aligned"]["summary"]) {
        CAPTURE(row["variable"].get<std::string>());
        REQUIRE(row["rhat"].is_number());
        CHECK(row["rhat"].get<double>() < 1.01);
        CHECK(row["ess_bulk"].get<double>() > 400);
        drawn = std::max(drawn, fit[row["variable"].get<std::string>()].rhat);
    }
    CHECK(drawn > 2);
    std::string const table = fit.table(true);
    CHECK(table.find("aligned: ") != std::string::npos);
    CHECK(table.find("unidentified") != std::string::npos);  // log_joint
    CHECK(fit.table(false).find("aligned") == std::string::npos);
}
