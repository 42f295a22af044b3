// A set of blocks of which any two trade a factor: to one representative of all that are the same to the likelihood (math.md, 8b. What is
// shown of raw weights).
#pragma once

#include <Eigen/Core>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace bam {

/// Blocks that trade factors at each index of a dim, or one block by itself. Indices are rows.
struct GaugeGroup {
    std::vector<std::size_t> blocks;  ///< of the set; two, where `mixes`
    bool mixes = false;               ///< any invertible matrix along the dim may be traded; else a number for each index
};

using BlockValues = std::vector<Eigen::MatrixXd>;  ///< per block of the set: [index of its group's dim, entries]

/// Blocks to the same norm: where a group mixes, rows are S^(1/2) U' and S^(1/2) V' of A'B = U S V', singular values falling; elsewhere a
/// row of every block of a group has the same norm. `sizes`, if given: per group that mixes, its singular values as they were found.
void to_gauge(std::vector<GaugeGroup> const& groups, BlockValues& values, std::vector<Eigen::VectorXd>* sizes = nullptr);

/// What is left of the freedom: per group, which of its rows becomes row i, and with which sign, by block of the group.
struct GaugeMatch {
    struct Group {
        std::vector<std::size_t> rows;  ///< row rows[i] becomes row i
        Eigen::MatrixXd signs;          ///< [i, block of the group]
    };
    std::vector<Group> groups;
    double value = 0;  ///< the inner product with the reference, summed over blocks
};

/// The signs and, where a group mixes, the numbering that bring values in their gauge nearest to the reference: exact, by a matching.
GaugeMatch match(std::vector<GaugeGroup> const& groups, BlockValues const& values, BlockValues const& reference);
void apply(GaugeMatch const& found, std::vector<GaugeGroup> const& groups, BlockValues& values);

/// Signs by which a draw in its gauge can be the reference of others, whatever signs it came with.
void orient(std::vector<GaugeGroup> const& groups, BlockValues& values);

}  // namespace bam
