// The program: reads the command line, calls the library, prints, and ends with a code that says what happened.
#include <fmt/format.h>
#include <unistd.h>

#include <bam/bam.hpp>
#include <cerrno>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <new>
#include <nlohmann/json.hpp>

#include "main_events.hpp"
#include "main_judge.hpp"
#include "main_options.hpp"
#include "main_print.hpp"
#include "main_progress.hpp"

namespace bam::cli {
namespace {

using Json = nlohmann::ordered_json;

// ---------------------------------------------------------------- check, explain, priors, samplers, simulate, verify

/// What became of one model of `bam check`.
struct Checked {
    Report report;
    std::string overview;  ///< "" if there were errors
    int exit_code = 0;
};

Checked check(std::string const& file, Options const& options, std::optional<Csv> const& table) {
    try {
        Program const program = Program::from_file(file, options.compile);
        bool const colour = has_colour(STDOUT_FILENO);
        if (!table) return {program.report(), program.overview(options.format, colour), 0};
        Prepared const prepared = program.with(*table);
        if (options.format == Format::Text) say(prepared.report());
        return {program.report(), prepared.overview(options.format, colour), 0};
    } catch (Error const& error) {
        return {error.report(), "", error.exit_code()};
    }
}

int run_dump(Options const& options) {
    int exit_code = 0;
    for (std::string const& file : options.files) {
        if (*options.dump == Stage::Plan && !options.data.empty()) {
            put(Program::from_file(file, options.compile).with(options.read_data()).plan());
            continue;
        }
        Dump const dump = bam::dump(*options.dump, file, options.compile);
        put(dump.text);
        say(dump.report);
        if (exit_code == 0) exit_code = dump.exit_code;
    }
    return exit_code;
}

std::size_t count(Report const& report, Severity severity) {
    std::size_t n = 0;
    for (Diagnostic const& diagnostic : report.diagnostics()) n += diagnostic.severity == severity ? 1 : 0;
    return n;
}

int run_check(Options const& options) {
    if (options.dump) return run_dump(options);
    std::optional<Csv> table;
    if (!options.data.empty()) table = options.read_data();
    int exit_code = 0;
    std::size_t errors = 0, warnings = 0;
    Json results = Json::array();
    for (std::string const& file : options.files) {
        Checked const checked = check(file, options, table);
        if (exit_code == 0) exit_code = checked.exit_code;
        errors += count(checked.report, Severity::Error);
        warnings += count(checked.report, Severity::Warning);
        if (options.format == Format::Json) {
            results.push_back({{"file", file}, {"ok", checked.exit_code == 0}, {"diagnostics", Json::parse(checked.report.json())}});
            if (!checked.overview.empty()) results.back()["model"] = Json::parse(checked.overview);
            continue;
        }
        say(checked.report);
        if (checked.exit_code == 0) put(fmt::format("{}: ok\n", file) + checked.overview);
    }
    if (options.format == Format::Json) put(dump(results));
    if (options.format == Format::Text && errors + warnings > 0)
        say(fmt::format("{} error{}; {} warning{}\n", errors, errors == 1 ? "" : "s", warnings, warnings == 1 ? "" : "s"));
    return exit_code;
}

int run_explain(Options const& options) {
    Program const program = Program::from_file(options.files.front(), options.compile);
    say(program.report());
    if (options.symmetry) {
        std::string const text = program.symmetries();
        if (options.format == Format::Json) {
            Json lines = Json::array();
            for (std::size_t at = 0; at < text.size(); at = text.find('\n', at) + 1)
                lines.push_back(text.substr(at, text.find('\n', at) - at));
            put(dump(lines));
        } else {
            put(text.empty() ? "nothing of the parameters can change and leave the outputs as they are: no sizes, signs, shifts or places "
                               "are traded\n"
                             : text);
        }
        return 0;
    }
    put(program.explain(options.block.empty() ? std::nullopt : std::optional(options.block), options.format));
    return 0;
}

int run_samplers(Options const& options) {
    Program const program = Program::from_file(options.files.front(), options.compile);
    say(program.report());
    Prepared const prepared = program.with(options.read_data());
    say(prepared.report());
    put(prepared.samplers(options.format));
    return 0;
}

int run_priors(Options const& options) {
    if (!options.as.empty()) {
        PosteriorPriors const priors = Fit::open(options.files.front()).as_priors(options.as);
        put(priors.text);
        say(priors.report);
        return 0;
    }
    Program const program = Program::from_file(options.files.front(), options.compile);
    say(program.report());
    PriorListing const listing = [&] {
        if (options.data.empty()) return program.priors();
        Prepared const prepared = program.with(options.read_data());
        say(prepared.report());
        return prepared.priors();
    }();
    put(options.format == Format::Json ? listing.json : listing.text);
    if (options.format == Format::Text) say(listing.report);
    return 0;
}

/// Of commands whose outputs are files. Before anything is computed.
void check_outputs(Options const& options) {
    std::vector<std::string> taken = options.files;
    if (!options.data.empty()) taken.push_back(options.data);
    for (std::string const& file : {options.output, options.json, options.svg}) {
        if (file.empty()) continue;
        check_not_of_run(file);
        check_not_input(file, taken);
        taken.push_back(file);
    }
}

int run_simulate(Options const& options) {
    check_outputs(options);
    SimulateOptions how;
    int exit_code = 0;
    how.draws = options.draws;
    how.seed = options.seed;
    how.has_tables = !options.output.empty();
    Simulated const simulated = [&] {
        if (!options.from_prior) {
            Fit const fit = Fit::open(options.files.front());
            if (fit.is_degraded()) exit_code = exit_not_converged;
            return fit.simulate(options.data.empty() ? std::nullopt : std::optional(options.read_data()), how);
        }
        Program const program = Program::from_file(options.files.front(), options.compile);
        say(program.report());
        Prepared const prepared = program.with(options.read_data());
        say(prepared.report());
        Simulated result = prepared.simulate(how);
        result.counts = prepared.counts();
        result.table = options.data;
        return result;
    }();
    say(simulated.report);
    if (!options.output.empty()) save_file(options.output, simulated.csv);
    if (options.format == Format::Json) {
        put(simulated.json);
        return exit_code;
    }
    put(fmt::format("{}: {}\n{} from the {}\n\n", simulated.table, simulated.counts, counted(options.draws, "table"),
                    options.from_prior ? "prior" : "posterior"));
    put(simulated.text);
    for (std::string const& note : simulated.notes) put("note: " + note + "\n");
    return exit_code;
}

int run_verify(Options const& options) {
    check_outputs(options);
    Program const program = Program::from_file(options.files.front(), options.compile);
    say(program.report());
    Prepared const prepared = program.with(options.read_data());
    say(prepared.report());
    VerifyOptions verify;
    verify.seed = options.seed.value_or(verify.seed);
    verify.calibrations = options.calibrations;
    verify.joint_sweeps = options.joint_sweeps;
    verify.threads = options.fit.threads;
    Verification const verification = prepared.verify(verify);
    if (!options.json.empty()) save_file(options.json, verification.json);
    if (!options.svg.empty()) save_file(options.svg, verification.svg);
    put(options.format == Format::Json ? verification.json : verification.text);
    return verification.has_passed ? 0 : exit_internal;
}

// ---------------------------------------------------------------- fit

/// What was run, in a line.
std::string run_line(Fit const& fit) {
    if (fit.options().backend == Backend::Variational)
        return fmt::format("vi, {}, seed {}, {:.2f} s\n", counted(fit.options().num_samples, "draw"), fit.options().seed, fit.seconds());
    if (fit.options().backend == Backend::Map) return fmt::format("map, seed {}, {:.2f} s\n", fit.options().seed, fit.seconds());
    std::size_t const kept = (fit.options().num_samples + fit.options().thin - 1) / fit.options().thin;
    return fmt::format("{}, {} warmup + {} kept{}, {} each, seed {}, {:.2f} s\n", counted(fit.options().chains, "chain"),
                       fit.options().num_warmup, kept, fit.options().thin > 1 ? fmt::format(" of {}", fit.options().num_samples) : "",
                       counted(fit.options().sweeps, "sweep"), fit.options().seed, fit.seconds());
}

/// Of a run: a mode in place of draws is never a success, and whether the rest is one is asked for with --strict.
int judgement_code(Options const& options, Fit const& fit) {
    bool const is_sound = fit.is_converged() && fit.recovery() != "jitter" && fit.recovery() != "restart";
    return fit.is_degraded() || (options.strict && !is_sound) ? exit_not_converged : 0;
}

std::string fit_text(Options const& options, Prepared const& prepared, Fit const& fit) {
    std::string text = fmt::format("{}: {}\n", options.data, prepared.counts()) + fit.starts() + run_line(fit) + '\n';
    text += fit.table(options.raw) + "\n" + fit.verdict() + notes_of(fit);
    if (!options.output.empty()) {
        std::string const exchange = (std::filesystem::path(options.output) / "exchange.json").string();
        text += fmt::format("files: {0}/{1}, {0}/summary.csv, {0}/predictions.csv, {0}/config.json{2}\n", options.output,
                            fit.options().backend == Backend::Map           ? fmt::format("mode.csv, {}/map.json", options.output)
                            : fit.options().backend == Backend::Variational ? fmt::format("variational.csv, {}/vi.json", options.output)
                                                                            : "chain_*.csv",
                            std::filesystem::exists(exchange) ? ", " + exchange : "");
    }
    return text;
}

std::string fit_json(Options const& options, Prepared const& prepared, Fit const& fit) {
    Json json = Json::parse(fit.json());
    json["data"] = prepared.counts();
    json["seed"] = fit.options().seed;
    json["seconds"] = fit.seconds();
    json["interrupted"] = fit.is_interrupted();
    json["degraded"] = fit.is_degraded();
    json["notes"] = fit.notes();
    if (!options.output.empty()) json["folder"] = options.output;
    return dump(json);
}

/// A stream of events is no part of the run, nor anything that the fit reads.
void check_events(Options const& options) {
    if (options.events.empty()) return;
    std::vector<std::string> taken = options.files;
    taken.push_back(options.data);
    check_not_of_run(options.events);
    check_not_input(options.events, taken);
    std::error_code error;
    auto const place = [&](std::filesystem::path const& path) { return std::filesystem::weakly_canonical(path, error); };
    if (!options.output.empty() && place(options.events).parent_path() == place(options.output))
        throw Error(Diagnostic{558,
                               Severity::Error,
                               fmt::format("`{}` would stand in the folder of the run", options.events),
                               {},
                               {"choose a place beside it"}},
                    exit_usage);
}

int run_fit(Options const& options) {
    check_events(options);
    if (!options.output.empty()) Fit::check_folder(options.output, options.force);
    Program const program = Program::from_file(options.files.front(), options.compile);
    say(program.report());
    Prepared const prepared = program.with(options.read_data());
    say(prepared.report());
    ProgressLines lines(options.fit, options.has_refresh);
    std::vector<Threshold> const warnings = options.warn.empty() ? std::vector<Threshold>() : parse_warn(options.warn);
    EventStream events(options.events, warnings);
    FitOptions how = options.fit;
    if (how.backend == Backend::Gibbs && (!options.events.empty() || asks_for_scores(warnings))) how.score_reports = event_reports;
    events.start(prepared, options.files.front(), options.data, how);
    StopOnSignal const signals;
    Fit const fit = [&] {
        try {
            return prepared.fit(
                how,
                [&](Progress const& progress) {
                    if (!progress.is_check && !progress.incident && progress.rates == nullptr) lines.show(progress);
                    events.show(progress);
                },
                signals.token());
        } catch (Error const& error) {
            events.fail(error);
            throw;
        }
    }();
    events.end(fit);
    if (fit.is_interrupted() && fit.num_draws() == 0) {
        say("bam: interrupted before the first draw: nothing is written\n");
        return exit_interrupted;
    }
    if (!options.output.empty()) say(fit.write(options.output, options.force));
    put(options.format == Format::Json ? fit_json(options, prepared, fit) : fit_text(options, prepared, fit));
    if (fit.is_interrupted()) {
        if (fit.options().backend != Backend::Gibbs)
            say("bam: interrupted: this is where the ascent stood\n");
        else
            say(fmt::format("bam: interrupted: the summary is of {} a chain\n", counted(fit.num_draws(), "draw")));
        return exit_interrupted;
    }
    int const code = judgement_code(options, fit);
    return code == 0 && events.has_failed() ? exit_write : code;
}

// ---------------------------------------------------------------- predict, summary, fmt

int run_predict(Options const& options) {
    check_outputs(options);
    Fit const fit = Fit::open(options.files.front());
    Predictions const predictions = fit.predict(options.read_data(), options.seed);
    say(predictions.report());
    for (std::string const& note : predictions.notes()) say("note: " + note + "\n");
    std::string const text = options.format == Format::Json ? predictions.json() : predictions.csv();
    if (options.output.empty()) {
        put(text);
    } else {
        save_file(options.output, text);
    }
    return fit.is_degraded() ? exit_not_converged : 0;
}

int run_summary(Options const& options) {
    Fit const fit = Fit::open(options.files.front());
    if (options.format == Format::Json) {
        Json json = Json::parse(fit.json());
        json["interrupted"] = fit.is_interrupted();
        json["degraded"] = fit.is_degraded();
        put(dump(json));
    } else {
        put(fit.table(options.raw) + "\n" + fit.verdict() + notes_of(fit));
    }
    return judgement_code(options, fit);
}

int run_fmt(Options const& options) {
    int exit_code = 0;
    for (std::string const& file : options.files) {
        try {
            std::string const text = read_file(file);
            std::string const formatted = format_model(file, text);
            if (file == "-" && !options.check) {
                put(formatted);
            } else if (formatted != text && options.check) {
                put(file + "\n");
                exit_code = exit_code == 0 ? 1 : exit_code;
            } else if (formatted != text) {
                save_file(file, formatted);
            }
        } catch (Error const& error) {
            say(error.report());
            exit_code = exit_code == 0 ? error.exit_code() : exit_code;
        }
    }
    return exit_code;
}

int dispatch(Options const& options) {
    if (!options.help.empty()) {
        put(options.help);
        return 0;
    }
    if (options.verb == "check") return run_check(options);
    if (options.verb == "explain") return run_explain(options);
    if (options.verb == "priors") return run_priors(options);
    if (options.verb == "simulate") return run_simulate(options);
    if (options.verb == "samplers") return run_samplers(options);
    if (options.verb == "fit") return run_fit(options);
    if (options.verb == "verify") return run_verify(options);
    if (options.verb == "predict") return run_predict(options);
    if (options.verb == "summary") return run_summary(options);
    if (options.verb == "diagnose") return run_diagnose(options);
    if (options.verb == "score") return run_score(options);
    if (options.verb == "compare") return run_compare(options);
    return run_fmt(options);
}

int run(std::vector<std::string> const& arguments) {
    if (arguments.empty()) {
        say(overview_help());
        return exit_usage;
    }
    try {
        return dispatch(read_options(arguments));
    } catch (Error const& error) {
        say(error.report());
        return error.exit_code();
    } catch (std::bad_alloc const&) {
        say("bam: out of memory\n");
    } catch (std::exception const& error) {
        say(fmt::format("bam: internal error: {}; please report it, with the model and the command\n", error.what()));
    }
    return exit_internal;
}

}  // namespace
}  // namespace bam::cli

int main(int count, char** values) {
    int const code = bam::cli::run({values + (count > 0 ? 1 : 0), values + count});
    if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return code;
    bam::cli::say("bam: standard output could not be written\n");
    return code != 0 ? code : bam::cli::exit_write;
}
