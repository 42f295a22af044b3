#include "surplus.hpp"

#include <algorithm>
#include <list>

#include "factor_response.hpp"

namespace bam {
namespace {

constexpr double residual_move = 1e-4;  ///< in sds; residuals are linear in each block, so that central differences lose nothing else

/// A cell of a residual that a scale is learnt from.
struct Cell {
    std::size_t residual = 0;  ///< [component][extent of the target]
    std::size_t entry = 0;     ///< of the scale
    double weight = 0;         ///< E[precision]
};

/// The residuals of one factor of the model, and what they say of one scale.
struct Use {
    std::size_t scale = 0;
    std::uint32_t factor = 0;
    std::vector<Cell> cells;
};

std::vector<Use> uses_of(Problem const& problem, Posterior const& optimum) {
    Layout const& layout = problem.plan.layout;
    Factors const factors(problem, optimum.state);
    std::vector<Use> uses;
    for (std::size_t s = 0; s < layout.scales.size(); ++s) {
        for (ScaleUse const& use : layout.scales[s].uses) {
            uses.push_back({s, use.factor, {}});
            Variable const& target = layout.variables[layout.factors[use.factor].target];
            std::size_t const size = problem.bound.grid.size(target.extent);
            for (std::size_t c = 0; c < target.components; ++c) {
                problem.bound.grid.for_each(target.extent, [&](std::size_t i, std::size_t sequence, std::size_t step) {
                    if (factors.mask(use.factor, c, i) == 0) return;
                    uses.back().cells.push_back(
                        {c * size + i, factors.scale_index(use, c, sequence, step), factors.precision(use.factor, c, sequence, step)});
                });
            }
        }
    }
    return uses;
}

/// Derivatives of the residuals of every use as the means go that way.
std::vector<std::vector<double>> residuals_along(MeanField& field, std::vector<Use> const& uses, FactorCoordinates const& coordinates,
                                                 Eigen::VectorXd const& direction) {
    auto const residuals_at = [&](double step) {
        field.set_posterior(coordinates.at(step * direction));
        std::vector<std::vector<double>> residuals;
        for (Use const& use : uses) residuals.push_back(field.values_of(field.problem().plan.residuals[use.factor]));
        return residuals;
    };
    double const length = direction.norm();
    double const step = length > 0 ? residual_move / length : residual_move;
    std::vector<std::vector<double>> slopes = residuals_at(step);
    std::vector<std::vector<double>> const down = residuals_at(-step);
    for (std::size_t u = 0; u < uses.size(); ++u)
        for (std::size_t i = 0; i < slopes[u].size(); ++i) slopes[u][i] = (slopes[u][i] - down[u][i]) / (2 * step);
    return slopes;
}

}  // namespace

std::size_t means_to_push(Problem const& problem, Posterior const& optimum) {
    return FactorCoordinates(problem, optimum, false).means().size();
}

std::optional<Surplus> find_surplus(Problem const& problem, ExpectationPlan const& expectations, Posterior const& optimum,
                                    std::function<void()> const& pushed, std::stop_token const& stop) {
    Layout const& layout = problem.plan.layout;
    std::list<TermPlan> variables;
    std::vector<TermPlan const*> terms;
    std::vector<std::size_t> term_of(layout.variables.size(), 0);
    for (std::uint32_t v = 0; v < layout.variables.size(); ++v) {
        if (!optimum.covariances[v].is_random()) continue;
        term_of[v] = terms.size();
        terms.push_back(&variables.emplace_back(variable_term(layout, v)));
    }
    // Moves along symmetries end where an iteration does: too coarse a number where just these directions are what is counted.
    MeanField field(problem, expectations, false, terms);
    field.set_posterior(optimum);
    FactorResponse response(field, optimum, false);
    FactorCoordinates const& coordinates = response.coordinates();
    std::vector<Use> const uses = uses_of(problem, optimum);
    Surplus surplus;
    for (auto const& scale : optimum.scales) surplus.emplace_back(scale.size(), 0.0);
    // The sum over cells of w J (V - Σ) J', V and Σ the covariances of the means under the factors and by linear response, is the trace of
    // J' w J (V - Σ): one column of V - Σ after another.
    for (FactorCoordinates::Mean const& mean : coordinates.means()) {
        if (stop.stop_requested()) return std::nullopt;
        auto const moved = response.to([&](double epsilon) { field.tilt(term_of[mean.variable], mean.entry, epsilon); }, mean.sd);
        if (!moved) return std::nullopt;
        auto const missing = residuals_along(field, uses, coordinates, coordinates.covariances_with(mean) - *moved);
        Eigen::VectorXd unit = Eigen::VectorXd::Zero(coordinates.size());
        unit(mean.coordinate) = 1 / mean.sd;
        auto const own = residuals_along(field, uses, coordinates, unit);
        for (std::size_t u = 0; u < uses.size(); ++u)
            for (Cell const& cell : uses[u].cells)
                surplus[uses[u].scale][cell.entry] += cell.weight * own[u][cell.residual] * missing[u][cell.residual];
        if (pushed) pushed();
    }
    return surplus;
}

}  // namespace bam
