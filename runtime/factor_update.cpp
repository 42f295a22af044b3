#include "factor_update.hpp"

#include <fmt/format.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <numeric>

#include "block_sampler.hpp"
#include "simulation.hpp"
#include "trouble.hpp"
#include "undetermined.hpp"

namespace bam {
namespace {

std::vector<std::uint32_t> all_factors(UpdateContext const& context) {
    std::vector<std::uint32_t> factors(context.expectations.squares.size());
    std::iota(factors.begin(), factors.end(), std::uint32_t{0});
    return factors;
}

/// Powers of 2 near 1 / sqrt of the diagonal: the factor of what they scale is the same, bit by bit, but its condition is that of
/// directions and not of units.
Eigen::VectorXd unit_scale(Eigen::MatrixXd const& precision) {
    return precision.diagonal().unaryExpr([](double p) { return std::ldexp(1.0, -std::ilogb(p) / 2); });
}

}  // namespace

GaussianFactors::GaussianFactors(UpdateContext const& context, std::uint32_t v, std::vector<std::uint32_t> const& factors)
    : variable(context.problem.plan.layout.variables[v]),
      grid(context.problem.bound.grid),
      means(context.posterior.state.values[v]),
      covariances(context.posterior.covariances[v]),
      truncated(context.posterior.truncated[v]),
      log_weights(context.factors.log_weights(v)),
      gradient(make_gradient(covariances)),
      context_(context),
      index_of_variable_(v) {
    auto const& blocks = context.problem.plan.blocks;
    auto const block = std::find_if(blocks.begin(), blocks.end(), [&](BlockPlan const& one) { return one.variable == v; });
    if (block != blocks.end()) block_ = static_cast<std::size_t>(block - blocks.begin());
    for (std::uint32_t f : factors) {
        if (!context.factors.is_flat(f)) add_runner(context, context.expectations.squares[f].pass, context.factors.outputs(f));
    }
}

GaussianFactors::GaussianFactors(UpdateContext const& context, std::uint32_t v) : GaussianFactors(context, v, all_factors(context)) {
    for (Tilt const& tilt : context.tilts) {
        std::vector<WeightedOutput> outputs;
        std::size_t const size = tilt.weights.size() / tilt.term->registers.size();
        for (std::size_t c = 0; c < tilt.term->registers.size(); ++c) {
            if (tilt.term->registers[c] != no_register) outputs.push_back({tilt.term->registers[c], tilt.weights.data() + c * size});
        }
        add_runner(context, tilt.term->pass, std::move(outputs));
    }
}

void GaussianFactors::add_runner(UpdateContext const& context, Pass const& pass, std::vector<WeightedOutput> outputs) {
    bool const occurs = std::any_of(pass.registers.begin(), pass.registers.end(), [&](Register const& reg) {
        return (reg.from == From::Variable || reg.from == From::Covariance) && reg.index == index_of_variable_;
    });
    if (!occurs) return;
    runners.push_back(
        std::make_unique<AdjointRunner>(pass, std::move(outputs), context.inputs, context.posterior.covariances, index_of_variable_));
}

void GaussianFactors::clear() {
    for (auto* part : {&gradient.mean, &gradient.same, &gradient.before}) std::fill(part->begin(), part->end(), 0.0);
}

void GaussianFactors::differentiate() {
    clear();
    for (auto& runner : runners) runner->differentiate(gradient);
}

Eigen::MatrixXd GaussianFactors::precision(std::vector<std::uint32_t> const& group, std::size_t index) const {
    auto const d = static_cast<Eigen::Index>(group.size());
    Eigen::MatrixXd result(d, d);
    for (Eigen::Index i = 0; i < d; ++i) {
        std::uint32_t const a = group[static_cast<std::size_t>(i)];
        for (Eigen::Index j = 0; j <= i; ++j) {
            std::uint32_t const b = group[static_cast<std::size_t>(j)];
            // The derivative in a covariance off the diagonal is that of both places.
            result(i, j) = result(j, i) =
                (i == j ? 1 : 0.5) * gradient.same[covariances.pair[a * covariances.components + b] * covariances.size + index];
        }
    }
    return result;
}

Eigen::VectorXd GaussianFactors::slope(std::vector<std::uint32_t> const& group, std::size_t index) const {
    Eigen::VectorXd result(static_cast<Eigen::Index>(group.size()));
    for (Eigen::Index i = 0; i < result.size(); ++i)
        result(i) = gradient.mean[group[static_cast<std::size_t>(i)] * covariances.size + index];
    return result;
}

GaussianFactors::Step GaussianFactors::step(std::vector<std::uint32_t> const& group, std::size_t index) {
    if (variable.is_categorical) return step_choice(group, index);
    std::size_t const first = group.front() * covariances.size + index;
    if (!truncated.empty() && truncated[first].density.interval().is_bounded()) return step_truncated(group.front(), index);
    auto const d = static_cast<Eigen::Index>(group.size());
    Eigen::MatrixXd const precision = this->precision(group, index);
    Eigen::VectorXd const slope = this->slope(group, index);
    if (!(precision.diagonal().minCoeff() > 0) || !precision.allFinite()) return {0, false};
    Eigen::VectorXd const unit = unit_scale(precision);
    Eigen::LLT<Eigen::MatrixXd> const factor(unit.asDiagonal() * precision * unit.asDiagonal());
    if (factor.info() != Eigen::Success || !(factor.rcond() > 1e-15)) return {0, false};
    Eigen::MatrixXd const old = covariance_of(group, index, covariances);
    Eigen::MatrixXd const covariance = unit.asDiagonal() * factor.solve(Eigen::MatrixXd::Identity(d, d)) * unit.asDiagonal();
    Eigen::VectorXd const move = unit.asDiagonal() * factor.solve(unit.cwiseProduct(slope)) * -0.5;
    Step step;
    bool const is_point = variable.learnt_from.has_value();
    // -(F(m', V') - F(m, V)) / 2 + (log |V'| - log |V|) / 2, with tr(precision V') = d and move' precision move = -slope' move / 2.
    double const log_new = -2 * (factor.matrixLLT().diagonal().array() / unit.array()).log().sum();
    step.rise = is_point ? -0.25 * slope.dot(move)
                         : -0.5 * (static_cast<double>(d) - precision.cwiseProduct(old).sum() + 0.5 * slope.dot(move)) +
                               0.5 * (log_new - log_determinant(old));
    for (Eigen::Index i = 0; i < d; ++i) {
        std::uint32_t const a = group[static_cast<std::size_t>(i)];
        means[a * covariances.size + index] += move(i);
        for (Eigen::Index j = 0; j <= i; ++j) covariances.at(a, group[static_cast<std::size_t>(j)])[index] = covariance(i, j);
    }
    return step;
}

GaussianFactors::Step GaussianFactors::step_truncated(std::uint32_t component, std::size_t index) {
    std::size_t const entry = component * covariances.size + index;
    TruncatedFactor& factor = truncated[entry];
    double& mean = means[entry];
    double& variance = covariances.at(component, component)[index];
    double const precision = gradient.same[covariances.pair[component * covariances.components + component] * covariances.size + index];
    double const slope = gradient.mean[entry];
    TruncatedNormal const density(precision, precision * mean - 0.5 * slope, factor.density.interval());
    if (!density.is_proper()) return {0, false};
    TruncatedNormal::Moments const moments = density.moments();
    double const move = moments.mean - mean;
    double const old_entropy = variance > 0 ? factor.entropy : -HUGE_VAL;
    Step step;
    // F(m', V') - F(m, V) = slope (m' - m) + precision ((m' - m)^2 + V' - V), whatever the two densities are.
    step.rise = -0.5 * (slope * move + precision * (move * move + moments.variance - variance)) + moments.entropy - old_entropy;
    factor = {density, moments.entropy, moments.log_integral};
    mean = moments.mean;
    variance = moments.variance;
    return step;
}

GaussianFactors::Step GaussianFactors::step_choice(std::vector<std::uint32_t> const& group, std::size_t index) {
    auto const d = static_cast<Eigen::Index>(group.size());
    auto const entry = [&](Eigen::Index k) { return group[static_cast<std::size_t>(k)] * covariances.size + index; };
    Eigen::MatrixXd const precision = this->precision(group, index);
    Eigen::VectorXd old(d);
    for (Eigen::Index k = 0; k < d; ++k) old(k) = means[entry(k)];
    Eigen::VectorXd const logits = precision * old - 0.5 * slope(group, index) - 0.5 * precision.diagonal();
    Eigen::VectorXd p(d);
    for (Eigen::Index k = 0; k < d; ++k) p(k) = logits(k) + log_weights[entry(k)];
    double const most = p.maxCoeff();
    for (double& x : p) x = std::exp(x - most);  // exactly 0 where the weight is
    p /= p.sum();
    Step step;
    for (Eigen::Index k = 0; k < d; ++k) {
        auto const share = [&](double q) { return q > 0 ? q * (logits(k) + log_weights[entry(k)] - std::log(q)) : 0; };
        step.rise += share(p(k)) - share(old(k));
        means[entry(k)] = p(k);
        for (Eigen::Index j = 0; j <= k; ++j)
            covariances.at(group[static_cast<std::size_t>(k)], group[static_cast<std::size_t>(j)])[index] =
                (j == k ? p(k) : 0) - p(k) * p(j);
    }
    return step;
}

void GaussianFactors::fail(std::string const& why) const {
    std::vector<std::string> const flat = find_flat(context_.problem);
    bool const is_flat = std::find(flat.begin(), flat.end(), variable.name) != flat.end();
    throw NumericalTrouble("the factor of " + variable.name + " has no finite variance: " + why, block_, !is_flat);
}

void GaussianFactors::fail(std::vector<std::uint32_t> const& group, std::size_t index) const {
    Eigen::MatrixXd const precision = this->precision(group, index);
    if (!precision.allFinite()) throw TooLarge(fmt::format("the precision of `{}`", variable.name));
    fail(explain_undetermined(precision, group, index, variable, context_.problem.plan.layout, context_.problem.bound));
}

}  // namespace bam
