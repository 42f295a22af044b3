// What power-scaling found, in lines, in sentences and as JSON.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "json_number.hpp"
#include "power_scaling.hpp"
#include "sensitivity.hpp"
#include "text_table.hpp"
#include "words.hpp"

namespace bam {
namespace {

using Json = nlohmann::ordered_json;

/// Above this share of the threshold, noise is told.
constexpr double told_noise = 0.5;

std::string prior_of(std::string const& name) { return fmt::format("the prior of `{}`", name); }

std::string priors_of(std::vector<std::string> const& names) {
    return fmt::format("the prior{} of {}", names.size() == 1 ? "" : "s", first_few(names));
}

std::vector<std::string> names_of(std::vector<ScaledPart> const& parts) {
    std::vector<std::string> names;
    for (ScaledPart const& part : parts) names.push_back(part.name);
    return names;
}

/// Quantities with one diagnosis that hang on one prior most.
struct Finding {
    SensitivityDiagnosis diagnosis;
    std::optional<std::size_t> prior;
    std::vector<std::string> quantities;
};

std::vector<Finding> findings_of(SensitivityTable const& table) {
    std::vector<Finding> findings;
    for (SensitivityRow const& row : table.rows) {
        if (row.diagnosis != SensitivityDiagnosis::Conflict && row.diagnosis != SensitivityDiagnosis::StrongPrior) continue;
        auto const at = std::find_if(findings.begin(), findings.end(), [&](Finding const& finding) {
            return finding.diagnosis == row.diagnosis && finding.prior == row.strongest;
        });
        if (at == findings.end())
            findings.push_back({row.diagnosis, row.strongest, {row.name}});
        else
            at->quantities.push_back(row.name);
    }
    return findings;
}

void say_findings(SensitivityTable& table) {
    std::vector<std::string> conflicting, strong;  // priors
    auto const add = [](std::vector<std::string>& names, std::string const& name) {
        if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    };
    for (Finding const& finding : findings_of(table)) {
        bool const is_conflict = finding.diagnosis == SensitivityDiagnosis::Conflict;
        std::string const what = finding.prior ? prior_of(table.priors[*finding.prior].name) : "all priors together";
        bool const is_one = finding.quantities.size() == 1;
        table.sentences.push_back(fmt::format("{} hang{} on {}{}: {}.", first_few(finding.quantities), is_one ? "s" : "", what,
                                              is_conflict ? " and on the outputs, which pull apart" : ", and hardly on the outputs",
                                              word(finding.diagnosis)));
        if (finding.prior) add(is_conflict ? conflicting : strong, table.priors[*finding.prior].name);
    }
    if (!conflicting.empty())
        table.advice.push_back(
            fmt::format("look at {}: in the units of the table section, and what you know? A guess may be wider. `bam priors MODEL` says "
                        "where {}",
                        priors_of(conflicting), conflicting.size() == 1 ? "it stands" : "they stand"));
    if (!strong.empty())
        table.advice.push_back(fmt::format("report where {} come{} from, and fit once with another that could be defended: `--priors FILE`",
                                           priors_of(strong), strong.size() == 1 ? "s" : ""));
}

/// Quantities that hang on a prior, where the draws cannot tell whether they hang on the outputs.
void say_half_known(SensitivityTable& table) {
    std::vector<std::string> quantities, priors;
    for (SensitivityRow const& row : table.rows) {
        if (!(row.prior >= sensitivity_threshold) || row.diagnosis != SensitivityDiagnosis::Unknown) continue;
        quantities.push_back(row.name);
        if (!row.strongest) continue;
        std::string const& name = table.priors[*row.strongest].name;
        if (std::find(priors.begin(), priors.end(), name) == priors.end()) priors.push_back(name);
    }
    if (quantities.empty()) return;
    table.sentences.push_back(fmt::format("{} hang{} on {}; whether the outputs pull as well the draws cannot tell.", first_few(quantities),
                                          quantities.size() == 1 ? "s" : "", priors.empty() ? "all priors together" : priors_of(priors)));
}

void say_unknown(SensitivityTable& table) {
    std::vector<std::string> names;
    double largest = -HUGE_VAL;
    bool is_too_few = false;
    auto const weigh = [&](ScaledPart const& part, std::string const& name) {
        if (part.is_known) return;
        is_too_few = is_too_few || std::isnan(part.k);
        if (!(part.k > table.highest_k)) return;
        names.push_back(name);
        largest = std::max(largest, part.k);
    };
    weigh(table.likelihood, "likelihood");
    weigh(table.prior, "all priors");
    for (ScaledPart const& part : table.priors)
        if (table.priors.size() > 1) weigh(part, "prior of " + part.name);
    if (is_too_few) {
        table.sentences.push_back(table.draws == 1 ? "1 draw is too few to weight."
                                                   : fmt::format("{} draws are too few to weight them.", table.draws));
        table.advice.emplace_back("fit again with more draws, `--num-samples 1000`");
        return;
    }
    if (names.empty()) return;
    table.sentences.push_back(fmt::format("No numbers (?) for {}: pareto k {:.2f}, above {:.2f}. A few draws would carry all the weight.",
                                          first_few(names), largest, table.highest_k));
    table.advice.emplace_back("more draws, or fit with the prior in question changed: `--priors FILE`");
}

std::string number(double value) { return std::isnan(value) ? "?" : fmt::format("{:.3f}", value); }

Json part_json(ScaledPart const& part) { return {{"pareto_k", json_number(part.k)}, {"known", part.is_known}}; }

}  // namespace

void explain(SensitivityTable& table) {
    if (table.priors.empty()) {
        table.sentences.emplace_back("No prior is made of numbers alone: there is none to scale.");
        return;
    }
    say_findings(table);
    say_half_known(table);
    // A number that is not known is not below.
    bool const all_below =
        std::all_of(table.rows.begin(), table.rows.end(), [](SensitivityRow const& row) { return row.prior < sensitivity_threshold; });
    if (table.sentences.empty() && all_below && !table.rows.empty())
        table.sentences.push_back(
            fmt::format("No quantity hangs on a prior: all are below {}, which is where it begins to matter.", sensitivity_threshold));
    say_unknown(table);
    auto const noisiest = std::max_element(table.rows.begin(), table.rows.end(),
                                           [](SensitivityRow const& a, SensitivityRow const& b) { return a.noise < b.noise; });
    if (noisiest != table.rows.end() && table.prior.is_known && noisiest->noise > told_noise * sensitivity_threshold)
        table.notes.push_back(fmt::format("with so few draws, numbers up to {} may be noise (`{}`): more draws bring that down",
                                          two_digits(noisiest->noise), noisiest->name));
}

std::string sensitivity_text(SensitivityTable const& table) {
    std::string text = fmt::format("{}, weighted as if a part of the model were raised to the powers {} and {}\n",
                                   counted(table.draws, "draw"), scaling_powers.front(), scaling_powers.back());
    if (!table.priors.empty()) text += fmt::format("scaled: the likelihood; {}\n", priors_of(names_of(table.priors)));
    if (!table.of_model.empty())
        text += fmt::format("not scaled, as it holds other parameters and so is part of the model: {}\n", priors_of(table.of_model));
    std::vector<std::vector<std::string>> lines{{"", "Prior", "Likelihood", "Most on the prior of", "Diagnosis"}};
    for (SensitivityRow const& row : table.rows) {
        std::string const most =
            row.strongest ? fmt::format("{} ({})", table.priors[*row.strongest].name, number(row.by_prior[*row.strongest])) : "-";
        lines.push_back({row.name, number(row.prior), number(row.likelihood), most, word(row.diagnosis)});
    }
    text += '\n' + text_table(lines, {false, true, true, false, false});
    text += '\n';
    for (std::string const& sentence : table.sentences) text += sentence + '\n';
    for (std::string const& line : table.advice) text += "next: " + line + '\n';
    for (std::string const& note : table.notes) text += "note: " + note + '\n';
    return text;
}

std::string sensitivity_json(SensitivityTable const& table) {
    Json parts = {{"prior", part_json(table.prior)}, {"likelihood", part_json(table.likelihood)}, {"priors", Json::array()}};
    for (ScaledPart const& part : table.priors) {
        parts["priors"].push_back({{"parameter", part.name}});
        parts["priors"].back().update(part_json(part));
    }
    Json quantities = Json::array();
    for (SensitivityRow const& row : table.rows) {
        Json by_prior = Json::object();
        for (std::size_t g = 0; g < row.by_prior.size(); ++g) by_prior[table.priors[g].name] = json_number(row.by_prior[g]);
        quantities.push_back({{"variable", row.name},
                              {"prior", json_number(row.prior)},
                              {"likelihood", json_number(row.likelihood)},
                              {"by_prior", std::move(by_prior)},
                              {"strongest", row.strongest ? Json(table.priors[*row.strongest].name) : Json(nullptr)},
                              {"noise", json_number(row.noise)},
                              {"diagnosis", word(row.diagnosis)}});
    }
    Json const json = {{"draws", table.draws},
                       {"powers", scaling_powers},
                       {"threshold", sensitivity_threshold},
                       {"pareto_k_threshold", json_number(table.highest_k)},
                       {"scaled", std::move(parts)},
                       {"not_scaled", table.of_model},
                       {"quantities", std::move(quantities)},
                       {"sentences", table.sentences},
                       {"advice", table.advice},
                       {"notes", table.notes}};
    return json.dump(2, ' ', false, Json::error_handler_t::replace) + '\n';
}

}  // namespace bam
