// What is told of numerical trouble that a run met: its gravest mark, words, sentences, JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "bam/incident.hpp"

namespace bam {

/// What readers of a run's numbers must know, from nothing to the gravest. Every file of a run with a mark has it.
enum class Mark : std::uint8_t {
    None,
    Rebuild,   ///< sweeps were done anew; no number changed
    Warmup,    ///< trouble before the kept draws: those are as exact as ever
    Jitter,    ///< some kept draws are of precisions with a raised diagonal
    Restart,   ///< a chain went on from another state in the midst of its draws
    Drop,      ///< a chain is missing
    Degraded,  ///< a mode in place of draws
};
Mark mark_of(std::vector<Incident> const& incidents);

char const* word(Mark mark);
char const* word(Phase phase);
char const* word(Remedy remedy);

/// "warmup sweep 12: jitter of 1e-12 for b, 3 times": of a chain's file.
std::string to_line(Incident const& incident);
/// One or more sentences for readers of the verdict.
std::vector<std::string> sentences_of(std::vector<Incident> const& incidents);
/// What to do about it.
std::vector<std::string> advice_of(std::vector<Incident> const& incidents);

nlohmann::ordered_json to_json(std::vector<Incident> const& incidents);
/// {"degraded": ..., "recovery": ...}: what every JSON of a run says.
nlohmann::ordered_json mark_json(std::vector<Incident> const& incidents);
/// What to_json wrote. Throws what nlohmann::json throws if it is not that.
std::vector<Incident> read_incidents(nlohmann::ordered_json const& json);

}  // namespace bam
