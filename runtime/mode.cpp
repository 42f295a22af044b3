// Codes of this file:
//   BAM0538  a map.json that bam did not write, or that is of another run
#include "mode.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "incidents.hpp"
#include "scale_family.hpp"
#include "words.hpp"

namespace bam {
namespace {

using Json = nlohmann::ordered_json;

constexpr double most_rounded = 0.01;  ///< sds by which rounding may move a mode

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

char const* word(Ending ending) {
    switch (ending) {
        case Ending::Still: return "still";
        case Ending::Rounding: return "rounding";
        case Ending::PassLimit: return "max_passes";
        case Ending::Stopped: return "interrupted";
        case Ending::NoMode: return "no_mode";
        case Ending::Failed: return "failed";
    }
    return "";
}

/// Why an ascent ended, as a clause.
std::string reason_of(Mode::Start const& start) {
    switch (start.ending) {
        case Ending::Still: return "nothing moves by 1e-8 of its sd given everything else";
        case Ending::Rounding: return fmt::format("moves of {:.0e} of an sd are all that rounding leaves", start.largest_move);
        case Ending::PassLimit:
            return fmt::format("that is as many as `--max-passes` allows; the last moved by {:.1g} of an sd", start.largest_move);
        case Ending::Stopped: return "interrupted";
        case Ending::NoMode: return "the density grows without bound";
        case Ending::Failed: return start.failure;
    }
    return "";
}

Json number(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }
double to_number(Json const& json) { return json.is_null() ? nan : json.get<double>(); }

Json starts_json(Mode const& mode) {
    Json starts = Json::array();
    for (Mode::Start const& start : mode.starts)
        starts.push_back({{"log_joint", number(start.log_joint)},
                          {"passes", start.passes},
                          {"ending", word(start.ending)},
                          {"largest_move", number(start.largest_move)}});
    for (std::size_t k = 0; k < mode.starts.size(); ++k)
        if (mode.starts[k].ending == Ending::Failed) starts[k]["failure"] = mode.starts[k].failure;
    return starts;
}

std::string dump(Json const& json) { return json.dump(2, ' ', false, Json::error_handler_t::replace) + '\n'; }

double sd_of(Mode const& mode, std::size_t row) { return row < mode.sds.size() ? mode.sds[row] : nan; }

}  // namespace

std::vector<std::string> find_unbounded(Layout const& layout) {
    std::vector<std::string> names;
    for (ScaleLayout const& scale : layout.scales) {
        bool const is_of_priors = std::none_of(scale.uses.begin(), scale.uses.end(),
                                               [&](ScaleUse const& use) { return layout.factors[use.factor].is_observation; });
        // inverse_gamma on a variance and gamma on a precision fall faster than any power.
        bool const lets_go = std::any_of(scale.priors.begin(), scale.priors.end(),
                                         [](ScalePriorLayout const& prior) { return !keeps_from_zero(prior.family); });
        if (is_of_priors && !scale.uses.empty() && lets_go) names.push_back(layout.variables[scale.variable].name);
    }
    return names;
}

std::string to_json(Mode const& mode, std::string_view run, std::vector<Incident> const& incidents) {
    Json sds = Json::array();
    for (double const sd : mode.sds) sds.push_back(number(sd));
    Json json{{"run", run}};
    json.update(mark_json(incidents));
    json.update({{"starts", starts_json(mode)},
                 {"chosen", mode.chosen + 1},
                 {"seconds", mode.seconds},
                 {"unbounded", mode.unbounded},
                 {"at_ends", mode.at_ends},
                 {"conditional_sd", std::move(sds)}});
    return dump(json);
}

std::optional<Mode> read_mode(std::string_view text, std::string_view run, std::uint32_t source, Diagnostics& diagnostics) {
    auto const refuse = [&](std::string message) {
        diagnostics.push_back({538, Severity::Error, std::move(message), {{{source, 0, 0}, "here"}}, {"fit again"}});
        return std::nullopt;
    };
    try {
        Json const json = Json::parse(text);
        if (json.at("run").get<std::string>() != run) return refuse("map.json is not of the run that config.json describes");
        Mode mode;
        for (Json const& start : json.at("starts")) {
            Mode::Start one{to_number(start.at("log_joint")), start.at("passes").get<std::size_t>(), Ending::Still,
                            to_number(start.at("largest_move"))};
            for (Ending const ending : {Ending::Rounding, Ending::PassLimit, Ending::Stopped, Ending::NoMode, Ending::Failed})
                if (start.at("ending").get<std::string>() == word(ending)) one.ending = ending;
            one.failure = start.value("failure", "");
            mode.starts.push_back(one);
        }
        mode.chosen = json.at("chosen").get<std::size_t>() - 1;
        json.at("seconds").get_to(mode.seconds);
        json.at("unbounded").get_to(mode.unbounded);
        json.at("at_ends").get_to(mode.at_ends);
        for (Json const& sd : json.at("conditional_sd")) mode.sds.push_back(to_number(sd));
        if (mode.chosen >= mode.starts.size()) return refuse("map.json is not as bam wrote it");
        return mode;
    } catch (std::exception const&) {
        return refuse("map.json is not as bam wrote it");
    }
}

Verdict judge(Mode const& mode) {
    Mode::Start const& best = mode.starts.at(mode.chosen);
    Verdict verdict;
    verdict.is_converged = best.ending == Ending::Still || (best.ending == Ending::Rounding && best.largest_move < most_rounded);
    verdict.sentences.push_back(
        fmt::format("{}. {}: {}.", verdict.is_converged ? "a mode" : "no mode yet", counted(best.passes, "pass"), reason_of(best)));
    std::size_t same = 0, unbounded = 0, failed = 0;
    for (Mode::Start const& start : mode.starts) {
        if (start.ending == Ending::Failed)
            ++failed;
        else if (start.ending == Ending::NoMode)
            ++unbounded;
        else if (std::abs(start.log_joint - best.log_joint) < 1e-6 * (1 + std::abs(best.log_joint)))
            ++same;
    }
    if (mode.starts.size() > 1)
        verdict.sentences.push_back(
            fmt::format("{} of {} starts came to this log joint; nothing proves that there is no higher mode.", same, mode.starts.size()));
    if (failed > 0) verdict.sentences.push_back(failed_starts(failed, mode.starts.size()));
    if (!mode.unbounded.empty()) {
        std::string const from = unbounded > 0 ? fmt::format(" From {} that is where the ascent went.", counted(unbounded, "start")) : "";
        verdict.sentences.push_back(
            fmt::format("Where {} goes to 0 the density has no bound: this mode is a local one.{}", first_few(mode.unbounded), from));
    }
    if (!mode.at_ends.empty())
        verdict.sentences.push_back(fmt::format("At an end of {} interval, beyond which the density would rise: {}. There is no sd there.",
                                                mode.at_ends.size() == 1 ? "its" : "their", first_few(mode.at_ends)));
    verdict.sentences.emplace_back("It is one point. sd|rest is the spread of a number with all others held there, no posterior sd.");
    if (!verdict.is_converged && best.ending == Ending::Rounding)
        verdict.advice.emplace_back("columns of about size 1, in the table section: what cancels in the means is far larger than they are");
    if (!verdict.is_converged && best.ending == Ending::PassLimit)
        verdict.advice.push_back(fmt::format("more passes, `--max-passes {}`", 10 * best.passes));
    return verdict;
}

std::string starts_text(Mode const& mode) {
    std::string text;
    for (std::size_t k = 0; k < mode.starts.size(); ++k) {
        Mode::Start const& start = mode.starts[k];
        text += start.ending == Ending::Failed
                    ? fmt::format("start {}: failed: {}\n", k + 1, start.failure)
                    : fmt::format("start {}: log joint {:.6f}, {}{}\n", k + 1, start.log_joint, counted(start.passes, "pass"),
                                  start.ending == Ending::Still ? "" : ": " + reason_of(start));
    }
    return text;
}

std::string mode_table(std::vector<SummaryRow> const& rows, Mode const& mode, bool raw) {
    std::vector<std::array<std::string, 4>> lines{{"", "Value", "sd|rest", ""}};
    for (std::size_t i = 0; i < rows.size(); ++i) {
        DrawColumn const& column = rows[i].column;
        if (!raw && !column.is_shown) continue;
        double const sd = sd_of(mode, i);
        lines.push_back({label_name(column), fmt::format("{:.6g}", rows[i].quantity.mean), std::isnan(sd) ? "-" : fmt::format("{:.2g}", sd),
                         column.is_identified ? "" : "  unidentified"});
    }
    auto const width = [](std::string const& text) {
        return static_cast<std::size_t>(
            std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
    };
    std::array<std::size_t, 3> widths{};
    for (auto const& line : lines)
        for (std::size_t i = 0; i < widths.size(); ++i) widths[i] = std::max(widths[i], width(line[i]));
    std::string table;
    for (auto const& line : lines) {
        auto const padding = [&](std::size_t i) { return std::string(widths[i] - width(line[i]), ' '); };
        table += line[0] + padding(0) + "  " + padding(1) + line[1] + "  " + padding(2) + line[2] + line[3] + '\n';
    }
    return table;
}

std::string mode_json(std::vector<SummaryRow> const& rows, Mode const& mode, Verdict const& verdict) {
    Json summary = Json::array();
    for (std::size_t i = 0; i < rows.size(); ++i)
        summary.push_back({{"variable", label_name(rows[i].column)},
                           {"value", number(rows[i].quantity.mean)},
                           {"conditional_sd", number(sd_of(mode, i))},
                           {"identified", rows[i].column.is_identified},
                           {"shown", rows[i].column.is_shown}});
    Json about{{"converged", verdict.is_converged}};
    about.update(mark_json(verdict.incidents));
    about.update({{"sentences", verdict.sentences}, {"advice", verdict.advice}, {"incidents", to_json(verdict.incidents)}});
    return dump({{"verdict", about}, {"starts", starts_json(mode)}, {"chosen", mode.chosen + 1}, {"summary", std::move(summary)}});
}

}  // namespace bam
