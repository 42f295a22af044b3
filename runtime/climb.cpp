// Codes of this file:
//   BAM0539  a vi.json that bam did not write, or that is of another run
#include "climb.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>

#include "pareto.hpp"
#include "words.hpp"

namespace bam {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t many_passes = 1000;

char const* word(ClimbEnding ending) {
    switch (ending) {
        case ClimbEnding::Converged: return "converged";
        case ClimbEnding::Rounding: return "rounding";
        case ClimbEnding::PassLimit: return "max_passes";
        case ClimbEnding::Stopped: return "interrupted";
    }
    return "";
}

Json number(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }
double to_number(Json const& json) { return json.is_null() ? std::numeric_limits<double>::quiet_NaN() : json.get<double>(); }

Json numbers(std::vector<double> const& values) {
    Json json = Json::array();
    for (double const value : values) json.push_back(number(value));
    return json;
}

std::vector<double> to_numbers(Json const& json) {
    std::vector<double> values;
    for (Json const& value : json) values.push_back(to_number(value));
    return values;
}

Json matrix(Eigen::MatrixXd const& values) {
    Json rows = Json::array();
    for (Eigen::Index i = 0; i < values.rows(); ++i) {
        Json row = Json::array();
        for (Eigen::Index j = 0; j < values.cols(); ++j) row.push_back(number(values(i, j)));
        rows.push_back(std::move(row));
    }
    return rows;
}

}  // namespace

std::string factors_json(MeanField const& field, Recorder const& recorder) {
    Problem const& problem = field.problem();
    Posterior const& posterior = field.posterior();
    Layout const& layout = problem.plan.layout;
    std::map<std::pair<std::uint32_t, std::size_t>, std::string> names;  // of (variable, place)
    for (std::size_t k = 0; k < recorder.columns().size(); ++k) {
        Recorder::Source const source = recorder.source(k);
        if (source.term == nullptr) names[{source.variable, source.offset}] = label_name(recorder.columns()[k]);
    }
    Json factors = Json::array();
    for (BlockPlan const& block : problem.plan.blocks) {
        Covariances const& covariances = posterior.covariances[block.variable];
        for_each_system(block, layout.variables[block.variable], problem.bound.grid,
                        [&](auto const& group, std::size_t here, std::optional<std::size_t> before) {
                            Json entries = Json::array();
                            Json means = Json::array();
                            for (std::uint32_t component : group) {
                                std::size_t const place = component * covariances.size + here;
                                entries.push_back(names[{block.variable, place}]);
                                means.push_back(number(posterior.state.values[block.variable][place]));
                            }
                            Json factor{{"entries", std::move(entries)},
                                        {"mean", std::move(means)},
                                        {"covariance", matrix(covariance_of(group, here, covariances))}};
                            std::size_t const first = group.front() * covariances.size + here;
                            if (TruncatedFactor const* const cut = posterior.truncated_at(block.variable, first))
                                factor["truncated"] = {{"low", number(cut->density.interval().low)},
                                                       {"high", number(cut->density.interval().high)},
                                                       {"precision", number(cut->density.precision())},
                                                       {"precision_times_mean", number(cut->density.linear())}};
                            if (before) factor["covariance_with_previous"] = matrix(earlier_of(group, here, covariances));
                            factors.push_back(std::move(factor));
                        });
    }
    for (std::size_t s = 0; s < layout.scales.size(); ++s) {
        if (!layout.variables[layout.scales[s].variable].is_kept) continue;
        for (std::size_t e = 0; e < posterior.scales[s].size(); ++e) {
            ScaleFactor const& factor = posterior.scales[s][e];
            factors.push_back({{"entries", {names[{layout.scales[s].variable, e}]}},
                               {"mean", {number(factor.mean)}},
                               {"expected_precision", number(factor.precision)},
                               {"expected_log_precision", number(factor.log_precision)}});
        }
    }
    return factors.dump();
}

std::string to_json(Climb const& climb, std::string_view factors, std::string_view run) {
    Json json{{"run", run},
              {"elbo", number(climb.trace.empty() ? -HUGE_VAL : climb.trace.back())},
              {"passes", climb.trace.size()},
              {"ending", word(climb.ending)},
              {"seconds", climb.seconds},
              {"converged", climb.ending == ClimbEnding::Converged},
              {"rounding", number(climb.rounding)},
              {"pareto_k", number(climb.pareto_k)},
              {"exact", climb.pareto_k == -HUGE_VAL},
              {"pareto_k_threshold", number(highest_k(climb.draws))},
              {"draws", climb.draws},
              {"starts", numbers(climb.starts)},
              {"start_failures", climb.failures},
              {"chosen", climb.chosen + 1},
              {"elbo_trace", numbers(climb.trace)},
              {"linear_response_sd", numbers(climb.response.sds)},
              {"linear_response_mean", numbers(climb.response.means)},
              {"held_choices", climb.held_choices},
              {"factors", Json::parse(factors)}};
    return json.dump(2, ' ', false, Json::error_handler_t::replace) + '\n';
}

std::optional<Climb> read_climb(std::string_view text, std::string_view run, std::uint32_t source, Diagnostics& diagnostics) {
    auto const refuse = [&](std::string message) {
        diagnostics.push_back({539, Severity::Error, std::move(message), {{{source, 0, 0}, "here"}}, {"fit again"}});
        return std::nullopt;
    };
    try {
        Json const json = Json::parse(text);
        if (json.at("run").get<std::string>() != run) return refuse("vi.json is not of the run that config.json describes");
        Climb climb;
        climb.starts = to_numbers(json.at("starts"));
        climb.failures = json.value("start_failures", std::vector<std::string>(climb.starts.size()));
        climb.trace = to_numbers(json.at("elbo_trace"));
        climb.response.sds = to_numbers(json.at("linear_response_sd"));
        if (json.contains("linear_response_mean")) climb.response.means = to_numbers(json.at("linear_response_mean"));
        climb.chosen = json.at("chosen").get<std::size_t>() - 1;
        climb.pareto_k = json.value("exact", false) ? -HUGE_VAL : to_number(json.at("pareto_k"));
        climb.held_choices = json.value("held_choices", climb.held_choices);
        if (json.contains("rounding")) climb.rounding = to_number(json.at("rounding"));
        json.at("seconds").get_to(climb.seconds);
        json.at("draws").get_to(climb.draws);
        for (ClimbEnding const ending : {ClimbEnding::Converged, ClimbEnding::Rounding, ClimbEnding::PassLimit, ClimbEnding::Stopped})
            if (json.at("ending").get<std::string>() == word(ending)) climb.ending = ending;
        if (climb.chosen >= climb.starts.size() || climb.trace.empty()) return refuse("vi.json is not as bam wrote it");
        return climb;
    } catch (std::exception const&) {
        return refuse("vi.json is not as bam wrote it");
    }
}

Verdict judge(Climb const& climb) {
    Verdict verdict;
    verdict.is_converged = climb.ending == ClimbEnding::Converged;
    std::string reason;
    switch (climb.ending) {
        case ClimbEnding::Converged: reason = "the ELBO no longer changes"; break;
        case ClimbEnding::Rounding:
            reason = fmt::format("it no longer rises, but rounding alone moves it by {:.1g}", climb.rounding);
            break;
        case ClimbEnding::PassLimit: reason = "that is as many as `--max-passes` allows"; break;
        case ClimbEnding::Stopped: reason = "interrupted"; break;
    }
    double const elbo = climb.trace.empty() ? -HUGE_VAL : climb.trace.back();
    verdict.sentences.push_back(fmt::format("{}. {}, ELBO {:.4f}: {}.", verdict.is_converged ? "converged" : "not converged",
                                            counted(climb.trace.size(), "pass"), elbo, reason));
    auto const failed = std::count_if(climb.failures.begin(), climb.failures.end(), [](std::string const& why) { return !why.empty(); });
    if (failed > 0) verdict.sentences.push_back(failed_starts(static_cast<std::size_t>(failed), climb.starts.size()));
    double const most = highest_k(climb.draws);
    bool const is_close = climb.pareto_k <= most && climb.held_choices.empty();
    if (std::isnan(climb.pareto_k)) {
        verdict.sentences.emplace_back("Too few draws to tell how far the factors are from the posterior.");
    } else if (climb.pareto_k == -HUGE_VAL) {
        verdict.sentences.emplace_back("The factors are the posterior: their density is in proportion to it at every draw.");
    } else if (is_close) {
        verdict.sentences.push_back(
            fmt::format("The factors are close to the posterior: pareto k {:.2f}, below {:.2f}.", climb.pareto_k, most));
    } else if (climb.pareto_k > most) {
        verdict.sentences.push_back(fmt::format(
            "The factors are far from the posterior: pareto k {:.2f}, above {:.2f}. They hold blocks independent, so sds are off{}.",
            climb.pareto_k, most, climb.response.sds.empty() ? "" : "; LR_sd repairs them to first order"));
    }
    if (!climb.held_choices.empty())
        verdict.sentences.push_back(fmt::format(
            "The probabilities of {} are not to be relied on: another parameter's prior hangs on {}, and independent factors hold a choice "
            "where that has settled. Pareto k{} does not see it.",
            first_few(climb.held_choices), climb.held_choices.size() == 1 ? "it" : "them",
            std::isfinite(climb.pareto_k) ? fmt::format(", {:.2f},", climb.pareto_k) : ""));
    if (!verdict.is_converged && climb.ending == ClimbEnding::PassLimit)
        verdict.advice.push_back(fmt::format("more passes, `--max-passes {}`", 10 * climb.trace.size()));
    if (climb.ending == ClimbEnding::Rounding)
        verdict.advice.emplace_back("columns of about size 1, in the table section: what cancels in the means is far larger than they are");
    if (climb.ending == ClimbEnding::PassLimit || climb.trace.size() >= many_passes)
        verdict.advice.emplace_back(std::string(climb.starts_at_mode ? "columns" : "`--init map`, or columns") +
                                    " about 0, such as `year - 2000` in the table section: blocks that lean on one another climb by small "
                                    "steps");
    if (!is_close && !std::isnan(climb.pareto_k)) {
        if (climb.response.sds.empty() && verdict.is_converged)
            verdict.advice.emplace_back("`--linear-response` for sds that know of the other blocks");
        verdict.advice.emplace_back("`--backend gibbs` for what counts");
    }
    return verdict;
}

std::string starts_text(Climb const& climb) {
    std::string text;
    for (std::size_t k = 0; k < climb.starts.size(); ++k) {
        bool const is_chosen = k == climb.chosen;
        bool const has_failed = k < climb.failures.size() && !climb.failures[k].empty();
        text += has_failed ? fmt::format("start {}: failed: {}\n", k + 1, climb.failures[k])
                           : fmt::format("start {}: ELBO {:.4f}{}\n", k + 1, climb.starts[k],
                                         is_chosen && climb.starts.size() > 1 ? ", the best: climbed on" : "");
    }
    return text;
}

}  // namespace bam
