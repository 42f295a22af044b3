// Replica exchange (math.md, 9b. Powers of the likelihood): replicas at powers of the likelihood from 1 down, which sweep each on their own
// and exchange their powers.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "replica.hpp"

namespace bam {

struct LadderOptions {
    std::size_t rungs = 8;  ///< at least 2
    double lowest = 1e-3;   ///< power of the last rung, 0 to below 1
    std::uint64_t seed = 0;
    std::uint64_t chain = 1;
    std::size_t threads = 1;  ///< for the replicas
    SweepOptions sweep;
};

/// Powers from 1 to `lowest`, evenly spaced in the logarithm; 0 comes after what would be 1e-5.
std::vector<double> first_powers(std::size_t rungs, double lowest);

/// `rungs` powers with the ends of `powers`, between which the communication barrier is the same: the sum of the shares of refused
/// exchanges, `refusals[i]` between rungs i and i + 1 (Syed, Bouchard-Côté, Deligiannidis and Doucet 2022).
std::vector<double> even_powers(std::vector<double> const& powers, std::vector<double> const& refusals, std::size_t rungs);

class Ladder {
  public:
    Ladder(Problem const& problem, LadderOptions const& options);

    /// Every replica at a dispersed start of its own; see Replica::start.
    void start(bool as_wide);
    /// A sweep of every replica, then exchanges between rungs 0 and 1, 2 and 3, ..., and the next time between 1 and 2, 3 and 4, ...: this
    /// even-odd scheme is not reversible, so that replicas go on in one direction. `index` names the random numbers.
    void step(std::uint64_t index);
    /// Moves the powers to where exchanges would have been refused equally often since the last time, and begins to count anew.
    void place();

    std::size_t rungs() const { return powers_.size(); }
    std::vector<double> const& powers() const { return powers_; }
    Replica const& at(std::size_t rung) const { return *replicas_[at_[rung]]; }  ///< rung 0 has power 1
    /// Since the last place(): shares of refused exchanges, [rungs - 1], in expectation, not as drawn.
    std::vector<double> refusals() const;
    /// Replicas that came from rung 0 to the last and back since the last place().
    std::size_t round_trips() const { return round_trips_; }

  private:
    void exchange(std::uint64_t index);

    Problem const& problem_;
    LadderOptions options_;
    std::vector<std::unique_ptr<Replica>> replicas_;
    std::vector<double> powers_;              ///< per rung, falling
    std::vector<std::size_t> at_;             ///< per rung: its replica
    std::vector<double> refused_, tried_;     ///< per pair of neighbours
    std::vector<bool> comes_from_last_;       ///< per replica: of the two ends it was last at the last rung
    std::size_t round_trips_ = 0;
};

}  // namespace bam
