#include "main_verbs.hpp"

#include <fmt/format.h>

#include <limits>

#include "main_flags.hpp"
#include "thresholds.hpp"

namespace bam::cli {
namespace {

constexpr std::size_t most_chains = 10000;

void add_model_options(CLI::App& app, Options& options) {
    app.add_option("--priors", options.compile.priors,
                   "A prior set of the model by its name, or a file of priors (it ends in .bam or has a /); may be repeated: of what "
                   "several sets say of an entry, the set named last holds; what a file says outside of sets comes before all of them")
        ->type_name("NAME|FILE")
        ->allow_extra_args(false);
    app.add_option_function<std::vector<std::string>>(
           "--dim",
           [&](std::vector<std::string> const& texts) {
               for (std::string const& text : texts) {
                   std::size_t const equals = text.find('=');
                   if (equals == std::string::npos || equals == 0) refuse(522, fmt::format("`--dim {}`: not of the form `unit=3`", text));
                   options.compile.dims[text.substr(0, equals)] =
                       to_number<std::size_t>("--dim " + text.substr(0, equals), text.substr(equals + 1), 1, 1000000);
               }
           },
           "The size of a dim, such as unit=3; may be repeated")
        ->type_name("DIM=N")
        ->allow_extra_args(false);
}

void add_fit(CLI::App& app, Options& options) {
    FitOptions& fit = options.fit;
    constexpr std::size_t any = std::numeric_limits<std::size_t>::max();
    constexpr std::size_t most_iterations = 1000000000;
    add_data_options(app, options, "The table, as CSV; - is standard input");
    add_model_options(app, options);
    add_value(app, "-o,--output", "RUN", "The folder for the draws and all else; without it, nothing is written",
              [&](std::string const&, std::string const& text) { options.output = to_path("-o", text); });
    add_value(
        app, "--backend", "gibbs|vi|map",
        "Draws from the posterior, or (vi) from the independent factors nearest to it, or (map) the point where its density is highest",
        [&](std::string const& flag, std::string const& text) {
            fit.backend = to_choice<Backend>(flag, text, {{"gibbs", Backend::Gibbs}, {"vi", Backend::Variational}, {"map", Backend::Map}});
        })
        ->default_str("gibbs");
    add_count(app, "--chains", fit.chains, 1, most_chains, "Of gibbs: chains");
    add_count(app, "--num-warmup", fit.num_warmup, 0, most_iterations, "Of gibbs: iterations of each chain before its draws count");
    add_count(app, "--num-samples", fit.num_samples, 1, most_iterations, "Iterations of each chain after that; of vi, draws");
    add_count(app, "--thin", fit.thin, 1, most_iterations, "Of gibbs: keep every N-th of them");
    add_count(app, "--sweeps", fit.sweeps, 0, most_iterations,
              "Of gibbs: sweeps of one iteration, 0 for 10 where successive ones are much alike and 1 elsewhere");
    add_value(app, "--relax", "R",
              "Of gibbs: over-relaxation of Gaussian draws, 0 for none to 0.99 (0.6 where blocks multiply one another)",
              [&](std::string const& flag, std::string const& text) { fit.relax = to_number<double>(flag, text, 0, 0.99); });
    add_value(
        app, "--until", "CONDITIONS",
        "Of gibbs: end as soon as this holds of all identified quantities, such as rhat<1.01,ess>400; looked at after 100 draws, 150, ...",
        [&](std::string const&, std::string const& text) {
            parse_until(text);
            fit.until = text;
        });
    add_value(app, "--max-draws", "N", "Of --until: draws of each chain that are kept, at most",
              [&](std::string const& flag, std::string const& text) {
                  fit.max_draws = to_number<std::size_t>(flag, text, 1, most_iterations);
                  options.has_max_draws = true;
              })
        ->default_str(std::to_string(fit.max_draws));
    add_value(app, "--seed", "N", "Of the random numbers: the same seed gives the same draws",
              [&](std::string const& flag, std::string const& text) {
                  fit.seed = to_number<std::uint64_t>(flag, text, 0, std::numeric_limits<std::uint64_t>::max());
              })
        ->default_str("1");
    add_count(app, "--threads", fit.threads, 0, any,
              "Chains at a time, 0 for as many as the machine has cores; the draws do not depend on it");
    add_value(app, "--init", "dispersed|prior|map",
              "Starts: no wider than sd 1 about the prior means, or as wide as the priors are, or for gibbs and vi the highest mode found",
              [&](std::string const& flag, std::string const& text) {
                  fit.init = to_choice<Init>(flag, text, {{"dispersed", Init::Dispersed}, {"prior", Init::Prior}, {"map", Init::Map}});
              })
        ->default_str("dispersed");
    add_count(app, "--starts", fit.starts, 1, most_chains,
              "Short runs that compete for the start of a chain, where there may be several modes; of vi and map, ascents of which the "
              "best counts");
    app.add_flag("!--no-tempering", options.tempers_start,
                 "Of gibbs: no replicas that exchange before the warmup; short runs compete for the starts");
    app.add_flag("--tempering", options.tempers_all_along, "Of gibbs: replicas that exchange to the end");
    add_count(app, "--rungs", fit.rungs, 0, 1000,
              "Of gibbs: replicas of a chain that exchange, 0 for 12 before the warmup and as many as it takes after");
    app.add_flag("--evidence", fit.evidence, "Of gibbs: the log evidence; replicas exchange to the end, down to the prior");
    add_count(app, "--max-passes", fit.max_passes, 1, most_iterations, "Of vi and map, and of --init map: passes of an ascent");
    add_value(app, "--tol", "X", "Of vi: it ends where a pass changes the ELBO by less than this, relative to it",
              [&](std::string const& flag, std::string const& text) { fit.tolerance = to_number<double>(flag, text, 0, 1); })
        ->default_str("1e-9");
    app.add_flag("--learn-hyper", options.compile.learn_hyper, "Of vi: learn the numbers marked learn(), which are held otherwise");
    app.add_flag("--linear-response", fit.linear_response,
                 "Of vi: sds that know of the other factors, for what is identified; means of scales, too");
    app.add_flag("--rows", fit.by_rows, "Of gibbs and map: Gaussian blocks a row at a time");
    app.add_flag("!--no-orbit", fit.by_orbits, "Make no moves along what the likelihood cannot see");
    add_value(app, "--refresh", "N",
              "Report progress every N iterations, 0 for never (100 or a twentieth of the run, once it takes longer than 2 s)",
              [&](std::string const& flag, std::string const& text) {
                  fit.refresh = to_number<std::size_t>(flag, text, 0, std::numeric_limits<std::size_t>::max());
                  options.has_refresh = true;
              });
    add_value(app, "--events", "FILE",
              "Write what happens, as it happens: a line of JSON for each start, report, score, look, warning and end",
              [&](std::string const& flag, std::string const& text) { options.events = to_path(flag, text); });
    add_value(
        app, "--warn", "CONDITIONS",
        "Warn of memory above what it was at the start, of iterations so many times slower than at first, and of gibbs of predictions, "
        "effective parameters, state and exchange: memory>500M,slow>2,elpd<-500,p_waic>50,state_dimension>3,swap_rate<0.1",
        [&](std::string const&, std::string const& text) {
            parse_warn(text);
            options.warn = text;
        });
    add_value(app, "--sig-figs", "N", "Digits of the draws in the files; 17 is all of them",
              [&](std::string const& flag, std::string const& text) { fit.sig_figs = to_number<int>(flag, text, 1, 17); })
        ->default_str("17");
    app.add_flag("--raw", options.raw, "Show weights that are not identified, and means of outputs");
    app.add_flag("--strict", options.strict, "End with 2 if the draws have not converged");
    app.add_flag("--force", options.force, "Write into a folder that has other files, too");
    add_format(app, options);
}

void add_check(CLI::App& app, Options& options) {
    add_data_options(app, options, "A table that the model has to fit; - is standard input");
    add_model_options(app, options);
    add_value(app, "--dump", "parse|check|plan", "Print what this stage of the compiler leaves",
              [&](std::string const& flag, std::string const& text) {
                  options.dump = to_choice<Stage>(flag, text, {{"parse", Stage::Parse}, {"check", Stage::Check}, {"plan", Stage::Plan}});
              });
    add_format(app, options);
}

void add_explain(CLI::App& app, Options& options) {
    add_value(app, "--block", "NAME", "Of one block only", [&](std::string const&, std::string const& text) { options.block = text; });
    app.add_flag("--symmetry", options.symmetry, "Instead, the changes of the parameters that no output can see");
    add_model_options(app, options);
    add_format(app, options);
}

void add_samplers(CLI::App& app, Options& options) {
    add_data_options(app, options, "The table, as CSV; - is standard input");
    add_model_options(app, options);
    add_format(app, options);
}

void add_priors(CLI::App& app, Options& options) {
    add_value(app, "--as", "NAME", "Of a run: print its posterior as a prior set of this name, for the same model and other data",
              [&](std::string const& flag, std::string const& text) { options.as = to_path(flag, text); });
    add_data_options(app, options, "A table to try the priors against; - is standard input");
    add_model_options(app, options);
    add_format(app, options);
}

void add_simulate(CLI::App& app, Options& options) {
    add_data_options(app, options, "The table whose inputs are kept, as CSV; - is standard input. Of a run: that which was fitted");
    app.add_flag("--prior", options.from_prior, "Of a model: parameters from their priors");
    add_count(app, "--draws", options.draws, 1, 1000000, "Tables");
    add_value(app, "-o,--output", "FILE", "Where to write the tables, as CSV with a column `draw`; without it, they are summed up only",
              [&](std::string const&, std::string const& text) { options.output = to_path("-o", text); });
    add_value(app, "--seed", "N", "Of the random numbers (1; of a run, its own)", [&](std::string const& flag, std::string const& text) {
        options.seed = to_number<std::uint64_t>(flag, text, 0, std::numeric_limits<std::uint64_t>::max());
    });
    add_model_options(app, options);
    add_format(app, options);
}

void add_predict(CLI::App& app, Options& options) {
    add_data_options(app, options, "The new table, as CSV; - is standard input");
    add_value(app, "-o,--output", "FILE", "Where to write; without it, standard output",
              [&](std::string const&, std::string const& text) { options.output = to_path("-o", text); });
    add_format(app, options);
    add_value(app, "--seed", "N", "Of the random numbers (that of the run)", [&](std::string const& flag, std::string const& text) {
        options.seed = to_number<std::uint64_t>(flag, text, 0, std::numeric_limits<std::uint64_t>::max());
    });
}

void add_summary(CLI::App& app, Options& options) {
    app.add_flag("--raw", options.raw, "Show weights that are not identified, and means of outputs");
    app.add_flag("--strict", options.strict, "End with 2 if the draws have not converged");
    add_format(app, options);
}

void add_diagnose(CLI::App& app, Options& options) {
    app.add_flag("--prior-sensitivity", options.prior_sensitivity,
                 "Which quantities hang on which prior: how far they move when priors or likelihood are raised to a power");
    app.add_flag("--calibration", options.calibration,
                 "Whether outputs lie in what is predicted for them from all others as often as they should: coverage and PIT");
    add_value(app, "--held-out", "TABLE", "The same of the outputs of a table that the run has not seen; - is standard input",
              [&](std::string const& flag, std::string const& text) { options.held_out = to_path(flag, text); });
    app.add_flag("--predictive-checks", options.predictive_checks,
                 "Mean, sd, least, largest, lag-1 autocorrelation of outputs beside those of tables of the model's own");
    add_data_options(app, options, "The table that was fitted, where it is no longer where it was; - is standard input");
    add_format(app, options);
}

void add_score(CLI::App& app, Options& options) {
    add_data_options(app, options, "The table with outputs that the run has not seen, as CSV; - is standard input");
    add_format(app, options);
}

void add_compare(CLI::App& app, Options& options) {
    CompareOptions& compare = options.compare;
    add_value(
        app, "--by", "cell|sequence|future|evidence",
        "What is left out and predicted: each cell of an output, each sequence, or each step given those before it; or cells, and "
        "the order is that of the log evidence, of runs with --evidence",
        [&](std::string const& flag, std::string const& text) {
            std::vector<std::pair<std::string, LeaveOut>> const choices{
                {"cell", LeaveOut::Cell}, {"sequence", LeaveOut::Sequence}, {"future", LeaveOut::Future}, {"evidence", LeaveOut::Cell}};
            compare.leave_out = to_choice<LeaveOut>(flag, text, choices);
            compare.by_evidence = text == "evidence";
        })
        ->default_str("cell");
    add_value(app, "--from", "N", "Of --by future: steps of each sequence that are known from the start (half of the longest)",
              [&](std::string const& flag, std::string const& text) {
                  compare.known_steps = to_number<std::size_t>(flag, text, 1, std::numeric_limits<std::size_t>::max());
              });
    add_count(app, "--refits", compare.refits, 0, 1000000,
              "At most, of each run: fits without what is left out, where the draws of the run cannot tell (pareto k)");
    add_count(app, "--threads", compare.threads, 0, 100000,
              "Chains at a time, 0 for as many as the machine has cores; the numbers do not depend on it");
    add_data_options(app, options, "The table that was fitted, where it is no longer where it was; - is standard input");
    add_format(app, options);
}

void add_fmt(CLI::App& app, Options& options) {
    app.add_flag("--check", options.check, "Change nothing; print the files that would change, and end with 1 if there are any");
}

}  // namespace

std::vector<Verb> const& verbs() {
    static std::vector<Verb> const list{
        {"check", "Say whether models are sound, what they are about, and what is identified", "MODEL...", 1, 100000,
         "  bam check examples/theoph/theoph.bam --priors pharmacology\n  bam check bakery.bam --data bakery.csv", add_check},
        {"explain", "Print the full conditionals as mathematics", "MODEL", 1, 1, "  bam explain models/attention.bam --block W_k",
         add_explain},
        {"priors", "List the priors that hold in the end, where they were said, and what in them looks like a slip", "MODEL|RUN", 1, 1,
         "  bam priors examples/theoph/theoph.bam --priors pharmacology\n  bam priors bakery.bam --data bakery.csv --format json\n"
         "  bam priors run --as spring > spring.bam\n  bam fit bakery.bam --data summer.csv --priors spring.bam --priors spring",
         add_priors},
        {"samplers", "Print what a sweep does, a line each: number, method, what is drawn", "MODEL", 1, 1,
         "  bam samplers bakery.bam --data bakery.csv", add_samplers},
        {"fit", "Draw from the posterior of a model given a table", "MODEL", 1, 1,
         "  bam fit models/attention.bam --data theoph.csv -o run\n  bam fit bakery.bam --data bakery.csv --priors known.bam --seed 7\n  "
         "bam fit bakery.bam --data bakery.csv --backend vi --linear-response",
         add_fit},
        {"verify", "Check what was derived for a model and a table against identities it must obey", "MODEL", 1, 1,
         "  bam verify models/attention.bam --data theoph.csv\n  bam verify bakery.bam --data bakery.csv --sbc 200 --svg ranks.svg\n"
         "  bam verify bakery.bam --data bakery.csv --geweke 10000",
         [](CLI::App& app, Options& options) {
             add_data_options(app, options, "The table, as CSV; - is standard input");
             add_model_options(app, options);
             add_value(app, "--seed", "N", "Of the random numbers", [&](std::string const& flag, std::string const& text) {
                 options.seed = to_number<std::uint64_t>(flag, text, 0, std::numeric_limits<std::uint64_t>::max());
             })->default_str("1");
             add_count(app, "--sbc", options.calibrations, 0, 1000000,
                       "Simulation-based calibration: N times outputs of the model's own, 0 for none");
             add_count(app, "--geweke", options.joint_sweeps, 0, 100000000,
                       "Geweke's test: N sweeps with new outputs after each, whose parameters must keep the moments of their priors, 0 for "
                       "none");
             add_count(app, "--threads", options.fit.threads, 0, 100000,
                       "Simulations at a time, 0 for as many as the machine has cores; what is found does not depend on it");
             add_value(app, "--json", "FILE", "Write the checks as JSON",
                       [&](std::string const& flag, std::string const& text) { options.json = to_path(flag, text); });
             add_value(app, "--svg", "FILE", "Write histograms of the ranks; with --sbc",
                       [&](std::string const& flag, std::string const& text) { options.svg = to_path(flag, text); });
             add_format(app, options);
         }},
        {"simulate", "Make tables of a model's own, from its priors or from a run, and compare them with the observed one", "MODEL|RUN", 1,
         1, "  bam simulate bakery.bam --data bakery.csv --prior\n  bam simulate run --draws 100 -o simulated.csv", add_simulate},
        {"predict", "Say what the draws of a run make of a new table", "RUN", 1, 1,
         "  bam predict run --data new.csv -o predictions.csv\n\n"
         "The columns of outputs may be absent. Steps count from the first row of a sequence: one that goes on\n"
         "has to be there from its beginning. New parameters, of a sequence or of a later step, are drawn from\n"
         "their prior given those of the run: outputs that the new table has do not teach anything about them.\n"
         "Where means look back at outputs, missing ones are drawn given those observed before and after them.",
         add_predict},
        {"summary", "Sum up the draws of a run, and say whether they can be believed", "RUN", 1, 1, "  bam summary run --raw", add_summary},
        {"diagnose", "Say whether the draws of a run can be believed, how many hidden units count, and what its conclusions hang on", "RUN",
         1, 1, "  bam diagnose run\n  bam diagnose run --prior-sensitivity\n  bam diagnose run --calibration --predictive-checks",
         add_diagnose},
        {"score", "Say how well the draws of a run predict outputs that they have not seen", "RUN", 1, 1,
         "  bam score run --data held_out.csv", add_score},
        {"compare", "Rank runs of one table by how well they predict what they have not seen, or by evidence", "RUN...", 1, 1000,
         "  bam compare narrow wide\n  bam compare narrow wide --by evidence\n  bam compare narrow wide --by sequence --format json\n  bam "
         "compare narrow wide --by future --from "
         "20",
         add_compare},
        {"fmt", "Format models in place; - is standard input, to standard output", "FILE...", 1, 100000, "  bam fmt models/*.bam", add_fmt},
    };
    return list;
}

}  // namespace bam::cli
