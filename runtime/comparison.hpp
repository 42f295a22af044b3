// Runs beside one another by how well they predict what they have not seen, in numbers and in words.
#pragma once

#include <string>
#include <vector>

#include "bam/bam.hpp"
#include "cross_validation.hpp"

namespace bam {

/// A run that was scored.
struct ScoredRun {
    std::string name;
    CrossValidation scores;
    bool has_converged = true;
};

/// A sum over what is left out, with the standard error that its spread implies: sqrt(n) sd.
struct ErrorSum {
    double value = 0;
    double se = 0;
};
ErrorSum sum_up(std::vector<double> const& values);

struct ComparisonRow {
    std::size_t run = 0;  ///< index of Ranking::runs
    ErrorSum difference;  ///< elpd minus that of the best
    ErrorSum elpd;
    ErrorSum p;         ///< effective number of parameters
    double weight = 0;  ///< of stacking
};

struct Ranking {
    LeaveOut leave_out = LeaveOut::Cell;
    std::size_t known_steps = 0;      ///< of LeaveOut::Future
    std::vector<ScoredRun> runs;      ///< as they were given; all left out the same
    std::vector<ComparisonRow> rows;  ///< the best first
    std::vector<std::string> sentences, advice, notes;
};

/// Fills rows and, after the notes that are there, what is to be said of them.
void rank(Ranking& ranking);

// ---- comparison_report.cpp ----

void explain(Ranking& ranking);
/// A line per run, then sentences, lines of "next: " and of "note: ".
std::string ranking_text(Ranking const& ranking);
/// docs/formats.md
std::string ranking_json(Ranking const& ranking);

}  // namespace bam
