#include <doctest/doctest.h>
#include <fmt/format.h>

#include <Eigen/Dense>
#include <bam/bam.hpp>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>

using bam::Csv;
using bam::Fit;
using bam::FitOptions;
using bam::PosteriorPriors;
using bam::Program;

namespace {

constexpr std::size_t draws = 20000;
FitOptions exact() { return {.chains = 1, .num_warmup = 50, .num_samples = draws}; }

/// Compiles the model with a file of priors and its set.
Program with_priors(std::string const& model, std::string const& priors, std::string const& set) {
    std::string const path =
        (std::filesystem::temp_directory_path() / fmt::format("bam_{}_{}.bam", set, std::hash<std::string>{}(priors))).string();
    std::ofstream(path) << priors;
    Program program = Program::from_text(model, {.priors = {path, set}});
    std::filesystem::remove(path);
    return program;
}

int code_of(Fit const& fit, std::string const& set) {
    try {
        fit.as_priors(set);
    } catch (bam::Error const& error) {
        return error.report().diagnostics().front().code;
    }
    return 0;
}

/// The numbers of a statement: `tau ~ gamma(3, 2)`.
std::vector<double> numbers_behind(std::string const& text, std::string const& start) {
    std::size_t at = text.find(start);
    REQUIRE(at != std::string::npos);
    at += start.size();
    std::vector<double> numbers;
    while (true) {
        std::size_t end = 0;
        numbers.push_back(std::stod(text.substr(at), &end));
        at += end;
        if (text[at] != ',') return numbers;
        ++at;
    }
}

std::string line_table(int first, int last) {
    std::string text = "u,y\n";
    for (int i = first; i < last; ++i) text += fmt::format("{},{}\n", 1 + 0.3 * i, 2 - 0.7 * (1 + 0.3 * i) + 0.4 * ((i * 7) % 5 - 2));
    return text;
}

}  // namespace

// Bayes' rule in two steps is Bayes' rule in one. The sd of the noise is known, so every posterior is normal:
// precision P0 + X'X / s^2, mean (P0 m0 + X'y / s^2) / precision.
TEST_CASE("posterior as prior: half of the data after the other half is all of them") {
    std::string const model =
        "dims { sequence row; feat }\ndata { x[row, feat]; y[row] }\nparam { b[feat] ~ normal(0, 2) }\n"
        "observe { y ~ normal(b' * x, 0.5) }\ntable { feat = [one = 1, u]; y = y }\n";
    Fit const half = Program::from_text(model).fit({.text = line_table(0, 6)}, exact());
    PosteriorPriors const priors = half.as_priors("first");
    CHECK(priors.report.diagnostics().empty());
    CHECK(priors.text.find("cov = ") != std::string::npos);
    Fit const both = with_priors(model, priors.text, "first").fit({.text = line_table(6, 14)}, exact());

    Eigen::Matrix2d precision = Eigen::Matrix2d::Identity() / 4;
    Eigen::Vector2d linear = Eigen::Vector2d::Zero();
    for (int i = 0; i < 14; ++i) {
        double const u = 1 + 0.3 * i;
        Eigen::Vector2d const x(1, u);
        precision += x * x.transpose() / 0.25;
        linear += x * (2 - 0.7 * u + 0.4 * ((i * 7) % 5 - 2)) / 0.25;
    }
    Eigen::Matrix2d const covariance = precision.inverse();
    Eigen::Vector2d const mean = covariance * linear;
    int k = 0;
    for (std::string const name : {"b[one]", "b[u]"}) {
        double const sd = std::sqrt(covariance(k, k));
        // What is known of the first half has the error of its draws, too, and its sds are larger: 5 standard errors of those.
        CHECK(std::abs(both[name].mean - mean(k)) < 5 * half[name].sd / std::sqrt(static_cast<double>(draws)));
        CHECK(both[name].sd == doctest::Approx(sd).epsilon(5 / std::sqrt(static_cast<double>(draws))));
        ++k;
    }
}

// The posterior of a precision is gamma(a + n / 2, b + sum y^2 / 2), that of a variance inverse_gamma of the same numbers. The moments of
// `draws` draws know a shape a to about sqrt(2 (1 + 3 / a) / draws) of it, a few times that of an inverse gamma, whose tail is longer.
TEST_CASE("posterior as prior: precisions and variances keep their shape") {
    std::string table = "y\n";
    double squares = 0;
    for (int i = 0; i < 20; ++i) {
        double const y = 0.5 * ((i * 7) % 11 - 5);
        squares += y * y;
        table += fmt::format("{}\n", y);
    }
    auto const of = [&](std::string const& use, std::string const& prior) {
        std::string const model = fmt::format(
            "dims {{ sequence row }}\ndata {{ y[row] }}\nparam {{ v ~ {} }}\nobserve {{ y ~ normal(0, {} = v) }}\ntable {{ y = y }}\n",
            prior, use);
        std::string const text = Program::from_text(model).fit({.text = table}, exact()).as_priors("past").text;
        with_priors(model, text, "past");
        return text;
    };
    auto const gamma = numbers_behind(of("precision", "gamma(2, 1)"), "v ~ gamma(");
    CHECK(gamma.at(0) == doctest::Approx(12).epsilon(0.06));
    CHECK(gamma.at(1) == doctest::Approx(1 + squares / 2).epsilon(0.06));
    auto const inverse = numbers_behind(of("var", "inverse_gamma(2, 1)"), "v ~ inverse_gamma(");
    CHECK(inverse.at(0) == doctest::Approx(12).epsilon(0.12));
    CHECK(inverse.at(1) == doctest::Approx(1 + squares / 2).epsilon(0.12));
    // E[sd^2] = E[variance]: with a flat prior on the sd the variance is inverse_gamma((n - 1) / 2, sum y^2 / 2), whose mean is
    // sum y^2 / (n - 3).
    auto const half_normal = numbers_behind(of("sd", "flat()"), "v ~ half_normal(");
    CHECK(half_normal.at(0) == doctest::Approx(std::sqrt(squares / 17)).epsilon(0.02));
}

TEST_CASE("posterior as prior: what is over sequences and steps is named by its labels, where a text can hold them") {
    std::string const model =
        "dims { sequence shop; time t }\ndata { y[shop, t] }\n"
        "param { level[shop] ~ normal(mu, 1); mu ~ normal(0, 5); a[t > 0] ~ normal(0.5, 0.2) }\nstate { h[t] = a[t] * h[t-1] + level }\n"
        "observe { y[t] ~ normal(h[t], 1) }\ntable { shop = s; t = order(t); y = y }\n";
    std::string const table = "s,t,y\nNorth 1,1,2\nNorth 1,2,3\n\"the \"\"old\"\" one\",1,1\n\"the \"\"old\"\" one\",2,2\n";
    FitOptions const options{.num_warmup = 50, .num_samples = 50};
    std::string const text = Program::from_text(model).fit({.text = table}, options).as_priors("past").text;
    CHECK(text.find("level[shop = \"North 1\"] ~ normal(") != std::string::npos);
    CHECK(text.find("old\"") == std::string::npos);
    CHECK(text.find("# level: left out for a label that no text in quotes can hold") != std::string::npos);
    CHECK(text.find("a[t = 1] ~ normal(") != std::string::npos);
    CHECK(text.find("a[t = 2]") == std::string::npos);
    // Another table, of which only one sequence is known.
    Fit const next = with_priors(model, text, "past").fit({.text = "s,t,y\nNorth 1,1,2\nSouth,1,9\n"}, options);
    CHECK(next["level[North 1]"].sd < next["level[South]"].sd);
}

// A set may be the posterior of any other table: what it says of sequences and groups that are not there is followed by none.
TEST_CASE("posterior as prior: another table need not have the sequences and groups of the first") {
    std::string const model =
        "dims { sequence shop; region }\ndata { lies[shop] in region; y[shop] }\n"
        "param { level[shop] ~ normal(0, 1); mu[region] ~ normal(0, 5); sigma[region] ~ half_normal(1) }\n"
        "observe { y ~ normal(level + mu[lies], sigma[lies]) }\ntable { shop = s; lies = r; y = y }\n";
    FitOptions const options{.chains = 1, .num_warmup = 50, .num_samples = 400};
    std::string const text =
        Program::from_text(model).fit({.text = "s,r,y\nA,north,1\nB,north,2\nC,east,1\nD,west,3\n"}, options).as_priors("past").text;
    for (std::string const label : {"shop = \"C\"", "mu[east]", "sigma[west]"}) CHECK(text.find(label) != std::string::npos);
    Csv const other{.text = "s,r,y\nA,north,1\nE,south,2\n"};
    Program const with = with_priors(model, text, "past");
    bam::Prepared const prepared = with.with(other);
    std::vector<int> codes;
    for (bam::Diagnostic const& d : prepared.report().diagnostics()) codes.push_back(d.code);
    CHECK(std::count(codes.begin(), codes.end(), 337) >= 1);
    Fit const next = with.fit(other, options);
    CHECK(next["mu[north]"].sd < 0.6 * next["mu[south]"].sd);
    // A label that the model itself names is another matter.
    for (std::string const named : {"mu[east] ~ normal(3, 1)", "level[shop = \"C\"] ~ normal(3, 1)"}) {
        std::string own = model;
        own.insert(own.find("sigma[region] ~"), named + "; ");
        CHECK_THROWS_AS(Program::from_text(own).fit(other, options), bam::Error);
    }
}

TEST_CASE("posterior as prior: a label that no text can hold leaves out its own entries only, and names stand in quotes where they must") {
    std::string const model =
        "dims { sequence row; g }\ndata { k[row] in g; y[row] }\nparam { theta[g] ~ normal(0, 1); tau[g] ~ half_normal(1) }\n"
        "observe { y ~ normal(theta[k], tau[k]) }\ntable { k = k; y = y }\n";
    std::string const text = Program::from_text(model, {}, "my models/it's.bam")
                                 .fit({.text = "k,y\nplain,1\n\"the \"\"old\"\" one\",2\n\xC3\xA9t\xC3\xA9,3\n"},
                                      {.chains = 1, .num_warmup = 20, .num_samples = 50})
                                 .as_priors("past")
                                 .text;
    CHECK(text.find("theta[plain] ~ normal(") != std::string::npos);
    CHECK(text.find("tau[plain] ~ half_normal(") != std::string::npos);
    CHECK(text.find("theta[g = \"\xC3\xA9t\xC3\xA9\"] ~ normal(") != std::string::npos);
    CHECK(text.find("# theta: left out at a label of `g` that no text in quotes can hold") != std::string::npos);
    CHECK(text.find("bam fit 'my models/it'\\''s.bam' --data NEW") != std::string::npos);
    with_priors(model, text, "past");
}

// What no draw has chosen is rare, and not ruled out: a weight of 0 no data can undo.
TEST_CASE("posterior as prior: a choice that no draw has made keeps some weight") {
    std::string const model =
        "dims { sequence seq; group = 3 }\ndata { y[seq] }\n"
        "param { z[seq, group] ~ categorical([1, 1, 0]); mu[group] fixed [-5, 5, 9] }\n"
        "observe { y ~ normal(z' * mu, 1) }\ntable { seq = s; y = y }\n";
    std::string const text = Program::from_text(model)
                                 .fit({.text = "s,y\na,-5\nb,5\n"}, {.chains = 1, .num_warmup = 10, .num_samples = 200})
                                 .as_priors("past")
                                 .text;
    auto const weights = numbers_behind(text, "z[seq = \"a\", group] ~ categorical([");
    REQUIRE(weights.size() == 3);
    CHECK(weights[0] == doctest::Approx(200.5 / 201).epsilon(1e-4));
    CHECK(weights[1] == doctest::Approx(0.5 / 201).epsilon(1e-4));
    CHECK(weights[2] == 0);  // nor had the prior any
}

TEST_CASE("posterior as prior: matrices, learnt numbers and factors") {
    std::string const model =
        "dims { sequence row; feat; out }\ndata { x[row, feat]; y[row, out] }\nparam { W[out, feat] ~ normal(m, 2); m ~ learn(1); s[out] ~ "
        "half_cauchy(1) }\n"
        "observe { y ~ normal(W * x, s) }\ntable { feat = [one = 1, u]; out = [p = p, q = q] }\n";
    std::string const table = "u,p,q\n1,2,3\n2,2.5,1\n3,4,2.2\n4,4.4,0\n5,5.9,-1\n";
    bam::FitOptions const vi{.backend = bam::Backend::Variational, .num_samples = 500};
    std::string const text = Program::from_text(model, {.learn_hyper = true}).fit({.text = table}, vi).as_priors("past").text;
    CHECK(text.find("W[p, feat] ~ normal(") != std::string::npos);
    CHECK(text.find("W[q, feat] ~ normal(") != std::string::npos);
    CHECK(text.find("m fixed ") != std::string::npos);
    CHECK(text.find("s[p] ~ half_normal(") != std::string::npos);
    CHECK(text.find("independent factors") != std::string::npos);
    with_priors(model, text, "past");
}

TEST_CASE("posterior as prior: what has none is refused, and what no output tells apart is said") {
    std::string const model =
        "dims { sequence row }\ndata { x[row]; y[row] }\nparam { a ~ normal(0, 1); b ~ normal(0, 1) }\n"
        "observe { y ~ normal(a * b * x, 1) }\ntable { x = x; y = y }\npriors known { a ~ normal(1, 1) }\n";
    Csv const table{.text = "x,y\n1,2\n2,3\n3,7\n"};
    FitOptions options{.num_warmup = 50, .num_samples = 50};
    Fit const fit = Program::from_text(model).fit(table, options);
    CHECK(code_of(fit, "known") == 519);
    CHECK(code_of(fit, "2nd") == 519);
    CHECK(code_of(fit, "") == 519);
    REQUIRE(fit.as_priors("past").report.diagnostics().size() == 1);
    CHECK(fit.as_priors("past").report.diagnostics().front().code == 326);
    options.backend = bam::Backend::Map;
    CHECK(code_of(Program::from_text(model).fit(table, options), "past") == 517);
}
