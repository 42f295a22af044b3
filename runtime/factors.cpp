#include "factors.hpp"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <numbers>

#include "spread.hpp"

namespace bam {
namespace {

bool is_over_time(Extent extent) { return extent == Extent::Time || extent == Extent::Cell; }
bool is_over_sequences(Extent extent) { return extent == Extent::Sequence || extent == Extent::Cell; }

bool speaks_of(FactorLayout const& factor, Variable const& target, Bound const& bound, std::size_t component, std::size_t sequence,
               std::size_t step) {
    FactorRegion const& region = factor.region;
    if (!region.components.empty() && !region.components[component]) return false;
    if (is_over_time(target.extent) && (step < region.first_step || step > region.last_step)) return false;
    return !region.sequence || !is_over_sequences(target.extent) || bound.sequence_labels[sequence] == *region.sequence;
}

}  // namespace

std::vector<std::vector<double>> make_masks(Layout const& layout, Bound const& bound) {
    std::vector<std::vector<double>> masks;
    for (FactorLayout const& factor : layout.factors) {
        Variable const& target = layout.variables[factor.target];
        std::size_t const size = bound.grid.size(target.extent);
        std::vector<double> mask(target.components * size, 1.0);
        for (std::size_t c = 0; c < target.components; ++c) {
            bound.grid.for_each(target.extent, [&](std::size_t i, std::size_t sequence, std::size_t step) {
                bool const is_taken = std::any_of(factor.overridden_by.begin(), factor.overridden_by.end(), [&](std::uint32_t later) {
                    return speaks_of(layout.factors[later], target, bound, c, sequence, step);
                });
                bool const is_missing = target.kind == VariableKind::Data && std::isnan(bound.data[factor.target][c * size + i]);
                if (is_taken || is_missing || !speaks_of(factor, target, bound, c, sequence, step)) mask[c * size + i] = 0;
            });
        }
        bool const is_whole = std::all_of(mask.begin(), mask.end(), [](double m) { return m == 1; });
        masks.push_back(is_whole ? std::vector<double>{} : std::move(mask));
    }
    return masks;
}

namespace {

/// One number is the spread of all cells.
bool has_one_spread(Layout const& layout, FactorLayout const& factor) {
    if (factor.spread == SpreadKind::Flat || factor.spread == SpreadKind::Covariance) return true;
    if (factor.scale) return layout.variables[*factor.scale].components == 1 && layout.variables[*factor.scale].extent == Extent::One;
    return std::all_of(factor.constant.begin(), factor.constant.end(), [&](double v) { return v == factor.constant.front(); });
}

bool is_learnt(Layout const& layout, FactorLayout const& factor) {
    return factor.scale && layout.variables[*factor.scale].kind == VariableKind::Scale;
}

}  // namespace

std::vector<bool> weighted_factors(Layout const& layout, std::vector<std::vector<double>> const& masks) {
    std::vector<bool> weighted;
    for (std::size_t f = 0; f < layout.factors.size(); ++f)
        weighted.push_back(!masks[f].empty() || !has_one_spread(layout, layout.factors[f]));
    return weighted;
}

Factors::Factors(Plan const& plan, Bound const& bound, State const& state, std::vector<std::vector<double>> const& masks,
                 std::vector<bool> const& weighted)
    : plan_(plan), bound_(bound), state_(state), masks_(masks), weighted_(weighted) {
    Layout const& layout = plan.layout;
    weights_.resize(layout.factors.size());
    covariance_precisions_.resize(layout.factors.size());
    scores_.resize(layout.factors.size());
    for (std::size_t f = 0; f < layout.factors.size(); ++f) {
        FactorLayout const& factor = layout.factors[f];
        Variable const& target = layout.variables[factor.target];
        if (weighted[f]) weights_[f].assign(target.components * bound.grid.size(target.extent), 0.0);
        std::size_t entries = 1;
        if (is_learnt(layout, factor)) {
            Variable const& scale = layout.variables[*factor.scale];
            entries = scale.components * bound.grid.size(scale.extent);
        }
        scores_[f].squares.assign(entries, 0.0);
        scores_[f].counts.assign(entries, 0.0);
        std::size_t const size = bound.grid.size(target.extent);
        if (factor.spread == SpreadKind::Covariance) {
            auto const k = static_cast<Eigen::Index>(std::lround(std::sqrt(static_cast<double>(factor.constant.size()))));
            Eigen::MatrixXd const covariance = Eigen::Map<Eigen::MatrixXd const>(factor.constant.data(), k, k);
            Eigen::MatrixXd const precision = covariance.inverse();
            covariance_precisions_[f].assign(precision.data(), precision.data() + precision.size());
            for (std::size_t c = 0; c < target.components; ++c) {
                for (std::size_t i = 0; i < size; ++i) scores_[f].counts[0] += mask(f, c, i);
            }
            scores_[f].log_constant = -0.5 * scores_[f].counts[0] / static_cast<double>(k) * std::log(covariance.determinant());
        } else if (factor.spread != SpreadKind::Flat) {
            for (std::size_t c = 0; c < target.components; ++c) {
                bound.grid.for_each(target.extent, [&](std::size_t i, std::size_t sequence, std::size_t step) {
                    double const m = mask(f, c, i);
                    scores_[f].counts[scale_index(f, c, sequence, step)] += m;
                    if (m > 0 && !is_learnt(layout, factor)) scores_[f].log_constant += 0.5 * std::log(precision(f, c, sequence, step));
                });
            }
        }
    }
    refresh();
}

double Factors::mask(std::size_t factor, std::size_t component, std::size_t index) const {
    if (masks_[factor].empty()) return 1;
    Variable const& target = plan_.layout.variables[plan_.layout.factors[factor].target];
    return masks_[factor][component * bound_.grid.size(target.extent) + index];
}

std::size_t Factors::scale_index(std::size_t f, std::size_t component, std::size_t sequence, std::size_t step) const {
    FactorLayout const& factor = plan_.layout.factors[f];
    if (!is_learnt(plan_.layout, factor)) return 0;
    Variable const& scale = plan_.layout.variables[*factor.scale];
    std::size_t const base = factor.scale_component[component] * bound_.grid.size(scale.extent);
    switch (scale.extent) {
        case Extent::One: return base;
        case Extent::Sequence: return base + sequence;
        case Extent::Time: return base + step;
        case Extent::Cell: return base + bound_.grid.cell(sequence, step);
    }
    return base;
}

bool Factors::has_learnt_scale(std::size_t f) const { return is_learnt(plan_.layout, plan_.layout.factors[f]); }

double Factors::precision(std::size_t f, std::size_t component, std::size_t sequence, std::size_t step) const {
    FactorLayout const& factor = plan_.layout.factors[f];
    if (factor.spread == SpreadKind::Flat) return 0;
    if (factor.spread == SpreadKind::Covariance) return 1;
    if (!factor.scale) return to_precision(factor.spread, factor.constant[component]);
    if (is_learnt(plan_.layout, factor))
        return to_precision(factor.spread, state_.values[*factor.scale][scale_index(f, component, sequence, step)]);
    Variable const& scale = plan_.layout.variables[*factor.scale];
    std::size_t const index = scale.extent == Extent::Cell       ? bound_.grid.cell(sequence, step)
                              : scale.extent == Extent::Sequence ? sequence
                              : scale.extent == Extent::Time     ? step
                                                                 : 0;
    return to_precision(factor.spread,
                        bound_.data[*factor.scale][factor.scale_component[component] * bound_.grid.size(scale.extent) + index]);
}

double Factors::common_precision(std::size_t f) const {
    return has_one_spread(plan_.layout, plan_.layout.factors[f]) ? precision(f, 0, 0, 0) : 1;
}

void Factors::refresh() {
    Layout const& layout = plan_.layout;
    for (std::size_t f = 0; f < layout.factors.size(); ++f) {
        if (!weighted_[f]) continue;
        FactorLayout const& factor = layout.factors[f];
        bool const has_one = has_one_spread(layout, factor);
        if (is_fresh_ && (has_one || !is_learnt(layout, factor))) continue;  // those never change
        Variable const& target = layout.variables[factor.target];
        std::size_t const size = bound_.grid.size(target.extent);
        for (std::size_t c = 0; c < target.components; ++c) {
            bound_.grid.for_each(target.extent, [&](std::size_t i, std::size_t sequence, std::size_t step) {
                double const m = mask(f, c, i);
                weights_[f][c * size + i] = m == 0 || has_one ? std::sqrt(m) : std::sqrt(m * precision(f, c, sequence, step));
            });
        }
    }
    is_fresh_ = true;
}

void Factors::score(Inputs const& inputs) {
    if (runners_.empty()) {
        for (TermPlan const& residual : plan_.residuals) runners_.push_back(std::make_unique<PassRunner>(residual.pass, inputs));
    }
    for (std::size_t f = 0; f < runners_.size(); ++f) {
        if (plan_.layout.factors[f].spread != SpreadKind::Flat) score(f, *runners_[f]);
    }
}

void Factors::score(std::size_t f, PassRunner& runner) {
    Layout const& layout = plan_.layout;
    FactorLayout const& factor = layout.factors[f];
    Variable const& target = layout.variables[factor.target];
    Grid const& grid = bound_.grid;
    std::size_t const size = grid.size(target.extent);
    bool const is_plain = has_one_spread(layout, factor);
    double const fixed = is_learnt(layout, factor) ? 1 : common_precision(f);
    auto const& registers = plan_.residuals[f].registers;
    Score& score = scores_[f];
    std::fill(score.squares.begin(), score.squares.end(), 0.0);
    score.quadratic = 0;
    runner.begin();
    for (Chunk const& chunk : runner.chunks()) {
        runner.run(chunk);
        std::size_t const n = runner.size(chunk);
        std::size_t const start = is_over_time(target.extent) ? (target.extent == Extent::Time ? chunk.first_step : chunk.first_cell) : 0;
        if (factor.spread == SpreadKind::Covariance) {
            score.quadratic += quadratic_form(f, runner, start, n);
            continue;
        }
        for (std::size_t c = 0; c < target.components; ++c) {
            if (registers[c] == no_register) continue;
            double const* r = runner.at(registers[c]);
            double const* m = masks_[f].empty() ? nullptr : masks_[f].data() + c * size + start;
            if (is_plain) {
                double sum = 0;
                if (m == nullptr) {
                    for (std::size_t i = 0; i < n; ++i) sum += r[i] * r[i];
                } else {
                    // A missing cell's residual is NaN; it is skipped, not multiplied by 0.
                    for (std::size_t i = 0; i < n; ++i) sum += m[i] > 0 ? m[i] * r[i] * r[i] : 0;
                }
                score.squares[0] += fixed * sum;
                continue;
            }
            bool const learnt = is_learnt(layout, factor);
            auto add = [&](std::size_t i, std::size_t sequence, std::size_t step) {
                if (m != nullptr && m[i] == 0) return;
                double const p = learnt ? 1 : precision(f, c, sequence, step);
                score.squares[scale_index(f, c, sequence, step)] += p * r[i] * r[i];
            };
            grid.for_each(target.extent, chunk.first_step, chunk.last_step,
                          [&](std::size_t index, std::size_t sequence, std::size_t step) { add(index - start, sequence, step); });
        }
    }
}

/// Over the rows that count: the entries of a row count together.
double Factors::quadratic_form(std::size_t f, PassRunner const& runner, std::size_t start, std::size_t n) const {
    std::vector<double> const& precision = covariance_precisions_[f];
    auto const& registers = plan_.residuals[f].registers;
    auto const k = static_cast<std::size_t>(std::lround(std::sqrt(static_cast<double>(precision.size()))));
    double sum = 0;
    for (std::size_t first = 0; first < registers.size(); first += k) {
        for (std::size_t a = 0; a < k; ++a) {
            for (std::size_t b = 0; b < k; ++b) {
                if (registers[first + a] == no_register || registers[first + b] == no_register) continue;
                double const* ra = runner.at(registers[first + a]);
                double const* rb = runner.at(registers[first + b]);
                for (std::size_t i = 0; i < n; ++i) {
                    if (mask(f, first, start + i) > 0) sum += precision[a * k + b] * ra[i] * rb[i];
                }
            }
        }
    }
    return sum;
}

double Factors::rounding_weight(std::size_t f, std::size_t e) const {
    FactorLayout const& factor = plan_.layout.factors[f];
    if (is_learnt(plan_.layout, factor)) return to_precision(factor.spread, state_.values[*factor.scale][e]);
    return std::sqrt(common_precision(f));
}

double Factors::log_density(std::size_t f) const {
    FactorLayout const& factor = plan_.layout.factors[f];
    if (factor.spread == SpreadKind::Flat) return 0;
    Score const& score = scores_[f];
    double sum = score.log_constant;
    for (std::size_t e = 0; e < score.squares.size(); ++e) {
        sum -= 0.5 * score.counts[e] * std::log(2 * std::numbers::pi);
        if (is_learnt(plan_.layout, factor)) {
            double const tau = to_precision(factor.spread, state_.values[*factor.scale][e]);
            sum += 0.5 * score.counts[e] * std::log(tau) - 0.5 * tau * score.squares[e];
        } else {
            sum -= 0.5 * (factor.spread == SpreadKind::Covariance ? score.quadratic : score.squares[e]);
        }
    }
    return sum;
}

}  // namespace bam
