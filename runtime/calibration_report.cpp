// Coverage and PIT in lines, in sentences and as JSON.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "calibration.hpp"
#include "json_number.hpp"
#include "text_table.hpp"
#include "words.hpp"

namespace bam {
namespace {

using Json = nlohmann::ordered_json;

constexpr double told_errors = 3;  ///< standard errors from which on a departure is told: of few outputs hardly one by chance
constexpr std::size_t bar_width = 40;
constexpr std::size_t few_cells = 20;

/// The level whose share is farthest off, in standard errors.
std::size_t worst_level(CalibratedOutput const& output) {
    std::size_t worst = 0;
    auto const off = [&](std::size_t l) { return std::abs(output.covered[l] - CalibratedOutput::levels[l]) / output.errors[l]; };
    for (std::size_t l = 1; l < CalibratedOutput::levels.size(); ++l)
        if (off(l) > off(worst)) worst = l;
    return worst;
}

void say_coverage(CalibrationTable& table, CalibratedOutput const& output) {
    std::size_t const l = worst_level(output);
    double const level = CalibratedOutput::levels[l];
    double const off = output.covered[l] - level;
    if (!(std::abs(off) >= told_errors * output.errors[l])) return;
    table.sentences.push_back(
        fmt::format("Predictions of {} are too {}: their central {:.0f} % hold {:.0f} % of the cells, {:.1f} standard "
                    "errors {}.",
                    output.output, off < 0 ? "sure" : "wide", 100 * level, 100 * output.covered[l], std::abs(off) / output.errors[l],
                    off < 0 ? "too few" : "too many"));
}

/// The mean of n uniform numbers has standard error 1 / sqrt(12 n).
void say_lean(CalibrationTable& table, CalibratedOutput const& output) {
    double const z = (output.mean_pit - 0.5) * std::sqrt(12 * static_cast<double>(output.cells - output.without_pit));
    if (!(std::abs(z) >= told_errors)) return;
    table.sentences.push_back(
        fmt::format("Predictions of {} are too {}: on average {:.0f} % of what is predicted for a cell lie below what "
                    "was observed, where 50 should.",
                    output.output, z > 0 ? "low" : "high", 100 * output.mean_pit));
}

std::string bars(CalibratedOutput const& output) {
    std::size_t const placed = output.cells - output.without_pit;
    std::string text =
        fmt::format("PIT of {}: where a cell lies in what is predicted for it; {:.1f} of {} in each tenth if that is right\n",
                    output.output, static_cast<double>(placed) / CalibratedOutput::bins, counted(placed, "cell"));
    std::size_t const most = std::max<std::size_t>(1, *std::max_element(output.histogram.begin(), output.histogram.end()));
    for (std::size_t b = 0; b < CalibratedOutput::bins; ++b) {
        double const low = static_cast<double>(b) / CalibratedOutput::bins;
        std::string const bar(std::size_t{output.histogram[b]} * bar_width / most, '#');
        text += fmt::format("  {:.1f}-{:.1f} {:>6}{}{}\n", low, low + 1.0 / CalibratedOutput::bins, output.histogram[b],
                            bar.empty() ? "" : " ", bar);
    }
    return text;
}

std::string rounded(double value) { return std::isnan(value) ? "NA" : fmt::format("{:.4g}", value); }

}  // namespace

void explain(CalibrationTable& table) {
    for (CalibratedOutput const& output : table.outputs) {
        if (output.is_binary) {
            table.notes.push_back(fmt::format("{} is 0 or 1, of which no interval holds a share: it has no coverage and no PIT{}",
                                              output.output, table.is_held_out ? "; its rmse is that of the probabilities of a 1" : ""));
            continue;
        }
        say_coverage(table, output);
        say_lean(table, output);
        if (output.cells < few_cells)
            table.notes.push_back(fmt::format("{} of {} {} little of coverage", counted(output.cells, "cell"), output.output,
                                              output.cells == 1 ? "says" : "say"));
        if (output.without_mean > 0)
            table.notes.push_back(fmt::format("{} of {} {} no finite mean in the unit of the table, and {} not in the rmse",
                                              counted(output.without_mean, "prediction"), output.output,
                                              output.without_mean == 1 ? "has" : "have", output.without_mean == 1 ? "is" : "are"));
        if (output.without_pit > 0)
            table.notes.push_back(fmt::format("of {} of {} draws have no finite prediction: {} in no interval and {} no PIT",
                                              counted(output.without_pit, "cell"), output.output,
                                              output.without_pit == 1 ? "it is" : "they are", output.without_pit == 1 ? "has" : "have"));
    }
    bool const is_any_placed =
        std::any_of(table.outputs.begin(), table.outputs.end(), [](CalibratedOutput const& output) { return !output.is_binary; });
    if (table.sentences.empty() && is_any_placed)
        table.sentences.push_back(fmt::format("Nothing is off by {} standard errors.", told_errors));
    if (table.doubtful > 0)
        table.notes.push_back(fmt::format("of {} a few draws decide (pareto k): `bam compare RUN` fits anew without {}",
                                          counted(table.doubtful, "cell"), table.doubtful == 1 ? "it" : "each of them"));
    if (table.is_held_out && table.doubtful > 0)
        table.notes.back() = fmt::format("of {} a few draws decide (pareto k): the draws hardly meet {}", counted(table.doubtful, "cell"),
                                         table.doubtful == 1 ? "it" : "them");
}

std::string calibration_text(CalibrationTable const& table) {
    std::string text =
        fmt::format("{}, {}; {}\n\n", counted(table.cells.size(), "cell"),
                    table.is_held_out ? "which the run has not seen" : "each predicted from all the others", counted(table.draws, "draw"));
    std::vector<std::vector<std::string>> lines{{"", "cells"}};
    for (double const level : CalibratedOutput::levels) lines.front().push_back(fmt::format("in {:.0f} %", 100 * level));
    for (char const* const heading : {"elpd", "se"}) lines.front().emplace_back(heading);
    if (table.is_held_out)
        for (char const* const heading : {"rmse", "mae"}) lines.front().emplace_back(heading);
    for (CalibratedOutput const& output : table.outputs) {
        std::vector<std::string> line{output.output, std::to_string(output.cells)};
        for (std::size_t l = 0; l < CalibratedOutput::levels.size(); ++l)
            line.push_back(output.is_binary || std::isnan(output.covered[l])
                               ? "NA"
                               : fmt::format("{:.0f} ± {:.0f}", 100 * output.covered[l], 100 * output.errors[l]));
        line.push_back(std::isfinite(output.elpd.value) ? fmt::format("{:.1f}", output.elpd.value) : "NA");
        line.push_back(std::isfinite(output.elpd.se) ? fmt::format("{:.1f}", output.elpd.se) : "NA");
        if (table.is_held_out) {
            line.push_back(rounded(output.rmse));
            line.push_back(rounded(output.mae));
        }
        lines.push_back(std::move(line));
    }
    std::vector<bool> is_number(lines.front().size(), true);
    is_number.front() = false;
    text += text_table(lines, is_number);
    for (CalibratedOutput const& output : table.outputs)
        if (!output.is_binary && output.without_pit < output.cells) text += '\n' + bars(output);
    text += '\n';
    for (std::string const& sentence : table.sentences) text += sentence + '\n';
    for (std::string const& note : table.notes) text += "note: " + note + '\n';
    return text;
}

std::string calibration_json(CalibrationTable const& table) {
    Json json = {{"held_out", table.is_held_out}, {"draws", table.draws}, {"doubtful", table.doubtful}, {"outputs", Json::array()}};
    for (CalibratedOutput const& output : table.outputs) {
        Json coverage = Json::array();
        for (std::size_t l = 0; l < CalibratedOutput::levels.size() && !output.is_binary; ++l)
            coverage.push_back({{"level", CalibratedOutput::levels[l]},
                                {"covered", json_number(output.covered[l])},
                                {"se", json_number(output.errors[l])}});
        json["outputs"].push_back(
            {{"output", output.output},
             {"cells", output.cells},
             {"coverage", std::move(coverage)},
             {"pit", output.is_binary ? Json(nullptr) : Json{{"mean", json_number(output.mean_pit)}, {"histogram", output.histogram}}},
             {"elpd", {{"value", json_number(output.elpd.value)}, {"se", json_number(output.elpd.se)}}},
             {"rmse", json_number(output.rmse)},
             {"mae", json_number(output.mae)}});
    }
    json["points"] = Json::array();
    for (std::size_t i = 0; i < table.cells.size(); ++i)
        json["points"].push_back({{"sequence", table.cells[i].sequence},
                                  {"time", table.cells[i].time},
                                  {"output", table.cells[i].output},
                                  {"pit", json_number(table.pits[i])},
                                  {"elpd", json_number(table.elpds[i])}});
    json.update({{"sentences", table.sentences}, {"notes", table.notes}});
    return json.dump(2, ' ', false, Json::error_handler_t::replace) + '\n';
}

}  // namespace bam
