// The first rung of the recovery ladder (docs/architecture.md; math.md, 9d. Numerical trouble): a sweep that meets numerical trouble is
// done anew, and then with jitter. What does not help is left to those who have other replicas: ladder.hpp, chain_sweeps.hpp.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "bam/incident.hpp"
#include "replica.hpp"

namespace bam {

/// Shares of the diagonal that are tried, by decades.
inline constexpr double least_jitter = 1e-12, most_jitter = 1e-6;

/// What it took to end a sweep. An Incident that knows nothing of chains yet.
struct Repair {
    Remedy remedy = Remedy::Rebuild;
    std::optional<std::size_t> block;  ///< of the plan
    double amount = 0;                 ///< of Remedy::Jitter
    std::string source = {};           ///< of Remedy::Restart
    std::string reason = {};
};

/// Sweeps of one replica. Nothing is allocated in a sweep without trouble.
class Recovery {
  public:
    explicit Recovery(Replica& replica);
    /// Replica::sweep. Says what it took if it took anything: Remedy::Rebuild or Remedy::Jitter. Trouble is also a log joint that is not
    /// finite at power 1. Throws NumericalTrouble if neither helps, with the replica at the state before the sweep, and what is no matter
    /// of numbers at once.
    std::optional<Repair> sweep(std::uint64_t index);

  private:
    void sweep_once(std::uint64_t index);
    Repair retry(std::uint64_t index, NumericalTrouble const& trouble);
    /// The sweep, with the block's diagonal raised; false if it meets trouble again.
    bool has_swept(std::uint64_t index, std::optional<std::size_t> block, double jitter);

    Replica& replica_;
    State before_;
};

}  // namespace bam
