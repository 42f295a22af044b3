#include "exact_fit.hpp"

#include <algorithm>
#include <limits>

#include "replica.hpp"
#include "scales.hpp"

namespace bam {
namespace {

/// A mean of some terms is off by some units in the last place of the outputs.
constexpr double rounding = 10 * std::numeric_limits<double>::epsilon();

bool allows_zero(ScalePriorFamily family) {
    return family == ScalePriorFamily::Flat || family == ScalePriorFamily::HalfCauchy || family == ScalePriorFamily::HalfNormal;
}

/// Adds the squares of the counting cells of an observed output to those of the entries of its scale.
void add_squares(Problem const& problem, std::size_t f, Variable const& scale, std::vector<double>& squares) {
    FactorLayout const& factor = problem.plan.layout.factors[f];
    Variable const& target = problem.plan.layout.variables[factor.target];
    Grid const& grid = problem.bound.grid;
    bool const has_steps = target.extent == Extent::Time || target.extent == Extent::Cell;
    bool const has_sequences = target.extent == Extent::Sequence || target.extent == Extent::Cell;
    std::size_t const size = grid.size(target.extent);
    for (std::size_t c = 0; c < target.components; ++c) {
        for (std::size_t t = 0; t < (has_steps ? grid.steps : 1); ++t) {
            for (std::size_t s = 0; s < (target.extent == Extent::Cell ? grid.lanes(t) : has_sequences ? grid.sequences : 1); ++s) {
                std::size_t const i = c * size + (target.extent == Extent::Cell ? grid.cell(s, t) : has_sequences ? s : t);
                if (!problem.masks[f].empty() && problem.masks[f][i] == 0) continue;
                std::size_t const entry = scale.extent == Extent::Cell       ? grid.cell(s, t)
                                          : scale.extent == Extent::Sequence ? s
                                          : scale.extent == Extent::Time     ? t
                                                                             : 0;
                double const y = problem.bound.data[factor.target][i];
                squares[factor.scale_component[c] * grid.size(scale.extent) + entry] += y * y;
            }
        }
    }
}

}  // namespace

ExactFitWatch::ExactFitWatch(Problem const& problem) {
    Layout const& layout = problem.plan.layout;
    for (ScaleLayout const& scale : layout.scales) {
        bool const is_of_observations = !scale.factors.empty() && std::all_of(scale.factors.begin(), scale.factors.end(),
                                                                              [&](auto f) { return layout.factors[f].is_observation; });
        if (!is_of_observations) continue;
        Variable const& variable = layout.variables[scale.variable];
        std::size_t const size = problem.bound.grid.size(variable.extent);
        Watched watched{&scale, std::vector<double>(variable.components * size, 0.0)};
        for (std::uint32_t const f : scale.factors) add_squares(problem, f, variable, watched.outputs);
        for (std::size_t e = 0; e < watched.outputs.size(); ++e) {
            double& squares = watched.outputs[e];
            squares = !allows_zero(prior_of(scale, e / size).family) ? -1 : (squares > 0 ? squares : 1);
        }
        watched_.push_back(std::move(watched));
    }
}

void ExactFitWatch::check(Factors const& factors) const {
    for (Watched const& watched : watched_) {
        for (std::size_t e = 0; e < watched.outputs.size(); ++e) {
            double squares = 0;
            double cells = 0;
            for (std::uint32_t const f : watched.scale->factors) {
                squares += factors.squares(f)[e];
                cells += factors.counts(f)[e];
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
