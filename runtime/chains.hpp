// Chains on threads: starts, warmup, draws, progress, and a clean stop.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>

#include "bam/bam.hpp"
#include "draws.hpp"
#include "replica.hpp"

namespace bam {

class Checkpoints;

struct ChainOptions {
    std::size_t chains = 4;
    std::size_t num_warmup = 1000;
    std::size_t num_samples = 1000;
    std::size_t thin = 1;
    std::size_t sweeps = 0;  ///< of one iteration; 0: as sweeps_of() says
    std::uint64_t seed = 0;
    std::size_t threads = 0;           ///< 0: as many as the machine has
    std::size_t starts = 8;            ///< short runs that compete for the start of each chain, where there may be several modes
    bool starts_from_prior = false;    ///< blocks as wide as their priors, else no wider than sd 1
    std::size_t ascent_passes = 0;     ///< above 0 each chain starts at the highest mode that ascents of so many passes find
    std::optional<double> relaxation;  ///< of Gaussian draws, replaces sweep.relaxation; nothing: as relaxation_of() says
    ReplicaExchange exchange = ReplicaExchange::Start;
    std::size_t rungs = 0;  ///< 0: as tempering.hpp says
    bool evidence = false;
    SweepOptions sweep;
    bool predicts = true;                ///< fill Run::predictions
    std::size_t score_reports = 0;       ///< how often at most a chain tells of its scores; needs that they have densities
    Checkpoints* checkpoints = nullptr;  ///< where chains wait for one another, and may end; null: nowhere
    /// Called from the chains' threads, one at a time, of numerical trouble that a chain has not had before.
    std::function<void(Incident const&)> tell = {};
    /// The same of replicas that exchanged, when a phase of a chain has ended, after so many iterations. Chains count from 0.
    std::function<void(std::size_t chain, std::size_t iteration, ExchangeRates const&)> tell_rates = {};
};

/// What the Gibbs backend looks at.
ChainOptions to_chain_options(FitOptions const& options);

/// Sweeps of one iteration: as asked for, else 10 where successive sweeps are much alike (blocks multiply one another, or a prior's spread
/// is learnt), else 1.
std::size_t sweeps_of(Problem const& problem, ChainOptions const& options);

/// As asked for, else -0.6 where blocks multiply one another: their ridges are long, and over-relaxed draws walk along them. 0 elsewhere:
/// where a prior's spread is learnt the step to the other side keeps the spread where it is.
double relaxation_of(Problem const& problem, ChainOptions const& options);

/// Called from the chains' threads, one at a time. Iterations count from 1 over warmup and sampling.
/// `scores`: of a report of ChainOptions::score_reports, else null.
using ChainProgress = std::function<void(std::size_t chain, std::size_t iteration, std::size_t total, bool is_warmup, double log_joint,
                                         ChainScores const* scores)>;

/// Runs all chains and fills columns, chains, exchange and predictions. A stop request ends every chain after its present sweep; what was
/// drawn is kept and marked. Numerical trouble is met as recovery.hpp and chain_sweeps.hpp say, in Run::incidents; chains that it ends are
/// dropped, and all of them may be. Throws NumericalTrouble if a block cannot be drawn because the model does not determine it, NoModeFound
/// if a chain should start at a mode that there is not.
Run run_chains(Problem const& problem, ChainOptions const& options, ChainProgress const& progress, std::stop_token stop);

}  // namespace bam
