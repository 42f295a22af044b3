// The sweeps of one chain from its start to its end, by its replica or by a ladder of them, and what becomes of it in numerical trouble:
// the second and third rung of the recovery ladder (docs/architecture.md).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "chains.hpp"
#include "ladder.hpp"
#include "recovery.hpp"
#include "tempering.hpp"

namespace bam {

/// Other replicas that a chain goes on from, one after another, before it is dropped.
inline constexpr std::size_t most_restarts = 3;

/// What a chain did in an iteration.
enum class ChainStep : std::uint8_t { Done, Dropped, Stopped };

class ChainSweeps {
  public:
    /// `chain`: from 1. `threads`: for the replicas of its ladder. `tell` hears of every incident that is new to `record`.
    ChainSweeps(Problem const& problem, ChainOptions const& options, Tempering const& tempering, std::uint64_t chain, std::size_t threads,
                Chain& record, std::function<void(Incident const&)> tell);

    /// Leaves the replicas where the warmup begins, and says in the record how that was found.
    void find_start(std::stop_token const& stop);
    /// The sweeps of one iteration, from 0 over warmup and sampling. A chain that goes on from another replica's state warms up anew before
    /// that, out of sight. Throws what is no matter of numbers.
    ChainStep iterate(std::size_t iteration, std::stop_token const& stop);

    /// With the state of power 1.
    Replica& kept();
    /// Log joint of that state.
    double log_joint() const { return (ladder_ ? ladder_->at(0) : replica_).log_joint(); }
    Inputs inputs() const { return replica_.inputs(); }
    Ladder const* ladder() const { return ladder_.get(); }

  private:
    /// Why sweeps could not go on. `is_replaced`: by the state of another replica of the ladder, already.
    struct Trouble {
        std::optional<std::size_t> block;
        std::string reason;
        bool is_replaced = false;
    };

    void exchange_starts(std::stop_token const& stop);
    void climb_to_mode(std::stop_token const& stop);
    void compete(std::stop_token const& stop);
    /// So many sweeps; nothing if all went well. `index` of the first. `is_hidden`: of another warmup, which the chain does not count.
    std::optional<Trouble> sweep(std::uint64_t index, std::size_t count, std::stop_token const& stop, bool is_hidden);
    std::optional<Trouble> sweep_once(std::uint64_t index);
    void adapt(std::size_t iteration);
    /// Another state, that has nothing to do with the present one.
    void replace(Trouble const& why);
    void note(Repair const& repair);

    Problem const& problem_;
    ChainOptions const& options_;
    Tempering tempering_;
    std::uint64_t chain_;
    Chain& record_;
    std::function<void(Incident const&)> tell_;
    std::size_t sweeps_;  ///< of an iteration
    SweepOptions sweep_options_;
    Replica replica_;
    Recovery recovery_;
    std::unique_ptr<Ladder> ladder_;
    struct Spare {
        State state;
        std::string source;
    };
    std::vector<Spare> spares_;  ///< of replicas that it met at its start, the best last
    std::size_t restarts_ = 0;
    std::uint64_t attempts_ = 0;  ///< new starts so far: none is tried twice
    Phase phase_ = Phase::Start;
    std::size_t at_ = 0;  ///< sweeps since the start of the phase, or of the warmup
};

ChainExchange exchange_of(Ladder const& ladder);
ExchangeRates to_rates(Phase phase, ChainExchange const& exchange);

}  // namespace bam
