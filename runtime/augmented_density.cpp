#include "augmented_density.hpp"

#include <numbers>

#include "scales.hpp"

namespace bam {
namespace {

/// Of the counting cells of a binary factor: -w r^2 / 2 + 1 / (8 w) - log 2, which with PG(w | 1, 0) is p(y, w | mean).
double log_normals(Problem const& problem, Replica const& replica, std::size_t f) {
    Layout const& layout = problem.plan.layout;
    FactorLayout const& factor = layout.factors[f];
    Variable const& target = layout.variables[factor.target];
    TermPlan const& residual = problem.plan.residuals[f];
    PassRunner runner(residual.pass, replica.inputs(), {}, true);
    runner.begin();
    runner.run(runner.chunks().front());
    double sum = 0;
    for (std::size_t c = 0; c < target.components; ++c) {
        std::uint32_t const reg = residual.registers[c];
        problem.bound.grid.for_each(target.extent, [&](std::size_t i, std::size_t sequence, std::size_t step) {
            if (replica.factors().mask(f, c, i) == 0) return;
            double const r = runner.at(reg)[i];
            double const w = replica.factors().precision(f, c, sequence, step);
            sum += -0.5 * w * r * r + 1 / (8 * w) - std::numbers::ln2;
        });
    }
    return sum;
}

}  // namespace

double log_augmented(Problem const& problem, Replica const& replica) {
    Layout const& layout = problem.plan.layout;
    Factors const& factors = replica.factors();
    double const power = factors.power();
    double sum = replica.log_joint();
    for (std::size_t f = 0; f < layout.factors.size(); ++f) {
        if (layout.factors[f].is_binary)
            sum += power * log_normals(problem, replica, f) - factors.log_density(f);
        else if (layout.factors[f].is_observation && power != 1)
            sum -= (1 - power) * (factors.log_density(f) - factors.log_density_of_drawn(f));
    }
    for (ScaleLayout const& scale : layout.scales)
        if (is_binary(scale)) sum += log_prior(scale, layout, replica.state());
    return sum;
}

}  // namespace bam
