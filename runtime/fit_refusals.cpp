// Codes of this file:
//   BAM0492  a mode over local scales
//   BAM0493  a mode over choices
//   BAM0516  numbers to be learnt, and none is marked
#include "fit_refusals.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "chains.hpp"
#include "memory.hpp"
#include "report.hpp"
#include "scales.hpp"
#include "tempering.hpp"

namespace bam {
namespace {

constexpr int exit_usage = 64;
constexpr int exit_data = 65;

/// Better known before the run than in its middle.
void check_memory(Prepared::Parts const& prepared, FitOptions const& options) {
    if (auto excess = find_excess(prepared.table->problem, options, machine_memory()))
        throw Error(make_report(prepared.program->sources, {std::move(*excess)}), exit_usage);
}

void check_tempering(Prepared::Parts const& prepared, FitOptions const& options) {
    if (options.backend != Backend::Gibbs) return;
    if (auto diagnostic = refuse_tempering(prepared.table->problem, to_chain_options(options)))
        throw Error(make_report(prepared.program->sources, {std::move(*diagnostic)}), exit_data);
}

/// To learn nothing is not what was asked for.
void check_learnt(Prepared::Parts const& prepared) {
    if (!prepared.program->request.learns_hyper) return;
    auto const& variables = prepared.table->problem.plan.layout.variables;
    if (std::any_of(variables.begin(), variables.end(), [](Variable const& variable) { return variable.learnt_from.has_value(); })) return;
    throw Error(Diagnostic{516,
                           Severity::Error,
                           "`--learn-hyper` learns numbers that are marked `learn()`, and the model has none",
                           {},
                           {"mark those that priors are made of by where they start, such as `tau ~ learn(1)`"}},
                exit_usage);
}

/// The highest point over the local scales and the rest is not that of the posterior, in which they are integrated out.
void refuse_local_scales(Prepared::Parts const& prepared, FitOptions const& options) {
    bool const is_start = options.backend != Backend::Map;
    for (Variable const& variable : prepared.table->problem.plan.layout.variables) {
        if (!variable.is_local) continue;
        Diagnostic diagnostic{492,
                              Severity::Error,
                              "the mode of a model with student_t, laplace, horseshoe or bernoulli_logit is not found",
                              {{variable.span, "it has a local scale for each entry, and the mode over those is another"}},
                              {is_start ? "leave out `--init map`: other starts need no mode"
                                        : "`--backend vi` and `--backend gibbs` average over the local scales"}};
        auto const& scales = prepared.table->problem.plan.layout.scales;
        bool const is_of_binary = std::any_of(scales.begin(), scales.end(), [&](ScaleLayout const& scale) {
            return is_binary(scale) && prepared.table->problem.plan.layout.variables[scale.variable].name == variable.name;
        });
        if (!is_of_binary) diagnostic.notes.emplace_back("or make it a normal");
        throw Error(make_report(prepared.program->sources, {std::move(diagnostic)}), exit_data);
    }
}

/// The highest point over the choices and the rest is that of the one best choice: none of the others counts.
void refuse_choices(Prepared::Parts const& prepared, FitOptions const& options) {
    bool const is_start = options.backend != Backend::Map;
    for (Variable const& variable : prepared.table->problem.plan.layout.variables) {
        if (!variable.is_categorical) continue;
        Diagnostic diagnostic{493,
                              Severity::Error,
                              "the mode of a model with categorical parameters is not found",
                              {{variable.span, "at a mode everything is chosen for certain, however unsure it is"}},
                              {is_start ? "leave out `--init map`: other starts need no mode"
                                        : "`--backend vi` and `--backend gibbs` average over what is chosen",
                               variable.is_local ? "or take the weights of one kernel, such as `normal(ggd_weights(...), ...)`"
                                                 : fmt::format("or say what is chosen: `{} fixed ...`", variable.name)}};
        throw Error(make_report(prepared.program->sources, {std::move(diagnostic)}), exit_data);
    }
}

}  // namespace

void refuse_unfit(Prepared::Parts const& prepared, FitOptions const& options) {
    check_learnt(prepared);
    if (options.backend != Backend::Map && options.init != Init::Map) return;
    refuse_local_scales(prepared, options);
    refuse_choices(prepared, options);
}

void refuse_excess(Prepared::Parts const& prepared, FitOptions const& options) {
    FitOptions length = options;
    if (options.backend == Backend::Map) length.num_samples = length.thin = 1;
    check_tempering(prepared, options);
    check_memory(prepared, length);
}

}  // namespace bam
