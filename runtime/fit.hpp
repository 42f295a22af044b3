// What the public classes Fit and Predictions hold, and how a fit is made and stored.
#pragma once

#include <memory>
#include <stop_token>
#include <string>
#include <unordered_map>
#include <vector>

#include "bam/bam.hpp"
#include "climb.hpp"
#include "config.hpp"
#include "draws.hpp"
#include "mode.hpp"
#include "program.hpp"
#include "summary.hpp"

namespace bam {

struct ChainOptions;

struct Fit::Parts {
    std::shared_ptr<Program::Parts const> program;  ///< null if it was opened from a folder
    RunConfig config;
    FitOptions asked;                        ///< those of config, but for a mode that stands in for draws
    std::vector<Chain> dropped;              ///< empty if it was opened from a folder
    Run run;                                 ///< chains with at least one draw; of Backend::Map one, with the mode as its one draw
    std::optional<Mode> mode;                ///< of Backend::Map
    std::optional<Climb> climb;              ///< of Backend::Variational
    std::string factors;                     ///< of Backend::Variational: factors_json; empty if it was opened from a folder
    std::vector<std::size_t> chain_numbers;  ///< of those, from 1
    std::vector<SummaryRow> rows;            ///< of the draws as they are
    std::vector<SummaryRow> judged;          ///< the same, but of what can be numbered anew those of aligned draws
    std::vector<std::string> numberings;     ///< what was done for that, in sentences
    Verdict verdict;
    std::vector<Quantity> quantities;                      ///< of rows
    std::unordered_map<std::string, std::size_t> by_name;  ///< index of rows
    std::vector<PredictedCell> predictions;
};

struct Predictions::Parts {
    std::vector<Incident> incidents;  ///< of the run
    std::string csv;
    std::vector<PredictedCell> cells;
    Report report;
    std::vector<std::string> notes;
};

/// Runs the backend. Throws Error; BAM0482: a block or a scale cannot be drawn; BAM0490: a density without a mode.
std::shared_ptr<Fit::Parts const> run_fit(Prepared::Parts const& prepared, FitOptions options, ProgressCallback const& progress,
                                          std::stop_token stop);

/// BAM0559: what needs draws, of a run that has a mode in their place. `name`: of the run, in a sentence.
void refuse_degraded(RunConfig const& config, std::string const& name = "the run");

/// Fills summary, verdict and names from config and run.
void summarize(Fit::Parts& parts);

PredictedCell to_cell(Prediction const& prediction);

// ---- summary_json.cpp ----

/// As Predictions::json.
std::string predictions_json(std::vector<PredictedCell> const& cells, std::vector<std::string> const& notes,
                             std::vector<Incident> const& incidents);

// ---- run_folder.cpp ----

/// Reads a run folder. Throws Error.
std::shared_ptr<Fit::Parts const> read_run(std::filesystem::path const& folder);
Report write_run(Fit::Parts const& parts, std::filesystem::path const& folder, bool force);
void check_run_folder(std::filesystem::path const& folder, bool force);

/// Calls work and turns failures of files into Error.
void with_file_errors(std::function<void()> const& work);

}  // namespace bam
