// Power-scaling: how far the draws of a quantity move when a part of the density is raised to a power a little off 1 (Kallioinen, Paananen,
// Bürkner and Vehtari 2023; the numbers are those of the R package priorsense). math.md, 14.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

namespace bam {

/// The powers: one and its inverse, so that both are as far from 1.
inline constexpr std::array<double, 2> scaling_powers{0.8, 1.25};
/// From here on a quantity counts as sensitive: about what a normal has that moves by a quarter of its sd for each doubling of the power.
inline constexpr double sensitivity_threshold = 0.05;

/// Draws of one quantity in ascending order.
struct SortedDraws {
    explicit SortedDraws(std::vector<double> const& draws);
    std::vector<double> values;
    std::vector<std::size_t> order;  ///< which draw each is
};

/// Cumulative Jensen-Shannon distance (Nguyen and Vreeken 2015) of the draws to themselves with `weights`, which are in the order of the
/// draws and add up to 1: the root of
///     sum over gaps between draws of  gap * ( P log2(P/M) + Q log2(Q/M) ) / sum of gap * (P + Q),   M = (P + Q) / 2,
/// P and Q the distribution functions without and with weights. Of that and the same of the negated draws, the larger: so it does not
/// change with the unit of the quantity, or its sign. Between 0 and 1; NaN if all draws are equal.
double cumulative_distance(SortedDraws const& draws, std::vector<double> const& weights);

/// Weights of all draws for one part of the density, at each power.
struct ScaledWeights {
    std::array<std::vector<double>, 2> weights;
    double k = 0;      ///< the larger pareto k of the two
    double noise = 0;  ///< what sensitivity() would be, about, of a quantity that does not depend on the part, from independent draws
};
/// `log_density`: of the part, per draw.
ScaledWeights scale_by_powers(std::vector<double> const& log_density);

/// The mean of both distances over log2 of the power: how far the quantity moves when the power doubles, near 1.
double sensitivity(SortedDraws const& draws, ScaledWeights const& scaled);

}  // namespace bam
