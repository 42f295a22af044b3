// Replica exchange (math.md, 9b. Powers of the likelihood): replicas at powers of the likelihood from 1 down, which sweep each on their own
// and exchange their powers.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

#include "crew.hpp"
#include "evidence.hpp"
#include "recovery.hpp"
#include "replica.hpp"

namespace bam {

struct LadderOptions {
    std::size_t rungs = 12;  ///< at least 2
    double lowest = 0.05;    ///< power of the last rung, 0 to below 1
    std::uint64_t seed = 0;
    std::uint64_t chain = 1;
    std::size_t threads = 1;  ///< for the replicas; the draws do not depend on it
    SweepOptions sweep;
    /// Threads are woken for every round of sweeps, which costs tens of microseconds: they join where the fastest of the first rounds takes
    /// at least so long.
    std::chrono::microseconds worth_threads{250};
};

/// Powers from 1 to `lowest`, evenly spaced in the logarithm; if that is 0, to 1e-5 and then 0.
std::vector<double> first_powers(std::size_t rungs, double lowest);

/// `rungs` powers with the ends of `powers`, of which neighbours have the same share of the communication barrier: the sum of the shares of
/// refused exchanges, `refusals[i]` between rungs i and i + 1 (Syed, Bouchard-Côté, Deligiannidis and Doucet 2022).
std::vector<double> even_powers(std::vector<double> const& powers, std::vector<double> const& refusals, std::size_t rungs);

class Ladder {
  public:
    Ladder(Problem const& problem, LadderOptions const& options);

    /// Every replica at a dispersed start of its own; see Replica::start. `attempt` numbers it.
    void start(bool as_wide, std::uint64_t attempt = 0);
    /// Every replica there.
    void start(State const& state);
    /// A sweep of every replica, then exchanges between rungs 0 and 1, 2 and 3, ..., and the next time between 1 and 2, 3 and 4, ..., with
    /// the local scales of binary outputs integrated out, and drawn anew: this even-odd scheme is not reversible, so that replicas go on in
    /// one direction. `index` names the random numbers. A replica that numerical trouble stops goes on from the state of the nearest rung
    /// that has none. Throws what Recovery::sweep throws if there is none.
    void step(std::uint64_t index);
    /// What the last step took, rung by rung.
    std::vector<Repair> const& repairs() const { return repairs_; }
    /// Moves the powers to where exchanges would have been refused equally often, makes `rungs` of them, and begins to count anew.
    void place(std::size_t rungs);
    /// Begins to count anew.
    void forget();

    std::size_t rungs() const { return powers_.size(); }
    std::vector<double> const& powers() const { return powers_; }
    Replica const& at(std::size_t rung) const { return *members_[at_[rung]].replica; }  ///< rung 0 has power 1
    /// What the state at a rung says of the likelihood at other powers.
    RungDraw draw(std::size_t rung) const;
    /// Since counting began: shares of refused exchanges between neighbours, [rungs - 1], of their probabilities.
    std::vector<double> refusals() const;
    /// Times that a replica came from rung 0 to the last and back since counting began.
    std::size_t round_trips() const { return round_trips_; }

  private:
    /// A replica with its way out of trouble, and what became of its last sweep.
    struct Member {
        std::unique_ptr<Replica> replica;
        std::unique_ptr<Recovery> recovery;
        std::optional<Repair> repair = {};  ///< Remedy::Restart: it could not be swept
    };
    Member new_member();
    void sweep_all(std::uint64_t index);
    void sweep(Member& member, std::uint64_t index);
    void replace_lost();
    void exchange(std::uint64_t index);

    Problem const& problem_;
    LadderOptions options_;
    std::vector<Member> members_;
    std::vector<Repair> repairs_;
    std::uint64_t made_ = 0;                              ///< replicas so far: each has random numbers of its own
    std::vector<double> powers_;                          ///< per rung, falling
    std::vector<std::size_t> at_;                         ///< per rung: its replica
    std::vector<double> refused_, tried_;                 ///< per pair of neighbours
    enum class Way : std::uint8_t { Unknown, Down, Up };  ///< since it was at rung 0: not yet at the last, or on its way back
    std::vector<Way> ways_;                               ///< per replica
    std::size_t round_trips_ = 0;
    std::unique_ptr<Crew> crew_;  ///< once sweeps were seen to take long enough
    std::size_t timed_ = 0;       ///< rounds of sweeps
    std::chrono::steady_clock::duration fastest_ = std::chrono::steady_clock::duration::max();  ///< of them
};

}  // namespace bam
