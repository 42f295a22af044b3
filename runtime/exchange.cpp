// Codes of this file:
//   BAM0547  an exchange.json that bam did not write, or of another run
#include "exchange.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "exchange_json.hpp"
#include "incidents.hpp"
#include "words.hpp"

namespace bam {
namespace {

using Json = nlohmann::ordered_json;

constexpr double least_overlap = 0.1;  ///< a share of exchanges below which hardly anything goes through

double to_number(Json const& json) { return json.is_null() ? std::numeric_limits<double>::quiet_NaN() : json.get<double>(); }

double hardest(Exchange const& exchange) {
    double most = 0;
    for (ChainExchange const& chain : exchange.chains)
        for (double const refusal : chain.refusals) most = std::max(most, refusal);
    return most;
}

std::string with_error(Estimate const& estimate) {
    double const error = std::isfinite(estimate.error) && estimate.error > 0 ? estimate.error : 1;
    int const decimals = std::clamp(1 - static_cast<int>(std::floor(std::log10(error))), 0, 6);
    return fmt::format("{:.{}f} ± {:.{}f}", estimate.value, decimals, estimate.error, decimals);
}

}  // namespace

double ChainExchange::barrier() const {
    double sum = 0;
    for (double const refusal : refusals) sum += refusal;
    return sum;
}

std::vector<std::string> sentences_of(Exchange const& exchange) {
    std::vector<std::string> sentences;
    if (exchange.chains.empty()) return sentences;
    std::size_t fewest = exchange.chains.front().powers.size(), most = fewest, trips = 0;
    double barrier = 0;
    for (ChainExchange const& chain : exchange.chains) {
        fewest = std::min(fewest, chain.powers.size());
        most = std::max(most, chain.powers.size());
        trips += chain.round_trips;
        barrier = std::max(barrier, chain.barrier());
    }
    std::string const rungs = fewest == most ? fmt::format("{} rungs", most) : fmt::format("{} to {} rungs", fewest, most);
    sentences.push_back(
        exchange.is_while_sampling
            ? fmt::format("Chains exchanged over {} all along: {}, barrier {:.1f}.", rungs, counted(trips, "round trip"), barrier)
            : fmt::format("Chains exchanged over {} before the warmup, barrier {:.1f}.", rungs, barrier));
    if (exchange.is_while_sampling && hardest(exchange) > 1 - least_overlap)
        sentences.push_back(
            fmt::format("Some neighbours exchanged in fewer than {:.0f} % of the tries: more `--rungs` would help.", 100 * least_overlap));
    if (!exchange.evidence) return sentences;
    auto const& [stones, thermo] = *exchange.evidence;
    sentences.push_back(
        fmt::format("The log evidence is {} by stepping stones, {} by thermodynamic integration.", with_error(stones), with_error(thermo)));
    if (!do_agree(*exchange.evidence))
        sentences.emplace_back("The two do not agree: do not use them before a longer run, or one of more `--rungs`, has them agree.");
    return sentences;
}

Json exchange_json(Exchange const& exchange) {
    auto const number = [](double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); };
    Json chains = Json::array();
    for (ChainExchange const& chain : exchange.chains) {
        Json rates = Json::array();
        for (double const refusal : chain.refusals) rates.push_back(1 - refusal);
        chains.push_back(
            {{"powers", chain.powers}, {"swap_rates", std::move(rates)}, {"round_trips", chain.round_trips}, {"barrier", chain.barrier()}});
    }
    Json json{{"while_sampling", exchange.is_while_sampling}, {"chains", std::move(chains)}, {"evidence", nullptr}};
    if (exchange.evidence)
        json["evidence"] = {{"stepping_stones", number(exchange.evidence->stepping_stones.value)},
                            {"se", number(exchange.evidence->stepping_stones.error)},
                            {"thermodynamic", number(exchange.evidence->thermodynamic.value)},
                            {"thermodynamic_se", number(exchange.evidence->thermodynamic.error)}};
    return json;
}

std::string to_json(Exchange const& exchange, std::string_view run, std::vector<Incident> const& incidents) {
    Json json{{"run", run}};
    json.update(mark_json(incidents));
    json.update(exchange_json(exchange));
    return json.dump(2) + '\n';
}

std::optional<Exchange> read_exchange(std::string_view text, std::string_view run, std::uint32_t source, Diagnostics& diagnostics) {
    auto const refuse = [&](std::string message) {
        diagnostics.push_back({547, Severity::Error, std::move(message), {{{source, 0, 0}, "here"}}, {"fit again"}});
        return std::nullopt;
    };
    try {
        Json const json = Json::parse(text);
        if (json.at("run").get<std::string>() != run) return refuse("exchange.json is not of the run that config.json describes");
        Exchange exchange;
        json.at("while_sampling").get_to(exchange.is_while_sampling);
        for (Json const& chain : json.at("chains")) {
            ChainExchange one;
            chain.at("powers").get_to(one.powers);
            for (Json const& rate : chain.at("swap_rates")) one.refusals.push_back(1 - rate.get<double>());
            chain.at("round_trips").get_to(one.round_trips);
            exchange.chains.push_back(std::move(one));
        }
        if (Json const& evidence = json.at("evidence"); !evidence.is_null())
            exchange.evidence = LogEvidence{{to_number(evidence.at("stepping_stones")), to_number(evidence.at("se"))},
                                            {to_number(evidence.at("thermodynamic")), to_number(evidence.at("thermodynamic_se"))}};
        return exchange;
    } catch (std::exception const&) {
        return refuse("exchange.json is not as bam wrote it");
    }
}

}  // namespace bam
