// One block's full conditional, ready to draw from.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "factors.hpp"
#include "pass_runner.hpp"
#include "priors.hpp"
#include "random.hpp"

namespace bam {

/// Something that cannot be drawn, or that is not finite.
struct NumericalTrouble : std::runtime_error {
    /// The data and the priors do not determine it: the model is to be mended.
    explicit NumericalTrouble(std::string const& what) : std::runtime_error(what) {}
    /// Of a block; `is_of_numbers`: the model determines it, and what failed is arithmetic, so that another try may do (recovery.hpp).
    NumericalTrouble(std::string const& what, std::optional<std::size_t> of, bool numbers)
        : std::runtime_error(what), block(of), is_of_numbers(numbers) {}
    std::optional<std::size_t> block;  ///< of the plan
    bool is_of_numbers = false;
};

class BlockSampler {
  public:
    virtual ~BlockSampler() = default;
    /// Draws the block given everything else in the state, into the state. Nothing is allocated.
    virtual void draw(NormalSource& normals) = 0;
    /// The same after the choices of the plan that only its prior mean reads, drawn with the block integrated out.
    virtual void draw_with_choices(NormalSource& normals) { draw(normals); }

    /// From now on draw() leaves in curvature() the precision of every entry given all others: the diagonal of the precision of what is
    /// drawn. `entries`: of the block's variable.
    void keep_curvature(std::size_t entries) { curvature_.assign(entries, 0.0); }
    std::vector<double> const& curvature() const { return curvature_; }  ///< [component][extent]

    /// From now on the diagonal of every precision that is drawn from is multiplied by this: 1 + jitter (math.md, 9d. Numerical trouble).
    void scale_diagonal(double factor) { diagonal_factor_ = factor; }
    double diagonal_factor() const { return diagonal_factor_; }

  protected:
    /// Of a precision that is about to be factored.
    template <class Precision>
    void raise_diagonal(Precision&& precision) const {
        if (diagonal_factor_ != 1) precision.diagonal() *= diagonal_factor_;
    }
    void note_curvature(std::size_t entry, double precision) {
        if (!curvature_.empty()) curvature_[entry] = precision;
    }

  private:
    std::vector<double> curvature_;
    double diagonal_factor_ = 1;
};

struct BlockContext {
    Plan const& plan;
    BlockPlan const& block;
    Inputs inputs;
    Factors& factors;
    State& state;
    bool draws_rows = false;  ///< one row after another instead of the whole block at once
    double relaxation = 0;    ///< of Gaussian draws, see Relaxation
};

/// Of its block in the plan.
inline std::size_t index_of(BlockContext const& context) { return static_cast<std::size_t>(&context.block - context.plan.blocks.data()); }

std::unique_ptr<BlockSampler> make_joint_sampler(BlockContext const& context);
std::unique_ptr<BlockSampler> make_sweep_sampler(BlockContext const& context);
std::unique_ptr<BlockSampler> make_markov_sampler(BlockContext const& context);

}  // namespace bam
