// What every statement of the model is worth under a factorised posterior: E[log density], its expected squares, and the weights with which
// its expected squared residuals count.
#pragma once

#include <memory>
#include <vector>

#include "adjoint_runner.hpp"
#include "factors.hpp"
#include "scale_factor.hpp"

namespace bam {

/// Of all factors of the model. Reads the means, covariances and expected precisions that `inputs` and `factors` refer to as they are when
/// it is asked; a precision that has changed counts after refresh().
class ExpectedFactors {
  public:
    /// `inputs.state` holds the means; where a scale is learnt, the number whose precision is E[precision].
    ExpectedFactors(Plan const& plan, ExpectationPlan const& expectations, Inputs const& inputs, Factors const& factors,
                    std::vector<Covariances> const& covariances);

    /// Brings the weights up to the scales of one factor as they are.
    void refresh(std::size_t factor);
    /// The outputs of the factor's pass, weighted by mask * E[precision]: their sum is the expected quadratic form of the factor.
    std::vector<WeightedOutput> outputs(std::size_t factor) const;
    std::vector<double> const& log_weights(std::uint32_t variable) const { return factors_.log_weights(variable); }
    bool is_flat(std::size_t factor) const { return plan_.layout.factors[factor].is_flat(); }

    /// Expected sum of squared residuals by entry of a scale, [component][extent], weighted by the rest of their expected precision.
    std::vector<double> squares(ScaleUse const& use);
    /// Expected sum of squared residuals times their precision, of a factor that is not flat.
    double quadratic(std::size_t factor) { return runners_[factor]->evaluate(); }
    /// What E[log density] has besides -1/2 the quadratic form and 1/2 E[log precision] per cell of a learnt scale: never changes.
    double constant(std::size_t factor) const { return constants_[factor]; }

  private:
    Plan const& plan_;
    ExpectationPlan const& expectations_;
    Grid const& grid_;
    Factors const& factors_;
    std::vector<std::vector<double>> weights_;  ///< per factor: [register][extent of the domain]
    std::vector<double> constants_;
    std::vector<std::unique_ptr<AdjointRunner>> runners_;
};

}  // namespace bam
