// The log density of every cell of a statement, local scales integrated out: what a cell says of the parameters that are in the draws.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "factors.hpp"
#include "pass_runner.hpp"
#include "replica.hpp"

namespace bam {

/// Of the statements of one problem, at a state as it is when asked. The state that `inputs` refer to must not move.
class CellDensities {
  public:
    CellDensities(Problem const& problem, Inputs const& inputs, Factors const& factors);

    /// Log densities of the cells of a factor's target that count, [component][extent], NaN where a cell does not. Of a factor with a
    /// Covariance, whose rows count together, there are none; a flat one has 0, and of a truncated one the normals are not divided by
    /// the share of its interval (Factors::log_truncation).
    std::vector<double> const& of(std::size_t factor);
    /// Their sum.
    double sum(std::size_t factor);

  private:
    /// The part of a factor's spread that is a local scale.
    struct Local {
        std::uint32_t part = 0;
        ScaleLayout const* scale = nullptr;
    };
    double log_density(std::size_t factor, std::size_t component, std::size_t sequence, std::size_t step, double residual) const;

    Problem const& problem_;
    Inputs inputs_;
    Factors const& factors_;
    std::vector<std::optional<Local>> locals_;          ///< per factor
    std::vector<std::unique_ptr<PassRunner>> runners_;  ///< per factor; null until it is asked for
    std::vector<double> values_;
};

}  // namespace bam
