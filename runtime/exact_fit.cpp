#include "exact_fit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "magnitude.hpp"
#include "replica.hpp"
#include "scales.hpp"
#include "simulation.hpp"
#include "trouble.hpp"

namespace bam {
namespace {

constexpr double epsilon = std::numeric_limits<double>::epsilon();

/// A mean of some terms is off by some units in the last place of the outputs.
constexpr double rounding = 10 * epsilon;

/// Where something fails: how many times what rounding leaves residuals may be, and how much larger than their outputs what cancels in
/// them, for the outputs to be fitted exactly.
constexpr double hardly_more = 100;
constexpr double much_larger = 1000;

double square(double x) { return x * x; }

}  // namespace

ExactFitWatch::ExactFitWatch(Problem const& problem, Factors const& factors) : problem_(problem) {
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
        if (!is_of_observations || has_local) continue;
        Variable const& variable = layout.variables[scale.variable];
        std::size_t const size = problem.bound.grid.size(variable.extent);
        Watched watched{&scale, {}, std::vector<double>(variable.components * size, 0.0), false};
        for (std::size_t e = 0; e < watched.outputs.size(); ++e)
            watched.may_vanish.push_back(!keeps_from_zero(prior_of(scale, e / size).family));
        for (ScaleUse const& use : scale.uses) watched.is_shared = watched.is_shared || factors.learnt_parts(use.factor).size() > 1;
        sum_outputs(factors, watched);
        watched_.push_back(std::move(watched));
    }
}

/// A residual weighs as much as its output: by what is known of its precision, and what else is learnt of it.
void ExactFitWatch::sum_outputs(Factors const& factors, Watched const& watched) const {
    Grid const& grid = problem_.bound.grid;
    std::fill(watched.outputs.begin(), watched.outputs.end(), 0.0);
    for (ScaleUse const& use : watched.scale->uses) {
        std::uint32_t const v = problem_.plan.layout.factors[use.factor].target;
        Variable const& target = problem_.plan.layout.variables[v];
        for (std::size_t c = 0; c < target.components; ++c) {
            grid.for_each(target.extent, [&](std::size_t i, std::size_t s, std::size_t t) {
                if (factors.mask(use.factor, c, i) == 0) return;
                double const y = problem_.bound.data[v][c * grid.size(target.extent) + i];
                watched.outputs[factors.scale_index(use, c, s, t)] += factors.precision_without(use.part, use.factor, c, s, t) * y * y;
            });
        }
    }
}

std::optional<std::uint32_t> ExactFitWatch::find(Factors const& factors, IsExact const& is_exact) const {
    for (Watched const& watched : watched_) {
        if (watched.is_shared) sum_outputs(factors, watched);
        for (std::size_t e = 0; e < watched.outputs.size(); ++e) {
            if (!watched.may_vanish[e]) continue;
            double const outputs = watched.outputs[e] > 0 ? watched.outputs[e] : 1;
            if (is_exact(*watched.scale, e, outputs)) return watched.scale->variable;
        }
    }
    return std::nullopt;
}

namespace {

struct Residuals {
    double cells = 0;
    double squares = 0;
};

Residuals residuals_of(ScaleLayout const& scale, std::size_t entry, Factors const& factors) {
    Residuals sums;
    for (ScaleUse const& use : scale.uses) {
        sums.cells += factors.counts(use)[entry];
        sums.squares += factors.squares(use)[entry];
    }
    return sums;
}

}  // namespace

void ExactFitWatch::check(Factors const& factors) const {
    auto const scale = find(factors, [&](ScaleLayout const& of, std::size_t entry, double outputs) {
        Residuals const residuals = residuals_of(of, entry, factors);
        return residuals.cells > 0 && residuals.squares <= square(rounding) * outputs;
    });
    if (scale) throw ExactFit(*scale);
}

void ExactFitWatch::look_behind(Factors const& factors, Magnitudes& magnitudes, std::optional<std::size_t> block) const {
    Layout const& layout = problem_.plan.layout;
    for (std::size_t f = 0; f < layout.factors.size(); ++f)
        if (!layout.factors[f].is_flat() && !std::isfinite(factors.quadratic(f)))
            throw TooLarge(fmt::format("the distance of `{}` from its mean", layout.variables[layout.factors[f].target].name));
    auto const scale = find(factors, [&](ScaleLayout const& of, std::size_t entry, double outputs) {
        Residuals const residuals = residuals_of(of, entry, factors);
        if (residuals.cells == 0) return false;
        std::vector<double> sums(problem_.plan.layout.variables[of.variable].components *
                                 problem_.bound.grid.size(problem_.plan.layout.variables[of.variable].extent));
        for (ScaleUse const& use : of.uses) magnitudes.add_squares(use, sums);
        return residuals.squares <= square(hardly_more * rounded_steps * epsilon) * sums[entry] &&
               sums[entry] <= square(much_larger) * outputs;
    });
    if (scale) throw ExactFit(*scale);
    for (std::size_t f = 0; f < layout.factors.size(); ++f) {
        if (!layout.factors[f].is_observation || layout.factors[f].is_binary) continue;
        // What sums of squares of covariates, and expected squares, are off by.
        double const lost = rounded_steps * epsilon * magnitudes.quadratic(f);
        if (!(lost < factors.quadratic(f))) throw LostDigits(layout.factors[f].target);
    }
    if (!block) return;
    std::uint32_t const variable = problem_.plan.blocks[*block].variable;
    std::vector<std::string> const flat = find_flat(problem_);
    if (std::find(flat.begin(), flat.end(), layout.variables[variable].name) == flat.end())
        throw HiddenPrior("rounding hides the prior of " + layout.variables[variable].name, variable);
}

}  // namespace bam
