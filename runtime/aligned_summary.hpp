// The summary of aligned draws: weights that symmetries move at one representative each, and what can be numbered anew with the numbers
// that suit all draws best.
#pragma once

#include <string>
#include <vector>

#include "fit.hpp"

namespace bam {

struct AlignedSummary {
    std::vector<SummaryRow> rows;        ///< those of the run, but of what was aligned the rows of the aligned draws
    std::vector<std::string> sentences;  ///< what was done, and what could not be
};

/// `rows` of `run`, but of what nothing but its number tells from others those of aligned draws: what a verdict can be about.
AlignedSummary number_alike(std::vector<SummaryRow> rows, Plan const& plan, Run const& run);
bool has_interchanged(Run const& run);
/// The plan of a run. Throws Error if its program no longer compiles.
Plan plan_of(Fit::Parts const& parts);

/// The judged rows as a table, and below it what was done to them; `raw`: of all rows, weights that symmetries move aligned as well. Of
/// chains and of draws from factors. Throws as plan_of.
std::string aligned_table(Fit::Parts const& parts, bool raw);
/// The JSON of a run with "aligned": {"summary": [...], "sentences": [...]}, where something was.
std::string with_aligned(Fit::Parts const& parts, std::string const& json);

}  // namespace bam
