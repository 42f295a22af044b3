#include "augment.hpp"

#include <algorithm>
#include <cmath>

namespace bam {

Augmentation::Augmentation(LaggedOutput const& output, Plan const& plan, Inputs const& inputs, Factors const& factors, State& state,
                           std::vector<bool> missing)
    : plan_(plan),
      grid_(inputs.bound.grid),
      factors_(factors),
      variable_(output.variable),
      values_(state.values[output.variable]),
      components_(plan.layout.variables[output.variable].components),
      missing_(std::move(missing)) {
    auto residual_of = [&](std::uint32_t factor) {
        auto const it = std::find_if(residuals_.begin(), residuals_.end(), [&](Residual const& r) { return r.factor == factor; });
        if (it != residuals_.end()) return static_cast<std::size_t>(it - residuals_.begin());
        Residual residual;
        residual.factor = factor;
        residual.runner = std::make_unique<PassRunner>(plan.residuals[factor].pass, inputs);
        residual.values.resize(plan.residuals[factor].registers.size() * grid_.cells());
        residuals_.push_back(std::move(residual));
        return residuals_.size() - 1;
    };
    for (std::uint32_t f = 0; f < plan.layout.factors.size(); ++f) {
        if (plan.layout.factors[f].target == output.variable) residual_of(f);
    }
    for (LagEffect const& effect : output.effects) {
        std::size_t const residual = residual_of(effect.factor);
        auto it =
            std::find_if(effects_.begin(), effects_.end(), [&](Effect const& e) { return e.residual == residual && e.lag == effect.lag; });
        if (it == effects_.end()) {
            effects_.emplace_back();
            it = effects_.end() - 1;
            it->lag = effect.lag;
            it->residual = residual;
            it->values.resize(effect.derivative.registers.size() * grid_.cells());
        }
        it->runners.push_back(std::make_unique<PassRunner>(effect.derivative.pass, inputs));
        it->plans.push_back(&effect.derivative);
    }
}

void Augmentation::draw(NormalSource& normals) {
    evaluate();
    largest_move_ = 0;
    for (std::size_t t = 0; t < grid_.steps; ++t) {
        for (std::size_t s = 0; s < grid_.lanes(t); ++s) {
            for (std::size_t c = 0; c < components_; ++c) {
                if (missing_[c * grid_.cells() + grid_.cell(s, t)]) draw_cell(c, s, t, normals);
            }
        }
    }
}

void add_term(TermPlan const& plan, PassRunner& runner, Grid const& grid, std::vector<double>& out) {
    runner.begin();
    for (Chunk const& chunk : runner.chunks()) {
        runner.run(chunk);
        std::size_t const n = runner.size(chunk);
        std::size_t const start = first_of(chunk, runner.pass().domain);
        for (std::size_t c = 0; c < plan.registers.size(); ++c) {
            if (plan.registers[c] == no_register) continue;
            double const* values = runner.at(plan.registers[c]);
            for (std::size_t i = 0; i < n; ++i) out[c * grid.cells() + start + i] += values[i];
        }
    }
}

void Augmentation::evaluate() {
    for (Residual& residual : residuals_) {
        std::fill(residual.values.begin(), residual.values.end(), 0.0);
        add_term(plan_.residuals[residual.factor], *residual.runner, grid_, residual.values);
    }
    for (Effect& effect : effects_) {
        std::fill(effect.values.begin(), effect.values.end(), 0.0);
        for (std::size_t k = 0; k < effect.runners.size(); ++k) add_term(*effect.plans[k], *effect.runners[k], grid_, effect.values);
    }
}

void Augmentation::draw_cell(std::size_t component, std::size_t sequence, std::size_t step, NormalSource& normals) {
    std::size_t const cells = grid_.cells();
    double precision = 0;
    double gradient = 0;  // sum w e de/dy
    auto visit = [&](auto&& each) {
        std::size_t const here = grid_.cell(sequence, step);
        for (Residual& residual : residuals_) {
            if (plan_.layout.factors[residual.factor].target == variable_) each(residual, component, here, step, -1.0);
        }
        for (Effect const& effect : effects_) {
            std::size_t const t = step + effect.lag;
            if (t >= grid_.steps || sequence >= grid_.lanes(t)) continue;
            std::size_t const there = grid_.cell(sequence, t);
            Residual& residual = residuals_[effect.residual];
            std::size_t const targets = residual.values.size() / cells;
            for (std::size_t p = 0; p < targets; ++p) {
                double const slope = effect.values[(p * components_ + component) * cells + there];
                if (slope != 0) each(residual, p, there, t, slope);
            }
        }
    };
    visit([&](Residual& residual, std::size_t p, std::size_t cell, std::size_t t, double slope) {
        double const w = factors_.power(residual.factor, p, cell) * factors_.mask(residual.factor, p, cell) *
                         factors_.precision(residual.factor, p, sequence, t);
        precision += w * slope * slope;
        gradient += w * slope * residual.values[p * cells + cell];
    });
    double const z = normals.normal();
    if (!(precision > 0)) return;  // no statement speaks of the cell
    double const change = -gradient / precision + z / std::sqrt(precision);
    largest_move_ = std::max(largest_move_, std::abs(change) * std::sqrt(precision));
    values_[component * cells + grid_.cell(sequence, step)] += change;
    visit([&](Residual& residual, std::size_t p, std::size_t cell, std::size_t, double slope) {
        residual.values[p * cells + cell] += slope * change;
    });
}

}  // namespace bam
