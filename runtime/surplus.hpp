// What independent factors put into the expected squares of scales beyond what is there (math.md, 12. Variational factors).
#pragma once

#include <functional>
#include <optional>
#include <stop_token>
#include <vector>

#include "mean_field.hpp"

namespace bam {

/// Surplus per scale of the layout and entry, [component][extent], in cells: E[precision] times the sum over the scale's residuals r, each
/// with the rest of its precision, of Var_q(r) - Var(r | all scales); the latter by linear response with the scales held. Exact where all
/// blocks together are Gaussian given the scales. Below 0 where factors put in too little.
using Surplus = std::vector<std::vector<double>>;

/// The means that are pushed, one after another: entries of Gaussian factors.
std::size_t means_to_push(Problem const& problem, Posterior const& optimum);

/// Nothing where a response did not settle, or where it was stopped. `pushed` is called after each mean. One thread.
std::optional<Surplus> find_surplus(Problem const& problem, ExpectationPlan const& expectations, Posterior const& optimum,
                                    std::function<void()> const& pushed, std::stop_token const& stop);

}  // namespace bam
