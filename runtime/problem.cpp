#include "problem.hpp"

#include <algorithm>
#include <cmath>

namespace bam {
namespace {

bool is_over_time(Extent extent) { return extent == Extent::Time || extent == Extent::Cell; }
bool is_over_sequences(Extent extent) { return extent == Extent::Sequence || extent == Extent::Cell; }

bool speaks_of(FactorLayout const& factor, Variable const& target, Bound const& bound, std::size_t component, std::size_t sequence,
               std::size_t step) {
    FactorRegion const& region = factor.region;
    if (!region.components.empty() && !region.components[component]) return false;
    if (is_over_time(target.extent) && (step < region.first_step || step > region.last_step)) return false;
    return !region.sequence || !is_over_sequences(target.extent) || bound.sequence_labels[sequence] == *region.sequence;
}

bool is_one(Layout const& layout, SpreadLayout const& part) {
    if (part.variable) return layout.variables[*part.variable].components == 1 && layout.variables[*part.variable].extent == Extent::One;
    return std::all_of(part.constant.begin(), part.constant.end(), [&](double v) { return v == part.constant.front(); });
}

}  // namespace

std::vector<std::vector<double>> make_masks(Layout const& layout, Bound const& bound) {
    std::vector<std::vector<double>> masks;
    for (FactorLayout const& factor : layout.factors) {
        Variable const& target = layout.variables[factor.target];
        std::size_t const size = bound.grid.size(target.extent);
        std::vector<double> mask(target.components * size, 1.0);
        for (std::size_t c = 0; c < target.components; ++c) {
            bound.grid.for_each(target.extent, [&](std::size_t i, std::size_t sequence, std::size_t step) {
                bool const is_taken = std::any_of(factor.overridden_by.begin(), factor.overridden_by.end(), [&](std::uint32_t later) {
                    return speaks_of(layout.factors[later], target, bound, c, sequence, step);
                });
                bool const is_missing = target.kind == VariableKind::Data && std::isnan(bound.data[factor.target][c * size + i]);
                if (is_taken || is_missing || !speaks_of(factor, target, bound, c, sequence, step)) mask[c * size + i] = 0;
            });
        }
        bool const is_whole = std::all_of(mask.begin(), mask.end(), [](double m) { return m == 1; });
        masks.push_back(is_whole ? std::vector<double>{} : std::move(mask));
    }
    return masks;
}

std::vector<bool> const* drawn_cells(Problem const& problem, std::uint32_t variable) {
    for (std::size_t k = 0; k < problem.augmented.size(); ++k)
        if (problem.plan.lagged_outputs[k].variable == variable && !problem.augmented[k].empty()) return &problem.augmented[k];
    return nullptr;
}

bool has_one_spread(Layout const& layout, FactorLayout const& factor) {
    if (factor.has_covariance()) return true;
    return std::all_of(factor.spread.begin(), factor.spread.end(), [&](SpreadLayout const& part) { return is_one(layout, part); });
}

std::vector<bool> weighted_factors(Layout const& layout, Problem const& problem) {
    std::vector<bool> weighted;
    for (std::size_t f = 0; f < layout.factors.size(); ++f) {
        std::vector<bool> const* const drawn = drawn_cells(problem, layout.factors[f].target);
        bool const is_any_drawn = drawn != nullptr && std::find(drawn->begin(), drawn->end(), true) != drawn->end();
        weighted.push_back(!problem.masks[f].empty() || is_any_drawn || !has_one_spread(layout, layout.factors[f]));
    }
    return weighted;
}

}  // namespace bam
