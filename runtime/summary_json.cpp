#include <cmath>
#include <nlohmann/json.hpp>

#include "exchange_json.hpp"
#include "fit.hpp"
#include "incidents.hpp"
#include "summary.hpp"

namespace bam {
namespace {

using Json = nlohmann::ordered_json;

Json number(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

Json to_json(std::optional<Worst> const& worst) {
    if (!worst) return nullptr;
    return {{"variable", worst->name}, {"value", number(worst->value)}};
}

Json to_json(SummaryRow const& row) {
    QuantitySummary const& q = row.quantity;
    return {{"variable", label_name(row.column)},
            {"mean", number(q.mean)},
            {"median", number(q.median)},
            {"sd", number(q.sd)},
            {"mad", number(q.mad)},
            {"q5", number(q.q5)},
            {"q95", number(q.q95)},
            {"rhat", number(q.rhat)},
            {"ess_bulk", number(q.ess_bulk)},
            {"ess_tail", number(q.ess_tail)},
            {"mcse_mean", number(q.mcse_mean)},
            {"mcse_sd", number(q.mcse_sd)},
            {"identified", row.is_identified()},
            {"shown", row.column.is_shown},
            {"condition", word(row.condition)}};
}

Json to_json(Verdict const& verdict) {
    Json worse = Json::array();
    for (WorseChain const& chain : verdict.worse_chains)
        worse.push_back({{"chain", chain.chain}, {"log_joint_gap", number(chain.gap)}, {"climbing", chain.is_climbing}});
    Json json{{"converged", verdict.is_converged}};
    json.update(mark_json(verdict.incidents));
    json.update({{"chains", verdict.chains},
                 {"draws", verdict.draws},
                 {"judged", verdict.judged},
                 {"rhat_above_threshold", verdict.rhat_count},
                 {"ess_below_threshold", verdict.ess_count},
                 {"worst_rhat", to_json(verdict.rhat)},
                 {"worst_ess", to_json(verdict.ess)},
                 {"fixed", verdict.fixed},
                 {"stuck", verdict.stuck},
                 {"not_finite", verdict.not_finite},
                 {"unidentified", verdict.unidentified},
                 {"unidentified_worst_rhat", to_json(verdict.unidentified_rhat)},
                 {"best_chain", verdict.best_chain},
                 {"worse_chains", std::move(worse)},
                 {"sentences", verdict.sentences},
                 {"advice", verdict.advice},
                 {"incidents", to_json(verdict.incidents)}});
    return json;
}

}  // namespace

std::string summary_json(std::vector<SummaryRow> const& rows, Verdict const& verdict, LinearResponse const& response,
                         std::optional<Exchange> const& exchange) {
    Json summary = Json::array();
    for (std::size_t k = 0; k < rows.size(); ++k) {
        summary.push_back(to_json(rows[k]));
        if (!response.means.empty()) summary.back()["linear_response_mean"] = number(response.mean(k));
        if (!response.sds.empty()) summary.back()["linear_response_sd"] = number(response.sd(k));
    }
    Json json{{"verdict", to_json(verdict)}, {"summary", std::move(summary)}};
    if (exchange) json["exchange"] = exchange_json(*exchange);
    return json.dump(2, ' ', false, Json::error_handler_t::replace) + '\n';
}

std::string predictions_json(std::vector<PredictedCell> const& cells, std::vector<std::string> const& notes,
                             std::vector<Incident> const& incidents) {
    Json predictions = Json::array();
    for (PredictedCell const& cell : cells)
        predictions.push_back({{"sequence", cell.sequence},
                               {"time", cell.time},
                               {"output", cell.output},
                               {"observed", number(cell.observed)},
                               {"mean", number(cell.mean)},
                               {"sd", number(cell.sd)},
                               {"q5", number(cell.q5)},
                               {"q50", number(cell.q50)},
                               {"q95", number(cell.q95)}});
    Json json{{"predictions", std::move(predictions)}, {"notes", notes}};
    json.update(mark_json(incidents));
    return json.dump(2, ' ', false, Json::error_handler_t::replace) + '\n';
}

}  // namespace bam
