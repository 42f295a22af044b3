// A sweep of coordinate ascent. With its normals 0 a Gaussian draw is the conditional mean, which is where the density is highest, so that
// every fast form of a draw serves here too. An over-relaxed step beyond the mean still rises: by (1 - relaxation^2) of what the mean
// would.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "replica.hpp"
#include "scales.hpp"
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
        std::vector<double> const present = state_.values[v];
        double const before = log_joint_;
        samplers_[b]->draw(zeros);
        for (std::size_t e = 0; e < present.size(); ++e) {
            double const move = std::abs(state_.values[v][e] - present[e]) * std::sqrt(samplers_[b]->curvature()[e]);
            double const relaxation = factors_.interval(v, e).is_bounded() ? 0 : options_.relaxation;
            pass.largest_move = std::max(pass.largest_move, move / (1 - relaxation));
        }
        finish();
        require_rise(before, plan.layout.variables[v].name);
    }
    for (std::size_t k = 0; k < augmentations_.size(); ++k) {
        double const before = log_joint_;
        augmentations_[k]->draw(zeros);
        pass.largest_move = std::max(pass.largest_move, augmentations_[k]->largest_move());
        finish();
        require_rise(before, "the missing cells of an output");
    }
    for (std::size_t k = 0; k < orbits_.size() && options_.moves_orbits; ++k) {
        if (!orbits_[k]) continue;
        OrbitPlan const& orbit = plan.orbits[k];
        double const before = log_joint_;
        if (!orbits_[k]->maximise() && !pass.without_mode) pass.without_mode = NoMode{orbit.first, 0, 0, orbit.second};
        finish();
        require_rise(before, fmt::format("the orbit of {} and {}", plan.layout.variables[orbit.first].name,
                                         plan.layout.variables[orbit.second].name));
    }
    for (ScaleLayout const& scale : plan.layout.scales) {
        std::uint32_t const v = scale.variable;
        factors_.gather(scale);
        ScaleMode const mode = maximise_scale(scale, plan.layout, factors_, scale_starts_[v], state_, scale_sds_[v]);
        pass.largest_move = std::max(pass.largest_move, mode.largest_move);
        if (mode.without_mode && !pass.without_mode)
            pass.without_mode = NoMode{v, *mode.without_mode, scale_starts_[v][*mode.without_mode], std::nullopt};
        double const before = log_joint_;
        update_densities();
        require_rise(before, plan.layout.variables[v].name);
    }
    return pass;
}

void Replica::require_rise(double before, std::string const& what) const {
    if (log_joint_ >= before - rounding()) return;
    throw std::logic_error(
        fmt::format("the log joint fell from {} to {} when {} was set to the mode of its conditional density", before, log_joint_, what));
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
