// What a run met of numerical trouble, and how far it had to go to go on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace bam {

/// Of a chain. What comes before the kept draws leaves them as exact as ever.
enum class Phase : std::uint8_t { Start, Warmup, Sampling };

/// The rungs of the recovery ladder, in their order: each taken where the one before does not help.
enum class Remedy : std::uint8_t {
    Rebuild,  ///< the sweep was done anew from the state before it, with all sums rebuilt: no number changes
    Jitter,   ///< the same, with something added to the diagonal of the precision that would not factor
    Restart,  ///< the chain went on from another replica's state, after a warmup of its own
    Drop,     ///< the chain ended: its draws are in no summary
    Mode,     ///< no chain was left: the mode stands in for the draws, and the run is degraded
};

/// One step of the recovery of one chain. The same step taken again is counted, not listed again.
struct Incident {
    std::size_t chain = 0;  ///< from 1; 0 of Remedy::Mode, which is of the run
    Phase phase = Phase::Start;
    Remedy remedy = Remedy::Rebuild;
    std::string block = {};   ///< the parameter that could not be drawn; "" if the trouble was seen after a sweep only
    std::size_t sweep = 0;    ///< the first that it was needed in, from 1 over warmup and sampling; of a start, over that
    std::size_t times = 1;    ///< sweeps
    double amount = 0;        ///< of Remedy::Jitter: the most that was added to an entry of the diagonal, as a share of that entry
    std::string source = {};  ///< of Remedy::Restart: what it went on from
    std::string reason = {};  ///< what could not be done, the first time
};

}  // namespace bam
