// Codes of this file:
//   BAM0548  a log evidence that there is not, or replicas that cannot be exchanged
#include "tempering.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "output_cells.hpp"
#include "simulation.hpp"
#include "words.hpp"

namespace bam {
namespace {

constexpr std::size_t start_rungs = 12;
constexpr std::size_t fewest_rungs = 3, most_adapted_rungs = 64;
/// Above where product modes melt in what was tried (tests/bench_modes.cpp); the barrier to the prior is half as long again.
constexpr double usual_lowest = 0.05;
/// With improper priors, the least power may not be far below 1, or there is nothing to exchange.
constexpr double most_lowest = 0.5;

/// Observed cells of the entry of a learnt spread that has fewest of them; infinite where no spread of outputs is learnt.
double fewest_cells_of_a_spread(Problem const& problem) {
    Layout const& layout = problem.plan.layout;
    Grid const& grid = problem.bound.grid;
    std::map<std::uint32_t, std::vector<double>> cells_of;  // per entry of the spread, [component][extent]
    for (OutputCell const& cell : output_cells(problem)) {
        if (!is_observed(problem, cell)) continue;
        for (SpreadLayout const& part : layout.factors[cell.factor].spread) {
            if (!part.variable) continue;
            Variable const& spread = layout.variables[*part.variable];
            if (spread.kind != VariableKind::Scale || spread.is_local) continue;
            std::vector<double>& cells = cells_of[*part.variable];
            cells.resize(spread.components * grid.size(spread.extent));
            ++cells[entry_of(spread, part.component[cell.component], grid, cell.sequence, cell.step)];
        }
    }
    double fewest = HUGE_VAL;
    for (auto const& [spread, cells] : cells_of)
        for (double const count : cells)
            if (count > 0) fewest = std::min(fewest, count);
    return fewest;
}

/// Numbers under improper priors, at most.
double flat_entries(Problem const& problem) {
    double entries = 0;
    std::vector<std::string> const flat = find_flat(problem);
    for (Variable const& variable : problem.plan.layout.variables)
        if (std::find(flat.begin(), flat.end(), variable.name) != flat.end())
            entries += static_cast<double>(variable.components * problem.bound.grid.size(variable.extent));
    return entries;
}

}  // namespace

std::size_t rungs_for(double barrier) {
    return std::clamp(static_cast<std::size_t>(std::ceil(2.5 * barrier)) + 1, fewest_rungs, most_adapted_rungs);
}

std::size_t Tempering::first_rungs() const { return rungs > 0 ? rungs : start_rungs; }

std::size_t Tempering::most_rungs() const {
    if (!finds_start && !is_while_sampling) return 0;
    return rungs > 0 || !is_while_sampling ? first_rungs() : most_adapted_rungs;
}

Tempering tempering_of(Problem const& problem, ChainOptions const& options) {
    Tempering tempering;
    if (options.exchange == ReplicaExchange::Off && !options.evidence) return tempering;
    tempering.is_while_sampling = options.exchange == ReplicaExchange::AllAlong || options.evidence;
    tempering.finds_start = options.ascent_passes == 0 && (tempering.is_while_sampling || problem.plan.is_multilinear);
    tempering.rungs = options.rungs;
    if (options.evidence) return tempering;  // down to the prior
    // p numbers under flat priors, integrated out, leave sd^p beside the sd^-(power n) of n cells: of every spread, should all p be in its
    // outputs.
    double const flat = flat_entries(problem);
    double const needed = flat > 0 ? (flat + 2) / fewest_cells_of_a_spread(problem) : 0;
    tempering.lowest = std::max(usual_lowest, needed);
    if (tempering.lowest > most_lowest) return {};
    return tempering;
}

std::optional<Diagnostic> refuse_tempering(Problem const& problem, ChainOptions const& options) {
    if (!options.evidence && options.exchange != ReplicaExchange::AllAlong) return std::nullopt;
    std::string const what = options.evidence ? "there is no log evidence" : "replicas cannot be exchanged";
    // Without evidence improper priors do no harm where there are cells enough.
    if (!options.evidence && tempering_of(problem, options).is_while_sampling) return std::nullopt;
    std::vector<std::string> const flat = find_flat(problem);
    if (flat.empty()) return std::nullopt;
    std::string const why = options.evidence ? "an improper prior has no integral, so p(y) has none"
                                             : "with so few cells no posterior is left at lower powers of the likelihood";
    Diagnostic diagnostic{548, Severity::Error, fmt::format("{}: {}", what, why), {}, {}};
    for (Variable const& variable : problem.plan.layout.variables)
        if (std::find(flat.begin(), flat.end(), variable.name) != flat.end())
            diagnostic.labels.push_back({variable.span, "its prior is improper"});
    diagnostic.notes = {fmt::format("give {} a proper prior{}", first_few(flat), options.evidence ? "; how wide it is counts" : ""),
                        options.evidence ? "or leave out --evidence" : "or leave out --tempering"};
    return diagnostic;
}

}  // namespace bam
