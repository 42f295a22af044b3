// Weights of several predictive distributions (math.md, 15. Which of several models).
#pragma once

#include <vector>

namespace bam {

/// The weights w of Σ_i log Σ_k w_k exp(elpd[k][i]) at its maximum, w >= 0 and Σ w = 1 (Yao, Vehtari, Simpson and Gelman 2018). The sum is
/// within i * 1e-6 of its maximum, which the Karush-Kuhn-Tucker conditions show. `elpd`: [model][left out].
std::vector<double> stacking_weights(std::vector<std::vector<double>> const& elpd);

}  // namespace bam
