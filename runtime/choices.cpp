#include "choices.hpp"

#include <Eigen/Cholesky>
#include <algorithm>

#include "undetermined.hpp"

namespace bam {

void draw_choice(Eigen::Ref<Eigen::MatrixXd const> precision, Eigen::Ref<Eigen::VectorXd> linear, std::vector<double>& logits,
                 NormalSource& normals) {
    auto const d = static_cast<std::size_t>(linear.size());
    for (std::size_t g = 0; g < d; ++g) {
        auto const i = static_cast<Eigen::Index>(g);
        logits[g] = linear(i) - 0.5 * precision(i, i);
    }
    std::size_t const chosen = normals.categorical({logits.data(), d});
    linear.setZero();
    linear(static_cast<Eigen::Index>(chosen)) = 1;
}

namespace {

BlockPlan const& block_of(Plan const& plan, std::uint32_t variable) {
    return *std::find_if(plan.blocks.begin(), plan.blocks.end(), [&](BlockPlan const& block) { return block.variable == variable; });
}

std::size_t largest_group(BlockPlan const& block) {
    std::size_t largest = 0;
    for (auto const& group : block.groups) largest = std::max(largest, group.size());
    return largest;
}

}  // namespace

IntegratedChoice::IntegratedChoice(BlockContext const& context, std::uint32_t choice, Priors& priors)
    : block_(context.block),
      choice_(block_of(context.plan, choice)),
      priors_(priors),
      values_(context.state.values[choice]),
      log_weights_(context.factors.log_weights(choice)),
      variable_(context.plan.layout.variables[context.block.variable]),
      place_(index_of(context)) {
    Grid const& grid = context.inputs.bound.grid;
    Variable const& variable = context.plan.layout.variables[choice];
    size_ = grid.size(variable.extent);
    first_ = first_index(variable, grid);
    first_of_block_ = first_index(context.plan.layout.variables[block_.variable], grid);
    linear_.resize(largest_group(choice_));
    logits_.resize(largest_group(choice_));
    auto const order = static_cast<Eigen::Index>(largest_group(block_));
    precision_.resize(order, order);
    data_.resize(order);
    both_.resize(order);
    for (auto& linear : linear_) linear = priors.linear();
}

void IntegratedChoice::choose(std::vector<std::uint32_t> const& group, std::size_t index, std::size_t chosen) {
    for (std::size_t k = 0; k < group.size(); ++k) values_[group[k] * size_ + index] = k == chosen ? 1 : 0;
}

void IntegratedChoice::draw(System const& system, NormalSource& normals) {
    for (auto const& group : choice_.groups) {
        for (std::size_t k = 0; k < group.size(); ++k) {
            for (std::size_t index = first_; index < size_; ++index) choose(group, index, k);
            priors_.update();
            std::copy(priors_.linear().begin(), priors_.linear().end(), linear_[k].begin());
        }
        for (std::size_t index = first_; index < size_; ++index) {
            for (std::size_t k = 0; k < group.size(); ++k) logits_[k] = log_weights_[group[k] * size_ + index];
            for (std::size_t b = 0; index >= first_of_block_ && b < block_.groups.size(); ++b) weigh(b, index, system);
            choose(group, index, normals.categorical({logits_.data(), group.size()}));
        }
    }
}

/// Adds to every logit the log of the integral over one group of the block. With the data's Λ and η, the prior's precision Q and Q m of the
/// candidate, that is (η + Q m)' inv(Λ + Q) (η + Q m) / 2 - m' Q m / 2 and what all candidates share.
void IntegratedChoice::weigh(std::size_t b, std::size_t index, System const& system) {
    auto const& components = block_.groups[b];
    auto const d = static_cast<Eigen::Index>(components.size());
    auto precision = precision_.topLeftCorner(d, d);
    auto data = data_.head(d);
    auto both = both_.head(d);
    system(b, index, precision, data);
    both.setZero();
    priors_.add_to(components, index, precision, both);  // the precision is that of every candidate
    Eigen::LLT<Eigen::Ref<Eigen::MatrixXd>> const factor(precision);
    if (factor.info() != Eigen::Success) {
        bool const is_of_numbers = !data.allFinite() || priors_.determines(components, index);
        throw NumericalTrouble(without_variance(variable_, "give it a proper prior", is_of_numbers), place_, is_of_numbers);
    }
    for (std::size_t k = 0; k < linear_.size(); ++k) {
        both = data;
        for (Eigen::Index i = 0; i < d; ++i) {
            std::size_t const entry = components[static_cast<std::size_t>(i)] * size_ + index;
            double const linear = linear_[k][entry];
            both(i) += linear;
            if (double const q = priors_.precision()[entry]; q > 0) logits_[k] -= 0.5 * linear * linear / q;
        }
        factor.matrixL().solveInPlace(both);
        logits_[k] += 0.5 * both.squaredNorm();
    }
}

}  // namespace bam
