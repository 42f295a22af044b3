// Covariances that a factorised posterior leaves out, by linear response (Giordano, Broderick and Jordan, JMLR 2018): the variance of a
// quantity g is the derivative of E[g] in ε when ε g is added to the log joint density. Factors hold blocks independent, but their optima
// answer to one another, and with them E[g].
#pragma once

#include <stop_token>
#include <vector>

#include "mean_field.hpp"
#include "record.hpp"

namespace bam {

/// Sds of the recorder's columns at an optimum; NaN where a column is not identified, not linear in each block, or (as a product of factors
/// near 0) far from linear in all of them together, where the response did not settle, or where it was stopped before. Each takes two
/// climbs from there, of as many passes as E[g] takes to settle: O(cells) per column and pass. `threads`: 0 for as many as the machine has;
/// the numbers do not depend on it.
std::vector<double> linear_response(Problem const& problem, ExpectationPlan const& expectations, Posterior const& optimum,
                                    Recorder const& recorder, std::size_t threads, std::stop_token const& stop);

}  // namespace bam
