// How many entries of a dim that two blocks are contracted over (hidden units) have a part in the mean, draw by draw: a number that no
// symmetry of the likelihood changes (math.md, 8. What the likelihood cannot see).
#pragma once

#include <string>
#include <vector>

#include "draws.hpp"
#include "plan.hpp"

namespace bam {

/// A unit counts where its size is at least this share of that of the largest.
inline constexpr double active_share = 0.1;

/// Of two blocks A and B that stand in the means as sum over i of A[i] M B[i] only. Where any G A, inv(G)' B is the same model, the sizes
/// are the singular values of sum of A[i] B[i]'; where G has to be diagonal, |A[i]| |B[i]|.
struct ActiveUnits {
    std::string dim;
    std::string first, second;   ///< names of the blocks
    std::size_t size = 0;        ///< of the dim
    std::vector<double> shares;  ///< [size + 1]: of the draws in which k units count
};

/// One for each pair of blocks of the orbits that share a dim of more than one entry and have no entries over sequences or steps.
std::vector<ActiveUnits> find_active_units(Layout const& layout, std::vector<OrbitPlan> const& orbits, Run const& run);

/// `unit: 1 of 4 count in 97 % of the draws, 2 in 3 % (W_k, W_q; ...)`, a line each.
std::string active_units_text(std::vector<ActiveUnits> const& units);
/// [{"dim": ..., "blocks": [...], "size": ..., "shares": [...]}]
std::string active_units_json(std::vector<ActiveUnits> const& units);

}  // namespace bam
