#include "sensitivity.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "pareto.hpp"
#include "power_scaling.hpp"

namespace bam {
namespace {

constexpr double nothing = std::numeric_limits<double>::quiet_NaN();

/// A part of the density with the weights of its powers.
struct Component {
    ScaledPart part;
    ScaledWeights weights;

    Component(std::string name, std::vector<double> const& log_density, double most) : weights(scale_by_powers(log_density)) {
        part = {std::move(name), weights.k, weights.k <= most};
    }
    double of(SortedDraws const& draws) const { return part.is_known ? sensitivity(draws, weights) : nothing; }
};

/// Draws of a column, one chain after another.
std::vector<double> draws_of(Run const& run, std::size_t column) {
    std::vector<double> draws;
    for (Chain const& chain : run.chains)
        for (std::size_t i = 0; i < chain.log_joint.size(); ++i) draws.push_back(chain.values[i * run.columns.size() + column]);
    return draws;
}

SensitivityDiagnosis diagnose(double prior, double likelihood) {
    if (std::isnan(prior)) return SensitivityDiagnosis::Unknown;
    if (prior < sensitivity_threshold) return SensitivityDiagnosis::None;
    if (std::isnan(likelihood)) return SensitivityDiagnosis::Unknown;
    return likelihood < sensitivity_threshold ? SensitivityDiagnosis::StrongPrior : SensitivityDiagnosis::Conflict;
}

}  // namespace

char const* word(SensitivityDiagnosis diagnosis) {
    switch (diagnosis) {
        case SensitivityDiagnosis::None: return "-";
        case SensitivityDiagnosis::Conflict: return "potential prior-data conflict";
        case SensitivityDiagnosis::StrongPrior: return "potential strong prior / weak likelihood";
        case SensitivityDiagnosis::Unknown: return "?";
    }
    return "";
}

SensitivityTable find_sensitivity(Problem const& problem, PriorStatements const& statements, DensityParts const& parts, Run const& run,
                                  std::vector<SummaryRow> const& rows) {
    Layout const& layout = problem.plan.layout;
    SensitivityTable table;
    table.draws = parts.log_likelihood.size();
    table.highest_k = highest_k(table.draws);
    std::vector<double> all(table.draws, 0.0);
    std::vector<Component> priors;
    for (std::size_t g = 0; g < statements.scaled.size(); ++g) {
        for (std::size_t i = 0; i < all.size(); ++i) all[i] += parts.log_priors[g][i];
        priors.emplace_back(layout.variables[statements.scaled[g].variable].name, parts.log_priors[g], table.highest_k);
        table.priors.push_back(priors.back().part);
    }
    for (std::uint32_t const variable : statements.of_model) {
        std::string const& name = layout.variables[variable].name;
        bool const is_scaled_too = std::any_of(statements.scaled.begin(), statements.scaled.end(),
                                               [&](PriorStatements::Group const& group) { return group.variable == variable; });
        if (is_scaled_too)
            table.notes.push_back("of `" + name + "`, only the entries whose prior holds no other parameter are scaled");
        else
            table.of_model.push_back(name);
    }
    Component const prior("", all, table.highest_k);
    Component likelihood("", parts.log_likelihood, table.highest_k);
    likelihood.part.is_known = likelihood.part.is_known && parts.no_likelihood.empty();
    table.prior = prior.part;
    table.likelihood = likelihood.part;
    for (std::size_t k = 0; k < run.columns.size(); ++k) {
        bool const is_judged = rows[k].condition == Condition::Good || rows[k].condition == Condition::Bad;
        bool const varies = is_judged && rows[k].quantity.sd != 0;
        if (!run.columns[k].is_shown || !run.columns[k].is_identified || !varies) continue;
        SortedDraws const draws(draws_of(run, k));
        SensitivityRow row;
        row.name = label_name(run.columns[k]);
        row.prior = prior.of(draws);
        row.likelihood = likelihood.of(draws);
        double largest = sensitivity_threshold;
        for (Component const& one : priors) {
            row.by_prior.push_back(one.of(draws));
            if (!(row.by_prior.back() >= largest)) continue;
            largest = row.by_prior.back();
            row.strongest = row.by_prior.size() - 1;
        }
        double const effective = std::max(1.0, rows[k].quantity.ess_bulk);
        row.noise = prior.weights.noise * std::sqrt(std::max(1.0, static_cast<double>(table.draws) / effective));
        row.diagnosis = diagnose(row.prior, row.likelihood);
        table.rows.push_back(std::move(row));
    }
    if (!parts.no_likelihood.empty())
        table.notes.push_back("the likelihood of the observed outputs has no closed form, and so no column: " + parts.no_likelihood);
    explain(table);
    return table;
}

}  // namespace bam
