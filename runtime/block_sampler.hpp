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

/// A precision that does not factor: the data and the priors do not determine the block.
struct NumericalTrouble : std::runtime_error {
    using std::runtime_error::runtime_error;
    NumericalTrouble(std::string const& what, std::uint32_t of) : std::runtime_error(what), block(of) {}
    std::optional<std::uint32_t> block;  ///< the variable, if a block's own precision failed
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

  protected:
    void note_curvature(std::size_t entry, double precision) {
        if (!curvature_.empty()) curvature_[entry] = precision;
    }

  private:
    std::vector<double> curvature_;
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

std::unique_ptr<BlockSampler> make_joint_sampler(BlockContext const& context);
std::unique_ptr<BlockSampler> make_sweep_sampler(BlockContext const& context);
std::unique_ptr<BlockSampler> make_markov_sampler(BlockContext const& context);

}  // namespace bam
