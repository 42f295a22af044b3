#include <algorithm>

#include "factor_update.hpp"

namespace bam {
namespace {

/// Blocks over time inside a recurrence. What the later steps make of a state does not depend on the steps up to it (F is linear in the
/// moments of the state), so one pass back and one forward update all steps in turn.
class SweepUpdate : public FactorUpdate {
  public:
    SweepUpdate(UpdateContext const& context, BlockPlan const& block) : block_(block), factors_(context, block.variable) {}

    double update() override {
        factors_.clear();
        for (auto& runner : factors_.runners) runner->look_back();
        for (auto& runner : factors_.runners) runner->begin();
        double rise = 0;
        std::vector<Chunk> const chunks = make_chunks(factors_.grid, Extent::Cell);
        for (Chunk const& chunk : chunks) {
            for (auto& runner : factors_.runners) runner->run(chunk);
            for (std::size_t t = chunk.first_step; t < chunk.last_step; ++t) rise += update_step(t);
            for (auto& runner : factors_.runners) runner->advance(chunk);
        }
        return rise;
    }

    void update_at_points() override {
        std::vector<double> kept;
        kept_ = &kept;
        kept.resize(factors_.covariances.same.size());
        update();
        kept_ = nullptr;
        std::copy(kept.begin(), kept.end(), factors_.covariances.same.begin());  // runners refer to the array
    }

  private:
    /// Sets the covariances of an entry aside.
    void make_point(std::size_t index) {
        for (std::size_t at = index; at < factors_.covariances.same.size(); at += factors_.covariances.size) {
            (*kept_)[at] = factors_.covariances.same[at];
            factors_.covariances.same[at] = 0;
        }
    }

    double update_step(std::size_t t) {
        for (auto& runner : factors_.runners) runner->run_step(t);
        if (t < factors_.variable.first_step) return 0;
        for (auto& runner : factors_.runners) runner->differentiate_step(t, factors_.gradient);
        double rise = 0;
        std::size_t const first = factors_.variable.extent == Extent::Time ? t : factors_.grid.offsets[t];
        std::size_t const count = factors_.variable.extent == Extent::Time ? 1 : factors_.grid.lanes(t);
        for (std::size_t index = first; index < first + count; ++index) {
            GaussianFactors::Step const step = factors_.step(block_.groups.front(), index);
            if (!step.is_proper) factors_.fail(block_.groups.front(), index);
            rise += step.rise;
            if (kept_ != nullptr) make_point(index);
        }
        for (auto& runner : factors_.runners) runner->run_step(t);
        return rise;
    }

    BlockPlan const& block_;
    GaussianFactors factors_;
    std::vector<double>* kept_ = nullptr;
};

}  // namespace

std::unique_ptr<FactorUpdate> make_sweep_update(UpdateContext const& context, BlockPlan const& block) {
    return std::make_unique<SweepUpdate>(context, block);
}

}  // namespace bam
