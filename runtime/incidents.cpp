#include "incidents.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "words.hpp"

namespace bam {
namespace {

using Json = nlohmann::ordered_json;

Mark mark_of(Incident const& incident) {
    switch (incident.remedy) {
        case Remedy::Rebuild: return Mark::Rebuild;
        case Remedy::Jitter: return incident.phase == Phase::Sampling ? Mark::Jitter : Mark::Warmup;
        case Remedy::Restart: return incident.phase == Phase::Sampling ? Mark::Restart : Mark::Warmup;
        case Remedy::Drop: return Mark::Drop;
        case Remedy::Mode: return Mark::Degraded;
    }
    return Mark::None;
}

/// The value whose word it is.
template <class Value>
Value from_word(std::string const& text, std::initializer_list<Value> values) {
    for (Value const value : values)
        if (text == word(value)) return value;
    throw std::runtime_error("no such word: " + text);
}

/// "of its warmup, before the draws that are kept"
std::string when(Incident const& incident) {
    switch (incident.phase) {
        case Phase::Start: return "on the way to its start, before the draws that are kept";
        case Phase::Warmup: return "in its warmup, before the draws that are kept";
        case Phase::Sampling: break;
    }
    return "in the midst of its draws";
}

std::string sentence_of(Incident const& incident) {
    std::string const of = incident.block.empty() ? "" : fmt::format(" of `{}`", incident.block);
    switch (incident.remedy) {
        case Remedy::Rebuild:
            return fmt::format("Chain {}: {} done anew from sums that were rebuilt, which changes no number.", incident.chain,
                               incident.times == 1 ? "1 sweep was" : fmt::format("{} sweeps were", incident.times));
        case Remedy::Jitter:
            return fmt::format(
                "Chain {}: the precision{} did not factor in {} from sweep {} on, {}; at most {:.0e} of its diagonal was added.",
                incident.chain, of, counted(incident.times, "sweep"), incident.sweep, when(incident), incident.amount);
        case Remedy::Restart:
            return fmt::format("Chain {} went on from {}{} at sweep {}, {}: {}.", incident.chain, incident.source,
                               incident.times == 1 ? "" : fmt::format(" {} times, first", incident.times), incident.sweep, when(incident),
                               incident.reason);
        case Remedy::Drop:
            return fmt::format("Chain {} was dropped at sweep {}: {}. Its draws up to there are in dropped_{}.csv, and count nowhere.",
                               incident.chain, incident.sweep, incident.reason, incident.chain);
        case Remedy::Mode:
            return fmt::format("degraded: no chain could be drawn to its end, and a mode stands in for the draws that were asked for.");
    }
    return "";
}

}  // namespace

Mark mark_of(std::vector<Incident> const& incidents) {
    Mark mark = Mark::None;
    for (Incident const& incident : incidents) mark = std::max(mark, mark_of(incident));
    return mark;
}

char const* word(Mark mark) {
    switch (mark) {
        case Mark::None: return "none";
        case Mark::Rebuild: return "rebuild";
        case Mark::Warmup: return "warmup";
        case Mark::Jitter: return "jitter";
        case Mark::Restart: return "restart";
        case Mark::Drop: return "drop";
        case Mark::Degraded: return "degraded";
    }
    return "";
}

char const* word(Phase phase) {
    switch (phase) {
        case Phase::Start: return "start";
        case Phase::Warmup: return "warmup";
        case Phase::Sampling: return "sampling";
    }
    return "";
}

char const* word(Remedy remedy) {
    switch (remedy) {
        case Remedy::Rebuild: return "rebuild";
        case Remedy::Jitter: return "jitter";
        case Remedy::Restart: return "restart";
        case Remedy::Drop: return "drop";
        case Remedy::Mode: return "mode";
    }
    return "";
}

std::string to_line(Incident const& incident) {
    std::string text = fmt::format("{} sweep {}: {}", word(incident.phase), incident.sweep, word(incident.remedy));
    if (incident.remedy == Remedy::Jitter) text += fmt::format(" of {:.0e}", incident.amount);
    if (!incident.block.empty()) text += fmt::format(" for {}", incident.block);
    if (!incident.source.empty()) text += fmt::format(" from {}", incident.source);
    if (incident.times > 1) text += fmt::format(", {} times", incident.times);
    return text;
}

std::vector<std::string> sentences_of(std::vector<Incident> const& incidents) {
    std::vector<std::string> sentences;
    for (Incident const& incident : incidents)
        if (incident.remedy == Remedy::Mode) sentences.push_back(sentence_of(incident));
    std::vector<std::string> dropped;
    for (Incident const& incident : incidents)
        if (incident.remedy == Remedy::Drop) dropped.push_back(std::to_string(incident.chain));
    if (sentences.empty() && !dropped.empty())
        sentences.push_back(
            fmt::format("not whole: {} {} dropped. Of the others:",
                        dropped.size() == 1 ? "chain " + dropped.front() : fmt::format("chains {}", fmt::join(dropped, ", ")),
                        dropped.size() == 1 ? "was" : "were"));
    for (auto at = incidents.begin(); at != incidents.end(); ++at) {
        if (at->remedy == Remedy::Mode) continue;
        // Of what came before the draws it does not matter from which state a chain went on: one sentence for all of it.
        auto const is_of_kind = [&](Incident const& other) {
            return at->remedy == Remedy::Restart && other.remedy == Remedy::Restart && at->phase != Phase::Sampling &&
                   other.chain == at->chain && other.phase == at->phase;
        };
        if (std::any_of(incidents.begin(), at, is_of_kind)) continue;
        Incident all = *at;
        for (auto other = at + 1; other != incidents.end(); ++other) {
            if (!is_of_kind(*other)) continue;
            all.times += other->times;
            all.source = "other states";
        }
        sentences.push_back(sentence_of(all));
    }
    return sentences;
}

std::vector<std::string> advice_of(std::vector<Incident> const& incidents) {
    Mark const mark = mark_of(incidents);
    if (mark <= Mark::Warmup) return {};
    std::vector<std::string> blocks;
    for (Incident const& incident : incidents) {
        if (incident.remedy == Remedy::Rebuild || incident.block.empty()) continue;
        if (std::find(blocks.begin(), blocks.end(), incident.block) == blocks.end()) blocks.push_back(incident.block);
    }
    std::string const priors = blocks.empty() ? "tighter priors" : fmt::format("a tighter prior of {}", first_few(blocks));
    if (mark == Mark::Jitter) return {fmt::format("columns of about size 1, by way of the table section, or {}", priors)};
    return {fmt::format("{}, of decays above all: numbers grew beyond what can be computed with", priors)};
}

Json to_json(std::vector<Incident> const& incidents) {
    Json json = Json::array();
    for (Incident const& incident : incidents)
        json.push_back({{"chain", incident.chain == 0 ? Json(nullptr) : Json(incident.chain)},
                        {"phase", word(incident.phase)},
                        {"remedy", word(incident.remedy)},
                        {"block", incident.block},
                        {"sweep", incident.sweep},
                        {"times", incident.times},
                        {"amount", incident.amount},
                        {"source", incident.source},
                        {"reason", incident.reason}});
    return json;
}

Json mark_json(std::vector<Incident> const& incidents) {
    Mark const mark = mark_of(incidents);
    return {{"degraded", mark == Mark::Degraded}, {"recovery", word(mark)}};
}

std::vector<Incident> read_incidents(Json const& json) {
    std::vector<Incident> incidents;
    for (Json const& one : json) {
        Incident incident;
        if (!one.at("chain").is_null()) one.at("chain").get_to(incident.chain);
        incident.phase = from_word(one.at("phase").get<std::string>(), {Phase::Start, Phase::Warmup, Phase::Sampling});
        incident.remedy =
            from_word(one.at("remedy").get<std::string>(), {Remedy::Rebuild, Remedy::Jitter, Remedy::Restart, Remedy::Drop, Remedy::Mode});
        one.at("block").get_to(incident.block);
        one.at("sweep").get_to(incident.sweep);
        one.at("times").get_to(incident.times);
        one.at("amount").get_to(incident.amount);
        one.at("source").get_to(incident.source);
        one.at("reason").get_to(incident.reason);
        incidents.push_back(std::move(incident));
    }
    return incidents;
}

}  // namespace bam
