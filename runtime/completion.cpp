#include "completion.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "augment.hpp"

namespace bam {
namespace {

constexpr std::size_t is_given = std::numeric_limits<std::size_t>::max();

}  // namespace

Completion::Completion(Problem const& problem, Inputs const& inputs, Factors const& factors, State& state)
    : problem_(problem), factors_(factors), log_densities_(problem.bound.grid.sequences) {
    Plan const& plan = problem.plan;
    std::size_t const cells = problem.bound.grid.cells();
    auto const bind = [&](TermPlan const& term) {
        return Values{&term, std::make_unique<PassRunner>(term.pass, inputs), std::vector<double>(term.registers.size() * cells)};
    };
    residuals_.resize(plan.layout.factors.size());
    effects_.resize(plan.lagged_outputs.size());
    for (std::size_t k = 0; k < plan.lagged_outputs.size(); ++k) {
        if (problem.augmented[k].empty()) continue;
        auto const use = [&](std::size_t factor) {
            if (residuals_[factor].plan == nullptr) residuals_[factor] = bind(plan.residuals[factor]);
        };
        for (std::size_t f = 0; f < plan.layout.factors.size(); ++f)
            if (plan.layout.factors[f].target == plan.lagged_outputs[k].variable) use(f);
        for (LagEffect const& effect : plan.lagged_outputs[k].effects) {
            use(effect.factor);
            effects_[k].push_back(bind(effect.derivative));
        }
    }
    for (std::size_t s = 0; s < problem.bound.grid.sequences; ++s) add_sequence(s, state);
}

void Completion::add_sequence(std::size_t s, State& state) {
    Grid const& grid = problem_.bound.grid;
    Sequence sequence;
    sequence.index = s;
    // Per lagged output: number of the unknown, by component and step.
    std::size_t const steps = problem_.bound.lengths[s];
    std::vector<std::vector<std::size_t>> numbers(problem_.augmented.size());
    for (std::size_t k = 0; k < numbers.size(); ++k) numbers[k].assign(problem_.augmented[k].size() / grid.cells() * steps, is_given);
    for (std::size_t t = steps; t-- > 0;) {
        for (std::size_t k = 0; k < numbers.size(); ++k) {
            std::uint32_t const variable = problem_.plan.lagged_outputs[k].variable;
            for (std::size_t c = numbers[k].size() / steps; c-- > 0;) {
                std::size_t const entry = c * grid.cells() + grid.cell(s, t);
                if (!problem_.augmented[k][entry]) continue;
                numbers[k][c * steps + t] = sequence.unknowns.size();
                sequence.unknowns.push_back(&state.values[variable][entry]);
            }
        }
    }
    if (sequence.unknowns.empty()) return;
    add_rows(sequence, numbers);
    sequences_.push_back(std::move(sequence));
}

void Completion::add_rows(Sequence& sequence, std::vector<std::vector<std::size_t>> const& numbers) {
    Plan const& plan = problem_.plan;
    Grid const& grid = problem_.bound.grid;
    std::size_t const s = sequence.index;
    std::size_t const steps = problem_.bound.lengths[s];
    for (std::size_t f = 0; f < residuals_.size(); ++f) {
        if (residuals_[f].plan == nullptr) continue;
        std::size_t const targets = plan.residuals[f].registers.size();
        for (std::size_t p = 0; p < targets; ++p) {
            for (std::size_t t = 0; t < steps; ++t) {
                std::size_t const cell = grid.cell(s, t);
                if (factors_.mask(f, p, cell) == 0) continue;
                Row row{f, p, t, &residuals_[f].values[p * grid.cells() + cell], {}};
                auto const add = [&](std::size_t number, double const* slope) {
                    if (number != is_given) row.readings.push_back({number, slope});
                };
                for (std::size_t k = 0; k < numbers.size(); ++k) {
                    std::size_t const components = numbers[k].size() / steps;
                    if (components > 0 && plan.layout.factors[f].target == plan.lagged_outputs[k].variable)
                        add(numbers[k][p * steps + t], nullptr);
                    for (std::size_t e = 0; e < effects_[k].size(); ++e) {
                        LagEffect const& effect = plan.lagged_outputs[k].effects[e];
                        if (effect.factor != f || effect.lag > t) continue;
                        for (std::size_t c = 0; c < components; ++c) {
                            std::size_t const reg = p * components + c;
                            if (effect.derivative.registers[reg] == no_register) continue;
                            add(numbers[k][c * steps + t - effect.lag], &effects_[k][e].values[reg * grid.cells() + cell]);
                        }
                    }
                }
                if (row.readings.empty()) continue;
                auto const [first, last] = std::minmax_element(row.readings.begin(), row.readings.end(),
                                                               [](Reading const& a, Reading const& b) { return a.unknown < b.unknown; });
                sequence.band = std::max(sequence.band, last->unknown - first->unknown);
                sequence.rows.push_back(std::move(row));
            }
        }
    }
}

void Completion::evaluate(Values& term) {
    std::fill(term.values.begin(), term.values.end(), 0.0);
    add_term(*term.plan, *term.runner, problem_.bound.grid, term.values);
}

void Completion::draw(NormalSource& normals) {
    // With the missing cells at 0 the residuals are the rest.
    for (Sequence const& sequence : sequences_)
        for (double* const unknown : sequence.unknowns) *unknown = 0;
    for (Values& residual : residuals_)
        if (residual.plan != nullptr) evaluate(residual);
    for (auto& effects : effects_)
        for (Values& effect : effects) evaluate(effect);
    log_density_ = 0;
    for (Sequence const& sequence : sequences_) {
        double const before = log_density_;
        draw(sequence, normals);
        log_densities_[sequence.index] = log_density_ - before;
    }
}

void Completion::draw(Sequence const& sequence, NormalSource& normals) {
    std::size_t const n = sequence.unknowns.size();
    std::size_t const band = sequence.band;
    precision_.assign(n * (band + 1), 0.0);
    linear_.assign(n, 0.0);
    auto const at = [&](std::size_t i, std::size_t j) -> double& { return precision_[i * (band + 1) + (i - j)]; };  // j <= i <= j + band
    for (Row const& row : sequence.rows) {
        double const w = factors_.precision(row.factor, row.component, sequence.index, row.step);
        for (Reading const& a : row.readings) {
            double const slope = a.slope == nullptr ? -1 : *a.slope;
            linear_[a.unknown] -= w * slope * *row.rest;
            for (Reading const& b : row.readings)
                if (b.unknown <= a.unknown) at(a.unknown, b.unknown) += w * slope * (b.slope == nullptr ? -1 : *b.slope);
        }
    }
    for (std::size_t i = 0; i < n; ++i) {
        std::size_t const first = i > band ? i - band : 0;
        for (std::size_t j = first; j <= i; ++j) {
            double sum = at(i, j);
            for (std::size_t k = std::max(first, j > band ? j - band : 0); k < j; ++k) sum -= at(i, k) * at(j, k);
            if (i == j && !(sum > 0)) sum = std::numeric_limits<double>::infinity();  // no statement speaks of the cell: it stays at 0
            at(i, j) = i == j ? std::sqrt(sum) : sum / at(j, j);
        }
        for (std::size_t j = first; j < i; ++j) linear_[i] -= at(i, j) * linear_[j];
        linear_[i] /= at(i, i);
    }
    for (std::size_t i = n; i-- > 0;) {
        double const z = normals.normal();
        double sum = linear_[i] + z;
        if (std::isfinite(at(i, i))) log_density_ += std::log(at(i, i)) - 0.5 * (z * z + std::log(2 * std::numbers::pi));
        for (std::size_t j = i + 1; j < n && j <= i + band; ++j) sum -= at(j, i) * *sequence.unknowns[j];
        *sequence.unknowns[i] = sum / at(i, i);
    }
}

}  // namespace bam
