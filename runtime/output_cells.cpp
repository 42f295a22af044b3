#include "output_cells.hpp"

namespace bam {
namespace {

bool is_drawn(Problem const& problem, std::uint32_t variable, std::size_t entry) {
    std::vector<bool> const* const drawn = drawn_cells(problem, variable);
    return drawn != nullptr && (*drawn)[entry];
}

}  // namespace

std::vector<OutputCell> output_cells(Problem const& problem) {
    Layout const& layout = problem.plan.layout;
    Grid const& grid = problem.bound.grid;
    std::vector<OutputCell> cells;
    for (std::uint32_t f = 0; f < layout.factors.size(); ++f) {
        FactorLayout const& factor = layout.factors[f];
        if (!factor.is_observation) continue;
        Variable const& variable = layout.variables[factor.target];
        bool const over_time = variable.extent == Extent::Time || variable.extent == Extent::Cell;
        bool const over_sequences = variable.extent == Extent::Sequence || variable.extent == Extent::Cell;
        std::size_t const size = grid.size(variable.extent);
        for (std::uint32_t c = 0; c < variable.components; ++c) {
            if (!factor.region.components.empty() && !factor.region.components[c]) continue;
            for (std::size_t t = 0; t < (over_time ? grid.steps : 1); ++t) {
                if (over_time && (t < factor.region.first_step || t > factor.region.last_step)) continue;
                std::size_t const lanes = !over_sequences ? 1 : (over_time ? grid.lanes(t) : grid.sequences);
                for (std::size_t s = 0; s < lanes; ++s) {
                    if (over_sequences && factor.region.sequence && problem.bound.sequence_labels[s] != *factor.region.sequence) continue;
                    std::size_t const index = variable.extent == Extent::Cell ? grid.cell(s, t) : (over_time ? t : s);
                    cells.push_back({f, c, index, s, t, is_drawn(problem, factor.target, c * size + index)});
                }
            }
        }
    }
    return cells;
}

std::size_t entry_of(Problem const& problem, OutputCell const& cell) {
    Layout const& layout = problem.plan.layout;
    return cell.component * problem.bound.grid.size(layout.variables[layout.factors[cell.factor].target].extent) + cell.index;
}

bool is_observed(Problem const& problem, OutputCell const& cell) {
    std::vector<double> const& mask = problem.masks[cell.factor];
    return !cell.is_drawn && (mask.empty() || mask[entry_of(problem, cell)] > 0);
}

}  // namespace bam
