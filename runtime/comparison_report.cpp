// A ranking of runs in lines, in sentences and as JSON.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "comparison.hpp"
#include "json_number.hpp"
#include "text_table.hpp"
#include "words.hpp"

namespace bam {
namespace {

using Json = nlohmann::ordered_json;
using Basis = CrossValidation::Basis;

/// Below it a difference of elpd is small, and its standard error says little (Sivula, Magnusson, Matamoros and Vehtari 2020).
constexpr double small_difference = 4;
constexpr std::size_t few_left_out = 100;

char const* word(LeaveOut leave_out) {
    switch (leave_out) {
        case LeaveOut::Cell: return "cell";
        case LeaveOut::Sequence: return "sequence";
        case LeaveOut::Future: return "future";
    }
    return "";
}

char const* word(Basis basis) {
    switch (basis) {
        case Basis::Smoothed: return "psis";
        case Basis::Refitted: return "refit";
        case Basis::Doubtful: return "doubtful";
    }
    return "";
}

std::size_t count_left_out(Ranking const& ranking) { return ranking.runs.front().scores.left_out.size(); }

std::string what_is_left_out(Ranking const& ranking) {
    std::size_t const n = count_left_out(ranking);
    switch (ranking.leave_out) {
        case LeaveOut::Cell: return fmt::format("{}, each predicted from all the others", counted(n, "cell"));
        case LeaveOut::Sequence: return fmt::format("{}, each predicted from all the others", counted(n, "sequence"));
        case LeaveOut::Future: break;
    }
    return fmt::format("{} of a sequence, from step {} on, each predicted from all that came before", counted(n, "step"),
                       ranking.known_steps + 1);
}

/// Without the sign of what rounds to 0.
std::string one_decimal(double value) {
    if (!std::isfinite(value)) return "NA";
    return fmt::format("{:.1f}", std::abs(value) < 0.05 ? 0.0 : value);
}

void say_differences(Ranking& ranking) {
    auto const name = [&](ComparisonRow const& row) { return "`" + ranking.runs[row.run].name + "`"; };
    for (std::size_t k = 1; k < ranking.rows.size(); ++k) {
        ComparisonRow const& row = ranking.rows[k];
        double const below = -row.difference.value;
        std::string const by = fmt::format("{} is {} below {}", name(row), one_decimal(below), name(ranking.rows.front()));
        if (!std::isfinite(below))
            ranking.sentences.push_back(fmt::format("{} and {} do not compare: what one of them predicts has no finite density.", name(row),
                                                    name(ranking.rows.front())));
        else if (below < small_difference)
            ranking.sentences.push_back(by + ": they predict about equally well.");
        else if (!(below > 2 * row.difference.se))
            ranking.sentences.push_back(fmt::format("{}, with a standard error of {:.1f}: that may be chance.", by, row.difference.se));
        else
            ranking.sentences.push_back(
                fmt::format("{}, {:.1f} times its standard error: it predicts worse.", by, below / row.difference.se));
    }
}

void say_doubts(Ranking& ranking) {
    std::vector<std::string> doubtful, astray;
    std::size_t count = 0;
    for (ScoredRun const& run : ranking.runs) {
        if (run.scores.doubtful > 0) doubtful.push_back(run.name);
        count += run.scores.doubtful;
        if (!run.has_converged) astray.push_back(run.name);
    }
    if (count > 0) {
        ranking.sentences.push_back(fmt::format("{} of {} {} on a few draws (pareto k): do not rely on {}.", counted(count, "number"),
                                                first_few(doubtful), count == 1 ? "hangs" : "hang", count == 1 ? "it" : "them"));
        ranking.advice.emplace_back("more fits anew, `--refits N`; if they do not help, more draws: `bam fit --num-samples`");
    }
    if (!astray.empty())
        ranking.notes.push_back(fmt::format("{} {} not converged, and so these numbers have not either: `bam diagnose RUN` says more",
                                            first_few(astray), astray.size() == 1 ? "has" : "have"));
    if (ranking.runs.size() > 1 && count_left_out(ranking) < few_left_out)
        ranking.notes.push_back(fmt::format("with fewer than {} left out the true standard errors may be twice as large", few_left_out));
}

std::string two_decimals(double value) { return std::isnan(value) ? "NA" : fmt::format("{:.2f}", value == 0 ? 0.0 : value); }

Json estimate_json(Estimate const& estimate) {
    return std::isnan(estimate.value) ? Json(nullptr) : Json{{"value", estimate.value}, {"se", json_number(estimate.error)}};
}

Json sum_json(ErrorSum const& sum) { return {{"value", json_number(sum.value)}, {"se", json_number(sum.se)}}; }

Json points_json(CrossValidation const& scores) {
    Json points = Json::array();
    for (std::size_t i = 0; i < scores.points.size(); ++i) {
        LeftOut const& left_out = scores.left_out[i];
        CrossValidation::Point const& point = scores.points[i];
        Json json = Json::object();
        if (!left_out.sequence.empty()) json["sequence"] = left_out.sequence;
        if (!left_out.time.empty()) json["time"] = left_out.time;
        if (!left_out.output.empty()) json["output"] = left_out.output;
        json["cells"] = left_out.cells.size();
        json["elpd"] = json_number(point.expected.elpd);
        json["mcse"] = json_number(point.expected.mcse);
        json["p"] = json_number(point.p);
        json["pareto_k"] = json_number(point.k);
        json["from"] = word(point.basis);
        points.push_back(std::move(json));
    }
    return points;
}

}  // namespace

void explain(Ranking& ranking) {
    say_differences(ranking);
    say_doubts(ranking);
}

std::string ranking_text(Ranking const& ranking) {
    std::string text = what_is_left_out(ranking) + "; natural logarithms of densities in the units of the table\n\n";
    bool const has_p = ranking.leave_out != LeaveOut::Future;
    std::vector<std::vector<std::string>> lines{{"", "elpd_diff", "se", "elpd", "se"}};
    std::vector<bool> is_number{false, true, true, true, true};
    auto const add_column = [&](auto const& heading, auto const& field) {
        lines.front().push_back(heading);
        is_number.push_back(true);
        for (std::size_t k = 0; k < ranking.rows.size(); ++k)
            lines[k + 1].push_back(field(ranking.rows[k], ranking.runs[ranking.rows[k].run].scores));
    };
    for (ComparisonRow const& row : ranking.rows)
        lines.push_back({ranking.runs[row.run].name, one_decimal(row.difference.value), one_decimal(row.difference.se),
                         one_decimal(row.elpd.value), one_decimal(row.elpd.se)});
    if (has_p) {
        add_column("p_loo", [](ComparisonRow const& row, auto const&) { return one_decimal(row.p.value); });
        add_column("se", [](ComparisonRow const& row, auto const&) { return one_decimal(row.p.se); });
    }
    add_column("refits", [](auto const&, CrossValidation const& scores) { return std::to_string(scores.refits); });
    add_column("doubtful", [](auto const&, CrossValidation const& scores) { return std::to_string(scores.doubtful); });
    bool const has_evidence = std::any_of(ranking.runs.begin(), ranking.runs.end(), [](ScoredRun const& run) { return run.evidence; });
    if (has_evidence) {
        add_column("log_evidence", [](ComparisonRow const& row, auto const&) { return two_decimals(row.evidence.value); });
        add_column("error", [](ComparisonRow const& row, auto const&) { return two_decimals(row.evidence.error); });
        add_column("log_BF", [](ComparisonRow const& row, auto const&) { return two_decimals(row.bayes_factor.value); });
        add_column("error", [](ComparisonRow const& row, auto const&) { return two_decimals(row.bayes_factor.error); });
    }
    if (ranking.rows.size() > 1) add_column("weight", [](ComparisonRow const& row, auto const&) { return two_decimals(row.weight); });
    text += text_table(lines, is_number) + '\n';
    for (std::string const& sentence : ranking.sentences) text += sentence + '\n';
    for (std::string const& line : ranking.advice) text += "next: " + line + '\n';
    for (std::string const& note : ranking.notes) text += "note: " + note + '\n';
    return text;
}

std::string ranking_json(Ranking const& ranking) {
    Json json = {{"by", ranking.by_evidence ? "evidence" : word(ranking.leave_out)}, {"left_out", count_left_out(ranking)}};
    if (ranking.leave_out == LeaveOut::Future) json["known_steps"] = ranking.known_steps;
    json["runs"] = Json::array();
    for (ComparisonRow const& row : ranking.rows) {
        ScoredRun const& run = ranking.runs[row.run];
        Json one = {{"run", run.name}, {"elpd_diff", sum_json(row.difference)}, {"elpd", sum_json(row.elpd)}};
        if (ranking.leave_out != LeaveOut::Future) one["p_loo"] = sum_json(row.p);
        one.update({{"log_evidence", estimate_json(row.evidence)},
                    {"log_bayes_factor", estimate_json(row.bayes_factor)},
                    {"weight", json_number(row.weight)},
                    {"refits", run.scores.refits},
                    {"doubtful", run.scores.doubtful},
                    {"draws", run.scores.draws},
                    {"pareto_k_threshold", json_number(run.scores.highest_k)},
                    {"converged", run.has_converged},
                    {"points", points_json(run.scores)}});
        json["runs"].push_back(std::move(one));
    }
    json.update({{"sentences", ranking.sentences}, {"advice", ranking.advice}, {"notes", ranking.notes}});
    return json.dump(2, ' ', false, Json::error_handler_t::replace) + '\n';
}

}  // namespace bam
