#include "summary.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "assignments.hpp"
#include "random.hpp"

namespace bam {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

SummaryRow row_of(std::string name, QuantitySummary quantity, Condition condition = Condition::Good, bool is_identified = true,
                  bool is_shown = true) {
    SummaryRow row;
    row.column = {std::move(name), {}, {}, is_identified, is_shown};
    row.quantity = quantity;
    row.condition = condition;
    return row;
}

/// Draws of chains that an entry of `shift` moves apart: [chain].
Run run_of(std::size_t draws, std::vector<double> const& shift) {
    Run run;
    run.columns = {{"mu", {}, {}, true, true}, {"W", {1}, {"dose"}, false, false}, {"c", {}, {}, true, true}};
    for (std::size_t chain = 0; chain < shift.size(); ++chain) {
        Stream stream(1, chain, 0, 0);
        Chain one;
        for (std::size_t draw = 0; draw < draws; ++draw) {
            one.values.insert(one.values.end(), {shift[chain] + stream.normal(), 10 * shift[chain] + stream.normal(), 7});
            one.log_joint.push_back(stream.normal() - 50);
            one.log_likelihood.push_back(stream.normal() - 40);
        }
        run.chains.push_back(std::move(one));
    }
    return run;
}

Verdict judged(Run const& run, RunLength length = {500, 1000, 1}) { return judge(summarize(run), run, length); }

bool says(Verdict const& verdict, std::string const& part) { return to_text(verdict).find(part) != std::string::npos; }

}  // namespace

TEST_CASE("verdict: one draw says of nothing that it is fixed") {
    Verdict const verdict = judged(run_of(1, {0}));
    CHECK(verdict.fixed.empty());
    CHECK(!verdict.is_converged);
    CHECK(says(verdict, "not judged: 1 draw per chain is too few"));
}

TEST_CASE("summary table: headings of stansummary, and decimals that the standard error supports") {
    std::vector<SummaryRow> const rows{
        row_of("sigma", {0.5203, 0.5191, 0.0262, 0.0258, 0.4771, 0.5649, 1.0004, 3210.4, 2890, 0.00104, 0.0007}),
        row_of("kernel[promo,température]", {14.8712, 14.87, 0.5412, 0.5378, 13.98, 15.76, 1.0213, 812, 700, 0.0192, 0.01}, Condition::Bad),
        row_of("tiny", {1.23456e-9, 1.2e-9, 3.3e-10, 3.2e-10, 7e-10, 1.8e-9, 1.001, 4000, 4000, 6e-12, 4e-12}),
        row_of("huge", {-1.23456e12, -1.2e12, 3.3e10, 3.2e10, -1.3e12, -1.1e12, 1.001, 4000, 4000, 6e8, 4e8}),
        row_of("centred", {-0.0004, 0.0002, 1.0, 1.0, -1.61, 1.66, 1.0, 4000, 4000, 0.0158, 0.01}),
        row_of("alpha0", {2, 2, 0, 0, 2, 2, nan, nan, nan, nan, nan}, Condition::Fixed),
        row_of("level", {2, 2, 0.5, 0.7, 1, 3, 1e17, 2, nan, 0.5, nan}, Condition::Stuck),
        row_of("W_k[1]", {0.1, 0.1, 1.0, 1.0, -1.6, 1.8, 1.02, 200, 180, 0.07, 0.05}, Condition::Bad, false, false)};
    std::string const shown =
        "                                Mean     MCSE   StdDev      MAD         5%        50%        95%  ESS_bulk  ESS_tail  R_hat\n"
        "sigma                           0.52   0.0010    0.026    0.026       0.48       0.52       0.56      3210      2890  1.000\n"
        "kernel[promo,température]       14.9    0.019     0.54     0.54       14.0       14.9       15.8       812       700  1.021  bad\n"
        "tiny                         1.2e-09  6.0e-12  3.3e-10  3.2e-10      7e-10    1.2e-09    1.8e-09      4000      4000  1.001\n"
        "huge                       -1.23e+12  6.0e+08  3.3e+10  3.2e+10  -1.30e+12  -1.20e+12  -1.10e+12      4000      4000  1.001\n"
        "centred                          0.0    0.016      1.0      1.0       -1.6        0.0        1.7      4000      4000  1.000\n"
        "alpha0                             2        -        0        0          2          2          2         -         -      -  "
        "fixed\n"
        "level                            2.0     0.50     0.50     0.70        1.0        2.0        3.0         2         -  1e+17  "
        "stuck\n";
    std::string const raw =
        "W_k[1]                           0.1    0.070      1.0      1.0       -1.6        0.1        1.8       200       180  1.020  "
        "unidentified\n";
    CHECK(summary_table(rows, false) == shown);
    CHECK(summary_table(rows, true) == shown + raw);
}

TEST_CASE("summarize: a row per column and the two logs") {
    Run const run = run_of(1000, {0, 0, 0, 0});
    auto const rows = summarize(run);
    REQUIRE(rows.size() == 5);
    CHECK(label_name(rows[1].column) == "W[dose]");
    CHECK(rows[0].condition == Condition::Good);
    CHECK(std::abs(rows[0].quantity.mean) < 4 / std::sqrt(4000.0));
    CHECK(rows[2].condition == Condition::Fixed);
    CHECK(rows[2].quantity.mean == 7);
    CHECK(rows[3].column.name == "log_joint");
    CHECK(!rows[3].column.is_identified);  // since W is not
    CHECK(rows[4].column.name == "log_likelihood");
    CHECK(rows[4].column.is_identified);
}

TEST_CASE("summarize: conditions") {
    Run run = run_of(1000, {0, 0, 0, 0});
    run.columns.push_back({"d", {}, {}, true, true});
    for (std::size_t chain = 0; chain < 4; ++chain) {
        std::vector<double> values;
        for (std::size_t draw = 0; draw < 1000; ++draw) {
            double const* const old = run.chains[chain].values.data() + draw * 3;
            values.insert(values.end(), {chain == 3 && draw == 999 ? nan : old[0], chain == 1 ? 0.25 : old[1], static_cast<double>(chain),
                                         static_cast<double>(draw)});
        }
        run.chains[chain].values = values;
    }
    auto const rows = summarize(run);
    CHECK(rows[0].condition == Condition::NotFinite);
    CHECK(rows[1].condition == Condition::Stuck);
    CHECK(rows[2].condition == Condition::Stuck);
    CHECK(rows[3].condition == Condition::Bad);
    Verdict const verdict = judged(run);
    CHECK(!verdict.is_converged);
    CHECK(says(verdict, "Not finite in some draws: `mu`."));
    CHECK(says(verdict, "Stuck: `W[dose]` and `c`. At least one chain never moves them."));
    CHECK(says(verdict, "next: give a proper prior in place of `flat()`"));
}

TEST_CASE("summary table: fixed and stuck and bad and unidentified and aligned have a word each") {
    std::vector<SummaryRow> rows(6);
    std::string const names[] = {"good", "fixed", "stuck", "bad", "unidentified", "aligned"};
    for (std::size_t k = 0; k < rows.size(); ++k) {
        rows[k].column.name = "row_" + std::to_string(k);
        rows[k].quantity = {1, 1, 0.5, 0.5, 0, 2, 1.0, 500, 500, 0.01, 0.01};
    }
    rows[1].condition = Condition::Fixed;
    rows[2].condition = Condition::Stuck;
    rows[3].condition = Condition::Bad;
    rows[4].column.is_identified = rows[5].column.is_identified = false;
    rows[4].condition = Condition::Bad;
    rows[5].is_aligned = true;
    std::string const table = summary_table(rows, true);
    for (std::size_t k = 0; k < rows.size(); ++k) {
        std::size_t const begin = table.find("row_" + std::to_string(k));
        std::string const line = table.substr(begin, table.find('\n', begin) - begin);
        CAPTURE(line);
        for (std::size_t other = 1; other < rows.size(); ++other)
            CHECK((line.find("  " + names[other]) != std::string::npos) == (other == k));
    }
    rows[5].condition = Condition::Bad;
    CHECK(summary_table({rows[5]}, true).find("aligned, bad") != std::string::npos);
}

TEST_CASE("summarize: the same numbers from any number of threads, and from rows read by hand") {
    Run run = run_of(1500, {0, 0, 0});
    run.columns.clear();
    for (std::size_t column = 0; column < 40; ++column)
        run.columns.push_back({"x", {column + 1}, {std::to_string(column + 1)}, true, true});
    for (Chain& chain : run.chains) {
        std::vector<double> values;
        for (std::size_t draw = 0; draw < 1500; ++draw)
            for (std::size_t column = 0; column < 40; ++column) values.push_back(chain.values[draw * 3] + static_cast<double>(column));
        chain.values = values;
    }
    auto const rows = summarize(run);
    REQUIRE(rows.size() == 42);
    std::vector<double> alone;
    for (Chain const& chain : run.chains)
        for (std::size_t draw = 0; draw < 1500; ++draw) alone.push_back(chain.values[draw * 40 + 39]);
    QuantitySummary const expected = summarize(ChainDraws{alone, 1500, 3});
    CHECK(rows[39].quantity.mean == expected.mean);
    CHECK(rows[39].quantity.rhat == expected.rhat);
    CHECK(rows[39].quantity.ess_tail == expected.ess_tail);
}

TEST_CASE("summarize: of chains of different lengths the last draws are used") {
    Run run = run_of(1000, {0, 0});
    run.chains[1].values.resize(3 * 600);
    run.chains[1].log_joint.resize(600);
    run.chains[1].log_likelihood.resize(600);
    run.chains[1].is_interrupted = true;
    for (std::size_t draw = 0; draw < 400; ++draw) run.chains[0].values[draw * 3] = 1e6;
    CHECK(common_draws(run) == 600);
    CHECK(summarize(run)[0].quantity.mean < 1);
    CHECK(says(judged(run), "Interrupted: chain 2. The last 600 draws of each chain are used."));
}

TEST_CASE("verdict: converged") {
    Verdict const verdict = judged(run_of(1000, {0, 0, 0, 0}));
    CHECK(verdict.is_converged);
    CHECK(verdict.judged == 2);
    CHECK(verdict.unidentified == 2);
    CHECK(verdict.advice.empty());
    CHECK(says(verdict, "verdict: converged. The worst R-hat of 2 identified quantities is 1.0"));
    CHECK(says(verdict, "Fixed by the model: `c`."));
    CHECK(says(verdict, "2 quantities are not identified (R-hat up to 1.0"));
}

TEST_CASE("verdict: choices that are nearly certain are not judged and those that are not are named") {
    Run run = run_of(1000, {0, 0, 0, 0});
    run.columns[2] = {"z", {1, 1}, {"S 1", "a"}, true, true, 2};
    for (std::size_t chain = 0; chain < 4; ++chain)
        for (std::size_t draw = 0; draw < 1000; ++draw) run.chains[chain].values[draw * 3 + 2] = chain == 2 && draw < 40 ? 0 : 1;
    auto rows = summarize(run);
    CHECK(rows[2].condition == Condition::Good);
    CHECK(judge(rows, run, {500, 1000, 1}).is_converged);
    CHECK(say_assignments(rows) == std::vector<std::string>{"z is a with probability 0.99."});
    // One chain holds another group for good: that is another mode.
    for (std::size_t draw = 0; draw < 1000; ++draw) run.chains[2].values[draw * 3 + 2] = 0;
    CHECK(!judged(run).is_converged);
    rows = summarize(run);
    rows.push_back(rows[2]);
    rows.back().column.labels = {"S 2", "a"};
    rows.back().quantity.mean = 0.95;
    CHECK(say_assignments(rows) ==
          std::vector<std::string>{"z: 1 of 2 assigned with a probability below 0.9, so that predictions mix: S 1 to a (0.75)."});
    rows[2].quantity.mean = 0.9;
    CHECK(say_assignments(rows) == std::vector<std::string>{"z: all 2 are assigned with probability 0.9 or more."});
}

TEST_CASE("verdict: weights that are not identified do not count") {
    Run run = run_of(1000, {0, 0, 0, 0});
    for (std::size_t draw = 0; draw < 1000; ++draw) run.chains[2].values[draw * 3 + 1] += 5;
    Verdict const verdict = judged(run);
    CHECK(verdict.is_converged);
    CHECK(verdict.unidentified_rhat->name == "W[dose]");
    CHECK(verdict.unidentified_rhat->value > 1.5);
}

TEST_CASE("verdict: chains that disagree have not converged, and the worst is named") {
    Verdict const verdict = judged(run_of(1000, {0, 0, 0, 3}));
    CHECK(!verdict.is_converged);
    CHECK(verdict.rhat_count == 1);
    CHECK(verdict.rhat->name == "mu");
    CHECK(says(verdict, "verdict: not converged. R-hat is above 1.01 for 1 of 2 identified quantities, at worst 1."));
    CHECK(says(verdict, "look at `mu`"));
}

TEST_CASE("verdict: too few draws ask for as many as are needed") {
    Verdict const verdict = judged(run_of(70, {0, 0, 0, 0}), {500, 140, 2});
    CHECK(!verdict.is_converged);
    CHECK(verdict.ess_count > 0);
    CHECK(says(verdict, "ESS is below 400 for "));
    CHECK(says(verdict, "next: more draws, `--num-samples "));
    CHECK(says(judged(run_of(3, {0, 0})), "verdict: not judged: 3 draws per chain are too few."));
    CHECK(!judged(run_of(3, {0, 0})).is_converged);
    CHECK(!judged(run_of(0, {0, 0})).is_converged);
    CHECK(says(judged(run_of(2000, {0})), "There is one chain"));
}

TEST_CASE("verdict: a chain in a worse mode is told from one that is still on its way") {
    Run run = run_of(1000, {0, 0, 0, 0});
    for (double& value : run.chains[2].log_joint) value -= 30;
    for (std::size_t draw = 0; draw < 1000; ++draw) run.chains[1].log_joint[draw] -= 100 - 0.09 * static_cast<double>(draw);
    Verdict const verdict = judged(run);
    CHECK(!verdict.is_converged);
    REQUIRE(verdict.worse_chains.size() == 2);
    CHECK(verdict.worse_chains[0].chain == 2);
    CHECK(verdict.worse_chains[0].is_climbing);
    CHECK(verdict.worse_chains[1].chain == 3);
    CHECK(!verdict.worse_chains[1].is_climbing);
    CHECK(says(verdict, "Chain 2 was still on its way: its log joint is on average 55."));
    CHECK(says(verdict, "Chain 3 sits in a worse mode: its log joint is on average "));
    CHECK(says(verdict, "next: a longer way to the posterior, `--num-warmup 2000`"));
    CHECK(says(verdict, "`--tempering`"));
}

TEST_CASE("verdict: nothing that varies is nothing to doubt") {
    Run run;
    run.columns = {{"c", {}, {}, true, true}};
    run.chains = {Chain{{1, 1, 1, 1, 1}, {0, 0, 0, 0, 0}, {0, 0, 0, 0, 0}, 0, 0, false, ""}};
    Verdict const verdict = judged(run);
    CHECK(verdict.is_converged);
    CHECK(says(verdict, "verdict: converged. No identified quantity varies."));
}

TEST_CASE("summary json: the same facts, null where undefined") {
    Run const run = run_of(1000, {0, 0, 0, 3});
    auto const rows = summarize(run);
    auto const json = nlohmann::json::parse(summary_json(rows, judge(rows, run, {})));
    CHECK(json["verdict"]["converged"] == false);
    CHECK(json["verdict"]["worst_rhat"]["variable"] == "mu");
    CHECK(json["summary"].size() == 5);
    CHECK(json["summary"][0]["mean"] == rows[0].quantity.mean);
    CHECK(json["summary"][1]["variable"] == "W[dose]");
    CHECK(json["summary"][1]["identified"] == false);
    CHECK(json["summary"][2]["rhat"].is_null());
    CHECK(json["summary"][2]["condition"] == "fixed");
}

}  // namespace bam
