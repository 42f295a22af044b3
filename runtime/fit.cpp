// Codes of this file:
//   BAM0482  numbers that cannot be drawn: the data and the priors do not determine them
//   BAM0490  a posterior without a mode: its density grows without bound
//   BAM0489  outputs that are fitted exactly: their spread goes to 0
//   BAM0492  a mode over local scales
//   BAM0493  a mode over choices
//   BAM0506  a quantity that the run does not have
//   BAM0508  a run that needs more memory than there is
//   BAM0515  a model of which the variational backend has no expectations
//   BAM0516  numbers to be learnt, and none is marked
#include "fit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <map>
#include <new>
#include <set>
#include <stdexcept>
#include <utility>

#include "aligned_summary.hpp"
#include "assignments.hpp"
#include "chains.hpp"
#include "checkpoints.hpp"
#include "linear_response.hpp"
#include "maximise.hpp"
#include "memory.hpp"
#include "nearest.hpp"
#include "pareto.hpp"
#include "predict.hpp"
#include "record.hpp"
#include "report.hpp"
#include "scales.hpp"
#include "stopping.hpp"
#include "tempering.hpp"
#include "words.hpp"

namespace bam {
namespace {

constexpr int exit_usage = 64;
constexpr int exit_data = 65;

std::vector<RunConfig::File> files_of(Program::Parts const& program) {
    std::map<std::uint32_t, RunConfig::File> files;
    for (auto const& [name, source] : program.compiled.files()) {
        Source const& text = (*program.sources)[source];
        RunConfig::File& file = files[source];
        file.name = text.name;
        file.text = text.text;
        if (name != text.name) file.also.push_back(name);
    }
    std::vector<RunConfig::File> list;
    for (auto& [source, file] : files) list.push_back(std::move(file));
    return list;
}

RunConfig make_config(Prepared::Parts const& prepared, FitOptions const& options) {
    Program::Parts const& program = *prepared.program;
    Layout const& layout = prepared.table->problem.plan.layout;
    Bound const& bound = prepared.table->problem.bound;
    RunConfig config;
    config.version = version();
    config.model = program.name;
    config.requested = program.request.files;
    config.files = files_of(program);
    config.dims = program.request.dims;
    config.priors = program.request.priors;
    config.learns_hyper = program.request.learns_hyper;
    config.data_name = prepared.data_name;
    config.data_hash = prepared.data_hash;
    config.data_rows = prepared.table->rows;
    config.separator = prepared.separator;
    config.decimal_point = prepared.decimal_point;
    config.options = options;
    for (std::size_t const s : bound.appearance)
        config.sequences.push_back({bound.sequence_labels[s], bound.time_labels[bound.grid.cell(s, 0)], bound.lengths[s]});
    for (std::size_t v = 0; v < layout.variables.size(); ++v)
        if (layout.variables[v].kind == VariableKind::Data) config.learnt[layout.variables[v].name] = bound.learnt[v];
    return config;
}

Error explain_exact_fit(Prepared::Parts const& prepared, std::uint32_t scale) {
    Variable const& variable = prepared.table->problem.plan.layout.variables[scale];
    Diagnostic diagnostic{489,
                          Severity::Error,
                          fmt::format("`{}` goes to 0: the outputs are fitted exactly", variable.name),
                          {{variable.span, "its posterior has no finite integral"}},
                          {"are the outputs constant, or computed from the inputs?",
                           fmt::format("if that is what they are, say how exact they are, such as `{} fixed 0.01`", variable.name)}};
    return Error(make_report(prepared.program->sources, {std::move(diagnostic)}), exit_data);
}

/// Better known before the run than in its middle.
void check_memory(Prepared::Parts const& prepared, FitOptions const& options) {
    if (auto excess = find_excess(prepared.table->problem, options, machine_memory()))
        throw Error(make_report(prepared.program->sources, {std::move(*excess)}), exit_usage);
}

void check_tempering(Prepared::Parts const& prepared, FitOptions const& options) {
    if (options.backend != Backend::Gibbs) return;
    if (auto diagnostic = refuse_tempering(prepared.table->problem, to_chain_options(options)))
        throw Error(make_report(prepared.program->sources, {std::move(*diagnostic)}), exit_data);
}

/// To learn nothing is not what was asked for.
void check_learnt(Prepared::Parts const& prepared) {
    if (!prepared.program->request.learns_hyper) return;
    auto const& variables = prepared.table->problem.plan.layout.variables;
    if (std::any_of(variables.begin(), variables.end(), [](Variable const& variable) { return variable.learnt_from.has_value(); })) return;
    throw Error(Diagnostic{516,
                           Severity::Error,
                           "`--learn-hyper` learns numbers that are marked `learn()`, and the model has none",
                           {},
                           {"mark those that priors are made of by where they start, such as `tau ~ learn(1)`"}},
                exit_usage);
}

/// A number that a user might hold a scale at.
std::string round_number(double value) { return fmt::format("{:.2g}", value); }

/// What grows without bound, and what to do about it.
Error no_mode(Prepared::Parts const& prepared, NoMode const& what) {
    Layout const& layout = prepared.table->problem.plan.layout;
    Variable const& variable = layout.variables[what.variable];
    std::string const draw = "or draw from the posterior, which need not have a mode: `--backend gibbs`";
    Diagnostic diagnostic{490, Severity::Error, "the posterior has no mode: its density grows without bound", {}, {}};
    if (what.traded) {
        std::string const& other = layout.variables[*what.traded].name;
        diagnostic.labels = {{variable.span, fmt::format("this and {} occur as a product only, and one of them has a flat prior", other)}};
        diagnostic.notes = {"the one can shrink to 0 while the other grows, and no output sees it: give both a proper prior", draw};
    } else {
        bool is_noise = false;
        for (FactorLayout const& factor : layout.factors)
            for (SpreadLayout const& part : factor.spread) is_noise = is_noise || (factor.is_observation && part.variable == what.variable);
        diagnostic.labels = {{variable.span, is_noise ? "it goes to 0: the mean can meet every output that it is of"
                                                      : "it goes to 0: what it is the spread of can meet its mean"}};
        diagnostic.notes = {fmt::format("hold it at a value: write `{} fixed {}`", variable.name, round_number(what.start)),
                            "or give it a prior that keeps away from 0, such as inverse_gamma on a variance", draw};
    }
    return Error(make_report(prepared.program->sources, {std::move(diagnostic)}), exit_data);
}

/// The highest point over the local scales and the rest is not that of the posterior, in which they are integrated out.
void refuse_local_scales(Prepared::Parts const& prepared, FitOptions const& options) {
    bool const is_start = options.backend != Backend::Map;
    for (Variable const& variable : prepared.table->problem.plan.layout.variables) {
        if (!variable.is_local) continue;
        Diagnostic diagnostic{492,
                              Severity::Error,
                              "the mode of a model with student_t, laplace, horseshoe or bernoulli_logit is not found",
                              {{variable.span, "it has a local scale for each entry, and the mode over those is another"}},
                              {is_start ? "leave out `--init map`: other starts need no mode"
                                        : "`--backend vi` and `--backend gibbs` average over the local scales"}};
        auto const& scales = prepared.table->problem.plan.layout.scales;
        bool const is_of_binary = std::any_of(scales.begin(), scales.end(), [&](ScaleLayout const& scale) {
            return is_binary(scale) && prepared.table->problem.plan.layout.variables[scale.variable].name == variable.name;
        });
        if (!is_of_binary) diagnostic.notes.emplace_back("or make it a normal");
        throw Error(make_report(prepared.program->sources, {std::move(diagnostic)}), exit_data);
    }
}

/// The highest point over the choices and the rest is that of the one best choice: none of the others counts.
void refuse_choices(Prepared::Parts const& prepared, FitOptions const& options) {
    bool const is_start = options.backend != Backend::Map;
    for (Variable const& variable : prepared.table->problem.plan.layout.variables) {
        if (!variable.is_categorical) continue;
        Diagnostic diagnostic{493,
                              Severity::Error,
                              "the mode of a model with categorical parameters is not found",
                              {{variable.span, "at a mode everything is chosen for certain, however unsure it is"}},
                              {is_start ? "leave out `--init map`: other starts need no mode"
                                        : "`--backend vi` and `--backend gibbs` average over what is chosen",
                               variable.is_local ? "or take the weights of one kernel, such as `normal(ggd_weights(...), ...)`"
                                                 : fmt::format("or say what is chosen: `{} fixed ...`", variable.name)}};
        throw Error(make_report(prepared.program->sources, {std::move(diagnostic)}), exit_data);
    }
}

/// Calls work; what it throws that is the model's or the table's fault becomes an Error.
template <class Work>
auto or_explain(Prepared::Parts const& prepared, Work work) {
    auto const explain = [](std::string message) {
        return Error(Diagnostic{482,
                                Severity::Error,
                                std::move(message),
                                {},
                                {"give it a proper prior, or leave out what says the same",
                                 "columns of very different sizes have that effect, too: bring them to about size 1 in the table section"}},
                     exit_data);
    };
    try {
        return work();
    } catch (NumericalTrouble const& trouble) {
        throw explain(trouble.what());
    } catch (NoClosedForm const& product) {
        throw Error(Diagnostic{515,
                               Severity::Error,
                               fmt::format("the variational backend has no closed form for a product of {}", product.what()),
                               {},
                               {"draw from the posterior: `--backend gibbs`"}},
                    exit_data);
    } catch (NoModeFound const& found) {
        throw no_mode(prepared, found.without_mode);
    } catch (ExactFit const& fit) {
        throw explain_exact_fit(prepared, fit.variable);
    } catch (std::bad_alloc const&) {
        throw Error(Diagnostic{508,
                               Severity::Error,
                               "the run needs more memory than it can have",
                               {},
                               {"make dims smaller, or have fewer draws, with --num-samples or --thin"}},
                    exit_usage);
    } catch (std::domain_error const& trouble) {
        throw explain(fmt::format("a scale cannot be drawn: {}; give it a proper prior", trouble.what()));
    }
}

/// Of one point: it has a place, and no spread.
QuantitySummary only_value(double value) {
    constexpr double none = std::numeric_limits<double>::quiet_NaN();
    return {value, value, none, none, none, none, none, none, none, none, none};
}

Quantity to_quantity(SummaryRow const& row) {
    QuantitySummary const& q = row.quantity;
    return {label_name(row.column),  q.mean, q.median, q.sd, q.mad, q.q5, q.q95, q.rhat, q.ess_bulk, q.ess_tail, q.mcse_mean, q.mcse_sd,
            row.column.is_identified};
}

/// Chains that were stopped long before the others would leave hardly a draw to compare.
Run long_chains(Run const& run, std::vector<std::string>& notes, std::vector<std::size_t> const& numbers) {
    std::size_t longest = 0;
    for (Chain const& chain : run.chains) longest = std::max(longest, chain.log_joint.size());
    Run kept;
    kept.columns = run.columns;
    kept.exchange = run.exchange;
    for (std::size_t c = 0; c < run.chains.size(); ++c) {
        if (2 * run.chains[c].log_joint.size() >= longest)
            kept.chains.push_back(run.chains[c]);
        else
            notes.push_back(fmt::format("chain {} has {} only and is left out of the summary", numbers[c],
                                        counted(run.chains[c].log_joint.size(), "draw")));
    }
    return kept;
}

}  // namespace

PredictedCell to_cell(Prediction const& p) { return {p.row, p.sequence, p.time, p.output, p.observed, p.mean, p.sd, p.q5, p.q50, p.q95}; }

void summarize(Fit::Parts& parts) {
    FitOptions const& options = parts.config.options;
    RunLength const length{options.num_warmup, options.num_samples, options.thin};
    if (parts.climb) parts.climb->starts_at_mode = options.init == Init::Map;
    auto const judge_run = [&](Run const& run) {
        parts.rows = summarize(run);
        if (parts.mode)
            for (SummaryRow& row : parts.rows) row.quantity = only_value(row.quantity.mean);
        parts.verdict = parts.mode ? judge(*parts.mode) : parts.climb ? judge(*parts.climb) : judge(parts.rows, run, length);
        if (!options.until.empty() && !parts.config.is_interrupted)
            parts.verdict.sentences.push_back(stop_sentence(options.until, parts.config.is_until_met, parts.verdict.draws));
        for (std::string& sentence : say_assignments(parts.rows)) parts.verdict.sentences.push_back(std::move(sentence));
        if (!parts.climb) return;
        parts.verdict.draws = common_draws(run);
        for (SummaryRow& row : parts.rows) {
            if (row.condition == Condition::Bad)
                row.condition = Condition::Good;  // independent draws: more of them are all that could help
        }
    };
    parts.config.is_interrupted ? judge_run(long_chains(parts.run, parts.run.notes, parts.chain_numbers)) : judge_run(parts.run);
    for (SummaryRow const& row : parts.rows) {
        auto const k = static_cast<std::size_t>(&row - parts.rows.data());
        parts.quantities.push_back(to_quantity(row));
        if (parts.climb && k < parts.climb->sds.size()) parts.quantities.back().linear_response_sd = parts.climb->sds[k];
        parts.by_name.try_emplace(parts.quantities.back().name, parts.quantities.size() - 1);
    }
}

namespace {

void run_gibbs(Fit::Parts& parts, Prepared::Parts const& prepared, FitOptions const& options, ProgressCallback const& progress,
               std::stop_token stop) {
    ChainProgress chain_progress;
    if (progress)
        chain_progress = [&](std::size_t chain, std::size_t iteration, std::size_t total, bool is_warmup, double log_joint,
                             ChainScores const* scores) {
            Progress now{chain + 1, iteration, total, is_warmup};
            now.log_joint = log_joint;
            now.scores = scores;
            progress(now);
        };
    ChainOptions chains = to_chain_options(options);
    std::optional<Checkpoints> checkpoints;
    if (!options.until.empty()) {
        auto const is_done = [&, thresholds = parse_until(options.until)](Run const& run) {
            RunningCheck const check = check_draws(run);
            parts.config.is_until_met = find_unmet(thresholds, check).empty();
            if (progress) {
                Progress now{1, options.num_warmup + check.draws * options.thin, options.num_warmup + options.num_samples, false};
                now.is_check = true;
                now.rhat = check.rhat;
                now.ess = check.ess;
                progress(now);
            }
            return parts.config.is_until_met;
        };
        checkpoints.emplace(options.chains, options.threads, check_schedule(options.num_samples), is_done);
        chains.checkpoints = &*checkpoints;
    }
    parts.run = or_explain(prepared, [&] { return run_chains(prepared.table->problem, chains, chain_progress, std::move(stop)); });
    if (options.until.empty()) return;
    std::size_t longest = 0;
    for (Chain const& chain : parts.run.chains) longest = std::max(longest, chain.log_joint.size());
    parts.config.options.num_samples = std::min(options.num_samples, longest * options.thin);
}

AscentOptions to_ascent_options(FitOptions const& options) {
    AscentOptions ascent;
    ascent.seed = options.seed;
    ascent.starts = options.starts;
    ascent.starts_from_prior = options.init == Init::Prior;
    ascent.threads = options.threads;
    ascent.max_passes = options.max_passes;
    ascent.sweep.draws_rows = options.by_rows;
    ascent.sweep.moves_orbits = options.by_orbits;
    return ascent;
}

/// The mode as a run of one chain with one draw, and what is kept of the way to it.
void run_map(Fit::Parts& parts, Prepared::Parts const& prepared, FitOptions const& options, std::stop_token const& stop) {
    Problem const& problem = prepared.table->problem;
    auto const begin = std::chrono::steady_clock::now();
    Maximum const maximum = or_explain(prepared, [&] { return maximise(problem, to_ascent_options(options), stop); });
    Ascent const& best = maximum.ascents[maximum.best];
    if (best.without_mode) throw no_mode(prepared, *best.without_mode);
    Mode mode;
    mode.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    mode.chosen = maximum.best;
    mode.unbounded = find_unbounded(problem.plan.layout);
    for (Ascent const& one : maximum.ascents) mode.starts.push_back({one.log_joint, one.passes, one.ending, one.largest_move});

    Replica replica(problem, options.seed, 1, to_ascent_options(options).sweep);
    replica.set_state(best.state);
    Recorder recorder(problem, replica.inputs());
    parts.run.columns = recorder.columns();
    Chain chain;
    chain.values.resize(parts.run.columns.size());
    recorder.record(replica.state(), chain.values.data());
    chain.log_joint = {best.log_joint};
    chain.log_likelihood = {best.log_likelihood};
    chain.sampling_seconds = mode.seconds;
    chain.is_interrupted = best.ending == Ending::Stopped;
    parts.run.chains = {std::move(chain)};
    parts.run.predictions = Predictor(problem, 1, 0, options.seed).at_point(replica.inputs(), replica.factors());

    mode.sds.resize(parts.run.columns.size());
    recorder.record_entries(best.sds, mode.sds.data());
    for (std::size_t k = 0; k < parts.run.columns.size(); ++k) {
        Recorder::Source const source = recorder.source(k);
        if (source.term == nullptr && replica.is_at_end(source.variable, source.offset))
            mode.at_ends.push_back(label_name(parts.run.columns[k]));
    }
    parts.mode = std::move(mode);
}

/// The factors at the best optimum that several climbs find, and independent draws from them.
void run_variational(Fit::Parts& parts, Prepared::Parts const& prepared, FitOptions const& options, ProgressCallback const& progress,
                     std::stop_token const& stop) {
    Problem const& problem = prepared.table->problem;
    auto const begin = std::chrono::steady_clock::now();
    or_explain(prepared, [&] {
        ExpectationPlan const expectations = prepared.program->compiled.expectations(drawn_outputs(problem));
        MeanField field(problem, expectations, options.by_orbits);
        VariationalOptions climbing;
        climbing.starts = options.starts;
        climbing.starts_from_prior = options.init == Init::Prior;
        climbing.tolerance = options.tolerance;
        climbing.max_passes = options.max_passes;
        climbing.seed = options.seed;
        if (options.init == Init::Map) {
            Maximum const maximum = maximise(problem, to_ascent_options(options), stop);
            climbing.start = maximum.ascents[maximum.best].state;
        }
        ClimbProgress show;
        if (progress) show = [&](std::size_t, std::size_t pass, double elbo) { progress({1, pass, options.max_passes, false, elbo}); };
        Climb climbed = climb(field, climbing, show, stop);
        FactorDraws draws = draw_factors(field, options.num_samples, options.seed);
        climbed.pareto_k = pareto_k(std::move(draws.log_ratios));
        climbed.draws = options.num_samples;
        Replica const replica(problem, options.seed, 1, {});
        Recorder const recorder(problem, replica.inputs());
        ResponseProgress show_response;
        if (progress)
            show_response = [&](std::size_t done, std::size_t total) {
                Progress now{1, done, total, false};
                now.is_response = true;
                progress(now);
            };
        if (options.linear_response && climbed.ending == ClimbEnding::Converged)
            climbed.sds = linear_response(problem, expectations, field.posterior(), recorder, show_response, stop);
        if (options.linear_response && climbed.ending != ClimbEnding::Converged)
            draws.run.notes.emplace_back("linear response needs an optimum: LR_sd is left out");
        if (stop.stop_requested() && climbed.ending == ClimbEnding::Converged)
            draws.run.notes.emplace_back("interrupted: LR_sd is there for some quantities only");
        climbed.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
        parts.factors = factors_json(field, recorder);
        parts.run = std::move(draws.run);
        parts.run.chains.front().sampling_seconds = climbed.seconds;
        parts.run.chains.front().is_interrupted = stop.stop_requested();
        parts.climb = std::move(climbed);
    });
}

}  // namespace

std::shared_ptr<Fit::Parts const> run_fit(Prepared::Parts const& prepared, FitOptions options, ProgressCallback const& progress,
                                          std::stop_token stop) {
    check_learnt(prepared);
    if (options.backend == Backend::Map || options.init == Init::Map) {
        refuse_local_scales(prepared, options);
        refuse_choices(prepared, options);
    }
    // What was left to the program is said in the record of the run.
    options.relax = -relaxation_of(prepared.table->problem, to_chain_options(options));
    options.sweeps = sweeps_of(prepared.table->problem, to_chain_options(options));
    if (!options.until.empty()) options.num_samples = options.max_draws;
    FitOptions length = options;
    if (options.backend == Backend::Map) length.num_samples = length.thin = 1;
    check_tempering(prepared, options);
    check_memory(prepared, length);
    auto parts = std::make_shared<Fit::Parts>();
    parts->program = prepared.program;
    parts->config = make_config(prepared, options);
    switch (options.backend) {
        case Backend::Gibbs: run_gibbs(*parts, prepared, options, progress, std::move(stop)); break;
        case Backend::Map: run_map(*parts, prepared, options, stop); break;
        case Backend::Variational: run_variational(*parts, prepared, options, progress, stop); break;
    }
    std::vector<Chain> chains = std::move(parts->run.chains);
    parts->run.chains.clear();
    for (std::size_t c = 0; c < chains.size(); ++c) {
        parts->config.is_interrupted = parts->config.is_interrupted || chains[c].is_interrupted;
        if (chains[c].log_joint.empty()) continue;
        parts->run.chains.push_back(std::move(chains[c]));
        parts->chain_numbers.push_back(c + 1);
    }
    for (Prediction const& prediction : parts->run.predictions) parts->predictions.push_back(to_cell(prediction));
    summarize(*parts);
    return parts;
}

// ---------------------------------------------------------------- Fit

Fit::Fit(std::shared_ptr<Parts const> parts) : parts_(std::move(parts)) {}
Fit Fit::open(std::filesystem::path const& folder) { return Fit(read_run(folder)); }
std::vector<Quantity> const& Fit::summary() const { return parts_->quantities; }

Quantity const& Fit::operator[](std::string_view name) const {
    auto const found = parts_->by_name.find(std::string(name));
    if (found != parts_->by_name.end()) return parts_->quantities[found->second];
    std::vector<std::string> names;
    for (Quantity const& quantity : parts_->quantities) names.push_back(quantity.name);
    Diagnostic diagnostic{506, Severity::Error, fmt::format("the run has no quantity `{}`", name), {}, {}};
    if (auto const near = bam::nearest(name, names)) diagnostic.notes.push_back(fmt::format("did you mean `{}`?", *near));
    diagnostic.notes.push_back(fmt::format("it has {}", first_few(names)));
    throw Error(std::move(diagnostic), exit_usage);
}

std::vector<std::vector<double>> Fit::draws(std::string_view name) const {
    auto const row = static_cast<std::size_t>(&(*this)[name] - parts_->quantities.data());
    std::size_t const width = parts_->run.columns.size();
    std::vector<std::vector<double>> draws;
    for (Chain const& chain : parts_->run.chains) {
        // The last two rows of a summary are no columns.
        draws.push_back(row == width ? chain.log_joint : row == width + 1 ? chain.log_likelihood : std::vector<double>());
        if (row >= width) continue;
        for (std::size_t draw = 0; draw < chain.log_joint.size(); ++draw) draws.back().push_back(chain.values[draw * width + row]);
    }
    return draws;
}

std::vector<PredictedCell> const& Fit::predictions() const { return parts_->predictions; }
bool Fit::is_converged() const { return parts_->verdict.is_converged; }
bool Fit::is_interrupted() const { return parts_->config.is_interrupted; }
std::size_t Fit::num_draws() const { return parts_->verdict.draws; }
FitOptions const& Fit::options() const { return parts_->config.options; }
std::vector<std::string> const& Fit::notes() const { return parts_->run.notes; }
std::string Fit::table(bool raw) const {
    if (parts_->mode) return mode_table(parts_->rows, *parts_->mode, raw);
    if (raw) return raw_table(*parts_);
    return summary_table(parts_->rows, raw, parts_->climb ? parts_->climb->sds : std::vector<double>{});
}
std::string Fit::verdict() const { return to_text(parts_->verdict); }
std::string Fit::json() const {
    if (parts_->mode) return mode_json(parts_->rows, *parts_->mode, parts_->verdict);
    return with_aligned(*parts_, summary_json(parts_->rows, parts_->verdict, parts_->climb ? parts_->climb->sds : std::vector<double>{},
                                              parts_->run.exchange));
}

std::optional<Evidence> Fit::evidence() const {
    if (!parts_->run.exchange || !parts_->run.exchange->evidence) return std::nullopt;
    auto const& [stones, thermo] = *parts_->run.exchange->evidence;
    return Evidence{stones.value, stones.error, thermo.value, thermo.error};
}

std::string Fit::starts() const {
    if (parts_->mode) return starts_text(*parts_->mode);
    if (parts_->climb) return starts_text(*parts_->climb);
    std::string text;
    for (std::size_t c = 0; c < parts_->run.chains.size(); ++c)
        text += fmt::format("chain {}: {}\n", parts_->chain_numbers[c], parts_->run.chains[c].start);
    return text;
}

double Fit::seconds() const {
    double longest = 0;
    for (Chain const& chain : parts_->run.chains) longest = std::max(longest, chain.warmup_seconds + chain.sampling_seconds);
    return longest;
}

Report Fit::write(std::filesystem::path const& folder, bool force) const { return write_run(*parts_, folder, force); }
void Fit::check_folder(std::filesystem::path const& folder, bool force) { check_run_folder(folder, force); }

// ---------------------------------------------------------------- Predictions

Predictions::Predictions(std::shared_ptr<Parts const> parts) : parts_(std::move(parts)) {}
std::vector<PredictedCell> const& Predictions::cells() const { return parts_->cells; }
std::string Predictions::csv() const { return parts_->csv; }
std::string Predictions::json() const { return predictions_json(parts_->cells, parts_->notes); }
Report const& Predictions::report() const { return parts_->report; }
std::vector<std::string> const& Predictions::notes() const { return parts_->notes; }

}  // namespace bam
