// Blocks outside of recurrences: every system by itself.
#include <algorithm>

#include "factor_update.hpp"

namespace bam {
namespace {

class JointUpdate : public FactorUpdate {
  public:
    JointUpdate(UpdateContext const& context, BlockPlan const& block) : block_(block), factors_(context, block.variable) {}

    double update() override {
        factors_.differentiate();
        double rise = 0;
        for_each_system(block_, factors_.variable, factors_.grid, [&](auto const& group, std::size_t index, auto) {
            GaussianFactors::Step const step = factors_.step(group, index);
            if (!step.is_proper) factors_.fail(group, index);
            rise += step.rise;
        });
        // A number that is learnt has no spread: expectation maximisation.
        if (factors_.variable.learnt_from) std::fill(factors_.covariances.same.begin(), factors_.covariances.same.end(), 0.0);
        return rise;
    }

  private:
    BlockPlan const& block_;
    GaussianFactors factors_;
};

}  // namespace

std::unique_ptr<FactorUpdate> make_joint_update(UpdateContext const& context, BlockPlan const& block) {
    return std::make_unique<JointUpdate>(context, block);
}

}  // namespace bam
