// Parameters of which one entry along a dim is 1 and the others are 0 (math.md, 4c. Choices): drawn from all that they can be.
#pragma once

#include <Eigen/Core>
#include <functional>
#include <vector>

#include "block_sampler.hpp"

namespace bam {

/// Draws which entry of a group is 1: entry g with log probability linear[g] - precision[g, g] / 2 up to a constant. precision [d, d], of
/// which the diagonal is read; linear [d], log weights included, is overwritten with the draw; logits [>= d] is room.
void draw_choice(Eigen::Ref<Eigen::MatrixXd const> precision, Eigen::Ref<Eigen::VectorXd> linear, std::vector<double>& logits,
                 NormalSource& normals);

/// A choice that only the prior mean of one Gaussian block reads, drawn with that block integrated out. Given the block it would hardly
/// move where the prior is narrow. The block has to be drawn right after.
class IntegratedChoice {
  public:
    /// What the data say of the block: fills the lower triangle of the precision [d, d] and the linear term [d] of a group at an index of
    /// the extent, priors left out.
    using System = std::function<void(std::size_t group, std::size_t index, Eigen::Ref<Eigen::MatrixXd> precision,
                                      Eigen::Ref<Eigen::VectorXd> linear)>;

    /// `context`: of the block. `choice`: variable. `priors`: of the block; they follow the choices that are tried.
    IntegratedChoice(BlockContext const& context, std::uint32_t choice, Priors& priors);

    void draw(System const& system, NormalSource& normals);

  private:
    void choose(std::vector<std::uint32_t> const& group, std::size_t index, std::size_t chosen);
    void weigh(std::size_t block_group, std::size_t index, System const& system);

    BlockPlan const& block_;
    BlockPlan const& choice_;
    Priors& priors_;
    std::vector<double>& values_;  ///< of the choice
    std::vector<double> const& log_weights_;
    Variable const& variable_;  ///< of the block
    std::size_t place_;         ///< of the block in the plan
    std::size_t size_;          ///< of the extent that both have
    std::size_t first_, first_of_block_;
    std::vector<std::vector<double>> linear_;  ///< per candidate: the prior's, [component][extent] of the block
    std::vector<double> logits_;
    Eigen::MatrixXd precision_;
    Eigen::VectorXd data_, both_;
};

}  // namespace bam
