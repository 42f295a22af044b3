// Which quantities of a run hang on which prior: power-scaling of its draws, in numbers and in words.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "density_parts.hpp"
#include "summary.hpp"

namespace bam {

enum class SensitivityDiagnosis : std::uint8_t {
    None,
    Conflict,     ///< prior and likelihood both move it
    StrongPrior,  ///< the prior does, the likelihood does not
    Unknown,      ///< one of the two has no number
};
char const* word(SensitivityDiagnosis diagnosis);

/// One part of the density that was scaled.
struct ScaledPart {
    std::string name;  ///< of the parameter; empty: all priors together, or the likelihood
    double k = 0;      ///< pareto k
    bool is_known = false;
};

struct SensitivityRow {
    std::string name;
    double prior = 0;                      ///< all priors together; NaN where there is no number
    double likelihood = 0;                 ///< likewise
    std::vector<double> by_prior;          ///< per part of SensitivityTable::priors
    std::optional<std::size_t> strongest;  ///< of those that reach the threshold, the largest
    double noise = 0;                      ///< what `prior` would be, about, if the quantity did not depend on it
    SensitivityDiagnosis diagnosis = SensitivityDiagnosis::None;
};

struct SensitivityTable {
    std::size_t draws = 0;
    double highest_k = 0;  ///< above it a part has no numbers
    ScaledPart prior, likelihood;
    std::vector<ScaledPart> priors;
    std::vector<std::string> of_model;  ///< parameters whose prior holds other parameters: not scaled
    std::vector<SensitivityRow> rows;
    std::vector<std::string> sentences;  ///< what hangs on what
    std::vector<std::string> advice;     ///< what to do next
    std::vector<std::string> notes;      ///< that a reader must know
};

/// Of the quantities that the summary shows: identified, and not the same in all draws. `rows` are the summary of the same run.
SensitivityTable find_sensitivity(Problem const& problem, PriorStatements const& statements, DensityParts const& parts, Run const& run,
                                  std::vector<SummaryRow> const& rows);

// ---- sensitivity_report.cpp ----

/// Fills sentences, advice and the notes that come from the numbers.
void explain(SensitivityTable& table);
/// A line per quantity, then sentences, lines of "next: " and of "note: ".
std::string sensitivity_text(SensitivityTable const& table);
/// docs/formats.md
std::string sensitivity_json(SensitivityTable const& table);

}  // namespace bam
