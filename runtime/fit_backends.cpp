#include "fit_backends.hpp"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <optional>
#include <utility>

#include "chains.hpp"
#include "checkpoints.hpp"
#include "explain_trouble.hpp"
#include "fit_refusals.hpp"
#include "linear_response.hpp"
#include "maximise.hpp"
#include "pareto.hpp"
#include "predict.hpp"
#include "record.hpp"
#include "stopping.hpp"

namespace bam {
namespace {

template <class Work>
auto explained(Prepared::Parts const& prepared, Work work) {
    return or_explain(prepared.program->sources, prepared.table->problem.plan.layout, work);
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
    Maximum const maximum = explained(prepared, [&] {
        Maximum found = maximise(problem, to_ascent_options(options), stop);
        require_mode(found, false);
        return found;
    });
    Ascent const& best = maximum.ascents[maximum.best];
    Mode mode;
    mode.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    mode.chosen = maximum.best;
    mode.unbounded = find_unbounded(problem.plan.layout);
    for (Ascent const& one : maximum.ascents) mode.starts.push_back({one.log_joint, one.passes, one.ending, one.largest_move, one.failure});

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

void take_out_dropped(Fit::Parts& parts) {
    auto& chains = parts.run.chains;
    auto const first = std::stable_partition(chains.begin(), chains.end(), [](Chain const& chain) { return !chain.is_dropped; });
    parts.dropped.assign(std::make_move_iterator(first), std::make_move_iterator(chains.end()));
    chains.erase(first, chains.end());
}

/// BAM0454, BAM0455, BAM0457 (explain_trouble.cpp)
bool is_of_sizes(Error const& error) {
    int const code = error.report().diagnostics().front().code;
    return code == 454 || code == 455 || code == 457;
}

/// The last rung of the recovery ladder: no chain is left, and the mode stands in for their draws, if there is one.
void fall_back(Fit::Parts& parts, Prepared::Parts const& prepared, FitOptions const& options, ProgressCallback const& progress,
               std::stop_token const& stop) {
    Incident incident{0, Phase::Sampling, Remedy::Mode};
    incident.reason = parts.config.incidents.back().reason;
    FitOptions at_mode = options;
    at_mode.backend = Backend::Map;
    at_mode.init = Init::Dispersed;
    parts.config.options = at_mode;
    parts.config.options.until.clear();
    parts.run = {};
    try {
        refuse_unfit(prepared, at_mode);
        run_map(parts, prepared, at_mode, stop);
    } catch (Error const& error) {
        // Of numbers that are too large, or whose digits are lost, the ascent knows more. Else what was wrong first is what there is to
        // say.
        if (is_of_sizes(error)) throw;
        explained(prepared, [&]() -> void { throw NumericalTrouble(incident.reason); });
    }
    parts.run.chains.front().incidents = {incident};
    parts.config.incidents.push_back(incident);
    if (!progress) return;
    Progress now;
    now.incident = incident;
    progress(now);
}

void run_gibbs(Fit::Parts& parts, Prepared::Parts const& prepared, FitOptions const& options, ProgressCallback const& progress,
               std::stop_token const& stop) {
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
            RunningCheck const check = check_draws(prepared.table->problem.plan, run);
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
        checkpoints.emplace(options.chains, options.threads, check_schedule(options.max_draws), is_done);
        chains.checkpoints = &*checkpoints;
    }
    if (progress)
        chains.tell = [&](Incident const& incident) {
            Progress now{incident.chain};
            now.incident = incident;
            progress(now);
        };
    if (progress)
        chains.tell_rates = [&](std::size_t chain, std::size_t iteration, ExchangeRates const& rates) {
            Progress now{chain + 1, iteration, options.num_warmup + options.num_samples};
            now.rates = &rates;
            progress(now);
        };
    parts.run = explained(prepared, [&] { return run_chains(prepared.table->problem, chains, chain_progress, stop); });
    parts.config.incidents = std::move(parts.run.incidents);
    take_out_dropped(parts);
    if (parts.run.chains.empty()) return fall_back(parts, prepared, options, progress, stop);
    if (options.until.empty()) return;
    std::size_t longest = 0;
    for (Chain const& chain : parts.run.chains) longest = std::max(longest, chain.log_joint.size());
    parts.config.options.num_samples = std::min(options.num_samples, longest * options.thin);
}

/// The factors at the best optimum that several climbs find, and independent draws from them.
void run_variational(Fit::Parts& parts, Prepared::Parts const& prepared, FitOptions const& options, ProgressCallback const& progress,
                     std::stop_token const& stop) {
    Problem const& problem = prepared.table->problem;
    auto const begin = std::chrono::steady_clock::now();
    explained(prepared, [&] {
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
            require_mode(maximum, true);
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
            climbed.response = linear_response(problem, expectations, field.posterior(), recorder, show_response, stop);
        if (options.linear_response && climbed.ending != ClimbEnding::Converged)
            draws.run.notes.emplace_back("linear response needs an optimum: LR_mean and LR_sd are left out");
        if (stop.stop_requested() && climbed.ending == ClimbEnding::Converged)
            draws.run.notes.emplace_back("interrupted: LR_sd is there for some quantities only");
        if (!climbed.response.without_means.empty()) draws.run.notes.push_back(climbed.response.without_means);
        climbed.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
        parts.factors = factors_json(field, recorder);
        parts.run = std::move(draws.run);
        parts.run.chains.front().sampling_seconds = climbed.seconds;
        parts.run.chains.front().is_interrupted = stop.stop_requested();
        parts.climb = std::move(climbed);
    });
}

}  // namespace

void run_backend(Fit::Parts& parts, Prepared::Parts const& prepared, FitOptions const& options, ProgressCallback const& progress,
                 std::stop_token const& stop) {
    switch (options.backend) {
        case Backend::Gibbs: return run_gibbs(parts, prepared, options, progress, stop);
        case Backend::Map: return run_map(parts, prepared, options, stop);
        case Backend::Variational: return run_variational(parts, prepared, options, progress, stop);
    }
}

}  // namespace bam
