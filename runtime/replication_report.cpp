// What simulated tables say, in lines, in a sentence and as JSON.
#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "replicate.hpp"
#include "words.hpp"

namespace bam {
namespace {

using Json = nlohmann::ordered_json;

constexpr double wide = 3;           ///< times the observed range, from which on a prior allows more than it need
constexpr double far_too_wide = 10;  ///< and from which on it says little
constexpr double narrow = 0.5;
constexpr double unexpected = 0.2;  ///< share of observed cells outside of the central 95 %
constexpr double unlike = 0.05;     ///< chance of saying that the tables are unlike the observed one when they are not

std::string percent(double share) {
    double const value = 100 * share;
    return value > 0 && value < 1 ? "under 1 %" : value > 99 && value < 100 ? "over 99 %" : fmt::format("{:.0f} %", value);
}

std::vector<std::string> prior_sentences(Replicated const& one) {
    std::vector<std::string> sentences;
    if (one.share_infinite > 0)
        sentences.push_back(
            fmt::format("Of what the prior allows, {} has no finite value in the unit of the table.", percent(one.share_infinite)));
    if (!std::isfinite(one.times_range)) return sentences;
    std::string const width = fmt::format("the prior allows outputs {} times the observed range", two_digits(one.times_range));
    if (one.times_range >= far_too_wide)
        sentences.push_back(
            fmt::format("{}: {}: it says little of their size. Smaller sds say more; `bam priors --data` marks the statements where the "
                        "mean is wide in the model's own unit, too.",
                        one.output, width));
    else if (one.times_range >= wide)
        sentences.push_back(fmt::format("{}: {}: wide, and so it decides little.", one.output, width));
    else if (one.share_unexpected > unexpected)
        sentences.push_back(fmt::format("{}: {}, and {} of the observed cells lie outside of its central 95 %: it expects other outputs.",
                                        one.output, width, percent(one.share_unexpected)));
    else if (one.times_range < narrow)
        sentences.push_back(fmt::format("{}: {}: it says much of them before the data do.", one.output, width));
    else
        sentences.push_back(fmt::format("{}: {}, and expects what was observed.", one.output, width));
    return sentences;
}

constexpr std::array<char const*, 4> in_words{"mean", "sd", "least", "largest"};

/// A statistic is unlike the simulated ones where it lies further out than all but a share of them; that share is divided among both sides
/// of all statistics, so that an output of the model's own making is called unlike at most once in twenty.
double tail_of(std::size_t statistics) { return unlike / static_cast<double>(2 * statistics); }

bool are_too_few(std::size_t draws, double tail) { return static_cast<double>(draws) * tail < 1; }

std::string too_few(Replicated const& one, std::size_t draws, double tail) {
    return fmt::format("{}: {} {} too few to say whether the observed one is like {}; `--draws {:.0f}` are enough.", one.output,
                       counted(draws, "simulated table"), draws == 1 ? "is" : "are", draws == 1 ? "it" : "them", std::ceil(1 / tail));
}

std::vector<std::string> posterior_sentences(Replicated const& one, std::size_t draws) {
    double const tail = tail_of(one.statistics.size());
    if (are_too_few(draws, tail)) return {too_few(one, draws, tail)};
    std::vector<std::string> sentences;
    for (std::size_t k = 0; k < one.statistics.size(); ++k) {
        Replicated::Statistic const& s = one.statistics[k];
        if (std::isnan(s.observed) || std::isnan(s.share_above) || (s.share_above >= tail && s.share_above <= 1 - tail)) continue;
        bool const is_above = s.share_above < tail;
        sentences.push_back(fmt::format("{}: the {} of the observed cells is {:.4g}; that of {} of the simulated tables is {}.", one.output,
                                        in_words[k], s.observed, percent(is_above ? 1 - s.share_above : s.share_above),
                                        is_above ? "smaller" : "larger"));
    }
    if (one.observed > 1 && sentences.empty())
        return {fmt::format("{}: mean, sd, least and largest of the simulated tables are like those of the observed one.", one.output)};
    if (!sentences.empty()) sentences.push_back("The model does not make tables like the observed one in this respect.");
    return sentences;
}

/// Of outputs of 0 or 1 the share of 1 says all that there is to say of a column.
std::vector<std::string> binary_sentences(Replicated const& one, bool is_prior, std::size_t draws) {
    Replicated::Statistic const& s = one.statistics.front();
    double const tail = tail_of(1);
    std::string const range =
        fmt::format("{}: the share of 1 is from {} to {} in nine of ten simulated tables", one.output, percent(s.q5), percent(s.q95));
    if (std::isnan(s.observed)) return {range + "."};
    if (!is_prior && are_too_few(draws, tail)) return {too_few(one, draws, tail)};
    bool const is_like = s.share_above >= tail && s.share_above <= 1 - tail;
    std::vector<std::string> sentences{fmt::format("{}, and {} of the observed cells{}.", range, percent(s.observed),
                                                   is_like    ? ""
                                                   : is_prior ? ": it expects other outputs"
                                                              : ", which is unlike them")};
    if (!is_like && !is_prior) sentences.emplace_back("The model does not make tables like the observed one in this respect.");
    return sentences;
}

std::vector<std::string> sentences_of(Replicated const& one, bool is_prior, std::size_t draws) {
    if (one.is_binary) return binary_sentences(one, is_prior, draws);
    return is_prior ? prior_sentences(one) : posterior_sentences(one, draws);
}

Json number(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

std::string cell(double value) { return std::isnan(value) ? fmt::format("{:>11}", "") : fmt::format("{:>11.4g}", value); }

}  // namespace

std::string replication_text(Replication const& replication, bool is_prior) {
    std::string text;
    for (Replicated const& one : replication.outputs) {
        text += fmt::format("{}: {} observed, {} missing\n", one.output, one.observed, one.missing);
        text += fmt::format("  {:<10}{:>11}{:>11}{:>11}{:>11}{:>11}\n", "cells", "5%", "25%", "50%", "75%", "95%");
        if (one.observed > 0) {
            text += fmt::format("  {:<10}", "observed");
            for (double const value : one.observed_quantiles) text += cell(value);
            text += '\n';
        }
        text += fmt::format("  {:<10}", "simulated");
        for (double const value : one.simulated_quantiles) text += cell(value);
        text += fmt::format("\n  {:<10}{:>11}{:>11}{:>11}{:>11}\n", "tables", "observed", "5%", "50%", "95%");
        for (std::size_t k = 0; k < one.statistics.size(); ++k) {
            Replicated::Statistic const& s = one.statistics[k];
            text +=
                fmt::format("  {:<10}", Replicated::statistic_names[k]) + cell(s.observed) + cell(s.q5) + cell(s.q50) + cell(s.q95) + '\n';
        }
        if (one.observed > 1)
            text += fmt::format("  {} of the simulated values lie outside of the observed range.\n", percent(one.share_outside));
        text += '\n';
    }
    for (Replicated const& one : replication.outputs)
        for (std::string const& sentence : sentences_of(one, is_prior, replication.draws)) text += sentence + '\n';
    return text;
}

std::string replication_json(Replication const& replication, bool is_prior) {
    Json json = {
        {"from", is_prior ? "prior" : "posterior"}, {"draws", replication.draws}, {"outputs", Json::array()}, {"notes", replication.notes}};
    for (Replicated const& one : replication.outputs) {
        Json output = {{"output", one.output}, {"observed", one.observed}, {"missing", one.missing}};
        Json quantiles = Json::array();
        for (std::size_t k = 0; k < Replicated::levels.size(); ++k)
            quantiles.push_back({{"level", Replicated::levels[k]},
                                 {"observed", number(one.observed_quantiles[k])},
                                 {"simulated", number(one.simulated_quantiles[k])}});
        output["quantiles"] = std::move(quantiles);
        for (std::size_t k = 0; k < one.statistics.size(); ++k) {
            Replicated::Statistic const& s = one.statistics[k];
            output["tables"][Replicated::statistic_names[k]] = {
                {"observed", number(s.observed)},
                {"q5", number(s.q5)},
                {"q50", number(s.q50)},
                {"q95", number(s.q95)},
                {"share_above", std::isnan(s.observed) ? Json(nullptr) : number(s.share_above)}};
        }
        output["share_outside"] = number(one.share_outside);
        output["share_unexpected"] = number(one.share_unexpected);
        output["share_infinite"] = number(one.share_infinite);
        output["times_range"] = number(one.times_range);
        output["sentences"] = sentences_of(one, is_prior, replication.draws);
        json["outputs"].push_back(std::move(output));
    }
    return json.dump(2, ' ', false, Json::error_handler_t::replace) + '\n';
}

}  // namespace bam
