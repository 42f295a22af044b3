#include "main_judge.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <vector>

#include "main_print.hpp"
#include "main_progress.hpp"

namespace bam::cli {
namespace {

using Json = nlohmann::ordered_json;

/// Runs by the names of their folders, or as they were given where those are the same.
std::vector<std::string> run_names(std::vector<std::string> const& folders) {
    std::vector<std::string> names;
    for (std::string const& folder : folders) {
        std::filesystem::path path = std::filesystem::path(folder).lexically_normal();
        if (path.filename().empty()) path = path.parent_path();
        names.push_back(path.filename().string());
    }
    return std::set(names.begin(), names.end()).size() == names.size() ? names : folders;
}

}  // namespace

int run_diagnose(Options const& options) {
    Fit const fit = Fit::open(options.files.front());
    std::optional<Csv> table;
    if (!options.data.empty()) table = options.read_data();
    Json json = {{"verdict", Json::parse(fit.json())["verdict"]}};
    std::string text = fit.verdict() + notes_of(fit) + fit.active_units();
    if (Json units = Json::parse(fit.active_units(Format::Json)); !units.empty()) json["active_units"] = std::move(units);
    std::string answers;
    auto const add = [&](std::string const& key, std::string const& answer, std::string const& answer_json, Report const& report) {
        say(report);
        json[key] = Json::parse(answer_json);
        answers += (answers.empty() ? "" : "\n") + answer;
    };
    if (options.prior_sensitivity) {
        PriorSensitivity const sensitivity = fit.prior_sensitivity(table);
        add("prior_sensitivity", sensitivity.text, sensitivity.json, sensitivity.report);
    }
    auto const add_judgement = [&](std::string const& key, Judgement const& judgement) {
        add(key, judgement.text, judgement.json, judgement.report);
    };
    if (options.calibration) add_judgement("calibration", fit.calibration(table));
    if (!options.held_out.empty()) add_judgement("held_out", fit.score(options.read_table(options.held_out)));
    if (options.predictive_checks) add_judgement("predictive_checks", fit.predictive_checks(table));
    if (answers.empty() && fit.options().backend != Backend::Map)
        text +=
            "more: `--prior-sensitivity` says which quantities hang on which prior, `--calibration` and `--predictive-checks` whether "
            "outputs "
            "are as predicted\n";
    put(options.format == Format::Json ? dump(json) : answers.empty() ? text : answers);
    return fit.is_degraded() ? exit_not_converged : 0;
}

int run_score(Options const& options) {
    Fit const fit = Fit::open(options.files.front());
    Judgement const judgement = fit.score(options.read_data());
    say(judgement.report);
    put(options.format == Format::Json ? judgement.json : judgement.text);
    return 0;
}

int run_compare(Options const& options) {
    std::optional<Csv> table;
    if (!options.data.empty()) table = options.read_data();
    std::vector<NamedFit> fits;
    std::vector<std::string> const names = run_names(options.files);
    for (std::size_t k = 0; k < names.size(); ++k) fits.push_back({names[k], Fit::open(options.files[k])});
    CompareOptions how = options.compare;
    bool const is_shown = is_terminal(STDERR_FILENO);
    if (is_shown)
        how.progress = [](std::string const& run, std::size_t number, std::size_t of) {
            say(fmt::format("\r\x1b[K{}: fit anew {} of at most {}", run, number, of));
        };
    Comparison const comparison = compare(fits, table, how);
    if (is_shown) say("\r\x1b[K");
    say(comparison.report);
    put(options.format == Format::Json ? comparison.json : comparison.text);
    return 0;
}

}  // namespace bam::cli
