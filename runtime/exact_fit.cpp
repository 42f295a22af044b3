#include "exact_fit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "entry_name.hpp"
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

/// Where cells have local scales: how many times the rounding of residuals a spread may be for them to be looked at one by one.
constexpr double nearly = 1000;

double square(double x) { return x * x; }

double cells_of(ScaleLayout const& scale, std::size_t entry, Factors const& factors) {
    double cells = 0;
    for (ScaleUse const& use : scale.uses) cells += factors.counts(use)[entry];
    return cells;
}

bool has_local_part(Layout const& layout, FactorLayout const& factor) {
    return std::any_of(factor.spread.begin(), factor.spread.end(),
                       [&](SpreadLayout const& part) { return part.variable && layout.variables[*part.variable].is_local; });
}

}  // namespace

ExactFitWatch::ExactFitWatch(Problem const& problem, Factors const& factors) : problem_(problem) {
    Layout const& layout = problem.plan.layout;
    for (ScaleLayout const& scale : layout.scales) {
        Variable const& variable = layout.variables[scale.variable];
        bool const is_of_observations = !scale.uses.empty() && std::all_of(scale.uses.begin(), scale.uses.end(), [&](ScaleUse const& use) {
            return layout.factors[use.factor].is_observation;
        });
        if (!is_of_observations || variable.is_local) continue;
        std::size_t const size = problem.bound.grid.size(variable.extent);
        Watched watched{&scale, {}, {}, std::vector<double>(variable.components * size, 0.0), false};
        for (std::size_t e = 0; e < watched.outputs.size(); ++e)
            watched.may_vanish.push_back(!keeps_from_zero(prior_of(scale, e / size).family));
        for (ScaleUse const& use : scale.uses) {
            watched.has_local.push_back(has_local_part(layout, layout.factors[use.factor]));
            watched.is_shared = watched.is_shared || (!watched.has_local.back() && factors.learnt_parts(use.factor).size() > 1);
        }
        sum_outputs(factors, watched);
        watched_.push_back(std::move(watched));
    }
}

/// Of a cell in squares(): what is known of its precision, and, unless it has a local scale, what else is learnt of it. Where outliers have
/// local scales, weighted squares are small because those are large: they say nothing of the fit.
double ExactFitWatch::weight(Watched const& watched, std::size_t u, Factors const& factors, std::size_t component, std::size_t sequence,
                             std::size_t step) const {
    ScaleUse const& use = watched.scale->uses[u];
    return watched.has_local[u] ? factors.known_precision(use.factor, component, sequence, step)
                                : factors.precision_without(use.part, use.factor, component, sequence, step);
}

/// A residual weighs as much as its output.
void ExactFitWatch::sum_outputs(Factors const& factors, Watched const& watched) const {
    Grid const& grid = problem_.bound.grid;
    std::fill(watched.outputs.begin(), watched.outputs.end(), 0.0);
    for (std::size_t u = 0; u < watched.scale->uses.size(); ++u) {
        ScaleUse const& use = watched.scale->uses[u];
        std::uint32_t const v = problem_.plan.layout.factors[use.factor].target;
        Variable const& target = problem_.plan.layout.variables[v];
        for (std::size_t c = 0; c < target.components; ++c) {
            grid.for_each(target.extent, [&](std::size_t i, std::size_t s, std::size_t t) {
                if (factors.mask(use.factor, c, i) == 0) return;
                double const y = problem_.bound.data[v][c * grid.size(target.extent) + i];
                watched.outputs[factors.scale_index(use, c, s, t)] += weight(watched, u, factors, c, s, t) * y * y;
            });
        }
    }
}

std::vector<double> ExactFitWatch::squares(Watched const& watched, Factors const& factors) const {
    Grid const& grid = problem_.bound.grid;
    std::vector<double> sums(watched.outputs.size(), 0.0);
    for (std::size_t u = 0; u < watched.scale->uses.size(); ++u) {
        ScaleUse const& use = watched.scale->uses[u];
        if (!watched.has_local[u]) {
            for (std::size_t e = 0; e < sums.size(); ++e) sums[e] += factors.squares(use)[e];
            continue;
        }
        Variable const& target = problem_.plan.layout.variables[problem_.plan.layout.factors[use.factor].target];
        std::vector<std::vector<double>> of_cells(sums.size());
        for (std::size_t c = 0; c < target.components; ++c) {
            grid.for_each(target.extent, [&](std::size_t i, std::size_t s, std::size_t t) {
                if (factors.mask(use.factor, c, i) > 0)
                    of_cells[factors.scale_index(use, c, s, t)].push_back(factors.known_square(use.factor, c, i));
            });
        }
        for (std::size_t e = 0; e < sums.size(); ++e) {
            std::vector<double>& cells = of_cells[e];
            if (cells.empty()) continue;
            auto const middle = cells.begin() + static_cast<std::ptrdiff_t>(cells.size() / 2);
            std::nth_element(cells.begin(), middle, cells.end());
            sums[e] += static_cast<double>(cells.size()) * *middle;
        }
    }
    return sums;
}

/// Per entry, what squares() would be if nothing in the residuals cancelled, of all cells.
std::vector<double> ExactFitWatch::uncancelled(Watched const& watched, Factors const& factors, Magnitudes& magnitudes) const {
    std::vector<double> sums(watched.outputs.size(), 0.0);
    for (std::size_t u = 0; u < watched.scale->uses.size(); ++u) {
        ScaleUse const& use = watched.scale->uses[u];
        magnitudes.for_each_square(use.factor, [&](double square, std::size_t c, std::size_t s, std::size_t t) {
            sums[factors.scale_index(use, c, s, t)] += weight(watched, u, factors, c, s, t) * square;
        });
    }
    return sums;
}

std::optional<ExactFitWatch::Found> ExactFitWatch::find(Factors const& factors, IsExact const& is_exact) const {
    for (Watched const& watched : watched_) {
        if (watched.is_shared) sum_outputs(factors, watched);
        for (std::size_t e = 0; e < watched.outputs.size(); ++e) {
            if (!watched.may_vanish[e] || cells_of(*watched.scale, e, factors) == 0) continue;
            if (is_exact(watched, e, watched.outputs[e] > 0 ? watched.outputs[e] : 1)) return Found{&watched, e};
        }
    }
    return std::nullopt;
}

bool ExactFitWatch::has(Factors const& factors, IsExact const& is_exact) const { return find(factors, is_exact).has_value(); }

void ExactFitWatch::throw_if(Factors const& factors, IsExact const& is_exact) const {
    auto const found = find(factors, is_exact);
    if (!found) return;
    std::uint32_t const v = found->watched->scale->variable;
    throw ExactFit(v, entry_name(problem_.plan.layout.variables[v], found->entry, problem_.plan.layout, problem_.bound));
}

namespace {

/// Sums by entry, made for one scale after another, once they are asked for.
template <class Make>
class ByEntry {
  public:
    explicit ByEntry(Make make) : make_(make) {}
    double operator()(ExactFitWatch::Watched const& watched, std::size_t entry) {
        if (of_ != &watched) sums_ = make_(watched);
        of_ = &watched;
        return sums_[entry];
    }

  private:
    Make make_;
    ExactFitWatch::Watched const* of_ = nullptr;
    std::vector<double> sums_;
};

}  // namespace

void ExactFitWatch::check(Factors const& factors, Inputs const& inputs) const {
    ByEntry squares_of([&](Watched const& watched) { return squares(watched, factors); });
    ByEntry uncancelled_of([&](Watched const& watched) {
        Magnitudes magnitudes(problem_.plan, inputs, factors);
        return uncancelled(watched, factors, magnitudes);
    });
    auto const is_exact = [&](Watched const& watched, std::size_t entry, double outputs) {
        double weighted = 0;
        for (ScaleUse const& use : watched.scale->uses) weighted += factors.squares(use)[entry];
        bool const has_local = std::find(watched.has_local.begin(), watched.has_local.end(), true) != watched.has_local.end();
        if (weighted > square(has_local ? nearly * rounding : rounding) * outputs) return false;
        if (has_local && squares_of(watched, entry) > square(rounding) * outputs) return false;
        if (uncancelled_of(watched, entry) <= square(much_larger) * outputs) return true;
        throw LostDigits(problem_.plan.layout.factors[watched.scale->uses.front().factor].target);
    };
    throw_if(factors, std::ref(is_exact));  // a copy would be allocated, in every sweep
}

void ExactFitWatch::look_behind(Factors const& factors, Magnitudes& magnitudes, std::optional<std::size_t> block, bool is_of_digits) const {
    Layout const& layout = problem_.plan.layout;
    for (std::size_t f = 0; f < layout.factors.size(); ++f)
        if (!layout.factors[f].is_flat() && !std::isfinite(factors.quadratic(f)))
            throw TooLarge(fmt::format("the distance of `{}` from its mean", layout.variables[layout.factors[f].target].name));
    ByEntry squares_of([&](Watched const& watched) { return squares(watched, factors); });
    ByEntry uncancelled_of([&](Watched const& watched) { return uncancelled(watched, factors, magnitudes); });
    throw_if(factors, [&](Watched const& watched, std::size_t entry, double outputs) {
        double const most = uncancelled_of(watched, entry);
        return most <= square(much_larger) * outputs && squares_of(watched, entry) <= square(hardly_more * rounded_steps * epsilon) * most;
    });
    if (!is_of_digits) return;
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
