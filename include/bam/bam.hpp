// bam from C++: compile a model, fit it to a table, read what was learnt, predict. Standard types only.
//
//     bam::Program const program = bam::Program::from_text(model);       // the text of a .bam file
//     bam::Fit const fit = program.fit(bam::Csv{.text = table});         // the text of a CSV file
//     bam::Quantity const slope = fit["slope"];                          // a parameter, by name
//     std::printf("%.2f, in 90%% of the draws %.2f to %.2f\n", slope.mean, slope.q5, slope.q95);
//     if (!fit.is_converged()) std::puts(fit.verdict().c_str());
//
// What cannot be done is thrown as bam::Error, whose what() is what the program bam prints.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "bam/diagnostic.hpp"
#include "bam/incident.hpp"

namespace bam {

/// "1.0.0".
std::string_view version();

/// Messages with the texts that they point into.
class Report {
  public:
    struct Parts;
    Report();
    explicit Report(std::shared_ptr<Parts const> parts);

    Diagnostics const& diagnostics() const;
    bool has_errors() const;
    /// As people read it, with excerpts; "" if there is nothing to say.
    std::string text(bool colour = false) const;
    /// A JSON array, for editors.
    std::string json() const;
    /// "2 errors; 0 warnings".
    std::string counts() const;

  private:
    std::shared_ptr<Parts const> parts_;
};

/// Why bam cannot go on. what() is the report as text.
class Error : public std::exception {
  public:
    /// `exit_code`: of sysexits, as the program ends with it.
    Error(Report report, int exit_code);
    /// One message without a place.
    Error(Diagnostic diagnostic, int exit_code);

    Report const& report() const noexcept { return *report_; }
    int exit_code() const noexcept { return exit_code_; }
    char const* what() const noexcept override { return text_->c_str(); }

  private:
    std::shared_ptr<Report const> report_;
    std::shared_ptr<std::string const> text_;
    int exit_code_;
};

enum class Format { Text, Json };

// ---------------------------------------------------------------- models and tables

struct CompileOptions {
    std::map<std::string, std::size_t> dims = {};  ///< sizes that replace those of the file: {{"unit", 3}}
    /// Prior sets by name, and files of priors (what ends in .bam or has a `/`), whose unnamed priors apply and whose sets can be named.
    std::vector<std::string> priors = {};
    bool learn_hyper = false;  ///< numbers marked learn() are learnt, by Backend::Variational; otherwise they are held where they start
};

/// A table as text. Unset means: find out.
struct Csv {
    std::string text = {};
    std::string name = "table";              ///< what messages call it
    std::optional<char> separator = {};      ///< ',', ';', '|' or a tab
    std::optional<char> decimal_point = {};  ///< '.' or ','

    /// Reads a file, or standard input if the name is "-". Throws Error.
    static Csv read(std::string const& name);
};

// ---------------------------------------------------------------- runs

enum class Backend {
    Gibbs,        ///< draws from the posterior
    Variational,  ///< draws from the product of independent factors that is nearest to the posterior
    Map,          ///< the highest point of the posterior density, by coordinate ascent
};

enum class Init {
    Dispersed,  ///< blocks from their priors, but no wider than sd 1 about the prior mean; scales in the bulk of theirs
    Prior,      ///< blocks from their priors as they are (sd 1 where a prior is flat)
    Map,        ///< not of Backend::Map: at the highest mode that ascents from dispersed starts find
};

/// Replicas of a chain at powers of the likelihood that exchange their places: the lower the power, the lower what parts the modes.
enum class ReplicaExchange {
    Start,     ///< before the warmup, where a mean multiplies blocks: there may be several modes
    Off,       ///< not at all; short runs compete for the start instead
    AllAlong,  ///< before the warmup and from then on to the end
};

struct FitOptions {
    Backend backend = Backend::Gibbs;
    std::size_t chains = 4;
    std::size_t num_warmup = 1000;
    std::size_t num_samples = 1000;
    std::size_t thin = 1;
    std::size_t sweeps = 0;  ///< of one iteration; 0: 10 where successive sweeps are much alike (blocks multiply one another, or a prior's
                             ///< spread is learnt), else 1
    std::optional<double> relax = std::nullopt;  ///< over-relaxation of Gaussian draws, 0 (none) to below 1; nothing: 0.6 where blocks
                                                 ///< multiply one another and no prior's spread is learnt, else 0
    std::uint64_t seed = 1;
    std::size_t threads = 0;  ///< 0: as many as the machine has. The draws do not depend on it
    Init init = Init::Dispersed;
    std::size_t starts = 8;  ///< short runs that compete for the start of each chain, where there may be several modes
    ReplicaExchange exchange = ReplicaExchange::Start;
    std::size_t rungs = 0;           ///< replicas of a chain that exchange, at least 2; 0: 12, and while sampling as many as it takes
    bool evidence = false;           ///< the log evidence: replicas exchange all along, down to the prior
    bool by_rows = false;            ///< Gaussian blocks a row at a time
    bool by_orbits = true;           ///< moves along what the likelihood cannot see
    std::size_t refresh = 100;       ///< iterations between two reports of progress; only written to the files
    int sig_figs = 17;               ///< of the draws in the files; 17 is all of them
    std::size_t max_passes = 10000;  ///< of an ascent: Backend::Map, Init::Map and Backend::Variational
    double tolerance = 1e-9;         ///< of Backend::Variational: it ends where a pass changes the ELBO by less, relative to it
    /// Of Backend::Variational: sds and means that know of the other factors (Quantity::linear_response_sd, linear_response_mean).
    bool linear_response = false;
    /// Of Backend::Gibbs: chains end as soon as this holds of all identified quantities, as in "rhat<1.01,ess>400"; "": after num_samples.
    /// It is looked at after fixed numbers of draws, so that threads and time change nothing.
    std::string until = {};
    std::size_t max_draws = 10000;  ///< of each chain, with `until`
    /// Of Backend::Gibbs: how often about a chain's Progress has scores, 0 for never; with `until` that is when chains are looked at. Each
    /// draw then costs a pass more.
    std::size_t score_reports = 0;
};

/// The log evidence log p(y), of outputs in the units of the model, with Monte Carlo standard errors; by two estimates from the same draws,
/// which should agree.
struct Evidence {
    double stepping_stones = 0, stepping_stones_error = 0;
    double thermodynamic = 0, thermodynamic_error = 0;
};

/// How well a chain predicts what it was fitted to, by its draws so far: WAIC, in the units of the table (docs/math.md, 15b. While a chain
/// runs).
struct ChainScores {
    std::size_t draws = 0;
    double elpd = 0;                                                    ///< expected log predictive density of all observed cells
    double effective_parameters = 0;                                    ///< p_waic
    double state_dimension = std::numeric_limits<double>::quiet_NaN();  ///< of states that decays are drawn in; NaN without
    std::vector<double> elpd_by_step;  ///< of the cells of each step; one number where outputs are not over time
    bool is_last = false;              ///< of all draws of the chain: there will be no more
};

/// How replicas of a chain exchanged in a phase that has ended, since their powers were last moved. Phase::Start: before the warmup.
struct ExchangeRates {
    Phase phase = Phase::Start;
    std::vector<double> powers;      ///< of the likelihood, per rung: falling, the first 1
    std::vector<double> swap_rates;  ///< between neighbours, [rungs - 1]: shares of exchanges that were taken
    double barrier = 0;              ///< the sum of those that were not
    std::size_t round_trips = 0;     ///< of a replica from power 1 to the lowest and back
};

/// Iterations count from 1 over warmup and sampling; chains from 1. Of Backend::Variational an iteration is a pass, and the chain is 1.
struct Progress {
    std::size_t chain = 1;
    std::size_t iteration = 1;
    std::size_t total = 1;
    bool is_warmup = true;
    double elbo = std::numeric_limits<double>::quiet_NaN();       ///< of a pass of Backend::Variational
    bool is_response = false;                                     ///< of FitOptions::linear_response: an iteration is a quantity
    double log_joint = std::numeric_limits<double>::quiet_NaN();  ///< of a chain
    /// Of FitOptions::until, as all chains have been looked at: the worst of the identified quantities.
    bool is_check = false;
    double rhat = std::numeric_limits<double>::quiet_NaN(), ess = std::numeric_limits<double>::quiet_NaN();
    std::optional<Incident> incident = std::nullopt;  ///< of `chain`, as it happens for the first time; there is no iteration then
    ChainScores const* scores = nullptr;              ///< of FitOptions::score_reports, while the call lasts
    ExchangeRates const* rates = nullptr;  ///< of `chain`, after `iteration` (0: before the first), while the call lasts; no report of it
};
/// Called from the threads of the chains, one at a time.
using ProgressCallback = std::function<void(Progress const&)>;

/// The draws of one number, summed up as the R package `posterior` does it. NaN where there is no answer. Of Backend::Map, `mean` and
/// `median` are the value at the mode; of Backend::Variational the draws are independent and from its factors.
struct Quantity {
    std::string name;  ///< "sigma", "W_k[1,dose]"
    double mean = 0, median = 0, sd = 0, mad = 0, q5 = 0, q95 = 0;
    double rhat = 0, ess_bulk = 0, ess_tail = 0, mcse_mean = 0, mcse_sd = 0;
    bool is_identified = true;  ///< false for weights that only priors tell from others, and for what chains may number differently
    double linear_response_mean = std::numeric_limits<double>::quiet_NaN();  ///< of FitOptions::linear_response, where there is one
    double linear_response_sd = std::numeric_limits<double>::quiet_NaN();    ///< likewise
    bool is_judged = true;  ///< by the verdict: identified, and not the same in all draws, or in all but a few
};

/// One cell of an output: what is predicted for it, observation noise included, in the table's units.
struct PredictedCell {
    std::size_t row = 0;   ///< of the table, from 0; the largest number there is if the fit was opened from a folder
    std::string sequence;  ///< labels; of the time as the table writes it
    std::string time;
    std::string output;
    double observed = 0;  ///< NaN where missing
    double mean = 0, sd = 0, q5 = 0, q50 = 0, q95 = 0;
};

/// What a fit says of a new table.
class Predictions {
  public:
    struct Parts;
    explicit Predictions(std::shared_ptr<Parts const> parts);

    std::vector<PredictedCell> const& cells() const;
    /// sequence, time, output, observed, mean, sd, q5, q50, q95; empty where missing.
    std::string csv() const;
    /// {"predictions": [{"sequence": ..., "time": ..., "output": ..., "observed": null, "mean": ..., ...}], "notes": [...]}
    std::string json() const;
    /// Warnings and notes on the table.
    Report const& report() const;
    /// Sentences that a reader must know.
    std::vector<std::string> const& notes() const;

  private:
    std::shared_ptr<Parts const> parts_;
};

struct SimulateOptions {
    std::size_t draws = 200;                           ///< tables
    std::optional<std::uint64_t> seed = std::nullopt;  ///< 1 of priors, that of the run of a posterior
    bool has_tables = false;                           ///< Simulated::csv is wanted
};

/// Tables of the model's own making, summed up beside the observed one, in the table's units.
struct Simulated {
    std::string text;                ///< a block of lines per output, and sentences on what to make of them
    std::string json;                ///< docs/formats.md
    std::string csv;                 ///< the tables one after another, with a column `draw`; empty unless asked for
    std::vector<std::string> notes;  ///< sentences that a reader must know
    std::string counts;              ///< of Fit::simulate, as Prepared::counts
    std::string table;               ///< of Fit::simulate: its name
    Report report;                   ///< of Fit::simulate: warnings on the table
};

/// A posterior as the text of a file of priors.
struct PosteriorPriors {
    std::string text;  ///< a named set, with comments on what it does not hold of the posterior
    Report report;     ///< BAM0326: weights that are not identified
};

/// How far a quantity moves when a part of the density is raised to a power (Kallioinen and others 2023): the Jensen-Shannon distance of
/// its distribution functions for each doubling of the power. From 0.05 on it counts. NaN where the draws cannot tell.
struct SensitiveQuantity {
    std::string name;             ///< as Quantity::name
    double prior = 0;             ///< all priors together
    double likelihood = 0;        ///< of the outputs
    std::string strongest_prior;  ///< parameter whose prior alone moves it most; "" if none reaches 0.05
    std::string diagnosis;        ///< "potential prior-data conflict", "potential strong prior / weak likelihood", "-", "?"
};

/// Which conclusions of a run hang on which prior.
struct PriorSensitivity {
    std::vector<SensitiveQuantity> quantities;  ///< that are identified and vary, without means of outputs
    std::string text;                           ///< a line per quantity, and sentences on what hangs on what
    std::string json;                           ///< docs/formats.md
    Report report;                              ///< warnings on the table
};

/// What a run says of outputs beside what they are.
struct Judgement {
    std::string text;  ///< tables, and sentences on what to make of them
    std::string json;  ///< docs/formats.md
    Report report;     ///< warnings on the table
};

struct CheckOptions {
    std::size_t draws = 1000;                          ///< tables, at most as many as the run has draws
    std::optional<std::uint64_t> seed = std::nullopt;  ///< that of the run
};

/// Draws of one model and one table. Immutable; copies share them.
class Fit {
  public:
    struct Parts;
    explicit Fit(std::shared_ptr<Parts const> parts);

    /// Reads a folder that `write` wrote. Throws Error.
    static Fit open(std::filesystem::path const& folder);

    /// Every parameter and report, then the means of outputs, `log_joint` and `log_likelihood`.
    std::vector<Quantity> const& summary() const;
    /// Throws Error if there is none of that name (BAM0506, with a guess which was meant).
    Quantity const& operator[](std::string_view name) const;
    /// [chain][draw].
    std::vector<std::vector<double>> draws(std::string_view name) const;
    /// Of the table that was fitted; as predictions.csv has them if the fit was opened from a folder, and empty if that is gone.
    std::vector<PredictedCell> const& predictions() const;
    /// Whether to believe the draws; of Backend::Map and Backend::Variational, whether the ascent came to its end. Not of a run that lost a
    /// chain, or that is degraded.
    bool is_converged() const;
    bool is_interrupted() const;
    /// Draws were asked for and none could be had: a mode stands in their place, and options().backend is Backend::Map.
    bool is_degraded() const;
    /// Numerical trouble that was met, and how (docs/formats.md, Recovery). Empty of a run without any.
    std::vector<Incident> const& incidents() const;
    /// What of it readers of the numbers must know: "none", "rebuild", "warmup", "jitter", "restart", "drop" or "degraded", the gravest.
    std::string recovery() const;
    /// Draws of each chain that the summary uses.
    std::size_t num_draws() const;

    /// Where each chain started, a line each, and how long the longest took.
    std::string starts() const;
    double seconds() const;
    FitOptions const& options() const;
    /// The summary as a table; without `raw`, without means of outputs and weights that are not identified. These are shown where their
    /// symmetries lead them to one representative (docs/math.md, 8b. What is shown of raw weights), which is said below the table; so is
    /// what nothing but its number tells from others, with and without `raw`.
    std::string table(bool raw = false) const;
    /// Whether to believe the draws, and what to do next.
    std::string verdict() const;
    std::vector<std::string> const& notes() const;
    /// Of FitOptions::evidence; nothing if the run was stopped before there was one.
    std::optional<Evidence> evidence() const;
    /// Verdict and summary.
    std::string json() const;

    /// Writes chain_1.csv (Stan's format), ..., dropped_1.csv of a chain that was dropped, exchange.json where replicas exchanged, of
    /// Backend::Map mode.csv and map.json, of Backend::Variational variational.csv and vi.json, and summary.csv, predictions.csv,
    /// config.json; each is there whole or not at all, and a folder without its config.json is no run. The files of an earlier run are
    /// replaced; into a folder with other files it writes only with `force`. Returns warnings.
    Report write(std::filesystem::path const& folder, bool force = false) const;
    /// Throws Error if write would refuse the folder: known before the run, not after it.
    static void check_folder(std::filesystem::path const& folder, bool force = false);

    /// What the draws say of another table of the same columns; those of outputs may be absent. Sequences that the fitted table had keep
    /// their parameters; those of new sequences and later steps are drawn from their prior given the others, and outputs of the new table
    /// do not teach anything about them. Where means look back at outputs, missing ones are drawn given those observed before and after
    /// them. Steps count from the first row of a sequence, so a sequence that goes on has to be there from its beginning. Throws Error.
    Predictions predict(Csv const& table, std::optional<std::uint64_t> seed = {}) const;

    /// Outputs as the draws say that they come about, at the cells of a table, observed or missing; without one, of that which was fitted,
    /// read again where it was. What is new in it is drawn as in `predict`. Throws Error.
    Simulated simulate(std::optional<Csv> const& table = {}, SimulateOptions const& options = {}) const;

    /// The posterior as a named set of priors for the same model and other data: the moments of the draws, by statements that the model
    /// takes. Throws Error; BAM0517: of Backend::Map.
    PosteriorPriors as_priors(std::string const& set) const;

    /// How many hidden units count, a line for each pair of blocks that they join (docs/math.md, 8. What the likelihood cannot see), or the
    /// same as a JSON list. Empty where there are none, and of Backend::Map.
    std::string active_units(Format format = Format::Text) const;

    /// Power-scaling of the priors and of the likelihood, by weights of the draws. The table is that which was fitted; without one, it is
    /// read again where it was. Throws Error; BAM0518, BAM0528: it is another; BAM0527: of Backend::Map.
    PriorSensitivity prior_sensitivity(std::optional<Csv> const& table = {}) const;

    /// How often the central 50, 80, 90 and 95 % of what is predicted for a cell from all others hold it, and where in its prediction it
    /// lies (LOO-PIT). Throws Error as prior_sensitivity; BAM0552: not of Backend::Gibbs.
    Judgement calibration(std::optional<Csv> const& table = {}) const;
    /// The same of the outputs of a table that the run has not seen, with the log predictive density and the errors of the means. Cells
    /// that were fitted do not count. Throws Error; BAM0555: there are none.
    Judgement score(Csv const& held_out) const;
    /// Mean, sd, least, largest, lag-1 autocorrelation of each output, over all and by sequence, beside those of tables of the model's own
    /// making. Throws Error as prior_sensitivity.
    Judgement predictive_checks(std::optional<Csv> const& table = {}, CheckOptions const& options = {}) const;

    /// For the library's own functions of several fits.
    std::shared_ptr<Parts const> const& parts() const { return parts_; }

  private:
    std::shared_ptr<Parts const> parts_;
};

// ---------------------------------------------------------------- which of several models

struct NamedFit {
    std::string name;
    Fit fit;
};

/// What is left out, to be predicted from the rest.
enum class LeaveOut {
    Cell,      ///< each observed cell of an output, given all others
    Sequence,  ///< each sequence, given the others
    Future,    ///< each step of a sequence behind the first ones, given the steps of all sequences before it
};

struct CompareOptions {
    LeaveOut leave_out = LeaveOut::Cell;
    std::size_t known_steps = 0;  ///< of LeaveOut::Future: steps that nothing is predicted of; 0: half of the longest sequence
    std::size_t refits = 100;     ///< at most, of each run: fits anew where weighted draws cannot tell
    std::size_t threads = 0;      ///< 0: as many as the machine has
    bool by_evidence = false;     ///< ranked by log p(y), not by what is left out
    /// Called before each fit anew, with the run that it is of, its number, and how many there may be.
    std::function<void(std::string const& run, std::size_t number, std::size_t of)> progress = {};
};

struct ComparedRun {
    std::string name;
    double elpd = 0, se_elpd = 0;              ///< expected log predictive density, in the units of the table; with its standard error
    double difference = 0, se_difference = 0;  ///< of elpd, to the best run
    double p = 0;                              ///< effective number of parameters; 0 of LeaveOut::Future
    double weight = 0;                         ///< of stacking: the mixture of the runs that predicts best
    std::size_t refits = 0, doubtful = 0;      ///< fits anew; numbers that a few draws decide
    /// log p(y) in the units of the table, of FitOptions::evidence, and what it is above that of the run that has most; NaN without.
    double log_evidence = std::numeric_limits<double>::quiet_NaN(), se_log_evidence = log_evidence;
    double log_bayes_factor = log_evidence, se_log_bayes_factor = log_evidence;
};

struct Comparison {
    std::vector<ComparedRun> runs;  ///< the best first
    std::string text;               ///< a line per run, and what to make of it
    std::string json;               ///< docs/formats.md
    Report report;                  ///< warnings on the table
};

/// Ranks runs of one table by how well they predict what they have not seen (Vehtari, Gelman and Gabry 2017). The table is read again where
/// it was, unless it is given. Throws Error; BAM0550, BAM0551: not the same outputs; BAM0552: not of Backend::Gibbs; BAM0553, BAM0554:
/// there is nothing of the kind to leave out, or no density of it; BAM0567: by evidence, and a run has none.
Comparison compare(std::vector<NamedFit> const& fits, std::optional<Csv> const& table = {}, CompareOptions const& options = {});

struct VerifyOptions {
    std::uint64_t seed = 1;
    std::size_t calibrations = 0;  ///< simulations of the model's own outputs, on each of which a chain is run; 0: none
    std::size_t joint_sweeps = 0;  ///< of Geweke's test: sweeps of chains that draw outputs anew after each of them; 0: none
    std::size_t threads = 0;       ///< 0: as many as the machine has
};

/// Whether what was derived for a model and a table is right, checked by identities.
struct Verification {
    bool has_passed = false;
    std::string text;  ///< a line per check
    /// {"passed": true, "checks": [{"name": ..., "of": ..., "count": ..., "worst": ..., "tolerance": ..., "passed": ...}]}; after Geweke's
    /// test also "geweke": {"chains": ..., "sweeps": ..., "quantities": [{"name": ..., "z_mean": ..., "z_square": ..., "p": ...}]}
    std::string json;
    std::string svg;  ///< rank histograms of the calibrations; "" without
};

/// The prior of every entry of every parameter, where it was said, what it overrides, and what in them looks like a slip.
struct PriorListing {
    std::string text;  ///< a line per group of entries with one prior, in the notation of the language
    std::string json;  ///< {"priors": [...], "unused": [...], "sets": [...], "warnings": [...]}; docs/formats.md
    Report report;     ///< warnings and a note: BAM0320 to BAM0325
};

/// A program and a table that it has been bound to: all is known but the draws. Immutable; copies share it.
class Prepared {
  public:
    struct Parts;
    explicit Prepared(std::shared_ptr<Parts const> parts);

    /// Warnings and notes on the table.
    Report const& report() const;
    /// "132 rows; subject 12, t 11; conc 120 observed, 12 missing".
    std::string counts() const;
    /// As Program::overview, with the sizes and the observed cells of the table.
    std::string overview(Format format = Format::Text, bool colour = false) const;
    /// What a sweep does, a line each: number, method, what is drawn; between tabs.
    std::string samplers(Format format = Format::Text) const;
    std::string plan() const;
    /// As Program::priors; the priors are also tried against the outputs of the table.
    PriorListing priors() const;
    /// Outputs as the priors say that they come about, at the cells of the table. Throws Error; BAM0491: a flat prior.
    Simulated simulate(SimulateOptions const& options = {}) const;
    /// Whether the conditionals, scales and symmetries derived for this model and these data are right; with calibrations, whether chains
    /// find parameters that are known. Throws Error; BAM0491: a model that cannot be simulated.
    Verification verify(VerifyOptions const& options = {}) const;

    /// Throws Error. A stop request ends every chain after its present sweep; what was drawn is kept.
    Fit fit(FitOptions const& options = {}, ProgressCallback const& progress = {}, std::stop_token stop = {}) const;

  private:
    std::shared_ptr<Parts const> parts_;
};

/// A compiled model. Immutable; copies share it.
class Program {
  public:
    struct Parts;
    explicit Program(std::shared_ptr<Parts const> parts);

    /// A .bam file with all that it uses, or standard input if the name is "-". Throws Error.
    static Program from_file(std::string const& name, CompileOptions const& options = {});
    /// `name` is what messages call it; files that it uses are relative to it.
    static Program from_text(std::string text, CompileOptions const& options = {}, std::string const& name = "model");

    /// Warnings and notes on the model.
    Report const& report() const;
    std::string const& name() const;
    /// Dims, data, unknowns, and what is identified only through products.
    std::string overview(Format format = Format::Text, bool colour = false) const;
    /// The full conditionals as mathematics; of one block, or of all. Throws Error if there is no such block.
    std::string explain(std::optional<std::string> const& block = {}, Format format = Format::Text) const;
    /// Changes of the parameters that no output can see; "" if there are none.
    std::string symmetries() const;
    /// The priors that hold in the end.
    PriorListing priors() const;

    /// Binds a table. Throws Error.
    Prepared with(Csv const& table) const;
    /// with(table).fit(...)
    Fit fit(Csv const& table, FitOptions const& options = {}, ProgressCallback const& progress = {}, std::stop_token stop = {}) const;

  private:
    std::shared_ptr<Parts const> parts_;
};

// ---------------------------------------------------------------- for programs around it

/// What a stage of the compiler leaves, printed, as far as it came; later stages do not run.
struct Dump {
    std::string text;
    Report report;
    int exit_code = 0;
};
enum class Stage { Parse, Check, Plan };
Dump dump(Stage stage, std::string const& file, CompileOptions const& options = {});

/// A model text as everyone writes it. Throws Error if it does not parse.
std::string format_model(std::string const& name, std::string const& text);

/// A file's text; standard input if the name is "-". Throws Error.
std::string read_file(std::string const& name);
/// Writes a whole file, beside its place and then into it. Throws Error.
void save_file(std::filesystem::path const& path, std::string_view text);

/// Throws Error if writing the file would replace one of a run's own: its draws, summary, predictions or config.json.
void check_not_of_run(std::filesystem::path const& file);
/// Throws Error if writing the file would replace a model, by its name, or one of `inputs`.
void check_not_input(std::filesystem::path const& file, std::vector<std::string> const& inputs);

/// The one of the candidates that `name` was most likely meant to be, if any is near.
std::optional<std::string> nearest(std::string_view name, std::vector<std::string> const& candidates);

}  // namespace bam
