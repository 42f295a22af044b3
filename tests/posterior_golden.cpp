// The case worked by hand in docs/math.md: means, conditionals and a collapsed density of one sequence of three steps.
#include <doctest/doctest.h>

#include "certificate.hpp"

using namespace bam;
using namespace bam::test;

namespace {

constexpr char const* model = R"(
model golden
dims { sequence seq; time t; feat; out; unit = 1 }
data { x[seq, t, feat]; y[seq, t, out] missing }
param {
  W_k[unit, feat] ~ normal(0, 1)
  W_q[unit, feat] ~ normal(0, 1)
  W_v[out, feat]  ~ normal(0, 1)
  a[t > 0]        ~ normal(1, 1)
  sigma           fixed 1
}
state {
  k = W_k * x[t]
  q = W_q * x[t]
  v = W_v * x[t]
  h[t] = a[t] * h[t-1] + k * v'
}
observe { y[t] ~ normal(h[t]' * q, sigma) }
table { seq = seq; t = t; feat = [x1, x2]; out = [y] }
)";

constexpr char const* table = "seq,t,x1,x2,y\n1,0,1,0,2.5\n1,1,0,1,-5\n1,2,1,1,-10\n";

class Golden {
  public:
    Golden() : study_(study(model, table)), replica_(study_->problem, 1, 1, {}) {
        state_ = replica_.state();
        set("W_k", {1, 2});
        set("W_q", {1, -2});
        set("W_v", {2, 1});
        set("a", {0, 0.5, 0.25});
        replica_.set_state(state_);
    }

    std::size_t variable(std::string const& name) const {
        auto const& variables = study_->problem.plan.layout.variables;
        for (std::size_t v = 0; v < variables.size(); ++v) {
            if (variables[v].name == name) return v;
        }
        throw std::runtime_error("no variable " + name);
    }

    void set(std::string const& name, std::vector<double> const& values) { state_.values[variable(name)] = values; }

    /// The block drawn from chosen normals, everything else as given.
    std::vector<double> drawn(std::string const& name, std::vector<double> const& z) {
        auto const& blocks = study_->problem.plan.blocks;
        for (std::size_t b = 0; b < blocks.size(); ++b) {
            if (blocks[b].variable != variable(name)) continue;
            replica_.set_state(state_);
            ChosenNormals normals(z);
            replica_.draw_block(b, normals);
        }
        return replica_.state().values[variable(name)];
    }

    Study const& get() const { return *study_; }
    State const& state() const { return state_; }

  private:
    std::unique_ptr<Study> study_;
    Replica replica_;
    State state_;
};

}  // namespace

TEST_CASE("golden: fitted means") {
    Golden const golden;
    std::vector<double> const means = Oracle(golden.get()).means(golden.get().model.factors.size() - 1, golden.state());
    CHECK(means == std::vector<double>{2, -6, -9.75});
}

TEST_CASE("golden: W_v given the rest") {
    Golden golden;
    auto const mean = golden.drawn("W_v", {});
    CHECK(mean[0] == doctest::Approx(2.0754913).epsilon(1e-7));
    CHECK(mean[1] == doctest::Approx(0.8204222).epsilon(1e-7));
    // Columns of inv(L)': their products are the covariance.
    auto const first = golden.drawn("W_v", {1, 0});
    auto const second = golden.drawn("W_v", {0, 1});
    double const c11 = std::pow(first[0] - mean[0], 2) + std::pow(second[0] - mean[0], 2);
    double const c12 = (first[0] - mean[0]) * (first[1] - mean[1]) + (second[0] - mean[0]) * (second[1] - mean[1]);
    double const c22 = std::pow(first[1] - mean[1], 2) + std::pow(second[1] - mean[1], 2);
    CHECK(c11 == doctest::Approx(0.1946553).epsilon(1e-6));
    CHECK(c12 == doctest::Approx(-0.0994073).epsilon(1e-6));
    CHECK(c22 == doctest::Approx(0.0849537).epsilon(1e-6));
}

TEST_CASE("golden: W_k and W_q given the rest") {
    Golden golden;
    auto const k = golden.drawn("W_k", {});
    CHECK(k[0] == doctest::Approx(1.3024357).epsilon(1e-7));
    CHECK(k[1] == doctest::Approx(1.5121786).epsilon(1e-7));
    auto const q = golden.drawn("W_q", {});
    CHECK(q[0] == doctest::Approx(0.6614440).epsilon(1e-7));
    CHECK(q[1] == doctest::Approx(-1.6692780).epsilon(1e-7));
}

TEST_CASE("golden: decays given the rest") {
    Golden golden;
    // a_1 is drawn first, with a_2 as given; a_2 then sees the a_1 just drawn: z = (0.5 - mean) sqrt(precision) keeps a_1 where it was.
    auto const means = golden.drawn("a", {});
    CHECK(means[1] == doctest::Approx(0.3043478).epsilon(1e-7));
    auto const spread = golden.drawn("a", {1, 0});
    CHECK(1 / std::pow(spread[1] - means[1], 2) == doctest::Approx(17.25).epsilon(1e-9));
    double const keep = (0.5 - means[1]) * std::sqrt(17.25);
    auto const second = golden.drawn("a", {keep, 0});
    CHECK(second[1] == doctest::Approx(0.5).epsilon(1e-12));
    CHECK(second[2] == doctest::Approx(0.4).epsilon(1e-7));
    auto const second_spread = golden.drawn("a", {keep, 1});
    CHECK(1 / std::pow(second_spread[2] - second[2], 2) == doctest::Approx(10).epsilon(1e-9));
}

TEST_CASE("golden: log density with W_v integrated out") {
    // log p(y | a, W_k, W_q) = log p(y, W_v) - log p(W_v | y) at any W_v, here the conditional mean.
    Golden golden;
    auto const mean = golden.drawn("W_v", {});
    Oracle const oracle(golden.get());
    State state = golden.state();
    state.values[golden.variable("W_v")] = mean;
    std::size_t const observation = golden.get().model.factors.size() - 1;
    double joint = oracle.log_density(observation, state);
    for (double w : mean) joint += -0.5 * std::log(2 * std::numbers::pi) - 0.5 * w * w;
    auto const first = golden.drawn("W_v", {1, 0});
    auto const second = golden.drawn("W_v", {0, 1});
    // |inv(L)'|^2 is the determinant of the covariance.
    double const root = (first[0] - mean[0]) * (second[1] - mean[1]) - (first[1] - mean[1]) * (second[0] - mean[0]);
    double const determinant = root * root;
    double const conditional = -std::log(2 * std::numbers::pi) - 0.5 * std::log(determinant);
    CHECK(joint - conditional == doctest::Approx(-8.1137640).epsilon(1e-7));
}
