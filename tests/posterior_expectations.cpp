// Expectations under independent factors against sums over all corners, which need no closed form.
#include <doctest/doctest.h>

#include <Eigen/Dense>
#include <random>

#include "compile.hpp"
#include "oracle.hpp"
#include "studies.hpp"

using namespace bam;
using namespace bam::test;

namespace {

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
                for (std::size_t t = variable.first_step; t < (variable.extent == Extent::Cell ? grid.length(lane) : grid.steps); ++t)
                    paths.back().push_back(variable.extent == Extent::Cell ? grid.cell(lane, t) : t);
            }
            for (std::size_t e = first_index(variable, grid); !is_path && e < size; ++e) paths.push_back({e});
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
TEST_CASE("expectations: binary outputs") {
    check_expectations(tiny("unit = 1",
                            "W_k[unit, feat] ~ normal(0, 1)\nW_q[unit, feat] ~ normal(0.2, 1)\nW_v[out, feat] ~ normal(0, 2)\n"
                            "a[t > 0] ~ normal(0.8, 0.2)",
                            "k = W_k * x[t]\nq = W_q * x[t]\nv = W_v * x[t]\nh[t] = a[t] * h[t-1] + k * v'",
                            "y[t] ~ bernoulli_logit(h[t]' * q)", "out = [y1 = (y1 > 0.4)]"),
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
TEST_CASE("expectations: labels of columns that pick weights and decays and two entries at once") {
    std::string const table =
        "seq,t,x1,x2,y1,g,h\na,0,0.3,1.2,0.5,p,q\na,1,-0.7,0.4,,p,r\na,2,1.1,-0.5,0.8,p,q\nb,0,0.6,0.2,-0.4,q,r\nb,1,-1.3,0.9,0.7,q,r\n";
    std::string const head =
        "model labels\ndims { sequence seq; time t; feat; group }\ndata { x[seq, t, feat]; g[seq] in group; h[seq, t] in "
        "group; y[seq, t] missing }\n";
    std::string const tail = "table { seq = seq; t = order(t); feat = [x1, x2]; g = g; h = h; y = y1 }\n";
    check_expectations(
        head +
            "param { W[group, feat] ~ normal(m, tau); m[feat] ~ normal(0.1, 0.7); s[group] ~ normal(0.3, 1); tau ~ "
            "half_normal(1); sigma[group] ~ half_cauchy(1) }\nobserve { y ~ normal(W[g]' * x[t] * s[h] + s[h[t-1]], sigma[h]) }\n" +
            tail,
        table);
    check_expectations(head +
                           "param { a[group, t > 0] ~ normal(0.7, 0.3); w[group] ~ normal(0.2, 0.6); b[feat] ~ normal(0.5, 0.4); sigma ~ "
                           "half_cauchy(1) }\nstate { u[t] = a[g] * u[t-1] + w[h] }\nobserve { y ~ normal(u * (b' * x[t]) + w[g] - w[h], "
                           "sigma) }\n" +
                           tail,
                       table);
}
TEST_CASE("expectations: missing outputs that later means look back at") {
    check_expectations(
        "model lagged\ndims { sequence seq; time t; lag = 2 }\ndata { y[seq, t] missing }\nparam { alpha ~ normal(0, 1); beta[lag] ~ "
        "normal(0, "
        "1); sigma ~ half_cauchy(1); tau ~ half_cauchy(1) }\nobserve { y[t < 2] ~ normal(alpha, tau); y[t >= 2] ~ normal(alpha + beta' * "
        "y[t - lag], sigma) }\ntable { seq = seq; t = order(t); y = y1 }\n",
        "seq,t,y1\na,0,0.5\na,1,\na,2,\na,3,0.7\na,4,\na,5,1.2\nb,0,0.3\nb,1,\nb,2,0.1\n");
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
