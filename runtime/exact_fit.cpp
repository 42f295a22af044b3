#include "exact_fit.hpp"

#include <algorithm>
#include <limits>

#include "replica.hpp"
#include "scales.hpp"

namespace bam {
namespace {

/// A mean of some terms is off by some units in the last place of the outputs.
constexpr double rounding = 10 * std::numeric_limits<double>::epsilon();

/// Adds the squares of the counting cells of an observed output to those of the entries of its scale.
void add_squares(Problem const& problem, Factors const& factors, ScaleUse const& use, std::vector<double>& squares) {
    std::uint32_t const v = problem.plan.layout.factors[use.factor].target;
    Variable const& target = problem.plan.layout.variables[v];
    Grid const& grid = problem.bound.grid;
    for (std::size_t c = 0; c < target.components; ++c) {
        grid.for_each(target.extent, [&](std::size_t i, std::size_t s, std::size_t t) {
            if (factors.mask(use.factor, c, i) == 0) return;
            double const y = problem.bound.data[v][c * grid.size(target.extent) + i];
            squares[factors.scale_index(use, c, s, t)] += y * y;
        });
    }
}

}  // namespace

ExactFitWatch::ExactFitWatch(Problem const& problem, Factors const& factors) {
    Layout const& layout = problem.plan.layout;
    for (ScaleLayout const& scale : layout.scales) {
        bool const is_of_observations = !scale.uses.empty() && std::all_of(scale.uses.begin(), scale.uses.end(), [&](ScaleUse const& use) {
            return layout.factors[use.factor].is_observation;
        });
        // Where outliers have local scales, squares are small because those are: they say nothing of the fit.
        bool const has_local = std::any_of(scale.uses.begin(), scale.uses.end(), [&](ScaleUse const& use) {
            std::vector<SpreadLayout> const& spread = layout.factors[use.factor].spread;
            return std::any_of(spread.begin(), spread.end(),
                               [&](SpreadLayout const& part) { return part.variable && layout.variables[*part.variable].is_local; });
        });
        Variable const& variable = layout.variables[scale.variable];
        if (!is_of_observations || has_local) continue;
        std::size_t const size = problem.bound.grid.size(variable.extent);
        Watched watched{&scale, std::vector<double>(variable.components * size, 0.0)};
        for (ScaleUse const& use : scale.uses) add_squares(problem, factors, use, watched.outputs);
        for (std::size_t e = 0; e < watched.outputs.size(); ++e) {
            double& squares = watched.outputs[e];
            squares = keeps_from_zero(prior_of(scale, e / size).family) ? -1 : (squares > 0 ? squares : 1);
        }
        watched_.push_back(std::move(watched));
    }
}

void ExactFitWatch::check(Factors const& factors) const {
    for (Watched const& watched : watched_) {
        for (std::size_t e = 0; e < watched.outputs.size(); ++e) {
            double squares = 0;
            double cells = 0;
            for (ScaleUse const& use : watched.scale->uses) {
                squares += factors.squares(use)[e];
                cells += factors.counts(use)[e];
            }
            if (cells > 0 && squares <= rounding * rounding * watched.outputs[e]) throw ExactFit(watched.scale->variable);
        }
    }
}

std::optional<std::uint32_t> ExactFitWatch::find(double share,
                                                 std::function<double(ScaleLayout const&, std::size_t entry)> const& squares) const {
    for (Watched const& watched : watched_) {
        for (std::size_t e = 0; e < watched.outputs.size(); ++e)
            if (squares(*watched.scale, e) <= share * watched.outputs[e]) return watched.scale->variable;
    }
    return std::nullopt;
}

}  // namespace bam
