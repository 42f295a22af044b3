// A sweep of coordinate ascent. With its normals 0 a Gaussian draw is the conditional mean, which is where the density is highest, so that
// every fast form of a draw serves here too. An over-relaxed step beyond the mean still rises: by (1 - relaxation^2) of what the mean
// would.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "entry_name.hpp"
#include "magnitude.hpp"
#include "replica.hpp"
#include "scales.hpp"
#include "trouble.hpp"
#include "truncated_normal.hpp"

namespace bam {
namespace {

class Zeros final : public NormalSource {
  public:
    double normal() override { return 0; }
    double truncated(TruncatedNormal const& density) override { return density.mode(); }
    std::size_t categorical(std::span<double const> logits) override {
        return static_cast<std::size_t>(std::max_element(logits.begin(), logits.end()) - logits.begin());
    }
};

double largest(std::vector<double> const& values) {
    double most = 0;
    for (double const value : values) most = std::max(most, std::abs(value));
    return most;
}

}  // namespace

AscentPass Replica::ascend() {
    try {
        return ascend_all();
    } catch (NumericalTrouble const& trouble) {
        look_behind(trouble.block, trouble.is_of_numbers);
        throw;
    }
}

AscentPass Replica::ascend_all() {
    Plan const& plan = problem_.plan;
    AscentPass pass;
    Zeros zeros;
    if (scale_starts_.empty()) {
        scale_starts_.resize(state_.values.size());
        for (ScaleLayout const& scale : plan.layout.scales) scale_starts_[scale.variable] = state_.values[scale.variable];
        scale_sds_ = scale_starts_;
        for (std::size_t b = 0; b < samplers_.size(); ++b) samplers_[b]->keep_curvature(state_.values[plan.blocks[b].variable].size());
    }
    for (std::size_t b = 0; b < samplers_.size(); ++b) {
        std::uint32_t const v = plan.blocks[b].variable;
        climb({v}, plan.layout.variables[v].name, pass, [&] {
            std::vector<double> const present = state_.values[v];
            samplers_[b]->draw(zeros);
            for (std::size_t e = 0; e < present.size(); ++e) {
                double const move = std::abs(state_.values[v][e] - present[e]) * std::sqrt(samplers_[b]->curvature()[e]);
                double const relaxation = factors_.interval(v, e).is_bounded() ? 0 : options_.relaxation;
                pass.largest_move = std::max(pass.largest_move, move / (1 - relaxation));
            }
            finish();
        });
    }
    for (std::size_t k = 0, lagged = 0; lagged < problem_.augmented.size(); ++lagged) {
        if (problem_.augmented[lagged].empty()) continue;
        Augmentation& augmentation = *augmentations_[k++];
        climb({plan.lagged_outputs[lagged].variable}, "the missing cells of an output", pass, [&] {
            augmentation.draw(zeros);
            pass.largest_move = std::max(pass.largest_move, augmentation.largest_move());
            finish();
        });
    }
    for (std::size_t k = 0; k < orbits_.size() && options_.moves_orbits; ++k) {
        if (!orbits_[k]) continue;
        OrbitPlan const& orbit = plan.orbits[k];
        std::string const what =
            fmt::format("the orbit of {} and {}", plan.layout.variables[orbit.first].name, plan.layout.variables[orbit.second].name);
        climb({orbit.first, orbit.second}, what, pass, [&] {
            if (!orbits_[k]->maximise() && !pass.without_mode) pass.without_mode = NoMode{orbit.first, "", 0, orbit.second};
            finish();
        });
    }
    for (ScaleLayout const& scale : plan.layout.scales) {
        std::uint32_t const v = scale.variable;
        climb({v}, plan.layout.variables[v].name, pass, [&] {
            factors_.gather(scale);
            ScaleMode const mode = maximise_scale(scale, plan.layout, factors_, scale_starts_[v], state_, scale_sds_[v]);
            pass.largest_move = std::max(pass.largest_move, mode.largest_move);
            if (mode.without_mode && !pass.without_mode)
                pass.without_mode = NoMode{v, entry_name(plan.layout.variables[v], *mode.without_mode, plan.layout, problem_.bound),
                                           scale_starts_[v][*mode.without_mode], std::nullopt};
            update_densities();
        });
    }
    return pass;
}

template <class Move>
void Replica::climb(std::vector<std::uint32_t> const& variables, std::string const& what, AscentPass& pass, Move move) {
    std::vector<std::vector<double>> present;
    present.reserve(variables.size());
    for (std::uint32_t const v : variables) present.push_back(state_.values[v]);
    double const before = log_joint_;
    move();
    double const after = log_joint_;
    if (!std::isfinite(after)) throw TooLarge("the log joint density");
    if (!(after < before - rounding())) return;
    double const slack = cancellation();
    for (std::size_t k = 0; k < variables.size(); ++k) std::copy(present[k].begin(), present[k].end(), state_.values[variables[k]].begin());
    finish();
    pass.is_rounded = true;
    if (after >= before - std::max(slack, cancellation())) return;
    throw std::logic_error(
        fmt::format("the log joint fell from {} to {} when {} was set to the mode of its conditional density", before, after, what));
}

double Replica::rounding() const {
    constexpr double steps = 64;  // operations behind a residual, generously
    constexpr double epsilon = std::numeric_limits<double>::epsilon();
    Layout const& layout = problem_.plan.layout;
    double result = 1 + std::abs(log_joint_);
    double of_residuals = 0;
    for (std::size_t f = 0; f < layout.factors.size(); ++f) {
        FactorLayout const& factor = layout.factors[f];
        std::vector<double> const& state = state_.values[factor.target];
        std::vector<double> const& target = state.empty() ? problem_.bound.data[factor.target] : state;
        result += static_cast<double>(target.size());
        // A residual is off by about epsilon times its target: (precision / 2) sum r^2 by that times precision sum |r|.
        of_residuals += factors_.rounding(f, epsilon * largest(target));
    }
    return 1e-10 * result + steps * of_residuals;
}

bool Replica::is_at_end(std::uint32_t variable, std::size_t entry) const {
    Interval const interval = factors_.interval(variable, entry);
    double const value = state_.values[variable][entry];
    return value == interval.low || value == interval.high;
}

std::vector<std::vector<double>> Replica::conditional_sds() const {
    std::vector<std::vector<double>> sds = scale_sds_;
    for (std::size_t b = 0; b < samplers_.size(); ++b) {
        std::uint32_t const v = problem_.plan.blocks[b].variable;
        std::vector<double> const& curvature = samplers_[b]->curvature();
        for (std::size_t e = 0; e < curvature.size(); ++e) {
            bool const has_one = curvature[e] > 0 && !is_at_end(v, e);
            sds[v].push_back(has_one ? 1 / std::sqrt(curvature[e]) : std::numeric_limits<double>::quiet_NaN());
        }
    }
    return sds;
}

}  // namespace bam
