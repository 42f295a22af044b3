// Test quantities in lines, in sentences and as JSON.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "json_number.hpp"
#include "predictive_check.hpp"
#include "text_table.hpp"
#include "words.hpp"

namespace bam {
namespace {

using Json = nlohmann::ordered_json;

constexpr double tail = 0.025;  ///< on either side

bool is_extreme(TestQuantity const& quantity) { return quantity.p < tail || quantity.p > 1 - tail; }

char const* in_words(std::size_t kind) {
    constexpr std::array<char const*, 5> words{"mean", "sd", "least value", "largest value", "lag-1 autocorrelation"};
    return words.at(kind);
}

std::string place(TestQuantity const& quantity) {
    return fmt::format("{} of {} in {}", TestQuantity::names.at(quantity.kind), quantity.output, quantity.sequence);
}

std::string short_number(double value) { return std::isnan(value) ? "NA" : fmt::format("{:.4g}", value); }

Json quantity_json(TestQuantity const& quantity, bool is_whole) {
    Json json = {{"output", quantity.output}};
    if (!is_whole) json["sequence"] = quantity.sequence;
    json["quantity"] = TestQuantity::names.at(quantity.kind);
    json["observed"] = json_number(quantity.observed);
    if (is_whole) json.update({{"q5", json_number(quantity.q5)}, {"q50", json_number(quantity.q50)}, {"q95", json_number(quantity.q95)}});
    json["p"] = json_number(quantity.p);
    return json;
}

}  // namespace

void explain(PredictiveCheck& check) {
    for (TestQuantity const& quantity : check.whole) {
        if (!is_extreme(quantity)) continue;
        check.sentences.push_back(fmt::format("The {} of {} is {} {}, and in nine of ten tables of the model's own {} to {}.",
                                              in_words(quantity.kind), quantity.output, quantity.p < tail ? "large:" : "small:",
                                              short_number(quantity.observed), short_number(quantity.q5), short_number(quantity.q95)));
    }
    if (check.sentences.empty() && !check.whole.empty())
        check.sentences.emplace_back("No quantity of the whole table is out of what the model makes of it.");
    if (check.by_sequence.empty()) return;
    std::vector<TestQuantity> extreme;
    std::copy_if(check.by_sequence.begin(), check.by_sequence.end(), std::back_inserter(extreme), is_extreme);
    std::stable_sort(extreme.begin(), extreme.end(),
                     [](TestQuantity const& a, TestQuantity const& b) { return std::min(a.p, 1 - a.p) < std::min(b.p, 1 - b.p); });
    std::vector<std::string> places;
    for (TestQuantity const& quantity : extreme) places.push_back(place(quantity));
    std::string const which = places.empty() ? "" : ": " + first_few(places);
    check.sentences.push_back(fmt::format("By sequence, {} of {} {} p below {} or above {}; about {:.0f} would by chance{}.",
                                          extreme.size(), counted(check.by_sequence.size(), "number"), extreme.size() == 1 ? "has" : "have",
                                          tail, 1 - tail, 2 * tail * static_cast<double>(check.by_sequence.size()), which));
}

std::string predictive_check_text(PredictiveCheck const& check) {
    std::string text = fmt::format("{} from the posterior, beside the observed one\n\n", counted(check.tables, "table"));
    std::vector<std::vector<std::string>> lines{{"", "", "observed", "5 %", "50 %", "95 %", "p"}};
    std::string before;
    for (TestQuantity const& quantity : check.whole) {
        lines.push_back({quantity.output == before ? "" : quantity.output, TestQuantity::names.at(quantity.kind),
                         short_number(quantity.observed), short_number(quantity.q5), short_number(quantity.q50), short_number(quantity.q95),
                         fmt::format("{:.3f}", quantity.p)});
        before = quantity.output;
    }
    text += text_table(lines, {false, false, true, true, true, true, true}) + "\np is the share of those tables that have more.\n";
    for (std::string const& sentence : check.sentences) text += sentence + '\n';
    for (std::string const& note : check.notes) text += "note: " + note + '\n';
    return text;
}

std::string predictive_check_json(PredictiveCheck const& check) {
    Json json = {{"tables", check.tables}, {"quantities", Json::array()}, {"by_sequence", Json::array()}};
    for (TestQuantity const& quantity : check.whole) json["quantities"].push_back(quantity_json(quantity, true));
    for (TestQuantity const& quantity : check.by_sequence) json["by_sequence"].push_back(quantity_json(quantity, false));
    json.update({{"sentences", check.sentences}, {"notes", check.notes}});
    return json.dump(2, ' ', false, Json::error_handler_t::replace) + '\n';
}

}  // namespace bam
