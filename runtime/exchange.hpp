// What replica exchange leaves of a run: in numbers, in words, and as exchange.json.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bam/diagnostic.hpp"
#include "bam/incident.hpp"
#include "evidence.hpp"

namespace bam {

/// The ladder of one chain, from its last adaptation on.
struct ChainExchange {
    std::vector<double> powers;    ///< per rung: falling, the first 1
    std::vector<double> refusals;  ///< shares of refused exchanges between neighbours
    std::size_t round_trips = 0;   ///< of a replica from power 1 to the lowest and back

    double barrier() const;  ///< the sum of the refusals
};

struct Exchange {
    bool is_while_sampling = false;     ///< else replicas found the start of the chain, and ended there
    std::vector<ChainExchange> chains;  ///< with at least one draw
    std::optional<LogEvidence> evidence;
};

/// Sentences of the verdict: "Chains exchanged over 12 rungs before the warmup, barrier 8.1."
std::vector<std::string> sentences_of(Exchange const& exchange);

/// exchange.json: {"run": ..., "degraded": ..., "recovery": ..., "while_sampling": ..., "chains": [{"powers": [...], "swap_rates": [...],
/// "round_trips": ..., "barrier":
/// ...}], "evidence": {"stepping_stones": ..., "se": ..., "thermodynamic": ..., "thermodynamic_se": ...} or null}.
std::string to_json(Exchange const& exchange, std::string_view run, std::vector<Incident> const& incidents = {});

/// Reads what to_json wrote for the run of that hash; `text` is source number `source`. Reports BAM0547.
std::optional<Exchange> read_exchange(std::string_view text, std::string_view run, std::uint32_t source, Diagnostics& diagnostics);

}  // namespace bam
