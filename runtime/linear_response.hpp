// Covariances, and shifts of means, that a factorised posterior leaves out, by linear response (Giordano, Broderick and Jordan, JMLR 2018):
// the variance of a quantity g is the derivative of E[g] in ε when ε g is added to the log joint density. Factors hold blocks independent,
// but their optima answer to one another, and with them E[g].
#pragma once

#include <functional>
#include <stop_token>
#include <vector>

#include "mean_field.hpp"
#include "record.hpp"
#include "responses.hpp"

namespace bam {

/// Called after each mean that is pushed and each column, with how many are done.
using ResponseProgress = std::function<void(std::size_t done, std::size_t total)>;

/// Of the recorder's columns at an optimum. NaN where a column is not identified, not linear in each block, or (as a product of factors
/// near 0) far from linear in all of them together, where the response did not settle, or where it was stopped before.
///
/// Means are those of the factors once the surplus is taken out (surplus.hpp): of all of these columns where the blocks together are
/// Gaussian given the scales and none is a path, else of scales only, and only downwards in their sd; never of local scales. None where no
/// scale is learnt.
///
/// Each column takes a few passes of its own, and all of them together no more than there are numbers in the factors
/// (factor_response.hpp). One thread.
LinearResponse linear_response(Problem const& problem, ExpectationPlan const& expectations, Posterior const& optimum,
                               Recorder const& recorder, ResponseProgress const& progress = {}, std::stop_token const& stop = {});

}  // namespace bam
