// Runs beside one another by how well they predict what they have not seen, in numbers and in words.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bam/bam.hpp"
#include "cross_validation.hpp"
#include "evidence.hpp"

namespace bam {

/// A run that was scored.
struct ScoredRun {
    std::string name;
    CrossValidation scores;
    bool has_converged = true;
    std::optional<LogEvidence> evidence = {};  ///< in the units of the table
};

/// A sum over what is left out, with the standard error that its spread implies: sqrt(n) sd.
struct ErrorSum {
    double value = 0;
    double se = 0;
};
ErrorSum sum_up(std::vector<double> const& values);
/// Of two numbers of which more is better; what is no number comes last.
bool is_more(double a, double b);

struct ComparisonRow {
    std::size_t run = 0;  ///< index of Ranking::runs
    ErrorSum difference;  ///< elpd minus that of the best
    ErrorSum elpd;
    ErrorSum p;             ///< effective number of parameters
    double weight = 0;      ///< of stacking
    Estimate evidence;      ///< log p(y); NaN without
    Estimate bayes_factor;  ///< its log, to the run of most evidence
};

struct Ranking {
    LeaveOut leave_out = LeaveOut::Cell;
    std::size_t known_steps = 0;      ///< of LeaveOut::Future
    bool by_evidence = false;         ///< what the order of the rows is by; else elpd
    std::vector<ScoredRun> runs;      ///< as they were given; all left out the same
    std::vector<ComparisonRow> rows;  ///< the best first
    std::vector<std::string> sentences, advice, notes;
};

/// Fills rows and, after the notes that are there, what is to be said of them.
void rank(Ranking& ranking);

void explain(Ranking& ranking);

// ---- comparison_evidence.cpp ----

/// Fills the evidence of rows, and the Bayes factors between them. Needs the rows.
void weigh_evidence(Ranking& ranking);
/// What is to be said of it: in words of Kass and Raftery (1995).
void say_evidence(Ranking& ranking);

// ---- comparison_report.cpp ----

/// A line per run, then sentences, lines of "next: " and of "note: ".
std::string ranking_text(Ranking const& ranking);
/// docs/formats.md
std::string ranking_json(Ranking const& ranking);

}  // namespace bam
