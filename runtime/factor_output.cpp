#include <algorithm>

#include "factor_update.hpp"

namespace bam {
namespace {

/// Missing cells of an output. Two of them meet in one residual only if they are no farther apart than the longest look back; cells that
/// are farther apart, one component at a time, are updated together.
class OutputUpdate : public FactorUpdate {
  public:
    OutputUpdate(UpdateContext const& context, std::size_t lagged_output)
        : missing_(context.problem.augmented[lagged_output]),
          factors_(context, context.problem.plan.lagged_outputs[lagged_output].variable) {
        for (LagEffect const& effect : context.problem.plan.lagged_outputs[lagged_output].effects)
            reach_ = std::max<std::size_t>(reach_, effect.lag);
    }

    double update() override {
        double rise = 0;
        for (std::uint32_t c = 0; c < factors_.variable.components; ++c) {
            for (std::size_t colour = 0; colour <= reach_; ++colour) rise += update_cells(c, colour);
        }
        return rise;
    }

  private:
    double update_cells(std::uint32_t component, std::size_t colour) {
        std::vector<std::size_t> cells;
        for (std::size_t t = colour; t < factors_.grid.steps; t += reach_ + 1) {
            for (std::size_t s = 0; s < factors_.grid.lanes(t); ++s) {
                if (missing_[component * factors_.grid.cells() + factors_.grid.cell(s, t)]) cells.push_back(factors_.grid.cell(s, t));
            }
        }
        if (cells.empty()) return 0;
        factors_.differentiate();
        double rise = 0;
        for (std::size_t cell : cells) {
            GaussianFactors::Step const step = factors_.step({component}, cell);
            if (step.is_proper) rise += step.rise;  // otherwise no statement speaks of the cell
        }
        return rise;
    }

    std::vector<bool> const& missing_;
    GaussianFactors factors_;
    std::size_t reach_ = 0;
};

}  // namespace

std::unique_ptr<FactorUpdate> make_output_update(UpdateContext const& context, std::size_t lagged_output) {
    return std::make_unique<OutputUpdate>(context, lagged_output);
}

}  // namespace bam
