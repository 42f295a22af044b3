// Entries of blocks drawn from their priors, each given what its prior reads: what is new in a table, and where chains start.
#pragma once

#include <Eigen/Core>
#include <memory>
#include <vector>

#include "factors.hpp"
#include "pass_runner.hpp"
#include "priors.hpp"
#include "random.hpp"
#include "replica.hpp"

namespace bam {

/// Indices of the plan's blocks: a block after those that its prior reads.
std::vector<std::size_t> ancestral_order(Plan const& plan);

/// Some entries of one block. A prior that holds the step before is followed along time.
class AncestralBlock {
  public:
    /// `entries`: [component][extent] of the block's variable, ascending.
    AncestralBlock(Problem const& problem, std::size_t block, std::vector<std::size_t> entries, Inputs const& inputs,
                   Factors const& factors, State& state);

    std::uint32_t variable() const { return block_.variable; }
    /// Draws the entries, into the state. What no prior speaks of, or a flat one, stays as it is. `factors`: refreshed.
    void draw(Stream& stream);

  private:
    /// A prior that leads from one step to the next.
    struct Chained {
        Equations const* equations;
        std::unique_ptr<PassRunner> runner;
    };
    void draw_together(std::size_t first, std::size_t index, Stream& stream);
    void choose(std::size_t entry, Stream& stream);
    void follow(Chained& chained, Stream& stream);
    void follow_cell(Chained& chained, EquationRow const& row, std::size_t group, std::size_t lane, std::size_t step, std::size_t local,
                     Stream& stream);

    BlockPlan const& block_;
    Variable const& variable_;
    Grid const& grid_;
    Factors const& factors_;
    std::size_t size_;  ///< of the extent
    std::vector<double>& values_;
    std::vector<std::size_t> entries_;
    std::vector<bool> is_drawn_;  ///< per entry of the variable
    Priors priors_;
    std::vector<Chained> chained_;
    std::size_t order_ = 1;  ///< components that one prior draws together
    Eigen::MatrixXd precision_;
    Eigen::VectorXd linear_;
    std::vector<double> logits_;
};

}  // namespace bam
