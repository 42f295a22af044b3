// The variational backend against definitions: expectations against sums over all corners, updates against the ELBO that they should raise,
// factors against Gibbs conditionals, the ELBO against the evidence.
#include <doctest/doctest.h>

#include <Eigen/Dense>
#include <map>

#include "certificate.hpp"
#include "compile.hpp"
#include "linear_response.hpp"
#include "mean_field.hpp"
#include "variational.hpp"

using namespace bam;
using namespace bam::test;

namespace {

std::filesystem::path const studies = std::filesystem::path(BAM_TEST_DIR) / "studies";

struct Case {
    char const* model;
    char const* table;
};
constexpr Case cases[] = {{"attention", "small"},
                          {"attention_skip", "small"},
                          {"robust", "small"},
                          {"shrinkage", "rows"},
                          {"attention_unit_decay", "small"},
                          {"two_heads", "small"},
                          {"selective", "small"},
                          {"steps", "small"},
                          {"group_regression", "small"},
                          {"growth", "small"},
                          {"random_walk", "small"},
                          {"levels", "small"},
                          {"two_gaps", "small"},
                          {"trend", "one_series"},
                          {"ar", "series"},
                          {"regression", "rows"},
                          {"eight_schools", "rows"}};

std::unique_ptr<Study> study_of(Case const& which) {
    return study_file(studies / (std::string(which.model) + ".bam"), text_of(studies / (std::string(which.table) + ".csv")));
}

ExpectationPlan expectations_of(Study const& study) {
    Model model = study.model;
    return plan_expectations(model, study.derivation, study.laid_out, drawn_outputs(study.problem));
}

State start_of(Study const& study, std::uint64_t start) {
    Replica replica(study.problem, 5, 1, {});
    replica.start(start);
    return replica.state();
}

/// A posterior with random means and covariances, and the same as a list of correlated numbers: all its corners m + L s, s = ±1, have the
/// first and second moments of the posterior, and a residual's square has degree two at most in each coordinate of s.
class Corners {
  public:
    Corners(Study const& study, Posterior posterior, std::uint64_t seed) : posterior_(std::move(posterior)), random_(seed) {
        Plan const& plan = study.problem.plan;
        for (BlockPlan const& block : plan.blocks) add_block(plan.layout.variables[block.variable], block, study.problem.bound.grid);
        for (std::size_t k = 0; k < study.problem.augmented.size(); ++k) {
            std::uint32_t const v = plan.lagged_outputs[k].variable;
            Covariances& covariances = posterior_.covariances[v];
            for (std::size_t at = 0; at < study.problem.augmented[k].size(); ++at) {
                if (!study.problem.augmented[k][at]) continue;
                Eigen::MatrixXd const V = add({at}, v);
                covariances.at(at / covariances.size, at / covariances.size)[at % covariances.size] = V(0, 0);
            }
        }
    }

    Posterior const& posterior() const { return posterior_; }

    /// Calls f(state) at every corner.
    template <class F>
    std::size_t for_each(F f) const {
        std::size_t dimensions = 0;
        for (System const& s : systems_) dimensions += s.places.size();
        REQUIRE(dimensions <= 14);
        std::size_t const count = std::size_t{1} << dimensions;
        for (std::size_t corner = 0; corner < count; ++corner) {
            State state = posterior_.state;
            std::size_t bit = 0;
            for (System const& s : systems_) {
                auto const n = static_cast<Eigen::Index>(s.places.size());
                Eigen::VectorXd signs(n);
                for (Eigen::Index i = 0; i < n; ++i) signs(i) = (corner >> bit++ & 1) != 0 ? 1 : -1;
                Eigen::VectorXd const move = s.root * signs;
                for (Eigen::Index i = 0; i < n; ++i) state.values[s.variable][s.places[static_cast<std::size_t>(i)]] += move(i);
            }
            f(state);
        }
        return count;
    }

  private:
    struct System {
        std::uint32_t variable = 0;
        std::vector<std::size_t> places;
        Eigen::MatrixXd root;
    };

    double normal() { return std::normal_distribution<double>()(random_); }

    /// Random numbers at these places of a variable, with a random covariance, which is returned.
    Eigen::MatrixXd add(std::vector<std::size_t> places, std::uint32_t variable) {
        auto const n = static_cast<Eigen::Index>(places.size());
        Eigen::MatrixXd root(n, n);
        for (Eigen::Index i = 0; i < n; ++i) {
            posterior_.state.values[variable][places[static_cast<std::size_t>(i)]] = 0.7 * normal();
            for (Eigen::Index j = 0; j < n; ++j) root(i, j) = j > i ? 0 : 0.5 * normal() + (i == j ? 0.8 : 0);
        }
        systems_.push_back({variable, std::move(places), root});
        return root * root.transpose();
    }

    void add_block(Variable const& variable, BlockPlan const& block, Grid const& grid) {
        Covariances& covariances = posterior_.covariances[block.variable];
        bool const is_path = block.method == PlanMethod::Markov;
        std::size_t const size = covariances.size;
        for (auto const& group : block.groups) {
            std::vector<std::vector<std::size_t>> paths;  // indices that are correlated
            std::size_t const lanes = variable.extent == Extent::Cell ? grid.sequences : 1;
            for (std::size_t lane = 0; is_path && lane < lanes; ++lane) {
                paths.emplace_back();
                for (std::size_t t = variable.first_step; t < length(grid, variable.extent, lane); ++t)
                    paths.back().push_back(variable.extent == Extent::Cell ? grid.cell(lane, t) : t);
            }
            for (std::size_t e = 0; !is_path && e < size; ++e) {
                if (exists(variable, grid, e)) paths.push_back({e});
            }
            for (auto const& path : paths) {
                std::vector<std::size_t> places;
                for (std::size_t e : path) {
                    for (std::uint32_t c : group) places.push_back(c * size + e);
                }
                Eigen::MatrixXd const V = add(places, block.variable);
                auto const d = static_cast<Eigen::Index>(group.size());
                for (std::size_t p = 0; p < path.size(); ++p) {
                    auto const row = static_cast<Eigen::Index>(p) * d;
                    for (Eigen::Index i = 0; i < d; ++i) {
                        for (Eigen::Index j = 0; j < d; ++j) {
                            std::uint32_t const a = group[static_cast<std::size_t>(i)];
                            std::uint32_t const b = group[static_cast<std::size_t>(j)];
                            covariances.at(a, b)[path[p]] = V(row + i, row + j);
                            if (p > 0) covariances.before_at(a, b)[path[p]] = V(row + i, row - d + j);
                        }
                    }
                }
            }
        }
    }

    Posterior posterior_;
    std::vector<System> systems_;
    std::mt19937_64 random_;
};

/// Expected squares of every factor, and the variance of every mean, at random posteriors.
void check_expectations(std::string const& model, std::string const& table) {
    auto const study = test::study(model, table);
    ExpectationPlan const expectations = expectations_of(*study);
    Oracle const oracle(*study);
    for (std::uint64_t seed = 1; seed <= 2; ++seed) {
        MeanField field(study->problem, expectations);
        field.start(start_of(*study, seed));
        Corners const corners(*study, field.posterior(), seed);
        field.set_posterior(corners.posterior());
        for (std::size_t f = 0; f < study->model.factors.size(); ++f) {
            if (expectations.squares[f].registers.empty()) continue;
            double expected = 0;
            std::vector<double> sum, squares;
            std::size_t const count = corners.for_each([&](State const& state) {
                expected += oracle.quadratic(f, state);
                if (expectations.variances[f].registers.empty()) return;
                std::vector<double> const means = oracle.means(f, state);
                sum.resize(means.size());
                squares.resize(means.size());
                for (std::size_t i = 0; i < means.size(); ++i) {
                    sum[i] += means[i];
                    squares[i] += means[i] * means[i];
                }
            });
            expected /= static_cast<double>(count);
            double const found = field.expected_quadratic(f);
            CAPTURE(f);
            CHECK(std::abs(found - expected) < 1e-10 * (1 + std::abs(expected)));
            for (std::size_t i = 0; i < sum.size(); ++i) {
                double const mean = sum[i] / static_cast<double>(count);
                double const variance = squares[i] / static_cast<double>(count) - mean * mean;
                CHECK(std::abs(field.variance_of_mean(f)[i] - variance) < 1e-9 * (1 + squares[i] / static_cast<double>(count)));
            }
        }
    }
}

char const* const tiny_table =
    "seq,t,x1,x2,y1,y2\na,0,0.3,1.2,0.5,-0.2\na,1,-0.7,0.4,,0.9\na,2,1.1,-0.5,0.8,0.1\nb,0,0.6,0.2,-0.4,\nb,1,-1.3,0.9,0.7,-0.6\n";

std::string tiny(std::string const& dims, std::string const& parameters, std::string const& state, std::string const& observe,
                 std::string const& outputs = "out = [y1]") {
    return "model tiny\ndims { sequence seq; time t; feat; out; " + dims +
           " }\ndata { x[seq, t, feat]; y[seq, t, out] missing }\nparam {\n" + parameters + "\n}\nstate {\n" + state + "\n}\nobserve { " +
           observe + " }\ntable { seq = seq; t = order(t); feat = [x1, x2]; " + outputs + " }\n";
}

}  // namespace

TEST_CASE("expectations: attention with a skip term") {
    check_expectations(
        tiny("unit = 1",
             "D[out, feat] ~ normal(0.1, 0.5)\nW_k[unit, feat] ~ normal(0, 1)\nW_q[unit, feat] ~ normal(0.2, 1)\n"
             "W_v[out, feat] ~ normal(0, 2)\na[t > 0] ~ normal(0.8, 0.2)\nsigma ~ half_cauchy(1)",
             "k = W_k * x[t]\nq = W_q * x[t]\nv = W_v * x[t]\nh[t] = a[t] * h[t-1] + k * v'", "y[t] ~ normal(h[t]' * q + D * x[t], sigma)"),
        tiny_table);
}
TEST_CASE("expectations: a decay per unit and two outputs") {
    check_expectations(
        tiny("unit = 2",
             "W_k[unit] ~ normal(0, 1)\nW_q[unit] ~ normal(0.2, 1)\nW_v[out] ~ normal(0, 2)\n"
             "a[unit, t > 0] ~ normal(0.8, 0.2)\nsigma[out] ~ half_cauchy(1)",
             "h[t] = diag(a[t]) * h[t-1] + W_k * W_v' * (x[t]' * x[t])", "y[t] ~ normal(h[t]' * W_q, sigma)", "out = [y1, y2]"),
        tiny_table);
}
TEST_CASE("expectations: two heads") {
    check_expectations(
        tiny("unit = 1",
             "k1[unit] ~ normal(0, 1)\nv1[out, feat] ~ normal(0.2, 1)\nk2[unit, feat] ~ normal(0, 2)\nv2[out] ~ normal(0.1, 1)\n"
             "a[t > 0] ~ normal(0.8, 0.2)\nb[t > 0] ~ normal(0.3, 0.2)\nsigma ~ half_cauchy(1)",
             "u = v1 * x[t]\nw = k2 * x[t]\nh[t] = a[t] * h[t-1] + k1 * u'\ng[t] = b[t] * g[t-1] + w * v2'",
             "y[t] ~ normal(h[t]' * k1 * 0 + h[t]' * w + g[t]' * k1, sigma)"),
        tiny_table);
}
TEST_CASE("expectations: exponential smoothing with a decay of its own for each sequence and step") {
    check_expectations(tiny("",
                            "w[feat] ~ normal(0.2, 0.4)\na[seq, t] ~ normal(w' * x[t], tau)\nb[out] ~ normal(0, 1)\ntau ~ half_normal(1)\n"
                            "sigma ~ half_cauchy(1)",
                            "h[t] = a[t] * h[t-1] + (1 - a[t]) * (w' * x[t])", "y[t] ~ normal(b * h[t], sigma)"),
                       tiny_table);
}
TEST_CASE("expectations: paths and groups and a covariance") {
    check_expectations(tiny("",
                            "level[seq, t = 0] ~ normal(0, 2)\nlevel[seq, t > 0] ~ normal(0.9 * level[t-1] + m, tau)\nm ~ normal(0, "
                            "1)\nc[out] ~ normal(0, 1)\n"
                            "W[seq, feat] ~ normal(0.1, cov = [[1, 0.3], [0.3, 0.8]])\ntau ~ half_normal(1)\nsigma[seq] ~ half_cauchy(1)",
                            "v = W' * x[t]", "y[t] ~ normal(c * (level[t] + m * v), sigma)"),
                       tiny_table);
}
TEST_CASE("expectations: missing outputs that later means look back at") {
    check_expectations(
        "model lagged\ndims { sequence seq; time t; lag = 2 }\ndata { y[seq, t] missing }\nparam { alpha ~ normal(0, 1); beta[lag] ~ "
        "normal(0, "
        "1); sigma ~ half_cauchy(1); tau ~ half_cauchy(1) }\nobserve { y[t < 2] ~ normal(alpha, tau); y[t >= 2] ~ normal(alpha + beta' * "
        "y[t - lag], sigma) }\ntable { seq = seq; t = order(t); y = y1 }\n",
        "seq,t,y1\na,0,0.5\na,1,\na,2,\na,3,0.7\na,4,\na,5,1.2\nb,0,0.3\nb,1,\nb,2,0.1\n");
}

TEST_CASE("mean field: every update raises the ELBO by what its derivatives say") {
    for (Case const& which : cases) {
        CAPTURE(which.model);
        auto const study = study_of(which);
        ExpectationPlan const expectations = expectations_of(*study);
        for (std::size_t const chunk : std::initializer_list<std::size_t>{512, 3}) {
            study->problem.bound.grid.chunk_cells = chunk;
            MeanField field(study->problem, expectations);
            field.start(start_of(*study, 1));
            field.pass();
            double before = field.elbo();
            for (int pass = 0; pass < 4; ++pass) {
                for (std::size_t k = 0; k <= field.factors(); ++k) {
                    double const rise = k < field.factors() ? field.update(k) : field.move_orbits();
                    double const after = field.elbo();
                    CHECK(rise > -1e-9);
                    CHECK(std::abs(after - before - rise) < 1e-8 * (1 + std::abs(after)));
                    before = after;
                }
            }
        }
    }
}

TEST_CASE("mean field: moves along the orbits change passes and not the optimum") {
    for (Case const& which : {Case{"attention", "small"}, Case{"attention_skip", "small"}, Case{"two_heads", "small"}}) {
        auto const study = study_of(which);
        ExpectationPlan const expectations = expectations_of(*study);
        double elbo[2];
        std::size_t passes[2] = {0, 0};
        for (int moves = 0; moves < 2; ++moves) {
            MeanField field(study->problem, expectations, moves == 1);
            field.start(start_of(*study, 3));
            elbo[moves] = field.pass();
            for (double last = -HUGE_VAL; elbo[moves] - last > 1e-10; ++passes[moves]) {
                last = elbo[moves];
                elbo[moves] = field.pass();
            }
        }
        CHECK(elbo[1] == doctest::Approx(elbo[0]).epsilon(1e-5));
        // Where the priors hold the weights softly the ascent would crawl along the orbit.
        if (which.model == std::string("attention")) CHECK(3 * passes[1] < 2 * passes[0]);
    }
}

TEST_CASE("mean field: at point masses of the others a factor is the Gibbs conditional") {
    for (Case const& which : cases) {
        CAPTURE(which.model);
        auto const study = study_of(which);
        ExpectationPlan const expectations = expectations_of(*study);
        Replica replica(study->problem, 5, 1, {});
        replica.start(2);
        for (std::uint64_t i = 0; i < 5; ++i) replica.sweep(i);
        State const state = replica.state();
        for (std::size_t b = 0; b < study->problem.plan.blocks.size(); ++b) {
            BlockPlan const& block = study->problem.plan.blocks[b];
            CAPTURE(block.variable);
            MeanField field(study->problem, expectations);
            field.start(state);
            field.set_outputs(state);
            field.update_at_points(b);
            std::vector<double> const& means = field.posterior().state.values[block.variable];
            Covariances const& covariances = field.posterior().covariances[block.variable];
            auto draw = [&](std::vector<double> z, std::size_t& taken) {
                ChosenNormals normals(std::move(z));
                replica.set_state(state);
                replica.draw_block(b, normals);
                taken = normals.taken();
                return replica.state().values[block.variable];
            };
            std::size_t count = 0;
            std::vector<double> const at_mean = draw({}, count);
            double scale = 0;
            for (double m : at_mean) scale = std::max(scale, std::abs(m));
            for (std::size_t i = 0; i < means.size(); ++i) CHECK(std::abs(means[i] - at_mean[i]) < 1e-11 * (1 + scale));
            // V = sum over i of (draw at z = e_i - mean) (...)': all of it, so of a path and of a step too. A sweep's later steps depend on
            // its earlier ones: there only the step itself is looked at.
            std::vector<double> variances(means.size(), 0.0);
            std::vector<bool> is_settled(means.size(), false);
            for (std::size_t i = 0; i < count; ++i) {
                std::vector<double> z(count, 0.0);
                z[i] = 1;
                std::size_t unused = 0;
                std::vector<double> const there = draw(z, unused);
                std::optional<std::size_t> step;
                for (std::size_t at = 0; at < means.size(); ++at) {
                    double const move = there[at] - at_mean[at];
                    std::size_t const index = at % covariances.size;
                    if (block.method != PlanMethod::Sweep) {
                        variances[at] += move * move;
                    } else if (std::abs(move) > 1e-12 && (!step || index < *step)) {
                        step = index;
                    }
                }
                for (std::size_t at = 0; step && at < means.size(); ++at) {
                    if (at % covariances.size == *step) variances[at] += (there[at] - at_mean[at]) * (there[at] - at_mean[at]);
                }
            }
            for (std::size_t at = 0; at < means.size(); ++at) {
                double const found = covariances.at(at / covariances.size, at / covariances.size)[at % covariances.size];
                CHECK(std::abs(found - variances[at]) < 1e-10 * (1 + variances[at]));
            }
        }
    }
}

TEST_CASE("mean field: with one Gaussian block free the ELBO is the log evidence") {
    // y = b x + noise of known sd: log p(y) = log p(y, b) - log p(b | y) at any b.
    auto const study = test::study(
        "model line\ndims { sequence row; feat; out }\ndata { x[row, feat]; y[row, out] missing }\nparam { b[out, feat] ~ normal(0.3, 2) "
        "}\n"
        "observe { y ~ normal(b * x, 0.5) }\ntable { row = row; feat = [one = 1, x1, x2]; out = [y1] }\n",
        text_of(studies / "rows.csv"));
    ExpectationPlan const expectations = expectations_of(*study);
    MeanField field(study->problem, expectations);
    field.start(start_of(*study, 0));
    field.pass();
    double const elbo = field.elbo();
    CHECK(field.pass() == doctest::Approx(elbo).epsilon(1e-12));
    State state = field.posterior().state;
    Oracle const oracle(*study);
    std::uint32_t const b = study->problem.plan.blocks.front().variable;
    Eigen::MatrixXd V(3, 3);
    for (Eigen::Index i = 0; i < 3; ++i) {
        for (Eigen::Index j = 0; j < 3; ++j)
            V(i, j) = field.posterior().covariances[b].at(static_cast<std::size_t>(i), static_cast<std::size_t>(j))[0];
    }
    Eigen::Vector3d const move(0.2, -0.1, 0.4);
    for (Eigen::Index i = 0; i < 3; ++i) state.values[b][static_cast<std::size_t>(i)] += move(i);
    double const log_q = -0.5 * (3 * std::log(2 * std::numbers::pi) + std::log(V.determinant()) + move.dot(V.inverse() * move));
    CHECK(oracle.log_joint(state) - log_q == doctest::Approx(elbo).epsilon(1e-10));
}

TEST_CASE("mean field: the ELBO is what draws from the factors say") {
    // E[log p(y, θ) - log q(θ)] over draws: every constant of every factor, entropy and scale is in it.
    for (Case const& which : cases) {
        CAPTURE(which.model);
        auto const study = study_of(which);
        ExpectationPlan const expectations = expectations_of(*study);
        MeanField field(study->problem, expectations);
        field.start(start_of(*study, 1));
        for (int pass = 0; pass < 10; ++pass) field.pass();
        std::vector<double> const ratios = draw_factors(field, 4000, 1).log_ratios;
        double mean = 0, square = 0;
        for (double r : ratios) mean += r / static_cast<double>(ratios.size());
        for (double r : ratios) square += (r - mean) * (r - mean) / static_cast<double>(ratios.size());
        CHECK(std::abs(mean - field.elbo()) < 4 * std::sqrt(square / static_cast<double>(ratios.size())));
    }
}

TEST_CASE("mean field: a missing output that no statement speaks of leaves no trace") {
    auto const study = test::study(
        "model lagged\ndims { sequence seq; time t }\ndata { y[seq, t] missing }\nparam { b ~ normal(0, 1); s ~ half_cauchy(1) }\nobserve "
        "{ "
        "y[t >= 1] ~ normal(b * y[t-1], s) }\ntable { seq = seq; t = order(t); y = y1 }\n",
        "seq,t,y1\na,0,0.5\na,1,0.9\na,2,\na,3,0.7\nb,0,\n");
    ExpectationPlan const expectations = expectations_of(*study);
    MeanField field(study->problem, expectations);
    field.start(start_of(*study, 0));
    for (int pass = 0; pass < 5; ++pass) CHECK(std::isfinite(field.pass()));
    for (double ratio : draw_factors(field, 50, 1).log_ratios) CHECK(std::isfinite(ratio));
}

TEST_CASE("mean field: numbers that are learnt maximise the evidence") {
    // y_i ~ N(mu, tau^2 + 1) with theta integrated out: mu is the mean, tau^2 + 1 the mean square about it.
    Choices choices;
    choices.learns_hyper = true;
    auto const study = test::study(
        "model learnt\ndims { sequence shop }\ndata { y[shop] missing }\nparam { theta[shop] ~ normal(mu, tau); mu ~ learn(0); tau ~ "
        "learn(0.3) "
        "}\nobserve { y ~ normal(theta, 1) }\ntable { shop = shop; y = y }\n",
        "shop,y\na,4.1\nb,2.2\nc,6.3\nd,\ne,0.5\nf,3.9\ng,7\n", choices);
    std::vector<double> const y{4.1, 2.2, 6.3, 0.5, 3.9, 7};
    double mean = 0, square = 0;
    for (double value : y) mean += value / 6;
    for (double value : y) square += (value - mean) * (value - mean) / 6;
    ExpectationPlan const expectations = expectations_of(*study);
    MeanField field(study->problem, expectations);
    field.start(start_of(*study, 0));
    double elbo = field.pass();
    for (int pass = 0; pass < 3000; ++pass) {
        double const next = field.pass();
        CHECK(next > elbo - 1e-10);
        elbo = next;
    }
    auto value_of = [&](std::string const& name) {
        for (std::size_t v = 0; v < study->problem.plan.layout.variables.size(); ++v) {
            if (study->problem.plan.layout.variables[v].name == name) return field.posterior().state.values[v][0];
        }
        return std::nan("");
    };
    CHECK(value_of("mu") == doctest::Approx(mean).epsilon(1e-6));
    CHECK(value_of("tau") == doctest::Approx(std::sqrt(square - 1)).epsilon(1e-6));
    CHECK(elbo == doctest::Approx(-3 * (std::log(2 * std::numbers::pi * square) + 1)).epsilon(1e-8));
}

TEST_CASE("mean field: the ELBO stays below the log evidence") {
    // y = u w x + noise: two numbers, so that the evidence is a sum over a grid.
    auto const study = test::study(
        "model product\ndims { sequence row }\ndata { x[row]; y[row] missing }\nparam { u ~ normal(0.5, 1); w ~ normal(0.2, 1.5); sigma ~ "
        "half_cauchy(1) }\nobserve { y ~ normal(u * w * x, sigma) }\ntable { row = row; x = x1; y = y1 }\n",
        text_of(studies / "rows.csv"));
    ExpectationPlan const expectations = expectations_of(*study);
    Oracle const oracle(*study);
    State state = make_state(study->problem.plan.layout, study->problem.bound.grid);
    double const step = 0.05;
    double top = -HUGE_VAL;
    std::vector<double> logs;
    for (double u = -6; u <= 6; u += step) {
        for (double w = -8; w <= 8; w += step) {
            for (double v = -4; v <= 4; v += 0.1) {
                state.values[study->laid_out.variables.at(2)][0] = u;
                state.values[study->laid_out.variables.at(3)][0] = w;
                state.values[study->laid_out.variables.at(4)][0] = std::exp(v);
                logs.push_back(oracle.log_joint(state) + v);
                top = std::max(top, logs.back());
            }
        }
    }
    double sum = 0;
    for (double log : logs) sum += std::exp(log - top);
    double const evidence = top + std::log(sum * step * step * 0.1);
    for (std::uint64_t start = 0; start < 4; ++start) {
        MeanField field(study->problem, expectations);
        field.start(start_of(*study, start));
        double elbo = 0;
        for (int pass = 0; pass < 200; ++pass) elbo = field.pass();
        CHECK(elbo < evidence);
        CHECK(elbo > evidence - 3);
    }
}

TEST_CASE("linear response: two correlated Gaussian blocks get their exact sds") {
    // y = b x + c z + noise of known sd: the posterior is one normal, of which the factors have the conditional sds.
    auto const study = test::study(
        "model two\ndims { sequence row }\ndata { x[row]; z[row]; y[row] missing }\nparam { b ~ normal(0, 2); c ~ normal(0, 1) }\nobserve "
        "{ y ~ "
        "normal(b * x + c * z, 0.5) }\nreport { sum = b + c\n odds = exp(b)\n square = b * b }\ntable { row = row; x = x1; z = x2; y = y1 "
        "}\n",
        text_of(studies / "rows.csv"));
    ExpectationPlan const expectations = expectations_of(*study);
    MeanField field(study->problem, expectations);
    VariationalOptions options;
    options.tolerance = 1e-14;
    climb(field, options, {}, {});
    Replica const replica(study->problem, 1, 1, {});
    Recorder const recorder(study->problem, replica.inputs());
    std::vector<double> const sds = linear_response(study->problem, expectations, field.posterior(), recorder, 2, {});
    Eigen::Matrix2d precision = Eigen::Vector2d(0.25, 1).asDiagonal();
    auto column = [&](std::string const& name) -> std::vector<double> const& {
        for (std::size_t v = 0; v < study->problem.plan.layout.variables.size(); ++v) {
            if (study->problem.plan.layout.variables[v].name == name) return study->problem.bound.data[v];
        }
        throw std::runtime_error(name);
    };
    std::size_t const y = study->problem.plan.layout.factors.size() - 1;
    for (std::size_t i = 0; i < column("x").size(); ++i) {
        if (!study->problem.masks[y].empty() && study->problem.masks[y][i] == 0) continue;
        Eigen::Vector2d const row(column("x")[i], column("z")[i]);
        precision += 4 * row * row.transpose();
    }
    Eigen::Matrix2d const covariance = precision.inverse();
    std::map<std::string, double> found;
    for (std::size_t k = 0; k < sds.size(); ++k) found[label_name(recorder.columns()[k])] = sds[k];
    CHECK(found.at("b") == doctest::Approx(std::sqrt(covariance(0, 0))).epsilon(1e-3));
    CHECK(found.at("c") == doctest::Approx(std::sqrt(covariance(1, 1))).epsilon(1e-3));
    CHECK(found.at("sum") == doctest::Approx(std::sqrt(covariance.sum())).epsilon(1e-3));
    CHECK(std::isnan(found.at("odds")));
    CHECK(std::isnan(found.at("square")));
}

TEST_CASE("expectations: a product without a closed form is refused") {
    // h in (a, c), g in a, f in c: E[h g f] joins three recurrences.
    auto const study = test::study(
        "model three\ndims { sequence seq; time t }\ndata { x[seq, t]; y[seq, t] missing }\nparam { a[t > 0] ~ normal(0.5, 0.1); c[t > 0] "
        "~ "
        "normal(0.5, 0.1); s ~ half_cauchy(1) }\nstate { h[t] = a[t] * c[t] * h[t-1] + x[t]\n g[t] = a[t] * g[t-1] + x[t]\n f[t] = c[t] * "
        "f[t-1] "
        "+ x[t] }\nobserve { y[t] ~ normal(h[t] + g[t] * f[t], s) }\ntable { seq = seq; t = order(t); x = x1; y = y1 }\n",
        tiny_table);
    CHECK_THROWS_AS(expectations_of(*study), NoClosedForm);
}
