#include "chains.hpp"

#include <fmt/core.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <mutex>
#include <thread>

#include "chain_scores.hpp"
#include "chain_sweeps.hpp"
#include "checkpoints.hpp"
#include "density_parts.hpp"
#include "each_chain.hpp"
#include "predict.hpp"
#include "record.hpp"
#include "tempering.hpp"

namespace bam {
namespace {

double seconds_since(std::chrono::steady_clock::time_point start) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// A prior whose spread is a parameter.
bool is_hierarchical(Layout const& layout) {
    return std::any_of(layout.factors.begin(), layout.factors.end(), [&](FactorLayout const& factor) {
        return !factor.is_observation && std::any_of(factor.spread.begin(), factor.spread.end(), [&](SpreadLayout const& part) {
            return part.variable && layout.variables[*part.variable].kind == VariableKind::Scale;
        });
    });
}

/// A chain among those that run at a time.
class InTurn {
  public:
    InTurn(Checkpoints* checkpoints, std::stop_token const& failed) : checkpoints_(checkpoints) {
        if (checkpoints_ != nullptr) checkpoints_->enter(failed);
    }
    InTurn(InTurn const&) = delete;
    InTurn& operator=(InTurn const&) = delete;
    ~InTurn() {
        if (checkpoints_ != nullptr) checkpoints_->leave();
    }

  private:
    Checkpoints* checkpoints_;
};

}  // namespace

ChainOptions to_chain_options(FitOptions const& options) {
    ChainOptions chain;
    chain.chains = options.chains;
    chain.num_warmup = options.num_warmup;
    chain.num_samples = options.num_samples;
    chain.thin = options.thin;
    chain.sweeps = options.sweeps;
    if (options.relax) chain.relaxation = -*options.relax;
    chain.seed = options.seed;
    chain.threads = options.threads;
    chain.starts = options.starts;
    chain.starts_from_prior = options.init == Init::Prior;
    if (options.init == Init::Map) chain.ascent_passes = options.max_passes;
    chain.exchange = options.exchange;
    chain.rungs = options.rungs;
    chain.evidence = options.evidence;
    chain.score_reports = options.score_reports;
    chain.sweep.draws_rows = options.by_rows;
    chain.sweep.moves_orbits = options.by_orbits;
    return chain;
}

std::size_t sweeps_of(Problem const& problem, ChainOptions const& options) {
    if (options.sweeps > 0) return options.sweeps;
    return problem.plan.is_multilinear || is_hierarchical(problem.plan.layout) ? 10 : 1;
}

double relaxation_of(Problem const& problem, ChainOptions const& options) {
    if (options.relaxation) return *options.relaxation;
    return problem.plan.is_multilinear && !is_hierarchical(problem.plan.layout) ? -0.6 : 0;
}

namespace {

/// Draws of a chain below which the evidence would have no error to speak of.
constexpr std::size_t fewest_draws = 100;

std::optional<Exchange> collect(std::vector<Chain> const& chains, Tempering const& tempering, ChainOptions const& options) {
    if (tempering.most_rungs() == 0) return std::nullopt;
    Exchange exchange;
    exchange.is_while_sampling = tempering.is_while_sampling;
    std::vector<RungDraws> draws;
    for (Chain const& chain : chains) {
        if (chain.log_joint.empty() || chain.is_dropped) continue;
        if (chain.exchange) exchange.chains.push_back(*chain.exchange);
        if (options.evidence && chain.rungs.draws.size() >= fewest_draws * chain.rungs.powers.size()) draws.push_back(chain.rungs);
    }
    if (!draws.empty()) exchange.evidence = log_evidence(draws);
    return exchange;
}

}  // namespace

Run run_chains(Problem const& problem, ChainOptions const& options, ChainProgress const& progress, std::stop_token stop) {
    Run run;
    run.chains.resize(options.chains);
    std::size_t const kept = (options.num_samples + options.thin - 1) / options.thin;
    std::size_t const total = options.num_warmup + options.num_samples;
    std::mutex mutex;
    Tempering const tempering = tempering_of(problem, options);
    std::size_t const threads = options.threads > 0 ? options.threads : std::max(1U, std::thread::hardware_concurrency());

    // Chains that wait for one another have to be there all at once: then the checkpoints say how many run at a time.
    Checkpoints* const checkpoints = options.checkpoints;
    // Where they may end at any look, how many draws there will be is not known: what is kept of them grows.
    bool const is_open = checkpoints != nullptr;
    Predictor predictor(problem, options.chains, options.predicts && is_open ? std::nullopt : std::optional(options.predicts ? kept : 0),
                        options.seed);
    std::size_t const at_once = checkpoints == nullptr ? options.threads : options.chains;
    each_chain(options.chains, at_once, [&](std::size_t c, std::stop_token const& failed) {
        InTurn const turn(checkpoints, failed);
        if (failed.stop_requested()) return;
        Chain& chain = run.chains[c];
        auto const tell = [&](Incident const& incident) {
            if (!options.tell) return;
            std::lock_guard const lock(mutex);
            options.tell(incident);
        };
        ChainSweeps chain_sweeps(problem, options, tempering, c + 1, std::max<std::size_t>(threads / options.chains, 1), chain, tell);
        Recorder recorder(problem, chain_sweeps.inputs());
        {
            std::lock_guard const lock(mutex);
            if (run.columns.empty()) run.columns = recorder.columns();
        }
        std::size_t const width = recorder.columns().size();
        if (!is_open) chain.values.reserve(kept * width);
        auto const begin = std::chrono::steady_clock::now();
        chain_sweeps.find_start(stop);
        Ladder const* const ladder = chain_sweeps.ladder();
        std::size_t done = 0;  // iterations
        auto const tell_rates = [&](Phase phase, ChainExchange const& exchange) {
            if (!options.tell_rates) return;
            ExchangeRates const rates = to_rates(phase, exchange);
            std::lock_guard const lock(mutex);
            options.tell_rates(c, done, rates);
        };
        if (chain.exchange && tempering.finds_start) tell_rates(Phase::Start, *chain.exchange);
        auto sampling = begin;
        PredictionRecorder predictions(predictor, problem, chain_sweeps.inputs(), c);
        std::optional<ScoreKeeper> scores;
        if (options.score_reports > 0 && why_no_likelihood(problem).empty())
            scores.emplace(problem, chain_sweeps.inputs(), chain_sweeps.kept().factors());
        std::size_t const between_reports = std::max<std::size_t>(1, kept / std::max<std::size_t>(options.score_reports, 1));
        auto const is_report_due = [&](std::size_t draws) {
            return draws < kept && (is_open ? checkpoints->is_look(draws) : draws % between_reports == 0);
        };
        auto const show = [&](ChainScores const* report) {
            if (!progress) return;
            std::lock_guard const lock(mutex);
            progress(c, done, total, done <= options.num_warmup, chain_sweeps.log_joint(), report);
        };
        for (std::size_t i = 0; i < total; ++i) {
            if (stop.stop_requested() || failed.stop_requested()) {
                chain.is_interrupted = true;
                break;
            }
            if (i == options.num_warmup) {
                if (ladder && i > 0) tell_rates(Phase::Warmup, exchange_of(*ladder));
                chain.warmup_seconds = seconds_since(begin);
                sampling = std::chrono::steady_clock::now();
            }
            ChainStep const step = chain_sweeps.iterate(i, stop);
            if (step == ChainStep::Dropped) {
                chain.is_dropped = true;
                predictor.leave_out(c);
                if (checkpoints != nullptr) checkpoints->drop(run);
                break;
            }
            if (step == ChainStep::Stopped) {
                chain.is_interrupted = true;
                break;
            }
            bool const is_kept = i >= options.num_warmup && (i - options.num_warmup) % options.thin == 0;
            if (is_kept) {
                Replica& replica = chain_sweeps.kept();
                chain.values.resize(chain.values.size() + width);
                recorder.record(replica.state(), chain.values.data() + chain.values.size() - width);
                chain.log_joint.push_back(replica.log_joint());
                chain.log_likelihood.push_back(replica.log_likelihood());
                predictions.record(chain.log_joint.size() - 1, replica.factors());
                if (scores) scores->record();
            }
            if (options.evidence && i == options.num_warmup && !is_open) chain.rungs.draws.reserve(options.num_samples * ladder->rungs());
            if (options.evidence && i >= options.num_warmup)
                for (std::size_t r = 0; r < ladder->rungs(); ++r) chain.rungs.draws.push_back(ladder->draw(r));
            done = i + 1;
            bool const is_ended = is_open && is_kept && !checkpoints->go_on(run, chain.log_joint.size(), stop, failed);
            bool const is_over = is_ended || i + 1 == total;
            ChainScores const* report = nullptr;
            if (scores && (is_over || (is_kept && is_report_due(chain.log_joint.size())))) report = &scores->report(is_over);
            show(report);
            if (is_over) break;
        }
        if (scores && chain.is_interrupted && !chain.log_joint.empty()) show(&scores->report(true));
        if (ladder) {
            chain.exchange = exchange_of(*ladder);
            tell_rates(chain.log_joint.empty() ? Phase::Warmup : Phase::Sampling, *chain.exchange);
        }
        if (options.evidence) chain.rungs.powers = ladder->powers();
        (chain.log_joint.empty() ? chain.warmup_seconds : chain.sampling_seconds) = seconds_since(sampling);
    });
    for (Chain const& chain : run.chains) run.incidents.insert(run.incidents.end(), chain.incidents.begin(), chain.incidents.end());
    run.exchange = collect(run.chains, tempering, options);
    if (options.evidence && run.exchange && !run.exchange->evidence)
        run.notes.push_back(fmt::format("there is no log evidence of fewer than {} iterations after the warmup", fewest_draws));
    run.predictions = predictor.summarize(run.notes);
    return run;
}

}  // namespace bam
