#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "comparison.hpp"
#include "words.hpp"

namespace bam {
namespace {

/// Of a log Bayes factor: Kass and Raftery (1995), whose bounds are 3, 20 and 150.
char const* strength(double log_factor) {
    if (log_factor < std::log(3.0)) return "hardly worth a mention";
    if (log_factor < std::log(20.0)) return "positive evidence against it";
    return log_factor < std::log(150.0) ? "strong evidence against it" : "very strong evidence against it";
}

std::string factor(double log_factor) {
    return log_factor < std::log(1e6) ? two_digits(std::exp(log_factor)) : fmt::format("e^{:.1f}", log_factor);
}

}  // namespace

void weigh_evidence(Ranking& ranking) {
    double const none = std::nan("");
    ComparisonRow const* best = nullptr;
    for (ComparisonRow& row : ranking.rows) {
        auto const& evidence = ranking.runs[row.run].evidence;
        row.evidence = evidence ? evidence->stepping_stones : Estimate{none, none};
        if (evidence && (best == nullptr || is_more(row.evidence.value, best->evidence.value))) best = &row;
    }
    for (ComparisonRow& row : ranking.rows) {
        bool const is_known = best != nullptr && !std::isnan(row.evidence.value);
        row.bayes_factor = !is_known ? Estimate{none, none}
                           : &row == best
                               ? Estimate{}
                               : Estimate{row.evidence.value - best->evidence.value, std::hypot(row.evidence.error, best->evidence.error)};
    }
}

void say_evidence(Ranking& ranking) {
    auto const name = [&](ComparisonRow const& row) { return "`" + ranking.runs[row.run].name + "`"; };
    ComparisonRow const* best = nullptr;
    std::vector<std::string> without, doubtful;
    for (ComparisonRow const& row : ranking.rows) {
        auto const& evidence = ranking.runs[row.run].evidence;
        if (!evidence) {
            without.push_back(ranking.runs[row.run].name);
            continue;
        }
        if (row.bayes_factor.value == 0) best = &row;
        if (!do_agree(*evidence)) doubtful.push_back(ranking.runs[row.run].name);
    }
    if (best == nullptr) return;
    for (ComparisonRow const& row : ranking.rows) {
        if (&row == best || std::isnan(row.bayes_factor.value)) continue;
        double const below = -row.bayes_factor.value;
        std::string const by =
            fmt::format("The log evidence of {} is {:.1f} below that of {}", name(row), std::max(below, 0.0), name(*best));
        if (!(below > 2 * row.bayes_factor.error))
            ranking.sentences.push_back(
                fmt::format("{}, with a Monte Carlo error of {:.1f}: the draws cannot tell which has more.", by, row.bayes_factor.error));
        else
            ranking.sentences.push_back(fmt::format("{}, a Bayes factor of {}: {}.", by, factor(below), strength(below)));
    }
    if (!without.empty())
        ranking.notes.push_back(
            fmt::format("{} {} no evidence: `bam fit --evidence`", first_few(without), without.size() == 1 ? "has" : "have"));
    if (!doubtful.empty())
        ranking.notes.push_back(
            fmt::format("of {} the two estimates of the evidence do not agree: do not use it before a longer run, or one of "
                        "more `--rungs`, has them agree",
                        first_few(doubtful)));
    ranking.notes.emplace_back(
        "evidence hangs on how wide priors are, however much the outputs say: a prior ten times as wide takes about 2.3 "
        "from it for each number");
}

}  // namespace bam
