// Simulation-based calibration (Talts, Betancourt, Simpson, Vehtari, Gelman 2018): parameters from the prior, outputs from them at the
// cells of this table, a chain on those outputs. If all is right, the truth is at any rank among the draws with the same probability.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "certify.hpp"
#include "replica.hpp"

namespace bam {

struct CalibrationOptions {
    std::uint64_t seed = 1;
    std::size_t replicates = 200;
    std::size_t draws = 31;            ///< of each chain, near to independent: ranks are 0, ..., draws
    std::size_t threads = 0;           ///< 0: as many as the machine has
    std::size_t most_quantities = 20;  ///< of which ranks are taken
};

/// The ranks of one quantity.
struct Ranks {
    std::string name;
    std::vector<std::size_t> counts;  ///< per bin of equally many ranks
    double chi_square = 0;
    double p = 1;
};

struct Calibration {
    std::size_t replicates = 0;
    std::size_t thin = 1;  ///< sweeps between two draws, from the effective sample size of a longer chain
    std::vector<Ranks> quantities;
};

/// Of a problem without flat priors (find_flat) whose means do not look back at missing outputs. The chain starts at the truth, which is a
/// draw from the posterior of the simulated outputs: it needs no warmup but to forget it, and what is tested is that sweeps leave the
/// posterior as it is. `thin` sweeps lie between draws, chosen so that the slowest quantity is near to independent.
Calibration calibrate(Problem const& problem, CalibrationOptions const& options);

/// Per quantity, p against 0.001 over the number of quantities (Bonferroni).
std::vector<Check> to_checks(Calibration const& calibration);
/// A histogram of bars per quantity, and its p.
std::string ranks_text(Calibration const& calibration);
std::string ranks_svg(Calibration const& calibration);

}  // namespace bam
