#include "factors.hpp"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <numbers>

#include "spread.hpp"
#include "truncated_normal.hpp"

namespace bam {
namespace {

bool is_learnt(Layout const& layout, SpreadLayout const& part) {
    return part.variable && layout.variables[*part.variable].kind == VariableKind::Scale;
}

/// Where the sums of squares are those of all cells of a kind; else each cell's is kept.
constexpr std::size_t most_alone = 1;

}  // namespace

std::size_t place_of(Layout const& layout, Bound const& bound, SpreadLayout const& part, std::size_t component, std::size_t sequence,
                     std::size_t step) {
    if (part.by.empty()) return component;
    std::size_t place = 0;
    std::size_t places = 1;
    for (std::uint32_t const v : part.by) {
        Variable const& labels = layout.variables[v];
        std::size_t const size = layout.dims[*labels.label_dim].size;
        place = place * size + static_cast<std::size_t>(bound.data[v][entry_of(labels, 0, bound.grid, sequence, step)]) - 1;
        places *= size;
    }
    std::size_t const components = std::max(part.component.size(), part.constant.size()) / places;
    return place * components + component;
}

Factors::Factors(Problem const& problem, State const& state)
    : problem_(problem), plan_(problem.plan), bound_(problem.bound), state_(state), masks_(problem.masks), weighted_(problem.weighted) {
    Layout const& layout = plan_.layout;
    weights_.resize(layout.factors.size());
    covariance_precisions_.resize(layout.factors.size());
    scores_.resize(layout.factors.size());
    learnt_parts_.resize(layout.factors.size());
    intervals_.resize(layout.variables.size());
    log_weights_.resize(layout.variables.size());
    log_truncations_.assign(layout.factors.size(), 0.0);
    for (std::size_t f = 0; f < layout.factors.size(); ++f) lay_out(f);
    refresh();
    for (std::size_t f = 0; f < layout.factors.size(); ++f)
        if (layout.factors[f].interval.is_bounded()) truncate(f);
    for (std::size_t f = 0; f < layout.factors.size(); ++f)
        if (layout.factors[f].is_categorical()) weigh(f);
}

void Factors::weigh(std::size_t f) {
    FactorLayout const& factor = plan_.layout.factors[f];
    Variable const& target = plan_.layout.variables[factor.target];
    std::size_t const size = bound_.grid.size(target.extent);
    std::vector<double>& log_weights = log_weights_[factor.target];
    log_weights.resize(target.components * size, 0.0);
    for_each_cell(f, [&](std::size_t c, std::size_t i, std::size_t, std::size_t) {
        if (mask(f, c, i) > 0) log_weights[c * size + i] = std::log(factor.weights[c]);
    });
}

double Factors::log_choices(std::size_t f) const {
    FactorLayout const& factor = plan_.layout.factors[f];
    if (!factor.is_categorical()) return 0;
    std::vector<double> const& values = state_.values[factor.target];
    Variable const& target = plan_.layout.variables[factor.target];
    std::size_t const size = bound_.grid.size(target.extent);
    std::size_t const first = first_index(target, bound_.grid);
    double sum = 0;
    for_each_cell(f, [&](std::size_t c, std::size_t i, std::size_t, std::size_t) {
        std::size_t const entry = c * size + i;
        if (i >= first && values[entry] > 0 && mask(f, c, i) > 0) sum += values[entry] * log_weights_[factor.target][entry];
    });
    return sum;
}

void Factors::truncate(std::size_t f) {
    FactorLayout const& factor = plan_.layout.factors[f];
    Variable const& target = plan_.layout.variables[factor.target];
    Grid const& grid = bound_.grid;
    std::size_t const size = grid.size(target.extent);
    std::vector<Interval>& intervals = intervals_[factor.target];
    if (intervals.empty()) intervals.resize(target.components * size);
    auto const is_that_of_target = [&](BlockPlan const& block) { return block.variable == factor.target; };
    BlockPlan const& block = *std::find_if(plan_.blocks.begin(), plan_.blocks.end(), is_that_of_target);
    PriorPlan const& prior =
        *std::find_if(block.priors.begin(), block.priors.end(), [&](PriorPlan const& candidate) { return candidate.factor == f; });
    PassRunner runner(prior.pass, {plan_.layout, bound_, state_, weights_});
    runner.begin();
    for (Chunk const& chunk : runner.chunks()) {
        runner.run(chunk);
        std::size_t i = 0;
        grid.for_each(target.extent, chunk.first_step, chunk.last_step, [&](std::size_t index, std::size_t sequence, std::size_t step) {
            for (std::size_t c = 0; c < target.components; ++c) {
                if (mask(f, c, index) == 0) continue;
                intervals[c * size + index] = factor.interval;
                std::uint32_t const reg = prior.means[c];
                double const mean = reg == no_register ? 0 : runner.at(reg)[runner.is_one(reg) ? 0 : i];
                double const p = precision(f, c, sequence, step);
                if (p > 0)
                    log_truncations_[f] -= TruncatedNormal(p, p * mean, factor.interval).log_share();
                else if (factor.interval.is_finite())
                    log_truncations_[f] -= std::log(factor.interval.high - factor.interval.low);
            }
            ++i;
        });
    }
}

void Factors::lay_out(std::size_t f) {
    Layout const& layout = plan_.layout;
    FactorLayout const& factor = layout.factors[f];
    Variable const& target = layout.variables[factor.target];
    Score& score = scores_[f];
    if (weighted_[f]) weights_[f].assign(target.components * bound_.grid.size(target.extent), 0.0);
    if (factor.is_flat()) return;
    for_each_cell(f, [&](std::size_t c, std::size_t i, std::size_t, std::size_t) { score.cells += mask(f, c, i); });
    score.log_constant = -0.5 * score.cells * std::log(2 * std::numbers::pi);
    if (factor.has_covariance()) {
        std::vector<double> const& matrix = factor.spread.front().constant;
        auto const k = static_cast<Eigen::Index>(std::lround(std::sqrt(static_cast<double>(matrix.size()))));
        Eigen::MatrixXd const covariance = Eigen::Map<Eigen::MatrixXd const>(matrix.data(), k, k);
        Eigen::MatrixXd const precision = covariance.inverse();
        covariance_precisions_[f].assign(precision.data(), precision.data() + precision.size());
        score.log_constant -= 0.5 * score.cells / static_cast<double>(k) * std::log(covariance.determinant());
        return;
    }
    for (std::uint32_t part = 0; part < factor.spread.size(); ++part)
        if (is_learnt(layout, factor.spread[part])) learnt_parts_[f].push_back(part);
    for (std::uint32_t const part : learnt_parts_[f]) {
        Variable const& scale = layout.variables[*factor.spread[part].variable];
        std::size_t const entries = scale.components * bound_.grid.size(scale.extent);
        score.parts.push_back({std::vector<double>(entries, 0.0), std::vector<double>(entries, 0.0), {}, {}});
    }
    if (factor.is_binary) score.means.assign(target.components * bound_.grid.size(target.extent), 0.0);
    if (learnt_parts_[f].size() > most_alone) score.of_cells.assign(target.components * bound_.grid.size(target.extent), 0.0);
    for_each_cell(f, [&](std::size_t c, std::size_t i, std::size_t sequence, std::size_t step) {
        double const m = mask(f, c, i);
        if (m == 0) return;
        for (std::size_t k = 0; k < learnt_parts_[f].size(); ++k)
            score.parts[k].counts[scale_index({static_cast<std::uint32_t>(f), learnt_parts_[f][k]}, c, sequence, step)] += m;
        score.log_constant += 0.5 * std::log(known_precision(f, c, sequence, step));
    });
    list_drawn(f);
}

double Factors::mask(std::size_t factor, std::size_t component, std::size_t index) const {
    if (masks_[factor].empty()) return 1;
    Variable const& target = plan_.layout.variables[plan_.layout.factors[factor].target];
    return masks_[factor][component * bound_.grid.size(target.extent) + index];
}

std::size_t Factors::scale_index(ScaleUse const& use, std::size_t component, std::size_t sequence, std::size_t step) const {
    SpreadLayout const& part = plan_.layout.factors[use.factor].spread[use.part];
    std::size_t const place = place_of(plan_.layout, bound_, part, component, sequence, step);
    return entry_of(plan_.layout.variables[*part.variable], part.component[place], bound_.grid, sequence, step);
}

double Factors::precision_of(SpreadLayout const& part, std::size_t component, std::size_t sequence, std::size_t step) const {
    if (part.kind == SpreadKind::Covariance) return 1;
    std::size_t const place = place_of(plan_.layout, bound_, part, component, sequence, step);
    if (!part.variable) return to_precision(part.kind, part.constant[place]);
    Variable const& variable = plan_.layout.variables[*part.variable];
    std::vector<double> const& values = variable.kind == VariableKind::Scale ? state_.values[*part.variable] : bound_.data[*part.variable];
    return to_precision(part.kind, values[entry_of(variable, part.component[place], bound_.grid, sequence, step)]);
}

double Factors::precision(std::size_t f, std::size_t component, std::size_t sequence, std::size_t step) const {
    FactorLayout const& factor = plan_.layout.factors[f];
    if (factor.is_flat()) return 0;
    double product = 1;
    for (SpreadLayout const& part : factor.spread) product *= precision_of(part, component, sequence, step);
    return product;
}

double Factors::precision_without(std::size_t left_out, std::size_t f, std::size_t component, std::size_t sequence,
                                  std::size_t step) const {
    FactorLayout const& factor = plan_.layout.factors[f];
    double product = 1;
    for (std::size_t p = 0; p < factor.spread.size(); ++p)
        if (p != left_out) product *= precision_of(factor.spread[p], component, sequence, step);
    return product;
}

double Factors::known_precision(std::size_t f, std::size_t component, std::size_t sequence, std::size_t step) const {
    double product = 1;
    for (SpreadLayout const& part : plan_.layout.factors[f].spread)
        if (!is_learnt(plan_.layout, part)) product *= precision_of(part, component, sequence, step);
    return product;
}

double Factors::times_learnt(double number, std::size_t f, std::size_t but, std::size_t component, std::size_t sequence,
                             std::size_t step) const {
    for (std::size_t k = 0; k < learnt_parts_[f].size(); ++k)
        if (k != but) number *= precision_of(plan_.layout.factors[f].spread[learnt_parts_[f][k]], component, sequence, step);
    return number;
}

Factors::Sums const& Factors::sums_of(ScaleUse const& use) const {
    std::vector<std::uint32_t> const& learnt = learnt_parts_[use.factor];
    return scores_[use.factor].parts[static_cast<std::size_t>(std::find(learnt.begin(), learnt.end(), use.part) - learnt.begin())];
}

void Factors::score(Inputs const& inputs) {
    if (runners_.empty()) {
        for (std::size_t f = 0; f < plan_.residuals.size(); ++f) {
            TermPlan const& term = plan_.layout.factors[f].is_binary ? plan_.means[f] : plan_.residuals[f];
            runners_.push_back(std::make_unique<PassRunner>(term.pass, inputs));
        }
    }
    for (std::size_t f = 0; f < runners_.size(); ++f) {
        if (plan_.layout.factors[f].is_flat()) continue;
        if (plan_.layout.factors[f].is_binary) {
            score_binary(f, *runners_[f]);
            continue;
        }
        score(f, *runners_[f]);
        for (std::size_t k = 0; k < scores_[f].parts.size(); ++k) gather(f, k);
    }
}

void Factors::score(std::size_t f, PassRunner& runner) {
    Layout const& layout = plan_.layout;
    FactorLayout const& factor = layout.factors[f];
    Variable const& target = layout.variables[factor.target];
    Grid const& grid = bound_.grid;
    std::size_t const size = grid.size(target.extent);
    bool const is_plain = has_one_spread(layout, factor) && scores_[f].of_cells.empty();
    double const fixed = is_plain && !factor.has_covariance() ? known_precision(f, 0, 0, 0) : 1;
    auto const& registers = plan_.residuals[f].registers;
    Score& score = scores_[f];
    std::vector<double>* const sums = score.parts.size() == 1 ? &score.parts.front().squares : nullptr;
    if (sums != nullptr) std::fill(sums->begin(), sums->end(), 0.0);
    score.quadratic = 0;
    ScaleUse const use{static_cast<std::uint32_t>(f), learnt_parts_[f].empty() ? 0 : learnt_parts_[f].front()};
    runner.begin();
    for (Chunk const& chunk : runner.chunks()) {
        runner.run(chunk);
        std::size_t const n = runner.size(chunk);
        std::size_t const start = first_of(chunk, target.extent);
        if (factor.has_covariance()) {
            score.quadratic += quadratic_form(f, runner, start, n);
            continue;
        }
        score_drawn(f, runner, chunk, start);
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
                (sums != nullptr ? sums->front() : score.quadratic) += fixed * sum;
                continue;
            }
            auto add = [&](std::size_t i, std::size_t sequence, std::size_t step) {
                if (m != nullptr && m[i] == 0) return;
                double const square = known_precision(f, c, sequence, step) * r[i] * r[i];
                if (!score.of_cells.empty())
                    score.of_cells[c * size + start + i] = square;
                else
                    (sums != nullptr ? (*sums)[scale_index(use, c, sequence, step)] : score.quadratic) += square;
            };
            grid.for_each(target.extent, chunk.first_step, chunk.last_step,
                          [&](std::size_t index, std::size_t sequence, std::size_t step) { add(index - start, sequence, step); });
        }
    }
}

void Factors::gather(ScaleLayout const& scale) {
    for (ScaleUse const& use : scale.uses) {
        if (scores_[use.factor].of_cells.empty()) continue;
        std::vector<std::uint32_t> const& learnt = learnt_parts_[use.factor];
        gather(use.factor, static_cast<std::size_t>(std::find(learnt.begin(), learnt.end(), use.part) - learnt.begin()));
    }
}

void Factors::gather(std::size_t f, std::size_t learnt) {
    gather_drawn(f, learnt);
    Score& score = scores_[f];
    if (score.of_cells.empty()) return;  // all are of that part already
    std::vector<double>& squares = score.parts[learnt].squares;
    std::fill(squares.begin(), squares.end(), 0.0);
    std::size_t const size = bound_.grid.size(plan_.layout.variables[plan_.layout.factors[f].target].extent);
    ScaleUse const use{static_cast<std::uint32_t>(f), learnt_parts_[f][learnt]};
    for_each_cell(f, [&](std::size_t c, std::size_t i, std::size_t sequence, std::size_t step) {
        squares[scale_index(use, c, sequence, step)] += times_learnt(score.of_cells[c * size + i], f, learnt, c, sequence, step);
    });
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

double Factors::rounding(std::size_t f, double error) const {
    FactorLayout const& factor = plan_.layout.factors[f];
    Score const& score = scores_[f];
    if (factor.is_flat()) return 0;
    if (score.parts.empty()) return error * std::sqrt(common_precision(f)) * std::sqrt(score.cells * score.quadratic);
    double sum = 0;  // by the inequality of Cauchy and Schwarz over the cells of each entry
    Sums const& sums = score.parts.front();
    SpreadLayout const& part = factor.spread[learnt_parts_[f].front()];
    for (std::size_t e = 0; e < sums.squares.size(); ++e)
        sum += to_precision(part.kind, state_.values[*part.variable][e]) * std::sqrt(sums.counts[e] * sums.squares[e]);
    return error * sum;
}

double Factors::quadratic(std::size_t f) const {
    FactorLayout const& factor = plan_.layout.factors[f];
    Score const& score = scores_[f];
    if (factor.is_binary) return quadratic_of_binary(f);
    if (score.parts.empty()) return score.quadratic;
    double sum = 0;
    if (score.of_cells.empty()) {
        SpreadLayout const& part = factor.spread[learnt_parts_[f].front()];
        std::vector<double> const& squares = score.parts.front().squares;
        for (std::size_t e = 0; e < squares.size(); ++e) sum += to_precision(part.kind, state_.values[*part.variable][e]) * squares[e];
        return sum;
    }
    std::size_t const size = bound_.grid.size(plan_.layout.variables[factor.target].extent);
    for_each_cell(f, [&](std::size_t c, std::size_t i, std::size_t sequence, std::size_t step) {
        double const square = score.of_cells[c * size + i];
        if (square != 0) sum += times_learnt(square, f, all_learnt, c, sequence, step);
    });
    return sum;
}

double Factors::log_density(std::size_t f) const {
    FactorLayout const& factor = plan_.layout.factors[f];
    if (factor.is_flat()) return log_truncations_[f] + log_choices(f);
    if (factor.is_binary) return log_of_binary(f, 1);
    Score const& score = scores_[f];
    double sum = score.log_constant + log_truncations_[f] - 0.5 * quadratic(f);
    for (std::size_t k = 0; k < score.parts.size(); ++k) {
        SpreadLayout const& part = factor.spread[learnt_parts_[f][k]];
        std::vector<double> const& counts = score.parts[k].counts;
        for (std::size_t e = 0; e < counts.size(); ++e)
            if (counts[e] > 0) sum += 0.5 * counts[e] * std::log(to_precision(part.kind, state_.values[*part.variable][e]));
    }
    return sum;
}

}  // namespace bam
