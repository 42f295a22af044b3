// The identity that proves a conditional without any reference (as NIMBLE checks itself): a block drawn from chosen normals z stands at
// mean + L^-T z, so the log joint there plus z'z / 2 must not depend on z.
#pragma once

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "augmented_density.hpp"
#include "oracle.hpp"
#include "truncated_normal.hpp"

namespace bam::test {

/// Normals chosen beforehand; zero beyond them.
class ChosenNormals : public NormalSource {
  public:
    explicit ChosenNormals(std::vector<double> values) : values_(std::move(values)) {}
    double normal() override {
        double const z = next_ < values_.size() ? values_[next_] : 0;
        ++next_;
        squares_.push_back(z * z);
        return z;
    }
    /// At z = 0 the mean, else z sds from the mode or most of the way to an end.
    double truncated(TruncatedNormal const& density) override {
        double const z = next_ < values_.size() ? values_[next_] : 0;
        ++next_;
        densities_.push_back(density);
        double const right = density.interval().high - density.mode();
        double const left = density.mode() - density.interval().low;
        bool const is_up = (z > 0 && right > 0) || !(left > 0);
        double const distance = std::min(std::abs(z) / std::sqrt(density.precision()), 0.9 * (is_up ? right : left));
        double const x = z == 0 ? density.moments().mean : density.mode() + (is_up ? distance : -distance);
        squares_.push_back(2 * density.drop(x));
        return x;
    }
    /// At z = 0 the mode, else any that can be.
    std::size_t categorical(std::span<double const> logits) override {
        double const z = next_ < values_.size() ? values_[next_] : 0;
        ++next_;
        auto chosen = static_cast<std::size_t>(std::max_element(logits.begin(), logits.end()) - logits.begin());
        double const most = logits[chosen];
        choices_.emplace_back();
        double sum = 0;
        for (double const logit : logits) sum += std::exp(logit - most);
        for (double const logit : logits) choices_.back().push_back(std::exp(logit - most) / sum);
        if (z != 0) chosen = static_cast<std::size_t>(1000 * std::abs(z)) % logits.size();
        if (!std::isfinite(logits[chosen]))
            chosen = static_cast<std::size_t>(std::max_element(logits.begin(), logits.end()) - logits.begin());
        squares_.push_back(2 * (most - logits[chosen]));
        return chosen;
    }
    std::size_t taken() const { return next_; }
    /// Twice what the log densities have fallen from the modes, of all draws or of some.
    double squares() const { return squares(0, squares_.size()); }
    double squares(std::size_t first, std::size_t last) const {
        auto const begin = squares_.begin();
        return std::accumulate(begin + static_cast<std::ptrdiff_t>(first), begin + static_cast<std::ptrdiff_t>(last), 0.0);
    }
    /// Those that were drawn from, in their order.
    std::vector<TruncatedNormal> const& densities() const { return densities_; }
    /// The probabilities of what was chosen among, in the order of the choices.
    std::vector<std::vector<double>> const& choices() const { return choices_; }

  private:
    std::vector<TruncatedNormal> densities_;
    std::vector<std::vector<double>> choices_;
    std::vector<double> squares_;
    std::vector<double> values_;
    std::size_t next_ = 0;
};

/// Largest violation of the identity over all blocks of the plan, relative to the log joint, at the replica's state.
class Certificate {
  public:
    /// `power`: of the likelihood.
    Certificate(Study const& study, std::uint64_t seed, double power = 1)
        : study_(study), oracle_(study), replica_(study.problem, seed, 1, {}), random_(seed), power_(power) {
        replica_.set_power(power);
        replica_.start(0);
    }

    Replica& replica() { return replica_; }

    double worst_block() {
        double worst = 0;
        for (std::size_t b = 0; b < study_.problem.plan.blocks.size(); ++b) {
            bool const is_sweep = study_.problem.plan.blocks[b].method == PlanMethod::Sweep;
            worst = std::max(worst, is_sweep ? sweep(b) : whole(b, false));
            if (!study_.problem.plan.blocks[b].choices.empty()) worst = std::max(worst, whole(b, true));
        }
        return worst;
    }

    /// The engine's own log joint against the definition.
    double log_joint_error() {
        double const expected = oracle_.log_joint(replica_.state(), power_);
        return std::abs(log_augmented(study_.problem, replica_) - expected) / (1 + std::abs(expected));
    }

    /// What replicas exchange by, against the definition.
    double log_change_error() {
        double const expected = oracle_.log_observed(replica_.state());
        return std::abs(replica_.log_change(0, 1) - expected) / (1 + std::abs(expected));
    }

  private:
    /// `with_choices`: those that are drawn with it, too.
    double whole(std::size_t b, bool with_choices) {
        auto const draw = [&](NormalSource& normals) {
            with_choices ? replica_.draw_block_with_choices(b, normals) : replica_.draw_block(b, normals);
        };
        State const start = replica_.state();
        ChosenNormals none({});
        draw(none);
        double const reference = oracle_.log_joint(replica_.state(), power_) + 0.5 * none.squares();
        double worst = 0;
        for (int repeat = 0; repeat < 3; ++repeat) {
            ChosenNormals chosen(normals(none.taken()));
            replica_.set_state(start);
            draw(chosen);
            double const there = oracle_.log_joint(replica_.state(), power_);
            worst = std::max(worst, std::abs(there + 0.5 * chosen.squares() - reference) / (1 + std::abs(reference)));
        }
        return worst;
    }

    /// Step t of a swept block is drawn given the new values before it and the old ones after.
    double sweep(std::size_t b) {
        BlockPlan const& block = study_.problem.plan.blocks[b];
        Variable const& variable = study_.problem.plan.layout.variables[block.variable];
        Grid const& grid = study_.problem.bound.grid;
        State const start = replica_.state();
        double worst = 0;
        std::size_t first = 0;
        for (std::size_t t = variable.first_step; t < grid.steps; ++t) {
            std::size_t const lanes = variable.extent == Extent::Time ? 1 : grid.lanes(t);
            std::size_t const count = lanes * block.groups.front().size();
            double reference = 0;
            for (int repeat = 0; repeat < 2; ++repeat) {
                std::vector<double> z(first, 0.0);
                std::vector<double> const at_step = repeat == 0 ? std::vector<double>(count, 0.0) : normals(count);
                z.insert(z.end(), at_step.begin(), at_step.end());
                ChosenNormals chosen(z);
                replica_.set_state(start);
                replica_.draw_block(b, chosen);
                State mixed = replica_.state();
                restore_after(mixed, start, block.variable, t);
                double const there = oracle_.log_joint(mixed, power_) + 0.5 * chosen.squares(first, first + count);
                if (repeat == 0) {
                    reference = there;
                } else {
                    worst = std::max(worst, std::abs(there - reference) / (1 + std::abs(reference)));
                }
            }
            first += count;
        }
        return worst;
    }

    void restore_after(State& state, State const& start, std::uint32_t v, std::size_t step) const {
        Variable const& variable = study_.problem.plan.layout.variables[v];
        Grid const& grid = study_.problem.bound.grid;
        std::size_t const size = grid.size(variable.extent);
        std::size_t const from = variable.extent == Extent::Time ? step + 1 : grid.offsets[step + 1];
        for (std::size_t c = 0; c < variable.components; ++c) {
            for (std::size_t i = from; i < size; ++i) state.values[v][c * size + i] = start.values[v][c * size + i];
        }
    }

    std::vector<double> normals(std::size_t n) {
        std::vector<double> z(n);
        for (double& x : z) x = std::normal_distribution<double>()(random_);
        return z;
    }

    Study const& study_;
    Oracle oracle_;
    Replica replica_;
    std::mt19937_64 random_;
    double power_;
};

}  // namespace bam::test
