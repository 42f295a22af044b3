#include "cell_densities.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <stdexcept>

#include "polya_gamma.hpp"
#include "scales.hpp"

namespace bam {

CellDensities::CellDensities(Problem const& problem, Inputs const& inputs, Factors const& factors)
    : problem_(problem), inputs_(inputs), factors_(factors) {
    Layout const& layout = problem.plan.layout;
    runners_.resize(layout.factors.size());
    locals_.resize(layout.factors.size());
    for (std::size_t f = 0; f < layout.factors.size(); ++f) {
        for (std::uint32_t const part : factors.learnt_parts(f)) {
            std::uint32_t const variable = *layout.factors[f].spread[part].variable;
            if (!layout.variables[variable].is_local) continue;
            auto const scale = std::find_if(layout.scales.begin(), layout.scales.end(),
                                            [&](ScaleLayout const& candidate) { return candidate.variable == variable; });
            locals_[f] = Local{part, &*scale};
        }
    }
}

std::vector<double> const& CellDensities::of(std::size_t f) {
    Layout const& layout = problem_.plan.layout;
    FactorLayout const& factor = layout.factors[f];
    if (factor.has_covariance()) throw std::logic_error("cells of a covariance have no density of their own");
    Variable const& target = layout.variables[factor.target];
    std::size_t const size = problem_.bound.grid.size(target.extent);
    values_.assign(target.components * size, std::numeric_limits<double>::quiet_NaN());
    TermPlan const& term = factor.is_binary ? problem_.plan.means[f] : problem_.plan.residuals[f];
    auto const& registers = term.registers;
    if (!runners_[f]) runners_[f] = std::make_unique<PassRunner>(term.pass, inputs_);
    PassRunner& runner = *runners_[f];
    runner.begin();
    for (Chunk const& chunk : runner.chunks()) {
        runner.run(chunk);
        std::size_t const start = target.extent == Extent::Cell ? chunk.first_cell : (target.extent == Extent::Time ? chunk.first_step : 0);
        for (std::size_t c = 0; c < target.components; ++c) {
            std::uint32_t const reg = registers[c];
            problem_.bound.grid.for_each(
                target.extent, chunk.first_step, chunk.last_step, [&](std::size_t i, std::size_t sequence, std::size_t step) {
                    if (factors_.mask(f, c, i) == 0) return;
                    double const r = reg == no_register ? 0 : runner.at(reg)[runner.is_one(reg) ? 0 : i - start];
                    values_[c * size + i] = factor.is_binary ? log_binary(problem_.bound.data[factor.target][c * size + i], r)
                                                             : log_density(f, c, sequence, step, r);
                });
        }
    }
    return values_;
}

double CellDensities::sum(std::size_t f) {
    std::vector<double> const& values = of(f);
    Variable const& target = problem_.plan.layout.variables[problem_.plan.layout.factors[f].target];
    std::size_t const size = problem_.bound.grid.size(target.extent);
    double total = 0;
    for (std::size_t k = 0; k < values.size(); ++k)
        if (factors_.mask(f, k / size, k % size) > 0) total += values[k];
    return total;
}

double CellDensities::log_density(std::size_t f, std::size_t component, std::size_t sequence, std::size_t step, double residual) const {
    FactorLayout const& factor = problem_.plan.layout.factors[f];
    if (factor.is_categorical()) return residual != 0 ? std::log(factor.weights[component]) : 0;  // its mean is 0
    if (factor.is_flat()) return 0;
    if (locals_[f]) {
        auto const& [part, scale] = *locals_[f];
        double const sd = 1 / std::sqrt(factors_.precision_without(part, f, component, sequence, step));
        return log_mixture(prior_of(*scale, factor.spread[part].component[component], inputs_.state), scale->spread, residual, sd);
    }
    double const w = factors_.precision(f, component, sequence, step);
    return 0.5 * (std::log(w) - std::log(2 * std::numbers::pi) - w * residual * residual);
}

}  // namespace bam
