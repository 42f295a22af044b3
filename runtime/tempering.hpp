// Whether and how the chains of a run exchange replicas.
#pragma once

#include <optional>

#include "bam/diagnostic.hpp"
#include "chains.hpp"
#include "ladder.hpp"

namespace bam {

struct Tempering {
    bool finds_start = false;        ///< replicas exchange before the warmup
    bool is_while_sampling = false;  ///< and go on
    std::size_t rungs = 0;           ///< as asked for; 0: 12 before the warmup, then as many as the barrier calls for
    double lowest = 0;               ///< power

    std::size_t first_rungs() const;
    std::size_t most_rungs() const;  ///< 0: no exchange
};

/// As the options say; where they leave it open, before the warmup where a mean multiplies blocks.
Tempering tempering_of(Problem const& problem, ChainOptions const& options);

/// Why what was asked for cannot be. BAM0548: no evidence of priors that are improper.
std::optional<Diagnostic> refuse_tempering(Problem const& problem, ChainOptions const& options);

/// Rungs for a barrier: of neighbours two exchanges of five are refused (the least round trip time has one of two).
std::size_t rungs_for(double barrier);

/// Sweeps of every rung before the warmup, and after which of them the rungs are placed.
inline constexpr std::size_t start_rounds = 200;
inline constexpr std::size_t start_places[] = {25, 50, 100};

}  // namespace bam
