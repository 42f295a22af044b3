#include "density_parts.hpp"

#include <algorithm>
#include <map>

#include "carry.hpp"
#include "cell_densities.hpp"
#include "scales.hpp"

namespace bam {
namespace {

bool has_local(Layout const& layout, FactorLayout const& factor) {
    return std::any_of(factor.spread.begin(), factor.spread.end(),
                       [&](SpreadLayout const& part) { return part.variable && layout.variables[*part.variable].is_local; });
}

/// Whether the prior holds a parameter besides the entry that it is of.
bool holds_parameters(Plan const& plan, std::size_t f) {
    Layout const& layout = plan.layout;
    auto const has_learnt_df = [&](std::uint32_t local) {
        return std::any_of(layout.scales.begin(), layout.scales.end(), [&](ScaleLayout const& scale) {
            return scale.variable == local && std::any_of(scale.priors.begin(), scale.priors.end(),
                                                          [](ScalePriorLayout const& prior) { return prior.df.has_value(); });
        });
    };
    FactorLayout const& factor = layout.factors[f];
    for (SpreadLayout const& part : factor.spread) {
        if (!part.variable) continue;
        Variable const& variable = layout.variables[*part.variable];
        if (variable.kind == VariableKind::Scale && (!variable.is_local || has_learnt_df(*part.variable))) return true;
    }
    return std::any_of(plan.residuals[f].pass.registers.begin(), plan.residuals[f].pass.registers.end(), [&](Register const& reg) {
        if (reg.from != From::Variable || layout.variables[reg.index].kind == VariableKind::Data) return false;
        return reg.index != factor.target || reg.lag > 0;
    });
}

bool is_flat(ScaleLayout const& scale) {
    return std::all_of(scale.priors.begin(), scale.priors.end(),
                       [](ScalePriorLayout const& prior) { return prior.family == ScaleFamily::Flat; });
}

}  // namespace

PriorStatements prior_statements(Plan const& plan) {
    Layout const& layout = plan.layout;
    std::map<std::uint32_t, PriorStatements::Group> groups;
    PriorStatements statements;
    for (std::size_t f = 0; f < layout.factors.size(); ++f) {
        FactorLayout const& factor = layout.factors[f];
        if (factor.is_observation || (factor.is_flat() && !factor.is_categorical())) continue;
        if (!holds_parameters(plan, f)) {
            groups[factor.target].factors.push_back(f);
        } else if (std::find(statements.of_model.begin(), statements.of_model.end(), factor.target) == statements.of_model.end()) {
            statements.of_model.push_back(factor.target);
        }
    }
    for (std::size_t s = 0; s < layout.scales.size(); ++s) {
        Variable const& variable = layout.variables[layout.scales[s].variable];
        if (!variable.is_local && !is_flat(layout.scales[s])) groups[layout.scales[s].variable].scales.push_back(s);
    }
    for (auto& [variable, group] : groups) {
        group.variable = variable;
        statements.scaled.push_back(std::move(group));
    }
    std::sort(statements.of_model.begin(), statements.of_model.end());
    return statements;
}

std::string why_no_likelihood(Problem const& problem) {
    Layout const& layout = problem.plan.layout;
    for (std::size_t k = 0; k < problem.augmented.size(); ++k) {
        if (problem.augmented[k].empty()) continue;
        LaggedOutput const& output = problem.plan.lagged_outputs[k];
        std::string const& name = layout.variables[output.variable].name;
        for (std::size_t f = 0; f < layout.factors.size(); ++f)
            if (layout.factors[f].target == output.variable && has_local(layout, layout.factors[f]))
                return "means look back at missing cells of `" + name + "`, which is not normal";
        for (LagEffect const& effect : output.effects)
            if (!layout.factors[effect.factor].is_observation) return "a prior looks back at missing cells of `" + name + "`";
    }
    return {};
}

DensityParts density_parts(Problem const& problem, PriorStatements const& statements, Run const& run, std::uint64_t seed,
                           Diagnostics& diagnostics) {
    DensityParts parts;
    parts.log_priors.resize(statements.scaled.size());
    parts.no_likelihood = why_no_likelihood(problem);
    CarryMap const map(problem, run.columns, diagnostics);
    if (has_error(diagnostics)) return parts;
    Layout const& layout = problem.plan.layout;
    for (std::size_t c = 0; c < run.chains.size(); ++c) {
        Carrier carrier(problem, map, seed, c);
        Factors factors(problem, carrier.state());
        CellDensities cells(problem, carrier.inputs(), factors);
        for (std::size_t draw = 0; draw < run.chains[c].log_joint.size(); ++draw) {
            carrier.set(draw, run.chains[c].values.data() + draw * run.columns.size());
            factors.score(carrier.inputs());
            auto const density = [&](std::size_t f) {
                return has_local(layout, layout.factors[f]) ? cells.sum(f) : factors.log_density(f);
            };
            double log_likelihood = -carrier.log_density_of_missing();
            for (std::size_t f = 0; f < layout.factors.size(); ++f)
                if (layout.factors[f].is_observation) log_likelihood += density(f);
            parts.log_likelihood.push_back(log_likelihood);
            for (std::size_t g = 0; g < statements.scaled.size(); ++g) {
                double sum = 0;
                for (std::size_t const f : statements.scaled[g].factors) sum += density(f);
                for (std::size_t const s : statements.scaled[g].scales) sum += log_prior(layout.scales[s], layout, carrier.state());
                parts.log_priors[g].push_back(sum);
            }
        }
    }
    return parts;
}

}  // namespace bam
