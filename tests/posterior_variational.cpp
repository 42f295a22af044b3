// The variational backend against definitions: updates against the ELBO that they should raise, factors against Gibbs conditionals, the
// ELBO against the evidence.
#include <doctest/doctest.h>

#include <Eigen/Dense>
#include <map>

#include "certificate.hpp"
#include "linear_response.hpp"
#include "pareto.hpp"
#include "posterior_sampler.hpp"
#include "studies.hpp"
#include "variational.hpp"

using namespace bam;
using namespace bam::test;

namespace {

/// Each entry given the others of its block, which in a sweep stand at their means: what Gibbs draws from is the factor.
void check_truncated(Study const& study, Replica& replica, Posterior const& posterior, std::size_t b, State const& state) {
    BlockPlan const& block = study.problem.plan.blocks[b];
    Covariances const& covariances = posterior.covariances[block.variable];
    ChosenNormals normals({});
    replica.set_state(state);
    replica.draw_block(b, normals);
    std::size_t k = 0;
    for_each_system(
        block, study.problem.plan.layout.variables[block.variable], study.problem.bound.grid,
        [&](auto const& group, std::size_t here, auto) {
            std::size_t const entry = group.front() * covariances.size + here;
            CHECK(posterior.state.values[block.variable][entry] ==
                  doctest::Approx(replica.state().values[block.variable][entry]).epsilon(1e-11));
            TruncatedFactor const* const factor = posterior.truncated_at(block.variable, entry);
            if (factor == nullptr) return;
            REQUIRE(k < normals.densities().size());
            TruncatedNormal const& drawn = normals.densities()[k++];
            CHECK(factor->density.precision() == doctest::Approx(drawn.precision()).epsilon(1e-10));
            CHECK(factor->density.linear() == doctest::Approx(drawn.linear()).epsilon(1e-10));
            CHECK(covariances.at(group.front(), group.front())[here] == doctest::Approx(drawn.moments().variance).epsilon(1e-10));
            CHECK(factor->entropy == doctest::Approx(drawn.moments().entropy).epsilon(1e-10));
        });
    CHECK(k == normals.densities().size());
    CHECK(k > 0);
}

}  // namespace

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

namespace {

/// The factor of a choice has the probabilities that it is drawn with, and their covariance.
void check_choices(Study const& study, Replica& replica, Posterior const& posterior, std::size_t b, State const& state) {
    BlockPlan const& block = study.problem.plan.blocks[b];
    Variable const& variable = study.problem.plan.layout.variables[block.variable];
    Covariances const& covariances = posterior.covariances[block.variable];
    std::vector<double> const& means = posterior.state.values[block.variable];
    ChosenNormals normals({});
    replica.set_state(state);
    replica.draw_block(b, normals);
    std::size_t k = 0;
    for_each_system(block, variable, study.problem.bound.grid, [&](auto const& group, std::size_t here, auto) {
        std::vector<double> const& p = normals.choices().at(k++);
        REQUIRE(p.size() == group.size());
        for (std::size_t i = 0; i < p.size(); ++i) {
            CHECK(std::abs(means[group[i] * covariances.size + here] - p[i]) < 1e-11);
            for (std::size_t j = 0; j < p.size(); ++j)
                CHECK(std::abs(covariances.at(group[i], group[j])[here] - ((i == j ? p[i] : 0) - p[i] * p[j])) < 1e-11);
        }
    });
    CHECK(k == normals.choices().size());
}

}  // namespace

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
            if (study->problem.plan.layout.variables[block.variable].is_categorical) {
                check_choices(*study, replica, field.posterior(), b, state);
                continue;
            }
            if (!field.posterior().truncated[block.variable].empty()) {
                check_truncated(*study, replica, field.posterior(), b, state);
                continue;
            }
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

namespace {

/// By how much log p(y | means) of binary outputs exceeds what the ELBO has of it at these parameters: the bound of Jaakkola and Jordan
/// (2000), log p >= (y - 1/2) m - log(2 cosh(ξ/2)) - tanh(ξ/2) (m^2 - ξ^2) / (4 ξ), at the ξ of the factors.
double gap_of_binary(Study const& study, Oracle const& oracle, Posterior const& posterior, State const& state) {
    double gap = 0;
    for (std::size_t f = 0; f < study.model.factors.size(); ++f) {
        FactorLayout const& factor = study.problem.plan.layout.factors[f];
        if (!factor.is_binary) continue;
        std::size_t s = 0;
        while (study.problem.plan.layout.scales[s].variable != *factor.spread.front().variable) ++s;
        std::vector<double> const means = oracle.means(f, state);
        for (std::size_t i = 0; i < means.size(); ++i) {
            if (!study.problem.masks[f].empty() && study.problem.masks[f][i] == 0) continue;
            double const m = means[i], k = study.problem.bound.data[factor.target][i] - 0.5;
            double const xi = std::sqrt(posterior.scales[s][i].squares);
            double const bound = k * m - std::log(2 * std::cosh(xi / 2)) - std::tanh(xi / 2) * (m * m - xi * xi) / (4 * xi);
            double const exact = k > 0 ? -std::log1p(std::exp(-m)) : -std::log1p(std::exp(m));
            CHECK(bound <= exact + 1e-12);
            gap += exact - bound;
        }
    }
    return gap;
}

}  // namespace

TEST_CASE("mean field: the ELBO is what draws from the factors say") {
    // E[log p(y, θ) - log q(θ)] over draws: every constant of every factor, entropy and scale is in it.
    for (Case const& which : cases) {
        CAPTURE(which.model);
        auto const study = study_of(which);
        ExpectationPlan const expectations = expectations_of(*study);
        MeanField field(study->problem, expectations);
        field.start(start_of(*study, 1));
        for (int pass = 0; pass < 10; ++pass) field.pass();
        std::vector<double> ratios = draw_factors(field, 4000, 1).log_ratios;
        // Of binary outputs a draw has the exact density, whose local scales are integrated out.
        PosteriorSampler const sampler(field);
        Oracle const oracle(*study);
        State state;
        for (std::size_t i = 0; i < ratios.size(); ++i) {
            sampler.draw(1, i, state);
            ratios[i] -= gap_of_binary(*study, oracle, field.posterior(), state);
        }
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

TEST_CASE("mean field: rows without an output say nothing of degrees of freedom") {
    std::string const model =
        "dims { sequence row }\ndata { y[row] missing }\nparam { m ~ normal(0, 5); df ~ gamma(2, 0.1); s ~ half_normal(2) }\n"
        "observe { y ~ student_t(df, m, s) }\ntable { row = row; y = y }\n";
    std::string table = "row,y\n1,0.3\n2,-0.8\n3,9\n4,0.1\n5,0.6\n6,-0.4\n7,1.1\n8,-7\n";
    struct Answer {
        double elbo, df, sd_of_log, pareto;
    };
    auto const answer = [&] {
        auto const study = test::study(model, table);
        ExpectationPlan const expectations = expectations_of(*study);
        MeanField field(study->problem, expectations);
        field.start(start_of(*study, 0));
        for (int pass = 0; pass < 400; ++pass) field.pass();
        Answer found{field.elbo(), 0, 0, pareto_k(draw_factors(field, 4000, 1).log_ratios)};
        for (std::size_t s = 0; s < study->problem.plan.layout.scales.size(); ++s) {
            if (study->problem.plan.layout.scales[s].locals.empty()) continue;
            found.df = field.posterior().scales[s].front().mean;
            found.sd_of_log = field.posterior().scales[s].front().sd_of_log;
        }
        return found;
    };
    Answer const few = answer();
    for (int row = 9; row <= 200; ++row) table += std::to_string(row) + ",\n";
    Answer const many = answer();
    CHECK(few.sd_of_log > 0.1);
    CHECK(many.elbo == doctest::Approx(few.elbo).epsilon(1e-10));
    CHECK(many.df == doctest::Approx(few.df).epsilon(1e-8));
    CHECK(many.sd_of_log == doctest::Approx(few.sd_of_log).epsilon(1e-8));
    // Of the same ratios, by other random numbers.
    CHECK(std::abs(many.pareto - few.pareto) < 0.2);
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
    auto value_of = [&](std::string const& name) { return field.posterior().state.values[variable_of(*study, name)][0]; };
    CHECK(value_of("mu") == doctest::Approx(mean).epsilon(1e-6));
    CHECK(value_of("tau") == doctest::Approx(std::sqrt(square - 1)).epsilon(1e-6));
    CHECK(elbo == doctest::Approx(-3 * (std::log(2 * std::numbers::pi * square) + 1)).epsilon(1e-8));
}

TEST_CASE("mean field: a spread that is learnt does not stay at a start near 0") {
    // y = level + noise of sd 1/2, level ~ normal(0, tau): the evidence is highest where tau^2 + 1/4 is the mean of the squares.
    std::string const table = "shop,sales\na,1.5\nb,2.5\nc,0.5\nd,3\n";
    Choices choices;
    choices.learns_hyper = true;
    double const best = std::sqrt((1.5 * 1.5 + 2.5 * 2.5 + 0.5 * 0.5 + 3 * 3) / 4 - 0.25);
    for (char const* start : {"1e-6", "0.1", "100"}) {
        for (auto const& [prior, power] : {std::pair("tau", 1.0), {"precision = tau", -2.0}}) {
            CAPTURE(start);
            CAPTURE(prior);
            auto const study = test::study(
                std::string("dims { sequence shop }\ndata { sales[shop] missing }\nparam { level[shop] ~ normal(0, ") + prior +
                    "); tau ~ learn(" + start + ") }\nobserve { sales ~ normal(level, 0.5) }\ntable { shop = shop; sales = sales }\n",
                table, choices);
            ExpectationPlan const expectations = expectations_of(*study);
            MeanField field(study->problem, expectations);
            VariationalOptions options;
            options.tolerance = 1e-12;
            CHECK(climb(field, options, {}, {}).ending == ClimbEnding::Converged);
            std::uint32_t const tau = study->problem.plan.layout.scales.front().variable;
            CHECK(field.posterior().state.values[tau][0] == doctest::Approx(std::pow(best, power)).epsilon(1e-4));
        }
    }
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
    std::vector<double> const sds = linear_response(study->problem, expectations, field.posterior(), recorder).sds;
    Eigen::Matrix2d precision = Eigen::Vector2d(0.25, 1).asDiagonal();
    auto column = [&](std::string const& name) -> std::vector<double> const& {
        return study->problem.bound.data[variable_of(*study, name)];
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
    CHECK(found.at("b") == doctest::Approx(std::sqrt(covariance(0, 0))).epsilon(1e-5));
    CHECK(found.at("c") == doctest::Approx(std::sqrt(covariance(1, 1))).epsilon(1e-5));
    CHECK(found.at("sum") == doctest::Approx(std::sqrt(covariance.sum())).epsilon(1e-5));
    CHECK(std::isnan(found.at("odds")));
    CHECK(std::isnan(found.at("square")));
}
