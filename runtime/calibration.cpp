#include "calibration.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <stdexcept>

#include "log_densities.hpp"
#include "loo.hpp"
#include "pareto.hpp"

namespace bam {
namespace {

/// Whether an output is of two values, which have no place in an interval.
bool is_binary(Problem const& problem, LeftOut const& cell) { return problem.plan.layout.factors[cell.cells.front().factor].is_binary; }

/// Cells whose PIT is no number are not counted among those that intervals may hold.
CalibratedOutput calibrate(std::string const& output, bool is_binary, std::vector<double> pits, std::vector<double> const& elpds) {
    CalibratedOutput result;
    result.output = output;
    result.cells = pits.size();
    result.elpd = sum_up(elpds);
    result.rmse = result.mae = std::nan("");
    result.is_binary = is_binary;
    if (is_binary) return result;
    result.without_pit = std::erase_if(pits, [](double pit) { return std::isnan(pit); });
    if (pits.empty()) {
        result.covered.fill(std::nan(""));
        result.errors.fill(std::nan(""));
        result.mean_pit = std::nan("");
        return result;
    }
    auto const n = static_cast<double>(pits.size());
    for (std::size_t l = 0; l < CalibratedOutput::levels.size(); ++l) {
        double const level = CalibratedOutput::levels[l];
        auto const inside = std::count_if(pits.begin(), pits.end(), [&](double pit) { return std::abs(pit - 0.5) <= level / 2; });
        result.covered[l] = static_cast<double>(inside) / n;
        result.errors[l] = std::sqrt(level * (1 - level) / n);
    }
    for (double const pit : pits) {
        auto const bin = static_cast<std::size_t>(pit * CalibratedOutput::bins);
        ++result.histogram[std::min(bin, CalibratedOutput::bins - 1)];
        result.mean_pit += pit / n;
    }
    return result;
}

/// Output by output, in the order in which the table has them.
void group_by_output(CalibrationTable& table, Problem const& problem) {
    std::vector<std::string> names;
    struct Cells {
        bool is_binary = false;
        std::vector<double> pits, elpds;
    };
    std::map<std::string, Cells> of;
    for (std::size_t i = 0; i < table.cells.size(); ++i) {
        std::string const& output = table.cells[i].output;
        auto const [at, is_new] = of.try_emplace(output);
        if (is_new) names.push_back(output);
        at->second.is_binary = is_binary(problem, table.cells[i]);
        at->second.pits.push_back(table.pits[i]);
        at->second.elpds.push_back(table.elpds[i]);
    }
    for (std::string const& name : names) table.outputs.push_back(calibrate(name, of[name].is_binary, of[name].pits, of[name].elpds));
}

void add_errors(CalibrationTable& table, std::vector<PredictedCell> const& predictions) {
    std::map<std::pair<std::size_t, std::string>, PredictedCell const*> by_cell;  // row, output
    for (PredictedCell const& prediction : predictions) by_cell[{prediction.row, prediction.output}] = &prediction;
    for (CalibratedOutput& output : table.outputs) {
        double squares = 0, distances = 0;
        std::size_t count = 0;
        for (LeftOut const& cell : table.cells) {
            if (cell.output != output.output) continue;
            PredictedCell const& prediction = *by_cell.at({cell.row, cell.output});
            distances += std::abs(prediction.observed - prediction.q50) / static_cast<double>(output.cells);
            if (std::isfinite(prediction.mean)) {
                squares += std::pow(prediction.observed - prediction.mean, 2);
                ++count;
            }
        }
        output.mae = distances;
        output.rmse = count > 0 ? std::sqrt(squares / static_cast<double>(count)) : std::nan("");
        output.without_mean = output.cells - count;
    }
}

CalibrationTable table_of(std::vector<LeftOut> cells, DrawNumbers const& numbers, bool is_held_out) {
    CalibrationTable table;
    table.is_held_out = is_held_out;
    table.cells = std::move(cells);
    table.draws = numbers.chains * numbers.draws;
    if (numbers.stride > 1) table.notes.push_back(fmt::format("one draw in {} is used, to stay within 256 MiB", numbers.stride));
    return table;
}

}  // namespace

CalibrationTable calibrate_fitted(Problem const& problem, Run const& run, std::uint64_t seed) {
    Diagnostics diagnostics;
    std::vector<LeftOut> cells = each_cell(problem);
    DrawNumbers const densities = log_densities(problem, problem, run, seed, cells, 0, diagnostics);
    DrawNumbers const shares = shares_below(problem, run, seed, cells, 0, diagnostics);
    if (has_error(diagnostics)) throw std::logic_error(diagnostics.front().message);  // the table was fitted: nothing in it is new
    CalibrationTable table = table_of(std::move(cells), densities, false);
    double const highest = highest_k(table.draws);
    std::vector<double> weights;
    for (std::size_t i = 0; i < table.cells.size(); ++i) {
        Expected const expected = leave_out(densities.of(i), densities.chains, &weights);
        table.elpds.push_back(expected.elpd);
        table.pits.push_back(weights.empty() ? std::nan("")
                                             : std::inner_product(weights.begin(), weights.end(), shares.of(i).begin(), 0.0));
        if (!(expected.k < highest)) ++table.doubtful;
    }
    group_by_output(table, problem);
    explain(table);
    return table;
}

CalibrationTable calibrate_held_out(Problem const& problem, Run const& run, std::uint64_t seed, std::vector<LeftOut> cells,
                                    std::vector<PredictedCell> const& predictions, Diagnostics& diagnostics) {
    DrawNumbers const densities = log_densities(problem, problem, run, seed, cells, 0, diagnostics);
    DrawNumbers const shares = shares_below(problem, run, seed, cells, 0, diagnostics);
    CalibrationTable table = table_of(std::move(cells), densities, true);
    if (has_error(diagnostics)) return table;
    double const highest = highest_k(table.draws);
    for (std::size_t i = 0; i < table.cells.size(); ++i) {
        Expected const expected = average(densities.of(i), densities.chains);
        table.elpds.push_back(expected.elpd);
        auto const of_cell = shares.of(i);
        table.pits.push_back(std::accumulate(of_cell.begin(), of_cell.end(), 0.0) / static_cast<double>(of_cell.size()));
        if (!(expected.k < highest)) ++table.doubtful;
    }
    group_by_output(table, problem);
    add_errors(table, predictions);
    explain(table);
    return table;
}

}  // namespace bam
