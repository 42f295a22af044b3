// Codes of this file:
//   BAM0483  a new table has entries of a parameter whose prior is flat: nothing says what they are
//   BAM0485  missing outputs of a new table that cannot be drawn together with what looks back at them
#include "carry.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <utility>

#include "entry_name.hpp"
#include "scales.hpp"
#include "words.hpp"

namespace bam {
namespace {

/// Blocks of random numbers for what is new lie above those of the predictions.
constexpr std::uint64_t carry_block = std::uint64_t{1} << 33;
constexpr std::uint64_t output_block = std::uint64_t{1} << 34;

bool is_stepped(Extent extent) { return extent == Extent::Time || extent == Extent::Cell; }

std::string key_of(std::string const& name, std::vector<std::string> const& labels) {
    std::string key = name;
    for (std::string const& label : labels) key += '\x1f' + label;
    return key;
}

}  // namespace

// ---------------------------------------------------------------- what is what

CarryMap::CarryMap(Problem const& problem, std::vector<DrawColumn> const& columns, Diagnostics& diagnostics) {
    find_columns(problem, columns);
    find_order(problem.plan);
    refuse_flat(problem, diagnostics);
    refuse_entangled(problem, diagnostics);
}

void CarryMap::find_columns(Problem const& problem, std::vector<DrawColumn> const& columns) {
    Layout const& layout = problem.plan.layout;
    Bound const& bound = problem.bound;
    std::unordered_map<std::string, std::size_t> by_key;
    for (std::size_t k = 0; k < columns.size(); ++k) by_key.try_emplace(key_of(columns[k].name, columns[k].labels), k);
    unseen_.resize(layout.variables.size());
    for (std::uint32_t v = 0; v < layout.variables.size(); ++v) {
        Variable const& variable = layout.variables[v];
        if (variable.kind == VariableKind::Data) continue;
        std::size_t const size = bound.grid.size(variable.extent);
        for (std::size_t c = 0; c < variable.components; ++c) {
            bound.grid.for_each(variable.extent, [&](std::size_t i, std::size_t s, std::size_t t) {
                if (is_stepped(variable.extent) && t < variable.first_step) return;
                auto const found = by_key.find(key_of(variable.name, labels_of(variable, c, s, t, layout, bound)));
                if (found != by_key.end())
                    known_.push_back({v, c * size + i, found->second});
                else
                    unseen_[v].push_back(c * size + i);
            });
        }
    }
}

void CarryMap::find_order(Plan const& plan) {
    for (std::size_t const b : ancestral_order(plan))
        if (!unseen_[plan.blocks[b].variable].empty()) order_.push_back(b);
}

void CarryMap::refuse_flat(Problem const& problem, Diagnostics& diagnostics) const {
    Layout const& layout = problem.plan.layout;
    auto const has_prior = [&](std::uint32_t v, std::size_t entry) {
        for (std::size_t f = 0; f < layout.factors.size(); ++f) {
            FactorLayout const& factor = layout.factors[f];
            if (factor.target != v || !factor.is_proper()) continue;
            if (problem.masks[f].empty() || problem.masks[f][entry] > 0) return true;
        }
        for (ScaleLayout const& scale : layout.scales) {
            std::size_t const size = problem.bound.grid.size(layout.variables[v].extent);
            if (scale.variable == v) return prior_of(scale, entry / size).family != ScaleFamily::Flat;
        }
        return false;
    };
    for (std::uint32_t v = 0; v < layout.variables.size(); ++v) {
        Variable const& variable = layout.variables[v];
        std::size_t const size = problem.bound.grid.size(variable.extent);
        std::vector<std::string> flat;
        std::vector<bool> is_unseen(variable.components * size);
        for (std::size_t const entry : unseen_[v]) is_unseen[entry] = true;
        for (std::size_t c = 0; c < variable.components && !unseen_[v].empty(); ++c)
            problem.bound.grid.for_each(variable.extent, [&](std::size_t i, std::size_t s, std::size_t t) {
                if (is_unseen[c * size + i] && !has_prior(v, c * size + i))
                    flat.push_back(fmt::format("{}", fmt::join(labels_of(variable, c, s, t, layout, problem.bound), ", ")));
            });
        if (flat.empty()) continue;
        bool const is_learnt = variable.learnt_from.has_value();
        diagnostics.push_back(
            {483,
             Severity::Error,
             fmt::format("the table asks for entries of `{}` that the run has not seen: {}", variable.name, first_few(flat)),
             {{variable.span, is_learnt ? "it is learnt from the table that was fitted: new ones were not"
                                        : "its prior is flat: nothing says what new ones are"}},
             {is_learnt ? "fit again with those rows in the table, give it a prior in the place of `learn`, or leave them out"
                        : "give it a proper prior and fit again, or leave those rows out"}});
    }
}

/// Missing outputs are drawn after the parameters, and all at once: no new parameter and no other missing output may stand in the way.
void CarryMap::refuse_entangled(Problem const& problem, Diagnostics& diagnostics) const {
    Plan const& plan = problem.plan;
    auto const reads = [](Pass const& pass, std::uint32_t variable) {
        return std::any_of(pass.registers.begin(), pass.registers.end(),
                           [&](Register const& reg) { return reg.from == From::Variable && reg.index == variable; });
    };
    for (std::size_t k = 0; k < problem.augmented.size(); ++k) {
        if (problem.augmented[k].empty()) continue;
        std::uint32_t const output = plan.lagged_outputs[k].variable;
        auto const refuse = [&](std::string message, std::string note) {
            Variable const& variable = plan.layout.variables[output];
            diagnostics.push_back({485, Severity::Error, std::move(message), {{variable.span, "declared here"}}, {std::move(note)}});
        };
        for (std::size_t const b : order_) {
            BlockPlan const& block = plan.blocks[b];
            bool const is_read =
                std::any_of(block.priors.begin(), block.priors.end(), [&](PriorPlan const& prior) { return reads(prior.pass, output); }) ||
                std::any_of(block.equations.begin(), block.equations.end(), [&](Equations const& equations) {
                    return plan.layout.factors[equations.factor].target == block.variable && reads(equations.pass, output);
                });
            if (!is_read) continue;
            refuse(fmt::format("the prior of new entries of `{}` looks back at missing cells of `{}`",
                               plan.layout.variables[block.variable].name, plan.layout.variables[output].name),
                   "new parameters are drawn before missing outputs: give those cells, or fit the table together with the first one");
        }
        for (std::size_t other = 0; other < problem.augmented.size(); ++other) {
            if (other == k || problem.augmented[other].empty()) continue;
            auto const& effects = plan.lagged_outputs[other].effects;
            bool const is_product =
                std::any_of(effects.begin(), effects.end(), [&](LagEffect const& effect) { return reads(effect.derivative.pass, output); });
            if (!is_product || other > k) continue;  // said once: a product has two factors
            refuse(
                fmt::format("a mean multiplies missing cells of `{}` and of `{}`",
                            plan.layout.variables[plan.lagged_outputs[other].variable].name, plan.layout.variables[output].name),
                "they have no normal distribution together: give the cells of one of them, or fit the table together with the first one");
        }
    }
}

// ---------------------------------------------------------------- one chain

bool CarryMap::draws_anything(Problem const& problem) const {
    auto const is_filled = [](auto const& list) { return !list.empty(); };
    return std::any_of(unseen_.begin(), unseen_.end(), is_filled) ||
           std::any_of(problem.augmented.begin(), problem.augmented.end(), is_filled);
}

Carrier::Carrier(Problem const& problem, CarryMap const& map, std::uint64_t seed, std::uint64_t chain)
    : problem_(problem),
      map_(map),
      seed_(seed),
      chain_(chain),
      state_(make_state(problem.plan.layout, problem.bound.grid)),
      factors_(problem, state_) {
    // Before any pass is bound to its inputs: where the state has values of an output, those are read.
    for (std::size_t k = 0; k < problem.augmented.size(); ++k) {
        std::uint32_t const output = problem.plan.lagged_outputs[k].variable;
        if (!problem.augmented[k].empty()) state_.values[output] = problem.bound.data[output];
    }
    if (std::any_of(problem.augmented.begin(), problem.augmented.end(), [](auto const& missing) { return !missing.empty(); }))
        completion_ = std::make_unique<Completion>(problem, inputs(), factors_, state_);
    for (std::size_t const b : map.order())
        unseen_.push_back(
            std::make_unique<AncestralBlock>(problem, b, map.unseen()[problem.plan.blocks[b].variable], inputs(), factors_, state_));
}

void Carrier::set(std::size_t draw, double const* row) {
    for (CarryMap::Known const& known : map_.known()) state_.values[known.variable][known.entry] = row[known.column];
    for (ScaleLayout const& scale : problem_.plan.layout.scales) {
        Stream stream(seed_, chain_, draw, carry_block + scale.variable);
        draw_scale_priors(scale, stream);
    }
    for (auto const& [variable, values] : held_) state_.values[variable] = values;
    factors_.refresh();
    for (auto& unseen : unseen_) {
        if (held_.contains(unseen->variable())) continue;
        Stream stream(seed_, chain_, draw, carry_block + unseen->variable());
        unseen->draw(stream);
    }
    if (completion_) {
        Stream stream(seed_, chain_, draw, output_block);
        completion_->draw(stream);
    }
}

void Carrier::set(State const& state) {
    // Element by element: passes hold references to the arrays.
    for (std::size_t v = 0; v < state.values.size(); ++v)
        std::copy(state.values[v].begin(), state.values[v].end(), state_.values[v].begin());
    factors_.refresh();
}

void Carrier::hold(std::uint32_t variable, std::vector<double> const& values) {
    if (values.empty())
        held_.erase(variable);
    else
        held_[variable] = values;
}

void Carrier::draw_scale_priors(ScaleLayout const& scale, Stream& stream) {
    std::size_t const size = problem_.bound.grid.size(problem_.plan.layout.variables[scale.variable].extent);
    for (std::size_t const entry : map_.unseen()[scale.variable]) {
        state_.values[scale.variable][entry] =
            draw_prior(prior_of(scale, entry / size, state_), stream);  // flat ones are refused by CarryMap
    }
}

}  // namespace bam
