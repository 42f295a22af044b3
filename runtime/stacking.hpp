// Weights of several predictive distributions (math.md, 15. Which of several models).
#pragma once

#include <vector>

namespace bam {

struct Stacking {
    std::vector<double> weights;  ///< per model
    double gap = 0;               ///< by how much the sum may be below its maximum, for each that is left out
};

/// The weights w of Σ_i log Σ_k w_k exp(elpd[k][i]) at its maximum, w >= 0 and Σ w = 1 (Yao, Vehtari, Simpson and Gelman 2018). The gap is
/// at most 1e-6 unless that takes too many passes; the Karush-Kuhn-Tucker conditions show it. What no model gives a density counts for none
/// of them. `elpd`: [model][left out]; with a NaN among them all weights are NaN.
Stacking stacking_weights(std::vector<std::vector<double>> const& elpd);

inline constexpr double stacking_gap = 1e-6;

}  // namespace bam
