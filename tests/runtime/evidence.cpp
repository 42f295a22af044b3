// The log evidence from draws whose answer is known.
#include "evidence.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <numbers>

#include "exchange.hpp"
#include "random.hpp"

using namespace bam;

namespace {

// theta ~ normal(0, 3), ten y about it with sd 1: given a power theta is normal, and p(y) is known.
constexpr double outputs[] = {0.2, 1.9, 0.7, 1.2, -0.3, 2.2, 1.1, 0.4, 1.6, 0.9};
constexpr double prior_variance = 9;

double exact() {
    double n = 0, sum = 0, squares = 0;
    for (double const y : outputs) {
        n += 1;
        sum += y;
        squares += y * y;
    }
    return -0.5 * n * std::log(2 * std::numbers::pi) - 0.5 * std::log(1 + n * prior_variance) -
           0.5 * (squares - sum * sum * prior_variance / (1 + n * prior_variance));
}

/// What the draw of a rung says where the log likelihood at a power is that times `log_likelihood`.
RungDraw draw_at(std::vector<double> const& powers, std::size_t rung, double log_likelihood) {
    RungDraw draw;
    if (rung > 0) draw.up = (powers[rung - 1] - powers[rung]) / 2 * log_likelihood;
    if (rung + 1 < powers.size()) draw.down = (powers[rung + 1] - powers[rung]) / 2 * log_likelihood;
    draw.slope = log_likelihood;
    return draw;
}

RungDraws draws_of(std::uint64_t repeat, std::size_t draws, double keep) {
    RungDraws result;
    for (int k = 0; k < 12; ++k) result.powers.push_back(std::pow(0.5, k));
    result.powers.push_back(0);
    Stream stream(1, repeat, 0, 0);
    std::vector<double> z(result.powers.size());
    for (double& one : z) one = stream.normal();
    for (std::size_t d = 0; d < draws; ++d) {
        for (std::size_t r = 0; r < z.size(); ++r) {
            z[r] = keep * z[r] + std::sqrt(1 - keep * keep) * stream.normal();
            double precision = 1 / prior_variance, linear = 0, log_likelihood = 0;
            for (double const y : outputs) {
                precision += result.powers[r];
                linear += result.powers[r] * y;
            }
            double const theta = linear / precision + z[r] / std::sqrt(precision);
            for (double const y : outputs) log_likelihood -= 0.5 * std::log(2 * std::numbers::pi) + 0.5 * (y - theta) * (y - theta);
            result.draws.push_back(draw_at(result.powers, r, log_likelihood));
        }
    }
    return result;
}

}  // namespace

// Of z = (estimate - truth) / error over 100 repeats the mean square is 1 within 4 sds of chi-squared, if the error is what it says.
TEST_CASE("evidence: both estimates lie about the truth by the errors that they state") {
    for (double const keep : {0.0, 0.8}) {
        CAPTURE(keep);
        double stones = 0, thermo = 0;
        constexpr int repeats = 100;
        for (int repeat = 0; repeat < repeats; ++repeat) {
            LogEvidence const found = log_evidence(draws_of(static_cast<std::uint64_t>(repeat) + 1, 2000, keep));
            stones += std::pow((found.stepping_stones.value - exact()) / found.stepping_stones.error, 2) / repeats;
            thermo += std::pow((found.thermodynamic.value - exact()) / found.thermodynamic.error, 2) / repeats;
            CHECK(found.stepping_stones.error < 0.2);
        }
        double const slack = 4 * std::sqrt(2.0 / repeats);
        CHECK(stones == doctest::Approx(1).epsilon(slack));
        CHECK(thermo < 1 + slack);  // the share for the number of rungs is an upper bound
        CHECK(thermo > 0.2);
    }
}

TEST_CASE("evidence: a segment too wide shows in the error of thermodynamic integration") {
    RungDraws const fine = draws_of(1, 20000, 0);
    RungDraws coarse;
    std::vector<std::size_t> const kept{0, 5, 10, 12};
    for (std::size_t const r : kept) coarse.powers.push_back(fine.powers[r]);
    for (std::size_t d = 0; d < 20000; ++d)
        for (std::size_t r = 0; r < kept.size(); ++r)
            coarse.draws.push_back(draw_at(coarse.powers, r, fine.draws[d * fine.powers.size() + kept[r]].slope));
    Estimate const found = log_evidence(coarse).thermodynamic;
    CHECK(std::abs(found.value - exact()) > 0.03);
    CHECK(std::abs(found.value - exact()) < 3 * found.error);
}

TEST_CASE("evidence: where every draw has the same likelihood it is that without an error") {
    RungDraws known{{1, 0.5, 0}, {}};
    for (int d = 0; d < 200; ++d)
        for (std::size_t r = 0; r < 3; ++r) known.draws.push_back(draw_at(known.powers, r, -40.7));
    LogEvidence const evidence = log_evidence({known, known});
    for (Estimate const& estimate : {evidence.stepping_stones, evidence.thermodynamic}) {
        CHECK(estimate.value == doctest::Approx(-40.7).epsilon(1e-12));
        CHECK(estimate.error < 1e-9);
    }
    Exchange exchange;
    exchange.chains.push_back({{1, 0.5, 0}, {0, 0}, 3});
    exchange.evidence = evidence;
    for (std::string const& sentence : sentences_of(exchange)) CHECK(sentence.find("do not agree") == std::string::npos);
}

TEST_CASE("evidence: of several chains the mean with the error of a mean") {
    std::vector<RungDraws> chains;
    for (std::uint64_t chain = 1; chain <= 4; ++chain) chains.push_back(draws_of(chain, 4000, 0));
    LogEvidence const together = log_evidence(chains);
    double mean = 0;
    for (RungDraws const& chain : chains) mean += log_evidence(chain).stepping_stones.value / 4;
    CHECK(together.stepping_stones.value == doctest::Approx(mean));
    CHECK(together.stepping_stones.error >= log_evidence(chains.front()).stepping_stones.error / 2 * 0.8);
    CHECK(std::abs(together.stepping_stones.value - exact()) < 4 * together.stepping_stones.error);
}

TEST_CASE("exchange: what is written is read back") {
    Exchange exchange;
    exchange.is_while_sampling = true;
    exchange.chains.push_back({{1, 0.5, 0}, {0.25, 0.5}, 7});
    exchange.evidence = LogEvidence{{-12.5, 0.25}, {-12.25, 0.5}};
    Diagnostics diagnostics;
    auto const back = read_exchange(to_json(exchange, "hash"), "hash", 0, diagnostics);
    REQUIRE(back.has_value());
    CHECK(back->is_while_sampling);
    REQUIRE(back->chains.size() == 1);
    CHECK(back->chains.front().powers == exchange.chains.front().powers);
    CHECK(back->chains.front().refusals == exchange.chains.front().refusals);
    CHECK(back->chains.front().round_trips == 7);
    REQUIRE(back->evidence.has_value());
    CHECK(back->evidence->thermodynamic.error == 0.5);
    CHECK(sentences_of(*back) == sentences_of(exchange));
    CHECK(sentences_of(exchange).at(0) == "Chains exchanged over 3 rungs all along: 7 round trips, barrier 0.8.");
    CHECK(sentences_of(exchange).at(1) ==
          "The log evidence is -12.50 ± 0.25 by stepping stones, -12.25 ± 0.50 by thermodynamic integration.");
}

TEST_CASE("exchange: a file of another run or of another program is refused") {
    Exchange exchange;
    exchange.chains.push_back({{1, 0.5}, {0.25}, 1});
    for (std::string const& text : {to_json(exchange, "another"), std::string("{}"), std::string("no JSON")}) {
        Diagnostics diagnostics;
        CHECK_FALSE(read_exchange(text, "hash", 0, diagnostics).has_value());
        REQUIRE(diagnostics.size() == 1);
        CHECK(diagnostics.front().code == 547);
    }
}

TEST_CASE("exchange: estimates that do not agree and rungs that do not exchange are told") {
    Exchange exchange;
    exchange.is_while_sampling = true;
    exchange.chains.push_back({{1, 0.5}, {0.95}, 0});
    exchange.evidence = LogEvidence{{-12.5, 0.1}, {-10, 0.1}};
    auto const sentences = sentences_of(exchange);
    REQUIRE(sentences.size() == 4);
    CHECK(sentences.at(1).find("--rungs") != std::string::npos);
    CHECK(sentences.at(3).starts_with("The two do not agree"));
}

TEST_CASE("evidence: estimates without an error agree to rounding and what is no number does not") {
    CHECK(do_agree({{-1234.5, 0}, {-1234.5 + 1e-8, 0}}));
    CHECK_FALSE(do_agree({{-1234.5, 0}, {-1234.4, 0}}));
    CHECK(do_agree({{-1234.5, 0.1}, {-1234.1, 0.1}}));
    CHECK_FALSE(do_agree({{-1234.5, 0.1}, {std::nan(""), 0.1}}));
}
