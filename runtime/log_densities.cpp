#include "log_densities.hpp"

#include <algorithm>

#include "carry.hpp"
#include "cell_densities.hpp"
#include "each_chain.hpp"
#include "summary.hpp"

namespace bam {
namespace {

/// A part of what is left out.
struct CellPart {
    std::size_t entry;  ///< [component][extent] of the factor's target
    std::size_t left_out;
};

/// Per factor. Of a whole sequence that was observed the missing outputs that are drawn count, too: their density given the observed ones
/// is taken off again.
std::vector<std::vector<CellPart>> find_parts(Problem const& problem, std::vector<LeftOut> const& left_out, bool is_observed_there) {
    std::vector<std::vector<CellPart>> parts(problem.plan.layout.factors.size());
    std::vector<std::size_t> of_sequence(problem.bound.grid.sequences, LeftOut::none);
    for (std::size_t k = 0; k < left_out.size(); ++k) {
        for (OutputCell const& cell : left_out[k].cells) parts[cell.factor].push_back({entry_of(problem, cell), k});
        if (left_out[k].grid_sequence != LeftOut::none) of_sequence[left_out[k].grid_sequence] = k;
    }
    if (!is_observed_there) return parts;
    for (OutputCell const& cell : output_cells(problem)) {
        bool const is_counted = cell.is_drawn && of_sequence[cell.sequence] != LeftOut::none &&
                                (problem.masks[cell.factor].empty() || problem.masks[cell.factor][entry_of(problem, cell)] > 0);
        if (is_counted) parts[cell.factor].push_back({entry_of(problem, cell), of_sequence[cell.sequence]});
    }
    return parts;
}

}  // namespace

LogDensities log_densities(Problem const& fitted, Problem const& read, Run const& run, std::uint64_t seed,
                           std::vector<LeftOut> const& left_out, std::size_t threads, Diagnostics& diagnostics) {
    LogDensities result;
    CarryMap const map(fitted, run.columns, diagnostics);
    if (has_error(diagnostics)) return result;
    bool const is_same = &fitted == &read;
    auto const parts = find_parts(read, left_out, is_same);
    std::size_t const common = common_draws(run);
    std::size_t const numbers = std::max<std::size_t>(1, left_out.size() * run.chains.size() * common);
    result.stride = (numbers + LogDensities::most_numbers - 1) / LogDensities::most_numbers;
    result.chains = run.chains.size();
    result.draws = common / result.stride;
    result.values.assign(left_out.size() * result.chains * result.draws, 0.0);
    each_chain(result.chains, threads, [&](std::size_t c, std::stop_token const& failed) {
        Carrier carrier(fitted, map, seed, c + 1);
        Factors factors(read.plan, read.bound, carrier.state(), read.masks, read.weighted);
        Inputs const inputs{read.plan.layout, read.bound, carrier.state(), factors.weights()};
        CellDensities cells(read, inputs, factors);
        std::size_t const skipped = run.chains[c].log_joint.size() - common;
        for (std::size_t i = 0; i < result.draws && !failed.stop_requested(); ++i) {
            std::size_t const draw = skipped + i * result.stride;
            carrier.set(draw, run.chains[c].values.data() + draw * run.columns.size());
            factors.refresh();
            auto const value = [&](std::size_t k) -> double& { return result.values[(k * result.chains + c) * result.draws + i]; };
            for (std::size_t k = 0; k < left_out.size(); ++k) {
                value(k) = left_out[k].log_slope;
                if (is_same && left_out[k].grid_sequence != LeftOut::none)
                    value(k) -= carrier.log_density_of_missing(left_out[k].grid_sequence);
            }
            for (std::size_t f = 0; f < parts.size(); ++f) {
                if (parts[f].empty()) continue;
                std::vector<double> const& densities = cells.of(f);
                for (CellPart const& part : parts[f]) value(part.left_out) += densities[part.entry];
            }
        }
    });
    return result;
}

}  // namespace bam
