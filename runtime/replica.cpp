#include "replica.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <utility>

#include "ancestral.hpp"
#include "faults.hpp"
#include "magnitude.hpp"
#include "scales.hpp"
#include "truncated_normal.hpp"

namespace bam {
namespace {

std::unique_ptr<BlockSampler> make_sampler(BlockContext const& context) {
    switch (context.block.method) {
        case PlanMethod::Joint: return make_joint_sampler(context);
        case PlanMethod::Sweep: return make_sweep_sampler(context);
        case PlanMethod::Markov: return make_markov_sampler(context);
    }
    return nullptr;
}

/// Sd of the observed outputs (1 of binary ones: of log odds), the scale on which a scale without an informative prior starts.
double output_sd(Problem const& problem) {
    double n = 0, sum = 0, squares = 0;
    for (std::size_t f = 0; f < problem.plan.layout.factors.size(); ++f) {
        FactorLayout const& factor = problem.plan.layout.factors[f];
        if (!factor.is_observation || factor.is_binary) continue;
        std::vector<double> const& y = problem.bound.data[factor.target];
        for (std::size_t i = 0; i < y.size(); ++i) {
            if (!problem.masks[f].empty() && problem.masks[f][i] == 0) continue;
            n += 1;
            sum += y[i];
            squares += y[i] * y[i];
        }
    }
    double const variance = n > 1 ? (squares - sum * sum / n) / (n - 1) : 1;
    return variance > 0 ? std::sqrt(variance) : 1;
}

/// Above the numbers of what a sweep draws.
constexpr std::uint64_t exchanged_block = std::uint64_t{1} << 59;

double draw_within(Interval const& interval, double mean, double sd, Stream& stream) {
    if (!interval.is_bounded()) return mean + sd * stream.normal();
    double const precision = 1 / (sd * sd);
    return stream.truncated(TruncatedNormal(precision, precision * mean, interval));
}

}  // namespace

Replica::Replica(Problem const& problem, std::uint64_t seed, std::uint64_t chain, SweepOptions options)
    : problem_(problem),
      seed_(seed),
      chain_(chain),
      options_(options),
      state_(make_state(problem.plan.layout, problem.bound.grid)),
      factors_(problem, state_),
      exact_fit_(problem, factors_),
      faults_(injected_faults) {
    Plan const& plan = problem.plan;
    auto find_block = [&](std::uint32_t variable) {
        auto const it =
            std::find_if(plan.blocks.begin(), plan.blocks.end(), [&](BlockPlan const& block) { return block.variable == variable; });
        return static_cast<std::size_t>(it - plan.blocks.begin());
    };
    // All of them first: a pass keeps the place from which it reads an output.
    for (std::size_t k = 0; k < problem.augmented.size(); ++k) {
        std::uint32_t const output = plan.lagged_outputs[k].variable;
        if (!problem.augmented[k].empty()) state_.values[output] = problem.bound.data[output];
    }
    for (std::size_t k = 0; k < problem.augmented.size(); ++k) {
        if (problem.augmented[k].empty()) continue;
        augmentations_.push_back(
            std::make_unique<Augmentation>(plan.lagged_outputs[k], plan, inputs(), factors_, state_, problem.augmented[k]));
    }
    for (BlockPlan const& block : plan.blocks) {
        // A block that choices are drawn without is drawn anew once they are: nothing of its old values, or of its other rows, may stay.
        bool const is_fresh = !block.choices.empty();
        samplers_.push_back(
            make_sampler({plan, block, inputs(), factors_, state_, options.draws_rows && !is_fresh, is_fresh ? 0.0 : options.relaxation}));
    }
    priors_.resize(plan.blocks.size());
    for (OrbitPlan const& orbit : plan.orbits) {
        if (!orbit.is_moved) {
            orbits_.push_back(nullptr);
            continue;
        }
        for (std::uint32_t variable : {orbit.first, orbit.second}) {
            std::size_t const b = find_block(variable);
            if (!priors_[b]) priors_[b] = std::make_unique<Priors>(plan, plan.blocks[b], inputs(), factors_);
        }
        orbits_.push_back(std::make_unique<OrbitMoves>(orbit, plan.layout, problem.bound.grid, state_, *priors_[find_block(orbit.first)],
                                                       *priors_[find_block(orbit.second)]));
    }
}

Replica::~Replica() = default;

Magnitudes& Replica::magnitudes() {
    if (!magnitudes_) magnitudes_ = std::make_unique<Magnitudes>(problem_.plan, inputs(), factors_);
    return *magnitudes_;
}

double Replica::cancellation() {
    double cells = 0;
    double quadratic = 0;
    for (std::size_t f = 0; f < problem_.plan.layout.factors.size(); ++f) {
        if (problem_.plan.layout.factors[f].is_flat()) continue;
        cells += factors_.cells(f);
        if (!problem_.plan.layout.factors[f].is_binary) quadratic += factors_.quadratic(f);
    }
    double const magnitude = magnitudes().quadratic();
    double const sum = magnitude + std::sqrt(magnitude) * std::sqrt(quadratic + cells);
    return std::isnan(sum) ? HUGE_VAL : rounded_steps * std::numeric_limits<double>::epsilon() * sum + rounding();
}

void Replica::look_behind(std::optional<std::size_t> block, bool is_of_digits) {
    factors_.score(inputs());
    exact_fit_.look_behind(factors_, magnitudes(), block, is_of_digits);
}

void Replica::set_state(State const& state) {
    // Element by element: samplers hold references to the arrays.
    for (std::size_t v = 0; v < state.values.size(); ++v) {
        std::copy(state.values[v].begin(), state.values[v].end(), state_.values[v].begin());
        std::copy(state.auxiliaries[v].begin(), state.auxiliaries[v].end(), state_.auxiliaries[v].begin());
    }
    finish();
}

void Replica::start(std::uint64_t start, bool as_wide) {
    scale_starts_.clear();
    Layout const& layout = problem_.plan.layout;
    double const guess = output_sd(problem_);
    for (ScaleLayout const& scale : layout.scales) start_scale(scale, layout, guess, state_);
    if (as_wide) {
        start_from_prior(start);
        return finish();
    }
    for (std::size_t b = 0; b < problem_.plan.blocks.size(); ++b) {
        BlockPlan const& block = problem_.plan.blocks[b];
        Variable const& variable = layout.variables[block.variable];
        std::vector<double>& values = state_.values[block.variable];
        Stream stream(seed_, chain_, UINT64_MAX - start, b);
        if (variable.is_categorical) {
            AncestralBlock(problem_, b, existing_entries(variable), inputs(), factors_, state_).draw(stream);
            continue;
        }
        Priors priors(problem_.plan, block, inputs(), factors_);
        std::size_t const size = values.size() / variable.components;
        std::size_t const first = first_index(variable, problem_.bound.grid);
        for (std::size_t e = 0; e < values.size(); ++e) {
            double const precision = priors.precision()[e];
            double const mean = precision > 0 ? priors.linear()[e] / precision : 0;
            double const sd = precision > 1 ? 1 / std::sqrt(precision) : 1;
            double const draw = draw_within(factors_.interval(block.variable, e), mean, sd, stream);
            values[e] = e % size < first ? 0 : draw;
        }
    }
    finish();
}

/// [component][extent]
std::vector<std::size_t> Replica::existing_entries(Variable const& variable) const {
    std::size_t const size = problem_.bound.grid.size(variable.extent);
    std::vector<std::size_t> entries;
    for (std::size_t e = 0; e < variable.components * size; ++e)
        if (e % size >= first_index(variable, problem_.bound.grid)) entries.push_back(e);
    return entries;
}

/// Scales as they are; each block given those that its prior reads, and each step of a path given the one before. sd 1 about 0 where no
/// prior says anything.
void Replica::start_from_prior(std::uint64_t start) {
    factors_.refresh();
    for (std::size_t const b : ancestral_order(problem_.plan)) {
        std::uint32_t const v = problem_.plan.blocks[b].variable;
        Variable const& variable = problem_.plan.layout.variables[v];
        std::vector<double>& values = state_.values[v];
        std::size_t const size = values.size() / variable.components;
        std::size_t const first = first_index(variable, problem_.bound.grid);
        Stream stream(seed_, chain_, UINT64_MAX - start, b);
        for (std::size_t e = 0; e < values.size(); ++e)
            values[e] = e % size < first || variable.is_categorical ? 0 : draw_within(factors_.interval(v, e), 0, 1, stream);
        AncestralBlock(problem_, b, existing_entries(variable), inputs(), factors_, state_).draw(stream);
    }
}

bool Replica::is_poisoned() const {
    constexpr double most = 1e290, most_of_block = 1e150;  // whose square is no number
    auto const has_more = [](std::vector<double> const& values, double limit) {
        return std::any_of(values.begin(), values.end(), [&](double value) { return !(std::abs(value) < limit); });
    };
    for (std::size_t v = 0; v < state_.values.size(); ++v) {
        bool const is_scale = problem_.plan.layout.variables[v].kind == VariableKind::Scale;
        if (has_more(state_.values[v], is_scale ? most : most_of_block) || has_more(state_.auxiliaries[v], most)) return true;
    }
    for (ScaleLayout const& scale : problem_.plan.layout.scales) {
        for (ScaleUse const& use : scale.uses)
            if (has_more(factors_.squares(use), most)) return true;
    }
    return false;
}

void Replica::sweep(std::uint64_t index) {
    try {
        draw_all(index);
    } catch (NumericalTrouble const& trouble) {
        look_behind(trouble.block, trouble.is_of_numbers);
        throw;
    } catch (std::domain_error const&) {
        look_behind({}, true);
        throw;
    }
}

void Replica::draw_all(std::uint64_t index) {
    std::uint64_t unit = 0;
    for (std::size_t b = 0; b < samplers_.size(); ++b) {
        Stream stream(seed_, chain_, index, unit++);
        BlockPlan const& block = problem_.plan.blocks[b];
        if (block.is_drawn_with_block) continue;
        if (faults_ == nullptr) [[likely]]
            samplers_[b]->draw_with_choices(stream);
        else
            draw_with_faults(*faults_, chain_, index, b, *samplers_[b], state_.values[block.variable], stream);
    }
    for (auto& augmentation : augmentations_) {
        Stream stream(seed_, chain_, index, unit++);
        augmentation->draw(stream);
    }
    if (options_.moves_orbits) {
        for (auto& orbit : orbits_) {
            Stream stream(seed_, chain_, index, unit++);
            if (orbit) orbit->move(stream);
        }
    }
    factors_.score(inputs());
    exact_fit_.check(factors_, inputs());
    for (ScaleLayout const& scale : problem_.plan.layout.scales) {
        Stream stream(seed_, chain_, index, unit++);
        factors_.gather(scale);
        for (std::uint32_t const local : scale.locals) factors_.gather(problem_.plan.layout.scales[local]);
        draw_scale(scale, problem_.plan.layout, factors_, state_, stream);
    }
    update_densities();
}

double Replica::log_change(double from, double to) const {
    Layout const& layout = problem_.plan.layout;
    double sum = (to - from) * log_normals_;
    for (std::size_t f = 0; f < layout.factors.size(); ++f)
        if (layout.factors[f].is_binary) sum += factors_.log_of_binary(f, to) - factors_.log_of_binary(f, from);
    return sum;
}

PowerSlope Replica::slope() const {
    Layout const& layout = problem_.plan.layout;
    PowerSlope sum{log_normals_, 0};
    for (std::size_t f = 0; f < layout.factors.size(); ++f) {
        if (!layout.factors[f].is_binary) continue;
        auto const [first, second] = factors_.slope_of_binary(f, factors_.power());
        sum.first += first;
        sum.second += second;
    }
    return sum;
}

void Replica::draw_binary_locals(std::uint64_t index) {
    bool is_any = false;
    for (ScaleLayout const& scale : problem_.plan.layout.scales) {
        if (!is_binary(scale)) continue;
        Stream stream(seed_, chain_, index, exchanged_block + scale.variable);
        draw_scale(scale, problem_.plan.layout, factors_, state_, stream);
        is_any = true;
    }
    if (is_any) update_densities();
}

/// Brings weights and densities up to a state that was set from outside.
void Replica::finish() {
    factors_.score(inputs());
    update_densities();
}

void Replica::update_densities() {
    factors_.refresh();
    log_joint_ = log_likelihood_ = log_normals_ = 0;
    for (std::size_t f = 0; f < problem_.plan.layout.factors.size(); ++f) {
        FactorLayout const& factor = problem_.plan.layout.factors[f];
        double const density = factors_.log_density(f);
        log_joint_ += density;
        if (!factor.is_observation) continue;
        log_likelihood_ += density;
        if (!factor.is_binary) log_normals_ += density - factors_.log_density_of_drawn(f);
    }
    for (ScaleLayout const& scale : problem_.plan.layout.scales)
        if (!is_binary(scale)) log_joint_ += log_prior(scale, problem_.plan.layout, state_);
}

}  // namespace bam
