// Who goes with whom: the assignment of rows to columns with the largest sum.
#pragma once

#include <Eigen/Core>
#include <cstddef>
#include <vector>

namespace bam {

/// Per row of a square matrix of gains the column it goes with, each column once, so that the sum of the gains is largest. O(n³), by the
/// Hungarian method: exact, so that what is matched does not depend on the order in which it stands.
std::vector<std::size_t> best_matching(Eigen::MatrixXd const& gains);

}  // namespace bam
