// Codes of this file:
//   BAM0520  an unknown flag
//   BAM0521  an unknown verb
//   BAM0522  a value that a flag cannot have
//   BAM0523  an argument that is missing, or one too many
//   BAM0524  standard input for two things
#include "main_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <sstream>
#include <utility>

#include "main_backends.hpp"
#include "main_flags.hpp"
#include "main_verbs.hpp"

namespace bam::cli {
namespace {

Verb const& find_verb(std::string const& name) {
    std::vector<std::string> names;
    for (Verb const& verb : verbs()) {
        if (verb.name == name) return verb;
        names.push_back(verb.name);
    }
    refuse(521, fmt::format("there is no verb `{}`", name),
           with_guess(name, names, {fmt::format("the verbs are {}", fmt::join(names, ", ")), "see `bam help`"}));
}

/// Before anything is read: a flag that there is not, with the one that was meant.
void refuse_unknown_flags(CLI::App const& app, Verb const& verb, std::vector<std::string> const& arguments) {
    std::vector<std::string> names;
    for (CLI::Option const* option : app.get_options())
        for (std::string const& name : option->get_lnames()) names.push_back("--" + name);
    for (std::string const& argument : arguments) {
        if (argument == "--") return;
        if (argument.size() < 2 || argument[0] != '-' || ('0' <= argument[1] && argument[1] <= '9')) continue;
        std::string const flag = argument[1] == '-' ? argument.substr(0, argument.find('=')) : argument.substr(0, 2);
        if (app.get_option_no_throw(flag) != nullptr) continue;
        refuse(520, fmt::format("`bam {}` has no flag `{}`", verb.name, flag),
               with_guess(flag, names, {fmt::format("see `bam help {}`", verb.name)}));
    }
}

constexpr std::size_t help_width = 100;
constexpr std::size_t help_column = 26;  // where what a flag does begins

/// Words, wrapped between `help_column` and `help_width`. The first line begins behind `start`.
std::string wrapped(std::string start, std::string const& words) {
    if (start.size() + 2 > help_column) start += "\n" + std::string(help_column, ' ');
    start.resize(std::max(start.size(), help_column), ' ');
    std::string text;
    std::string line = start.substr(start.rfind('\n') + 1);
    text = start.substr(0, start.size() - line.size());
    std::istringstream stream(words);
    for (std::string word; stream >> word;) {
        if (line.size() + 1 + word.size() > help_width) {
            text += line + "\n";
            line = std::string(help_column, ' ');
        }
        line += (line.back() == ' ' ? "" : " ") + word;
    }
    return text + line + "\n";
}

std::string help_of(CLI::App const& app, Verb const& verb) {
    std::string text = fmt::format("{}.\n\nUsage: bam {} {} [flags]\n\n", verb.summary, verb.name, verb.arguments);
    for (CLI::Option const* option : app.get_options()) {
        if (option->get_positional()) continue;
        std::string flags;
        for (std::string const& name : option->get_snames()) flags += "-" + name + ", ";
        for (std::string const& name : option->get_lnames()) flags += "--" + name;
        if (option->get_expected_max() > 0 && !option->get_type_name().empty()) flags += " " + option->get_type_name();
        std::string const usual = option->get_default_str();
        text += wrapped("  " + flags, option->get_description() + (usual.empty() || usual == "false" ? "" : fmt::format(" ({})", usual)));
    }
    return text + "\nExamples:\n" + verb.footer + "\n";
}

std::string noun_of(Verb const& verb) {
    return verb.arguments.starts_with("MODEL") ? "model" : verb.arguments.starts_with("RUN") ? "run" : "file";
}

void check_arguments(Verb const& verb, Options const& options) {
    std::size_t const count = options.files.size();
    if (count < verb.fewest)
        refuse(523, fmt::format("`bam {}` needs to know which {}", verb.name, noun_of(verb)),
               {fmt::format("say `bam {} {}`; see `bam help {}`", verb.name, verb.arguments, verb.name)});
    if (count > verb.most)
        refuse(523, fmt::format("`bam {}` takes one {}, and `{}` is one too many", verb.name, noun_of(verb), options.files[verb.most]),
               {"a name with blanks needs quotes"});
    bool const needs_data =
        verb.name == "fit" || verb.name == "samplers" || verb.name == "predict" || verb.name == "verify" || verb.name == "score";
    if (needs_data && options.data.empty())
        refuse(523, fmt::format("`bam {}` needs a table", verb.name), {"say which: `--data TABLE`, - for standard input"});
    if (options.fit.backend == Backend::Map && options.fit.init == Init::Map)
        refuse(522, "`--init map` with `--backend map`: the mode is what is looked for", {"say --init dispersed, or --init prior"});
    refuse_contradiction(options);
    if (!options.svg.empty() && options.calibrations == 0)
        refuse(523, "`--svg` is of the ranks, and there are none", {"say how many simulations: `--sbc 200`"});
    std::error_code error;
    bool const is_of_prior = verb.name == "simulate" && options.from_prior;
    if (is_of_prior && options.data.empty())
        refuse(523, "`bam simulate --prior` needs a table", {"say which: `--data TABLE`, - for standard input"});
    if (is_of_prior && std::filesystem::is_directory(options.files.front(), error))
        refuse(523, fmt::format("`--prior` is of a model, and `{}` is a folder", options.files.front()),
               {"give the model's file; or leave out --prior, to simulate from the draws of a run"});
    if (verb.name == "simulate" && !is_of_prior) {
        if (std::filesystem::is_regular_file(options.files.front(), error))
            refuse(523, fmt::format("`{}` is a file: of a model, outputs are simulated from the priors", options.files.front()),
                   {"say `--prior`; or give the folder of a run"});
        if (!options.compile.priors.empty() || !options.compile.dims.empty())
            refuse(523, "a run has its own priors and dims", {"leave out --priors and --dim"});
    }
    bool const reads_table = options.prior_sensitivity || options.calibration || options.predictive_checks;
    if (verb.name == "diagnose" && !options.data.empty() && !reads_table)
        refuse(523,
               "`bam diagnose` reads the table that was fitted for `--prior-sensitivity`, `--calibration` and `--predictive-checks` only",
               {"say one of them, or leave out --data"});
    if (options.compare.known_steps > 0 && options.compare.leave_out != LeaveOut::Future)
        refuse(523, "`--from` is of the future", {"say `--by future`, or leave out --from"});
    bool const is_run = verb.name == "priors" && std::filesystem::is_directory(options.files.front(), error);
    if (is_run && options.as.empty())
        refuse(523, fmt::format("`{}` is a folder: a run's posterior as priors needs a name", options.files.front()),
               {"say `--as NAME`, or give the model's file to list its priors"});
    bool const is_of_model = !options.data.empty() || !options.compile.priors.empty() || !options.compile.dims.empty();
    if (!options.as.empty() && is_of_model)
        refuse(523, "`--as` is of a run, which has its table, priors and dims", {"leave out --data, --priors and --dim"});
    auto const inputs =
        std::count(options.files.begin(), options.files.end(), "-") + (options.data == "-" ? 1 : 0) + (options.held_out == "-" ? 1 : 0);
    if (inputs > 1) refuse(524, "standard input can be read once only", {"give the other one a file"});
}

}  // namespace

Csv Options::read_table(std::string const& name) const {
    Csv csv = Csv::read(name);
    csv.separator = separator;
    csv.decimal_point = decimal_point;
    return csv;
}

std::string overview_help() {
    std::string text =
        "bam: Bayesian sequence models, exactly sampled.\n\n"
        "Usage: bam VERB ... | bam help VERB | bam --version\n\n";
    for (Verb const& verb : verbs()) text += fmt::format("  {:<10}{}\n", verb.name, verb.summary);
    return text +
           "\nResults go to standard output, progress and warnings to standard error. Exit codes: 0 done, 1 model error,\n"
           "2 not converged (--strict) or degraded (a mode in place of draws), 64 usage, 65 data error, 66 no such input,\n"
           "70 internal error, 73 and 74 output that cannot be written, 130 interrupted.\n";
}

Options read_options(std::vector<std::string> const& arguments) {
    Options options;
    bool const wants_help = arguments.empty() || arguments[0] == "help" || arguments[0] == "--help" || arguments[0] == "-h";
    if (wants_help && arguments.size() < 2) {
        options.help = overview_help();
        return options;
    }
    if (arguments[0] == "--version") {
        options.help = fmt::format("bam {}\n", version());
        return options;
    }
    if (arguments[0].starts_with('-') && !wants_help)
        refuse(520, fmt::format("`bam` has no flag `{}`", arguments[0]),
               with_guess(arguments[0], {"--help", "--version"}, {"a verb comes first; see `bam help`"}));
    Verb const& verb = find_verb(wants_help ? arguments[1] : arguments[0]);
    options.verb = verb.name;
    CLI::App app;
    app.set_help_flag("-h,--help", "Print this");
    app.add_option("files", options.files);
    verb.add(app, options);
    if (wants_help) {
        options.help = help_of(app, verb);
        return options;
    }
    std::vector<std::string> rest(arguments.begin() + 1, arguments.end());
    refuse_unknown_flags(app, verb, rest);
    std::reverse(rest.begin(), rest.end());
    try {
        app.parse(rest);
    } catch (CLI::CallForHelp const&) {
        options.help = help_of(app, verb);
        return options;
    } catch (CLI::ParseError const& error) {
        refuse(523, error.what(), {fmt::format("see `bam help {}`", verb.name)});
    }
    check_arguments(verb, options);
    if (verb.name == "fit" && options.has_max_draws && options.fit.until.empty())
        refuse(523, "`--max-draws` is of `--until`", {"say until when, such as `--until \"rhat<1.01,ess>400\"`; or say --num-samples"});
    if (verb.name == "fit" && !options.fit.until.empty() && app.get_option("--num-samples")->count() > 0)
        refuse(523, "`--until` says how many draws there are, and so does `--num-samples`", {"say how many at most: `--max-draws`"});
    if (!options.fit.until.empty()) options.fit.num_samples = options.fit.max_draws * options.fit.thin;
    options.fit.exchange = options.tempers_all_along ? ReplicaExchange::AllAlong
                           : options.tempers_start   ? ReplicaExchange::Start
                                                     : ReplicaExchange::Off;
    if (verb.name == "fit") refuse_idle_flags(options.fit, [&](std::string const& flag) { return app.get_option(flag)->count() > 0; });
    return options;
}

}  // namespace bam::cli
