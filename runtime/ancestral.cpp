#include "ancestral.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "block_sampler.hpp"
#include "truncated_normal.hpp"

namespace bam {
namespace {

bool is_own(Plan const& plan, BlockPlan const& block, Equations const& equations) {
    return plan.layout.factors[equations.factor].target == block.variable;
}

/// Depth first.
void visit(Plan const& plan, std::size_t b, std::vector<bool>& visited, std::vector<std::size_t>& order) {
    if (visited[b]) return;
    visited[b] = true;
    BlockPlan const& block = plan.blocks[b];
    auto const follow = [&](Pass const& pass) {
        for (Register const& reg : pass.registers) {
            if (reg.from != From::Variable || reg.index == block.variable) continue;
            for (std::size_t other = 0; other < plan.blocks.size(); ++other)
                if (plan.blocks[other].variable == reg.index) visit(plan, other, visited, order);
        }
    };
    for (PriorPlan const& prior : block.priors) follow(prior.pass);
    for (Equations const& equations : block.equations)
        if (is_own(plan, block, equations)) follow(equations.pass);
    order.push_back(b);
}

}  // namespace

std::vector<std::size_t> ancestral_order(Plan const& plan) {
    std::vector<bool> visited(plan.blocks.size(), false);
    std::vector<std::size_t> order;
    for (std::size_t b = 0; b < plan.blocks.size(); ++b) visit(plan, b, visited, order);
    return order;
}

AncestralBlock::AncestralBlock(Problem const& problem, std::size_t block, std::vector<std::size_t> entries, Inputs const& inputs,
                               Factors const& factors, State& state)
    : block_(problem.plan.blocks[block]),
      variable_(problem.plan.layout.variables[block_.variable]),
      grid_(problem.bound.grid),
      factors_(factors),
      size_(grid_.size(variable_.extent)),
      values_(state.values[block_.variable]),
      entries_(std::move(entries)),
      is_drawn_(values_.size(), false),
      priors_(problem.plan, block_, inputs, factors) {
    Layout const& layout = problem.plan.layout;
    for (std::size_t const entry : entries_) is_drawn_[entry] = true;
    for (PriorPlan const& prior : block_.priors) {
        FactorLayout const& factor = layout.factors[prior.factor];
        if (!factor.has_covariance()) continue;
        auto const k = static_cast<std::size_t>(std::lround(std::sqrt(static_cast<double>(factor.spread.front().constant.size()))));
        order_ = std::max(order_, k);
    }
    for (Equations const& equations : block_.equations)
        if (is_own(problem.plan, block_, equations) && !layout.factors[equations.factor].is_flat())
            chained_.push_back({&equations, std::make_unique<PassRunner>(equations.pass, inputs)});
    // A statement on later steps goes on from what those on earlier steps have drawn.
    std::stable_sort(chained_.begin(), chained_.end(), [&](Chained const& x, Chained const& y) {
        return layout.factors[x.equations->factor].region.first_step < layout.factors[y.equations->factor].region.first_step;
    });
}

void AncestralBlock::draw(Stream& stream) {
    priors_.update();
    for (std::size_t const entry : entries_) {
        if (variable_.is_categorical) {
            choose(entry, stream);
            continue;
        }
        if (order_ > 1) {
            if (entry / size_ % order_ == 0) draw_together(entry / size_, entry % size_, stream);
            continue;
        }
        double const precision = priors_.precision()[entry];
        Interval const interval = factors_.interval(block_.variable, entry);
        if (interval.is_bounded()) {
            // A flat prior with an open end says nothing: the entry stays where it is.
            TruncatedNormal const prior(precision, priors_.linear()[entry], interval);
            if (prior.is_proper()) values_[entry] = stream.truncated(prior);
        } else if (precision > 0) {
            values_[entry] = priors_.linear()[entry] / precision + stream.normal() / std::sqrt(precision);
        }
    }
    for (Chained& chained : chained_) follow(chained, stream);
}

/// At the first entry of what is chosen among, drawn all or none, since they differ in labelled dims only.
void AncestralBlock::choose(std::size_t entry, Stream& stream) {
    for (auto const& group : block_.groups) {
        if (group.front() != entry / size_) continue;
        logits_.clear();
        for (std::uint32_t const component : group) logits_.push_back(priors_.linear()[component * size_ + entry % size_]);
        std::size_t const chosen = stream.categorical(logits_);
        for (std::size_t k = 0; k < group.size(); ++k) values_[group[k] * size_ + entry % size_] = k == chosen ? 1 : 0;
    }
}

/// The entries that share a covariance matrix: drawn all or none, since they differ in labelled dims only.
void AncestralBlock::draw_together(std::size_t first, std::size_t index, Stream& stream) {
    std::vector<std::uint32_t> components;
    for (std::size_t k = 0; k < order_; ++k) components.push_back(static_cast<std::uint32_t>(first + k));
    auto const order = static_cast<Eigen::Index>(order_);
    precision_.setZero(order, order);
    linear_.setZero(order);
    priors_.add_to(components, index, precision_, linear_);
    if (precision_.diagonal().isZero(0)) return;  // another statement speaks of this step
    if (!draw_normal(precision_, linear_, linear_, Relaxation(), stream, 0))
        throw NumericalTrouble("the prior of " + variable_.name + " has no finite variance");
    for (std::size_t k = 0; k < order_; ++k) values_[(first + k) * size_ + index] = linear_(static_cast<Eigen::Index>(k));
}

/// Step after step: covariates and offsets do not depend on the block itself, so one run of the pass serves the whole path.
void AncestralBlock::follow(Chained& chained, Stream& stream) {
    PassRunner& runner = *chained.runner;
    bool const is_over_time = runner.pass().domain == Extent::Time;
    runner.begin();
    for (Chunk const& chunk : runner.chunks()) {
        runner.run(chunk);
        std::size_t local = 0;
        for (std::size_t t = chunk.first_step; t < chunk.last_step; ++t) {
            std::size_t const lanes = is_over_time ? 1 : grid_.lanes(t);
            for (std::size_t lane = 0; lane < lanes; ++lane, ++local)
                for (std::size_t g = 0; g < chained.equations->groups.size(); ++g)
                    for (EquationRow const& row : chained.equations->groups[g]) follow_cell(chained, row, g, lane, t, local, stream);
        }
    }
}

/// covariates θ[t] + lagged θ[t-1] + offset is (mean - θ[t]), times a weight: solved for the entry that the row is the prior of.
void AncestralBlock::follow_cell(Chained& chained, EquationRow const& row, std::size_t group, std::size_t lane, std::size_t step,
                                 std::size_t local, Stream& stream) {
    std::vector<std::uint32_t> const& components = block_.groups[group];
    auto const index = [&](std::size_t t) { return variable_.extent == Extent::Cell ? grid_.cell(lane, t) : t; };
    std::size_t const entry = row.component * size_ + index(step);
    if (!is_drawn_[entry]) return;

    PassRunner const& runner = *chained.runner;
    auto const value = [&](std::uint32_t reg) { return reg == no_register ? 0.0 : runner.at(reg)[runner.is_one(reg) ? 0 : local]; };
    double weight = 0;
    double sum = value(row.offset);
    for (std::size_t k = 0; k < components.size(); ++k) {
        double const covariate = row.covariates.empty() ? 0.0 : value(row.covariates[k]);
        if (components[k] == row.component)
            weight = -covariate;
        else if (covariate != 0)
            sum += covariate * values_[components[k] * size_ + index(step)];
        if (!row.lagged.empty() && step > 0) sum += value(row.lagged[k]) * values_[components[k] * size_ + index(step - 1)];
    }
    if (weight == 0) return;  // another statement speaks of this step
    double const precision = factors_.precision(chained.equations->factor, row.component, lane, step);
    values_[entry] = sum / weight + stream.normal() / std::sqrt(precision);
}

}  // namespace bam
