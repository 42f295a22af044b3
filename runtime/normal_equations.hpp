// The normal equations of a block without sequence or time dim (math.md, 4. The conditional): sums over cells of weighted products of
// covariates, one system per group.
#pragma once

#include <Eigen/Core>
#include <memory>
#include <optional>
#include <vector>

#include "factors.hpp"
#include "pass_runner.hpp"

namespace bam {

/// precision is the lower triangle; linear = -J'W offset.
class NormalEquations {
  public:
    NormalEquations(BlockPlan const& block, Inputs const& inputs, Factors const& factors);

    /// Sums over all cells of all factors but the block's priors. Runs every pass once.
    void accumulate();
    Eigen::MatrixXd& precision(std::size_t group) { return precision_[group]; }  ///< [d, d]
    Eigen::VectorXd& linear(std::size_t group) { return linear_[group]; }        ///< [d]

  private:
    /// Rows of one equation and group whose covariates are nonzero at the same entries: they share one sum.
    struct Sum {
        std::size_t group = 0;
        std::vector<Eigen::Index> active;
        std::vector<std::uint32_t> starts;  ///< per row: register of its first column; the others follow in memory
        bool has_offset = false;
        Eigen::MatrixXd moments;  ///< [k + 1, k + 1] lower: (J, offset)'(J, offset)
    };
    /// Sums of products of the Kronecker form, left pairs by right pairs, and its buffers for one chunk.
    struct KroneckerSum {
        KroneckerPlan const* plan = nullptr;
        Eigen::MatrixXd left, left_pairs, right_pairs, right_offsets;  ///< [chunk, entries or pairs]
        Eigen::MatrixXd pairs;                                         ///< [left pairs, right pairs]
        Eigen::MatrixXd linear;                                        ///< [left, right]
    };
    struct Equation {
        std::size_t factor = 0;
        std::unique_ptr<PassRunner> runner;
        std::vector<Sum> sums;
        std::optional<KroneckerSum> kronecker;
    };
    void add_chunk(KroneckerSum& sum, PassRunner const& runner, std::size_t n);
    void scatter(KroneckerSum const& sum, double precision);
    void add_rows(Sum& sum, PassRunner const& runner, std::size_t n);
    void scatter(Sum const& sum, double precision);

    Factors const& factors_;
    std::vector<Equation> equations_;
    std::vector<Eigen::MatrixXd> precision_;
    std::vector<Eigen::VectorXd> linear_;
};

}  // namespace bam
