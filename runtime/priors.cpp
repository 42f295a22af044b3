#include "priors.hpp"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>
#include <limits>

#include "magnitude.hpp"
#include "random.hpp"
#include "truncated_normal.hpp"

namespace bam {

Priors::Priors(Plan const& plan, BlockPlan const& block, Inputs const& inputs, Factors const& factors)
    : factors_(factors), grid_(inputs.bound.grid), variable_(plan.layout.variables[block.variable]), size_(grid_.size(variable_.extent)) {
    auto is_parameter = [&](Register const& reg) {
        return reg.from == From::Variable && plan.layout.variables[reg.index].kind != VariableKind::Data;
    };
    for (PriorPlan const& prior : block.priors) {
        FactorLayout const& factor = plan.layout.factors[prior.factor];
        if (factor.is_flat()) continue;
        Source source;
        source.factor = prior.factor;
        source.means = prior.means;
        source.runner = std::make_unique<PassRunner>(prior.pass, inputs);
        bool const has_scale = !factors.learnt_parts(prior.factor).empty();
        source.changes = has_scale || std::any_of(prior.pass.registers.begin(), prior.pass.registers.end(), is_parameter);
        if (factor.has_covariance()) source.full = factors.covariance_precision(prior.factor);
        changes_ = changes_ || source.changes;
        sources_.push_back(std::move(source));
    }
    precision_.assign(variable_.components * size_, 0.0);
    linear_.assign(variable_.components * size_, 0.0);
    for (Source& source : sources_) read(source);
    if (auto const& log_weights = factors.log_weights(block.variable); !log_weights.empty()) linear_ = log_weights;
}

void Priors::update() {
    if (!changes_) return;
    std::fill(precision_.begin(), precision_.end(), 0.0);
    std::fill(linear_.begin(), linear_.end(), 0.0);
    for (Source& source : sources_) read(source);
}

void Priors::read(Source& source) {
    PassRunner& runner = *source.runner;
    runner.begin();
    bool const is_cell = variable_.extent == Extent::Cell;
    bool const is_stepped = is_cell || variable_.extent == Extent::Time;
    std::size_t const k = static_cast<std::size_t>(std::lround(std::sqrt(static_cast<double>(source.full.size()))));
    for (Chunk const& chunk : runner.chunks()) {
        runner.run(chunk);
        std::size_t index = is_stepped ? (is_cell ? chunk.first_cell : chunk.first_step) : 0;
        std::size_t const n = runner.size(chunk);
        std::size_t step = is_stepped ? chunk.first_step : 0;
        std::size_t sequence = 0;
        for (std::size_t i = 0; i < n; ++i, ++index) {
            for (std::size_t c = 0; c < variable_.components; ++c) {
                double const mask = factors_.mask(source.factor, c, index);
                if (mask == 0) continue;
                auto mean = [&](std::size_t component) {
                    std::uint32_t const reg = source.means[component];
                    return reg == no_register ? 0.0 : runner.at(reg)[runner.is_one(reg) ? 0 : i];
                };
                if (source.full.empty()) {
                    double const precision = mask * factors_.precision(source.factor, c, sequence, step);
                    precision_[c * size_ + index] += precision;
                    linear_[c * size_ + index] += precision * mean(c);
                } else {
                    std::size_t const first = c / k * k;
                    for (std::size_t j = 0; j < k; ++j) linear_[c * size_ + index] += source.full[(c - first) * k + j] * mean(first + j);
                }
            }
            if (variable_.extent == Extent::Sequence) ++sequence;
            if (variable_.extent == Extent::Time) ++step;
            if (is_cell && ++sequence == grid_.lanes(step)) {
                sequence = 0;
                ++step;
            }
        }
    }
}

void Priors::add_to(std::vector<std::uint32_t> const& components, std::size_t index, Eigen::Ref<Eigen::MatrixXd> precision,
                    Eigen::Ref<Eigen::VectorXd> linear) const {
    for (std::size_t i = 0; i < components.size(); ++i) {
        auto const row = static_cast<Eigen::Index>(i);
        precision(row, row) += precision_[components[i] * size_ + index];
        linear(row) += linear_[components[i] * size_ + index];
    }
    for (Source const& source : sources_) {
        if (source.full.empty()) continue;
        auto const k = static_cast<std::uint32_t>(std::lround(std::sqrt(static_cast<double>(source.full.size()))));
        for (std::size_t i = 0; i < components.size(); ++i) {
            if (factors_.mask(source.factor, components[i], index) == 0) continue;
            for (std::size_t j = 0; j <= i; ++j) {
                if (components[i] / k != components[j] / k) continue;
                precision(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(j)) +=
                    source.full[components[i] % k * k + components[j] % k];
            }
        }
    }
}

bool Priors::determines(std::vector<std::uint32_t> const& components, std::size_t index) const {
    return std::all_of(components.begin(), components.end(), [&](std::uint32_t component) {
        auto const is_full = [&](Source const& source) {
            return !source.full.empty() && factors_.mask(source.factor, component, index) != 0;
        };
        return precision_[component * size_ + index] != 0 || std::any_of(sources_.begin(), sources_.end(), is_full);
    });
}

double Priors::least_pivot(std::vector<std::uint32_t> const& components, std::size_t index) const {
    return components.size() == 1 || determines(components, index) ? 0 : rounded_steps * std::numeric_limits<double>::epsilon();
}

void Priors::multiply(std::vector<double> const& x, std::vector<double>& out) const {
    for (std::size_t i = 0; i < precision_.size(); ++i) out[i] = precision_[i] * x[i];
    for (Source const& source : sources_) {
        if (source.full.empty()) continue;
        std::size_t const k = static_cast<std::size_t>(std::lround(std::sqrt(static_cast<double>(source.full.size()))));
        for (std::size_t c = 0; c < variable_.components; ++c) {
            for (std::size_t i = 0; i < size_; ++i) {
                if (factors_.mask(source.factor, c, i) == 0) continue;  // of a row that another statement is of
                for (std::size_t j = 0; j < k; ++j) out[c * size_ + i] += source.full[c % k * k + j] * x[(c / k * k + j) * size_ + i];
            }
        }
    }
}

Relaxation::Relaxation(double relaxation) : keep(relaxation), fresh(std::sqrt(1 - relaxation * relaxation)) {}

bool draw_normal(Eigen::Ref<Eigen::MatrixXd> precision, Eigen::Ref<Eigen::VectorXd> linear, Eigen::Ref<Eigen::VectorXd const> present,
                 Relaxation relaxation, NormalSource& normals, double least_pivot) {
    // Λ = L L', v = inv(L) η; the mean is inv(L)' v, so θ = inv(L)' (v + z) with z standard normal, and z of the present values is L'θ - v.
    if (precision.rows() == 1) {
        double const p = precision(0, 0);
        if (!(p > 0) || !std::isfinite(p)) return false;
        double const mean = linear(0) / p;
        linear(0) = mean + relaxation.fresh * normals.normal() / std::sqrt(p);
        if (relaxation.keep != 0) linear(0) += relaxation.keep * (present(0) - mean);
        return true;
    }
    Eigen::LLT<Eigen::Ref<Eigen::MatrixXd>> const factor(precision);
    if (factor.info() != Eigen::Success) return false;
    if (least_pivot > 0) {
        for (Eigen::Index i = 1; i < linear.size(); ++i)  // L L' has the sum of these squares on its diagonal
            if (!(precision(i, i) * precision(i, i) > least_pivot * precision.row(i).head(i + 1).squaredNorm())) return false;
    }
    factor.matrixL().solveInPlace(linear);
    for (Eigen::Index i = 0; i < linear.size(); ++i) {
        double z = relaxation.fresh * normals.normal();
        if (relaxation.keep != 0) {
            double white = -linear(i);
            for (Eigen::Index k = i; k < linear.size(); ++k) white += precision(k, i) * present(k);
            z += relaxation.keep * white;
        }
        linear(i) += z;
    }
    factor.matrixU().solveInPlace(linear);
    return linear.allFinite();
}

bool draw_truncated(double precision, double& linear, Interval const& interval, NormalSource& normals) {
    TruncatedNormal const density(precision, linear, interval);
    if (!density.is_proper()) return false;
    linear = normals.truncated(density);
    return true;
}

}  // namespace bam
