// Position kernels as decay banks: a kernel that made the data is learnt, by models/attention_kernel.bam, around the centre of another one.
#include <doctest/doctest.h>
#include <fmt/core.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <random>

#include "chains.hpp"
#include "convergence.hpp"
#include "study.hpp"
#include "variational.hpp"

using namespace bam;
using namespace bam::test;

namespace {

constexpr double scale = 4;
constexpr double shape = 0.7;
double kernel(double lag) { return std::exp(-std::pow(lag / scale, shape)); }

/// y[t] = sum over s <= t of g(t - s) x[s] + noise: by the kernel itself, not by decays.
std::string simulate(int sequences = 30, int steps = 60) {
    std::mt19937_64 random(20260301);
    std::normal_distribution<double> normal;
    std::string table = "seq,t,x,y\n";
    for (int sequence = 0; sequence < sequences; ++sequence) {
        std::vector<double> x;
        for (int t = 0; t < steps; ++t) {
            x.push_back(normal(random));
            double y = 0.3 * normal(random);
            for (int s = 0; s <= t; ++s) y += kernel(t - s) * x[static_cast<std::size_t>(s)];
            table += fmt::format("{},{},{},{}\n", sequence, t, x.back(), y);
        }
    }
    return table;
}

std::string model_of(std::string const& priors) {
    std::string model = text_of(std::filesystem::path(BAM_ROOT_DIR) / "models/attention_kernel.bam");
    return model + "table { seq = seq; t = order(t); feat = [one = 1, x]; y = y }\npriors { " + priors + " }\n";
}

// Keys and queries are the constant, values are x: what is left is the kernel. W_v stays free, as its size and that of w are one.
char const* const known = "d fixed 0; W_k fixed [[1, 0]]; W_q fixed [[1, 0]]; W_v ~ normal(0, 1); ";

void check_left(std::string const& name, double lag, double mean, double sd) {
    CAPTURE(name);
    CAPTURE(mean);
    CAPTURE(sd);
    CHECK(std::abs(mean - kernel(lag)) < 4 * sd);
    CHECK(std::abs(mean - kernel(lag)) < 0.03);
    CHECK(sd < 0.05);
}

std::vector<double> draws_of(Run const& run, std::string const& name) {
    std::vector<double> values;
    for (std::size_t k = 0; k < run.columns.size(); ++k) {
        if (run.columns[k].name != name) continue;
        for (Chain const& chain : run.chains)
            for (std::size_t d = 0; d * run.columns.size() < chain.values.size(); ++d)
                values.push_back(chain.values[d * run.columns.size() + k]);
    }
    return values;
}

constexpr std::pair<char const*, double> lefts[] = {{"left_1", 1}, {"left_4", 4}, {"left_16", 16}};

}  // namespace

TEST_CASE("positions: the kernel that made the data is learnt around the centre of another") {
    std::string const table = simulate();
    // The centre is 0.78, 0.61 and 0.37 after 1, 4 and 16 steps, the truth 0.68, 0.37 and 0.07.
    auto const made =
        study(model_of(std::string(known) + "w ~ normal(ggd_weights(scale = 16, shape = 0.5), 0.3)"), table, {{{"unit", 1}}, {}});
    ChainOptions options;
    options.seed = 7;
    options.num_warmup = 500;
    options.num_samples = 1000;
    Run const run = run_chains(made->problem, options, {}, {});
    for (auto const& [name, lag] : lefts) {
        std::vector<double> const values = draws_of(run, name);
        QuantitySummary const summary = summarize({values, values.size() / run.chains.size(), run.chains.size()});
        CHECK(summary.rhat < 1.02);
        check_left(name, lag, summary.mean, summary.sd);
    }
}

TEST_CASE("positions: a kernel that is held is the kernel") {
    // With everything else known the mean of y is the sum over g itself, to the tolerance of the bank.
    std::string const table = simulate();
    auto const made = study(model_of("d fixed 0; W_k fixed [[1, 0]]; W_q fixed [[1, 0]]; W_v ~ normal([0, 1], 1e-6); "
                                     "b fixed ggd_decays(scale = 4, shape = 0.7, tolerance = 0.01); "
                                     "w fixed ggd_weights(scale = 4, shape = 0.7, tolerance = 0.01)"),
                            table, {{{"unit", 1}}, {}});
    ChainOptions options;
    options.seed = 8;
    options.chains = 1;
    options.num_warmup = 50;
    options.num_samples = 200;
    Run const run = run_chains(made->problem, options, {}, {});
    for (auto const& [name, lag] : lefts)
        for (double const left : draws_of(run, name)) CHECK(left == doctest::Approx(kernel(lag)).epsilon(0.021));  // of a quotient of two
    // sigma is that of the noise: nothing is left over.
    std::vector<double> const sigma = draws_of(run, "sigma");
    REQUIRE(!sigma.empty());
    double mean = 0;
    for (double const value : sigma) mean += value / static_cast<double>(sigma.size());
    CHECK(std::abs(mean - 0.3) < 4 * 0.3 / std::sqrt(2 * 1800.0));
}

namespace {

/// The kernel is one of nine, the one that made the data among them.
std::string learnt(std::string const& sigma) {
    std::string const grid = "scale = [2, 4, 8], shape = [0.4, 0.7, 1], lags = 60";
    return "model learnt\ndims { sequence seq; time t; bank }\ndata { x[seq, t]; y[seq, t] missing }\nparam {\nb[bank] fixed ggd_decays(" +
           grid + ")\nw[bank] ~ ggd_position(" + grid + ", sd = 0.02)\neach[bank] fixed 1\n" + sigma +
           "\n}\nstate { h[t] = diag(b) * h[t-1] + each * x }\nobserve { y ~ normal(w' * h, sigma) }\ntable { seq = seq; t = order(t); x = "
           "x; "
           "y = y }\n";
}

/// Log p(y, kernel) for every kernel with w integrated out, by the covariance of y, for a noise of sd 0.3.
std::vector<double> log_evidences(Study const& study) {
    Literal const* decays = nullptr;
    Literal const* weights = nullptr;  // [decay][kernel]
    for (Literal const& literal : study.model.literals) {
        if (literal.dims.size() == 2) weights = &literal;
        if (literal.dims.size() == 1 && decays == nullptr) decays = &literal;
    }
    REQUIRE(weights != nullptr);
    std::size_t const bank = weights->shape[0];
    std::size_t const kernels = weights->shape[1];
    REQUIRE(decays->values.size() == bank);
    Bound const& bound = study.problem.bound;
    std::size_t const cells = bound.grid.cells();
    Eigen::MatrixXd H = Eigen::MatrixXd::Zero(static_cast<Eigen::Index>(cells), static_cast<Eigen::Index>(bank));
    Eigen::VectorXd y(static_cast<Eigen::Index>(cells));
    for (std::size_t s = 0; s < bound.grid.sequences; ++s) {
        for (std::size_t t = 0; t < bound.grid.length(s); ++t) {
            auto const row = static_cast<Eigen::Index>(bound.grid.cell(s, t));
            y(row) = bound.data[1][bound.grid.cell(s, t)];
            for (std::size_t j = 0; j < bank; ++j)
                for (std::size_t past = 0; past <= t; ++past)
                    H(row, static_cast<Eigen::Index>(j)) +=
                        std::pow(decays->values[j], static_cast<double>(t - past)) * bound.data[0][bound.grid.cell(s, past)];
        }
    }
    Eigen::MatrixXd covariance = 0.02 * 0.02 * H * H.transpose();
    covariance.diagonal().array() += 0.3 * 0.3;
    Eigen::LLT<Eigen::MatrixXd> const factor(covariance);
    std::vector<double> result;
    for (std::size_t k = 0; k < kernels; ++k) {
        Eigen::VectorXd centre(static_cast<Eigen::Index>(bank));
        for (std::size_t j = 0; j < bank; ++j) centre(static_cast<Eigen::Index>(j)) = weights->values[j * kernels + k];
        Eigen::VectorXd const rest = y - H * centre;
        result.push_back(-0.5 * rest.dot(factor.solve(rest)));
    }
    return result;
}

}  // namespace

TEST_CASE("positions: kernels are drawn as often as their evidence says") {
    auto const made = study(learnt("sigma fixed 0.3"), simulate(1, 12));
    std::vector<double> p = log_evidences(*made);
    double const most = *std::max_element(p.begin(), p.end());
    double sum = 0;
    for (double& x : p) sum += x = std::exp(x - most);
    constexpr std::size_t draws = 20000;
    Replica replica(made->problem, 4, 1, {});
    replica.start(0);
    auto const& variables = made->problem.plan.layout.variables;
    auto const at = std::find_if(variables.begin(), variables.end(), [](Variable const& variable) { return variable.is_categorical; });
    REQUIRE(at != variables.end());
    auto const v = static_cast<std::size_t>(at - variables.begin());
    std::vector<double> counts(p.size());
    for (std::size_t i = 0; i < draws; ++i) {
        replica.sweep(i);
        for (std::size_t k = 0; k < p.size(); ++k) counts[k] += replica.state().values[v][k];
    }
    std::size_t likely = 0;
    for (std::size_t k = 0; k < p.size(); ++k) {
        CAPTURE(k);
        double const share = p[k] / sum;
        likely += share > 0.02 ? 1U : 0U;
        CHECK(std::abs(counts[k] / draws - share) < 4 * std::sqrt(share * (1 - share) / draws) + 1e-12);
    }
    CHECK(likely >= 3);  // else the test says little
}

TEST_CASE("positions: scale and shape of a kernel are learnt") {
    std::string const table = simulate();
    auto const made = study(learnt("sigma ~ half_cauchy(1)"), table);
    ChainOptions options;
    options.seed = 9;
    options.num_warmup = 200;
    options.num_samples = 500;
    Run const run = run_chains(made->problem, options, {}, {});
    auto const mean_of = [&](std::string const& name) {
        std::vector<double> const values = draws_of(run, name);
        REQUIRE(!values.empty());
        double mean = 0;
        for (double const value : values) mean += value / static_cast<double>(values.size());
        return mean;
    };
    CHECK(mean_of("w_scale") == doctest::Approx(scale).epsilon(0.05));
    CHECK(mean_of("w_shape") == doctest::Approx(shape).epsilon(0.05));
    CHECK(mean_of("sigma") == doctest::Approx(0.3).epsilon(0.05));
}
