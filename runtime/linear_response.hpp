// Covariances that a factorised posterior leaves out, by linear response (Giordano, Broderick and Jordan, JMLR 2018): the variance of a
// quantity g is the derivative of E[g] in ε when ε g is added to the log joint density. Factors hold blocks independent, but their optima
// answer to one another, and with them E[g].
#pragma once

#include <functional>
#include <stop_token>
#include <vector>

#include "mean_field.hpp"
#include "record.hpp"

namespace bam {

/// Called after each column, with how many are done.
using ResponseProgress = std::function<void(std::size_t done, std::size_t total)>;

/// Sds of the recorder's columns at an optimum; NaN where a column is not identified, not linear in each block, or (as a product of factors
/// near 0) far from linear in all of them together, where the response did not settle, or where it was stopped before.
///
/// The optimum is where a pass of the climb leads to itself, so its response solves a linear system: the derivative of a pass, which a pass
/// from a point nearby gives, times the response. Directions that were tried for one column serve the others, too: each column takes a few
/// passes of its own, and all of them together no more than there are numbers in the factors. One thread.
std::vector<double> linear_response(Problem const& problem, ExpectationPlan const& expectations, Posterior const& optimum,
                                    Recorder const& recorder, ResponseProgress const& progress = {}, std::stop_token const& stop = {});

}  // namespace bam
