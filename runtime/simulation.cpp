#include "simulation.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "polya_gamma.hpp"
#include "scales.hpp"
#include "spread.hpp"

namespace bam {
namespace {

constexpr std::uint64_t noise_stream = std::uint64_t{1} << 35;  // above those of Carrier
constexpr std::uint64_t auxiliary_stream = std::uint64_t{1} << 36;

/// Whether the mean of an output reads outputs at least so many steps back.
bool reads_outputs(Plan const& plan, std::size_t least_lag) {
    for (std::size_t f = 0; f < plan.means.size(); ++f) {
        if (!plan.layout.factors[f].is_observation) continue;
        for (Register const& reg : plan.means[f].pass.registers)
            if (reg.from == From::Variable && reg.lag >= least_lag && is_output(plan.layout, reg.index)) return true;
    }
    return false;
}

/// Observations, those whose outputs a mean reads at its own step before it. Means in a circle were refused (BAM0137).
std::vector<std::size_t> order_of_outputs(Plan const& plan) {
    Layout const& layout = plan.layout;
    std::vector<std::size_t> rest, order;
    for (std::size_t f = 0; f < layout.factors.size(); ++f)
        if (layout.factors[f].is_observation) rest.push_back(f);
    auto const waits = [&](std::size_t f) {
        return std::any_of(plan.means[f].pass.registers.begin(), plan.means[f].pass.registers.end(), [&](Register const& reg) {
            if (reg.from != From::Variable || reg.lag > 0 || reg.index == layout.factors[f].target) return false;
            return std::any_of(rest.begin(), rest.end(), [&](std::size_t other) { return layout.factors[other].target == reg.index; });
        });
    };
    while (!rest.empty()) {
        auto next = std::find_if(rest.begin(), rest.end(), [&](std::size_t f) { return !waits(f); });
        if (next == rest.end()) throw std::logic_error("outputs whose means read one another");
        order.push_back(*next);
        rest.erase(next);
    }
    return order;
}

}  // namespace

bool looks_back(Plan const& plan) { return reads_outputs(plan, 1); }

std::vector<std::string> find_flat(Problem const& problem) {
    Layout const& layout = problem.plan.layout;
    std::vector<std::string> names;
    for (ScaleLayout const& scale : layout.scales) {
        std::size_t const components = layout.variables[scale.variable].components;
        bool is_flat = false;
        for (std::size_t c = 0; c < components; ++c) is_flat = is_flat || prior_of(scale, c).family == ScaleFamily::Flat;
        if (is_flat) names.push_back(layout.variables[scale.variable].name);
    }
    // An entry of a block has a prior if some factor whose target it is counts there.
    for (BlockPlan const& block : problem.plan.blocks) {
        Variable const& variable = layout.variables[block.variable];
        Grid const& grid = problem.bound.grid;
        std::size_t const size = grid.size(variable.extent);
        std::size_t const first = first_index(variable, grid);
        bool is_flat = false;
        for (std::size_t e = 0; e < variable.components * size && !is_flat; ++e) {
            if (e % size < first) continue;
            bool has_prior = false;
            for (std::size_t f = 0; f < layout.factors.size(); ++f)
                has_prior = has_prior || (layout.factors[f].target == block.variable && layout.factors[f].is_proper() &&
                                          (problem.masks[f].empty() || problem.masks[f][e] > 0));
            is_flat = !has_prior;
        }
        if (is_flat) names.push_back(variable.name);
    }
    return names;
}

Problem with_all_cells(Compiled const& compiled, Problem const& problem) {
    Problem complete = problem;  // missing cells are 0 in it, and so no longer told from others
    Layout const& layout = problem.plan.layout;
    complete.masks = make_masks(layout, complete.bound);
    complete.augmented.assign(complete.plan.lagged_outputs.size(), {});
    complete.weighted = weighted_factors(layout, complete);
    complete.plan = compiled.plan(complete.weighted);
    return complete;
}

std::vector<std::vector<bool>> missing_cells(Problem const& problem, Problem const& complete) {
    Layout const& layout = problem.plan.layout;
    std::vector<std::vector<bool>> missing(layout.variables.size());
    for (std::size_t f = 0; f < layout.factors.size(); ++f) {
        if (!layout.factors[f].is_observation || problem.masks[f].empty()) continue;
        std::vector<bool>& cells = missing[layout.factors[f].target];
        cells.resize(problem.masks[f].size());
        for (std::size_t i = 0; i < cells.size(); ++i)
            if (problem.masks[f][i] == 0 && (complete.masks[f].empty() || complete.masks[f][i] > 0)) cells[i] = true;
    }
    for (std::size_t k = 0; k < problem.augmented.size(); ++k)  // drawn with the parameters: they count as if they were there
        if (!problem.augmented[k].empty()) missing[problem.plan.lagged_outputs[k].variable] = problem.augmented[k];
    return missing;
}

Simulation::Simulation(Problem& problem, std::uint64_t seed) : problem_(problem), seed_(seed) {
    Diagnostics diagnostics;
    set_up({}, diagnostics);  // nothing is known: all is drawn
    if (has_error(diagnostics)) throw std::logic_error("a model that cannot be simulated");
}

Simulation::Simulation(Problem& problem, std::uint64_t seed, std::vector<DrawColumn> const& columns, Diagnostics& diagnostics)
    : problem_(problem), seed_(seed) {
    set_up(columns, diagnostics);
}

void Simulation::set_up(std::vector<DrawColumn> const& columns, Diagnostics& diagnostics) {
    map_ = std::make_unique<CarryMap>(problem_, columns, diagnostics);
    if (has_error(diagnostics)) return;
    carrier_ = std::make_unique<Carrier>(problem_, *map_, seed_, 0);
    looks_back_ = looks_back(problem_.plan);
    order_ = order_of_outputs(problem_.plan);
    Layout const& layout = problem_.plan.layout;
    for (std::size_t f = 0; f < layout.factors.size(); ++f) {
        TermPlan const& mean = problem_.plan.means[f];
        Variable const& target = layout.variables[layout.factors[f].target];
        std::size_t const cells = layout.factors[f].is_observation ? target.components * problem_.bound.grid.size(target.extent) : 0;
        cell_means_.emplace_back(cells);
        cell_sds_.emplace_back(cells);
        log_odds_.emplace_back(layout.factors[f].is_binary ? cells : 0);
        means_.push_back(mean.registers.empty() ? nullptr : std::make_unique<PassRunner>(mean.pass, carrier_->inputs()));
    }
}

void Simulation::hold(std::uint32_t variable, std::vector<double> const& values) { carrier_->hold(variable, values); }

State const& Simulation::draw(std::uint64_t number, double const* row) {
    carrier_->set(number, row);
    draw_outputs(number);
    state_ = carrier_->state();
    draw_auxiliaries(number);
    return state_;
}

void Simulation::draw_outputs(State& parameters, std::uint64_t number) {
    carrier_->set(parameters);
    draw_outputs(number);
    if (!reads_outputs(problem_.plan, 0)) return;
    for (ScaleLayout const& scale : problem_.plan.layout.scales)
        if (is_binary(scale)) draw_binary_locals(scale, number, parameters);
}

/// PG(1, mean), as they are given the parameters: an output of that mean says nothing more of them.
void Simulation::draw_binary_locals(ScaleLayout const& scale, std::uint64_t number, State& state) const {
    Stream stream(seed_, 0, number, auxiliary_stream + scale.variable);
    std::vector<double>& values = state.values[scale.variable];
    for (ScaleUse const& use : scale.uses) {
        std::vector<double> const& log_odds = log_odds_[use.factor];
        std::vector<double> const& mask = problem_.masks[use.factor];
        for (std::size_t e = 0; e < values.size(); ++e)  // the scale has an entry for each of the target's
            if (mask.empty() || mask[e] > 0) values[e] = polya_gamma(stream, log_odds[e]);
    }
}

/// Of half-t scales, given the scales; and the local scales of binary outputs.
void Simulation::draw_auxiliaries(std::uint64_t number) {
    Layout const& layout = problem_.plan.layout;
    for (ScaleLayout const& scale : layout.scales) {
        if (is_binary(scale)) {
            draw_binary_locals(scale, number, state_);
            continue;
        }
        std::vector<double> const& values = state_.values[scale.variable];
        std::size_t const size = values.size() / layout.variables[scale.variable].components;
        Stream stream(seed_, 0, number, auxiliary_stream + scale.variable);
        for (std::size_t e = 0; e < values.size(); ++e) {
            ScalePriorLayout const& prior = prior_of(scale, e / size);
            if (!has_auxiliary(prior.family)) continue;
            InverseGamma const given = auxiliary_given(prior, to_variance(scale.spread, values[e]));
            state_.auxiliaries[scale.variable][e] = inverse_gamma(stream, given.shape, given.rate);
        }
    }
}

/// Step by step if a mean looks back at outputs, else all at once.
void Simulation::draw_outputs(std::uint64_t number) {
    Grid const& grid = problem_.bound.grid;
    if (!looks_back_) {
        for (std::size_t const f : order_) {
            Stream noise(seed_, 0, number, noise_stream + f, 0);
            means_[f]->begin();
            for (Chunk const& chunk : means_[f]->chunks()) {
                means_[f]->run(chunk);
                fill(f, chunk, noise);
            }
        }
        return;
    }
    for (std::size_t t = 0; t < grid.steps; ++t) {
        for (std::size_t const f : order_) {
            PassRunner& runner = *means_[f];
            Extent const extent = problem_.plan.layout.variables[problem_.plan.layout.factors[f].target].extent;
            bool const over_time = extent == Extent::Time || extent == Extent::Cell;
            if (!over_time && t > 0) continue;
            if (t == 0) runner.begin();
            Chunk const chunk = over_time ? Chunk{t, t + 1, grid.offsets[t], grid.offsets[t + 1]} : runner.chunks().front();
            Stream noise(seed_, 0, number, noise_stream + f, t);
            runner.look_back(chunk.first_step, chunk.last_step);
            runner.run(chunk);
            fill(f, chunk, noise);
        }
    }
}

/// The outputs of a chunk whose means were run last.
void Simulation::fill(std::size_t f, Chunk const& chunk, Stream& noise) {
    Layout const& layout = problem_.plan.layout;
    Grid const& grid = problem_.bound.grid;
    std::uint32_t const v = layout.factors[f].target;
    Variable const& target = layout.variables[v];
    std::size_t const size = grid.size(target.extent);
    bool const over_time = target.extent == Extent::Time || target.extent == Extent::Cell;
    PassRunner const& runner = *means_[f];
    std::size_t local = 0;
    for (std::size_t t = over_time ? chunk.first_step : 0; t < (over_time ? chunk.last_step : 1); ++t) {
        std::size_t const lanes = target.extent == Extent::Cell ? grid.lanes(t) : (target.extent == Extent::Sequence ? grid.sequences : 1);
        for (std::size_t s = 0; s < lanes; ++s, ++local) {
            std::size_t const index = target.extent == Extent::Cell ? grid.cell(s, t) : (over_time ? t : s);
            for (std::size_t c = 0; c < target.components; ++c) {
                if (!problem_.masks[f].empty() && problem_.masks[f][c * size + index] == 0) continue;
                std::uint32_t const reg = problem_.plan.means[f].registers[c];
                double const mean = reg == no_register ? 0 : runner.at(reg)[runner.is_one(reg) ? 0 : local];
                if (layout.factors[f].is_binary) {
                    double const p = logistic(mean);
                    log_odds_[f][c * size + index] = mean;
                    cell_means_[f][c * size + index] = p;
                    cell_sds_[f][c * size + index] = std::sqrt(p * (1 - p));
                    problem_.bound.data[v][c * size + index] = noise.uniform() < p ? 1 : 0;
                    continue;
                }
                double const root = std::sqrt(carrier_->factors().precision(f, c, s, t));
                cell_means_[f][c * size + index] = mean;
                cell_sds_[f][c * size + index] = 1 / root;
                problem_.bound.data[v][c * size + index] = mean + noise.normal() / root;
            }
        }
    }
}

}  // namespace bam
