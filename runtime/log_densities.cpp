#include "log_densities.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <numbers>

#include "carry.hpp"
#include "cell_densities.hpp"
#include "each_chain.hpp"
#include "output_unit.hpp"
#include "predict.hpp"
#include "summary.hpp"

namespace bam {
namespace {

/// Blocks of random numbers for local scales lie above all others.
constexpr std::uint64_t share_block = std::uint64_t{1} << 40;

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

/// Of one chain: sets value(k) of all that is asked for to what it is at the draw that the chain's carrier has been set to.
using Evaluate = std::function<void(std::size_t draw, std::function<double&(std::size_t k)> const& value)>;

DrawNumbers at_each_draw(Problem const& fitted, Run const& run, std::uint64_t seed, std::size_t count, std::size_t threads,
                         Diagnostics& diagnostics, std::function<Evaluate(Carrier const& carrier, std::size_t chain)> const& make) {
    DrawNumbers result;
    CarryMap const map(fitted, run.columns, diagnostics);
    if (has_error(diagnostics)) return result;
    std::size_t const common = common_draws(run);
    std::size_t const numbers = std::max<std::size_t>(1, count * run.chains.size() * common);
    result.stride = (numbers + DrawNumbers::most_numbers - 1) / DrawNumbers::most_numbers;
    result.chains = run.chains.size();
    result.draws = common / result.stride;
    result.values.assign(count * result.chains * result.draws, 0.0);
    each_chain(result.chains, threads, [&](std::size_t c, std::stop_token const& failed) {
        Carrier carrier(fitted, map, seed, c + 1);
        Evaluate const evaluate = make(carrier, c);
        std::size_t const skipped = run.chains[c].log_joint.size() - common;
        for (std::size_t i = 0; i < result.draws && !failed.stop_requested(); ++i) {
            std::size_t const draw = skipped + i * result.stride;
            carrier.set(draw, run.chains[c].values.data() + draw * run.columns.size());
            evaluate(draw, [&](std::size_t k) -> double& { return result.values[(k * result.chains + c) * result.draws + i]; });
        }
    });
    return result;
}

/// The densities of one chain's state in the problem that is read.
struct DensitiesThere {
    Factors factors;
    CellDensities cells;

    DensitiesThere(Problem const& read, State const& state)
        : factors(read, state), cells(read, Inputs{read.plan.layout, read.bound, state, factors.weights()}, factors) {}
};

}  // namespace

DrawNumbers log_densities(Problem const& fitted, Problem const& read, Run const& run, std::uint64_t seed,
                          std::vector<LeftOut> const& left_out, std::size_t threads, Diagnostics& diagnostics) {
    bool const is_same = &fitted == &read;
    auto const parts = find_parts(read, left_out, is_same);
    return at_each_draw(fitted, run, seed, left_out.size(), threads, diagnostics, [&](Carrier const& carrier, std::size_t) -> Evaluate {
        auto const there = std::make_shared<DensitiesThere>(read, carrier.state());
        return [&, there](std::size_t, auto const& value) {
            there->factors.refresh();
            for (std::size_t k = 0; k < left_out.size(); ++k) {
                value(k) = left_out[k].log_slope;
                if (is_same && left_out[k].grid_sequence != LeftOut::none)
                    value(k) -= carrier.log_density_of_missing(left_out[k].grid_sequence);
            }
            for (std::size_t f = 0; f < parts.size(); ++f) {
                if (parts[f].empty()) continue;
                std::vector<double> const& densities = there->cells.of(f);
                for (CellPart const& part : parts[f]) value(part.left_out) += densities[part.entry];
            }
        };
    });
}

DrawNumbers shares_below(Problem const& problem, Run const& run, std::uint64_t seed, std::vector<LeftOut> const& left_out,
                         std::size_t threads, Diagnostics& diagnostics) {
    Layout const& layout = problem.plan.layout;
    return at_each_draw(problem, run, seed, left_out.size(), threads, diagnostics,
                        [&](Carrier const& carrier, std::size_t chain) -> Evaluate {
                            auto const means = std::make_shared<CellMeans>(problem, carrier.inputs());
                            return [&, means, chain](std::size_t draw, auto const& value) {
                                means->evaluate();
                                Stream stream(seed, chain + 1, draw, share_block);
                                for (std::size_t k = 0; k < left_out.size(); ++k) {
                                    OutputCell const& cell = left_out[k].cells.front();
                                    if (layout.factors[cell.factor].is_binary) {
                                        value(k) = std::numeric_limits<double>::quiet_NaN();
                                        continue;
                                    }
                                    std::uint32_t const v = layout.factors[cell.factor].target;
                                    double const root = std::sqrt(new_precision(problem, cell, carrier.factors(), carrier.state(), stream));
                                    double const z = (problem.bound.data[v][entry_of(problem, cell)] - means->of(cell)) * root;
                                    value(k) = 0.5 * std::erfc((is_flipped(problem, v, cell.component) ? z : -z) / std::numbers::sqrt2);
                                }
                            };
                        });
}

}  // namespace bam
