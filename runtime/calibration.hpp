// Where observed outputs lie in what is predicted for them: coverage and PIT (math.md, 16. Whether to believe predictions).
#pragma once

#include <array>
#include <string>
#include <vector>

#include "comparison.hpp"
#include "draws.hpp"
#include "left_out.hpp"

namespace bam {

/// One output.
struct CalibratedOutput {
    static constexpr std::array<double, 4> levels{0.5, 0.8, 0.9, 0.95};
    static constexpr std::size_t bins = 10;

    std::string output;
    std::size_t cells = 0;
    bool is_binary = false;                     ///< of which there are no intervals: coverage and PIT are not set
    std::array<double, 4> covered{};            ///< share of cells in the central interval of each level
    std::array<double, 4> errors{};             ///< binomial standard error of such a share, were the level right
    std::array<std::size_t, bins> histogram{};  ///< of PIT
    double mean_pit = 0;
    std::size_t without_pit = 0;   ///< cells that have no place in what is predicted: in no interval's share, and no PIT
    ErrorSum elpd;                 ///< of all its cells
    double rmse = 0, mae = 0;      ///< of means and of medians, in the units of the table; NaN where there are no predictions
    std::size_t without_mean = 0;  ///< cells whose prediction has no finite mean: not in rmse
};

struct CalibrationTable {
    bool is_held_out = false;  ///< cells of a table that the draws have not seen; else each is left out by weights
    std::size_t draws = 0;
    std::vector<LeftOut> cells;
    std::vector<double> pits;   ///< per cell; NaN of a binary output, or where draws have no finite mean
    std::vector<double> elpds;  ///< per cell
    std::size_t doubtful = 0;   ///< cells whose numbers a few draws decide
    std::vector<CalibratedOutput> outputs;
    std::vector<std::string> sentences, notes;
};

/// Each observed cell of the table that was fitted, given all the others.
CalibrationTable calibrate_fitted(Problem const& problem, Run const& run, std::uint64_t seed);
/// Cells of a table that the draws have not seen. `predictions` are those of the table, for the errors of the means.
CalibrationTable calibrate_held_out(Problem const& problem, Run const& run, std::uint64_t seed, std::vector<LeftOut> cells,
                                    std::vector<PredictedCell> const& predictions, Diagnostics& diagnostics);

// ---- calibration_report.cpp ----

void explain(CalibrationTable& table);
std::string calibration_text(CalibrationTable const& table);
/// docs/formats.md
std::string calibration_json(CalibrationTable const& table);

}  // namespace bam
