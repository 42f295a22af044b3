// A run of the variational backend: several starts, the best of them to its end.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "draws.hpp"
#include "mean_field.hpp"
#include "responses.hpp"

namespace bam {

struct VariationalOptions {
    std::size_t starts = 8;  ///< that compete where there may be several modes
    bool starts_from_prior = false;
    std::optional<State> start;  ///< the only one, if there is one
    double tolerance = 1e-9;     ///< of the change of the ELBO in one pass, relative to it; and 1e-3 nats at most may be left to climb
    std::size_t max_passes = 10000;
    std::uint64_t seed = 1;
    bool moves_orbits = true;
};

enum class ClimbEnding : std::uint8_t {
    Converged,
    Rounding,  ///< the ELBO does not rise any more, but rounding hides more of it than may be left to climb
    PassLimit,
    Stopped
};

/// How the climb went.
struct Climb {
    std::vector<double> starts;  ///< ELBO of each start after its short run; NaN of one that failed
    std::size_t chosen = 0;      ///< index of starts
    std::vector<double> trace;   ///< ELBO after each pass of the chosen one
    ClimbEnding ending = ClimbEnding::PassLimit;
    double rounding = 0;  ///< nats that the last passes raised the ELBO by beside what their updates said
    double seconds = 0;
    double pareto_k = 0;                     ///< of the draws (pareto.hpp)
    std::size_t draws = 0;                   ///< that it was found from
    LinearResponse response;                 ///< of the columns of the run; empty if nobody asked
    bool starts_at_mode = false;             ///< for its verdict
    std::vector<std::string> failures = {};  ///< per start, why it failed; else empty
    /// Choices that the prior of another parameter reads. Independent factors hold them where that has settled, whatever their
    /// probabilities, and pareto k does not see it: the draws are all from there.
    std::vector<std::string> held_choices = {};
};

/// Called after each pass, with the number of the start (from 1) and its ELBO.
using ClimbProgress = std::function<void(std::size_t start, std::size_t pass, double elbo)>;

/// Leaves the factors at the best optimum that it found.
Climb climb(MeanField& field, VariationalOptions const& options, ClimbProgress const& progress, std::stop_token const& stop);

/// Independent draws from the factors as a run of one chain, with exact means and variances of predictions where an output's transform is a
/// straight line.
struct FactorDraws {
    Run run;
    std::vector<double> log_ratios;  ///< log joint density minus log density of the factors, per draw
};
FactorDraws draw_factors(MeanField& field, std::size_t draws, std::uint64_t seed);

}  // namespace bam
