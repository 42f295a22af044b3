// Geweke's joint distribution test (Getting it right: joint distribution tests of posterior simulators, 2004). A chain that alternates a
// sweep, which leaves the posterior of the present outputs as it is, with new outputs of the present parameters, leaves their joint
// distribution as it is: its parameters have the moments of their priors. It sees what no check of single conditionals can: a wrong order,
// a stale cache, a move that is not reversible.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "checks.hpp"
#include "replica.hpp"

namespace bam {

struct JointTestOptions {
    std::uint64_t seed = 1;
    std::size_t sweeps = 10000;         ///< of all chains together, and simulations of the priors
    std::size_t threads = 0;            ///< 0: as many as the machine has
    std::size_t most_quantities = 200;  ///< whose moments are compared
};

/// Differences of the moments of one quantity, in standard errors of the difference.
struct MomentTest {
    std::uint32_t variable = 0;  ///< no_register: the log likelihood
    std::string name;            ///< "b[1]"
    double z_mean = 0;
    double z_square = 0;
    double p = 1;  ///< of both moments together
};

struct JointTest {
    std::size_t chains = 0;
    std::size_t sweeps = 0;  ///< of each chain
    std::vector<MomentTest> quantities;
    std::vector<std::string> names;  ///< of the layout's variables
};

/// Of a problem without flat priors (find_flat) whose means do not look back at missing outputs. Every chain starts at a draw from the
/// priors, with outputs of its own: it has the joint distribution from its start, and the chains are independent. So the standard error of
/// a moment comes from how the means of the chains differ, whatever the autocorrelation in them, and the difference to independent
/// simulations of the priors has Student's distribution (Welch). The moments are those of u / (1 + |u|), with u the distance of a quantity
/// to the median of its prior in median absolute deviations: priors of scales need not have moments. Depends on problem, seed and sweeps
/// only. Throws NumericalTrouble and ExactFit.
JointTest compare_joint(Problem const& problem, JointTestOptions const& options);

/// Per variable, p of all its moments together against 0.001 over the number of variables (Bonferroni).
std::vector<Check> to_checks(JointTest const& test);
/// Per variable the quantity that differs most.
std::string moments_text(JointTest const& test);
/// {"chains": ..., "sweeps": ..., "quantities": [{"name": ..., "z_mean": ..., "z_square": ..., "p": ...}]}
std::string moments_json(JointTest const& test);

}  // namespace bam
