// The summary of a run as `--raw` shows it: weights that symmetries move at one representative each.
#pragma once

#include <string>
#include <vector>

#include "fit.hpp"

namespace bam {

struct AlignedSummary {
    std::vector<SummaryRow> rows;        ///< those of the run, but of what was aligned the rows of the aligned draws
    std::vector<std::string> sentences;  ///< what was done, and what could not be
};

/// Of chains and of draws from factors. Throws Error if the program of the run no longer compiles.
AlignedSummary aligned_summary(Fit::Parts const& parts);

/// The rows as a table, and below it the sentences.
std::string raw_table(Fit::Parts const& parts);
/// The JSON of a run with "aligned": {"summary": [...], "sentences": [...]}, where something was.
std::string with_aligned(Fit::Parts const& parts, std::string const& json);

}  // namespace bam
