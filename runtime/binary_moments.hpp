// E[mean^2] of the cells of binary outputs under a factorised posterior: what the factors of their local scales are made of.
#pragma once

#include <vector>

#include "adjoint_runner.hpp"
#include "factors.hpp"

namespace bam {

class BinaryMoments {
  public:
    /// Of a binary factor of the plan. What `inputs` and `covariances` refer to must not move.
    BinaryMoments(Plan const& plan, ExpectationPlan const& expectations, std::size_t factor, Inputs const& inputs, Factors const& factors,
                  std::vector<Covariances> const& covariances);

    std::size_t factor() const { return factor_; }
    /// Adds E[mean]^2 + Var[mean] of every counting cell to its entry of the local scale, [component][extent].
    void add_squares(std::vector<double>& squares);

  private:
    void add(TermPlan const& term, AdjointRunner& runner, bool is_squared, std::vector<double>& squares);

    Plan const& plan_;
    TermPlan const& variance_;
    std::size_t factor_;
    Grid const& grid_;
    Factors const& factors_;
    AdjointRunner means_;
    AdjointRunner variances_;
};

}  // namespace bam
