#include "chains.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <mutex>

#include "checkpoints.hpp"
#include "each_chain.hpp"
#include "maximise.hpp"
#include "predict.hpp"
#include "record.hpp"

namespace bam {
namespace {

constexpr std::size_t start_sweeps = 50;
/// Sweep numbers of the short runs lie above those of the chain, so that no random number is used twice.
constexpr std::uint64_t start_base = std::uint64_t{1} << 62;

double seconds_since(std::chrono::steady_clock::time_point start) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// Leaves the replica in the best of several short runs, by log joint averaged over their second halves. Returns what was done, in words.
std::string choose_start(Replica& replica, Problem const& problem, std::uint64_t chain, ChainOptions const& options,
                         std::stop_token const& stop) {
    if (options.ascent_passes > 0) {
        AscentOptions ascent;
        ascent.seed = options.seed;
        ascent.chain = chain;
        ascent.starts = options.starts;
        ascent.max_passes = options.ascent_passes;
        ascent.sweep = options.sweep;
        Maximum const maximum = maximise(problem, ascent, stop);
        Ascent const& best = maximum.ascents[maximum.best];
        if (best.without_mode) throw NoModeFound(*best.without_mode);
        replica.set_state(best.state);
        return fmt::format("mode {} of {}, log joint {:.1f}, {} passes", maximum.best + 1, maximum.ascents.size(), best.log_joint,
                           best.passes);
    }
    std::size_t const starts = problem.plan.is_multilinear ? std::max<std::size_t>(options.starts, 1) : 1;
    if (starts == 1) {
        replica.start(0, options.starts_from_prior);
        return options.starts_from_prior ? "one draw from the prior" : "one dispersed start";
    }
    State best;
    double best_score = 0, worst_score = 0;
    std::size_t chosen = 0;
    for (std::size_t k = 0; k < starts && !stop.stop_requested(); ++k) {
        replica.start(k, options.starts_from_prior);
        double score = 0;
        for (std::size_t i = 0; i < start_sweeps; ++i) {
            replica.sweep(start_base + k * start_sweeps + i);
            if (2 * i >= start_sweeps) score += replica.log_joint() / (static_cast<double>(start_sweeps) / 2);
        }
        if (k == 0 || score > best_score) {
            best = replica.state();
            best_score = score;
            chosen = k;
        }
        worst_score = k == 0 ? score : std::min(worst_score, score);
    }
    if (!best.values.empty()) replica.set_state(best);
    return fmt::format("short run {} of {} ({} sweeps each), log joint {:.1f}, the worst {:.1f}", chosen + 1, starts, start_sweeps,
                       best_score, worst_score);
}

}  // namespace

namespace {

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
    explicit InTurn(Checkpoints* checkpoints) : checkpoints_(checkpoints) {
        if (checkpoints_ != nullptr) checkpoints_->enter();
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

std::size_t sweeps_of(Problem const& problem, ChainOptions const& options) {
    if (options.sweeps > 0) return options.sweeps;
    return problem.plan.is_multilinear || is_hierarchical(problem.plan.layout) ? 10 : 1;
}

double relaxation_of(Problem const& problem, ChainOptions const& options) {
    if (options.relaxation) return *options.relaxation;
    return problem.plan.is_multilinear && !is_hierarchical(problem.plan.layout) ? -0.6 : 0;
}

Run run_chains(Problem const& problem, ChainOptions const& options, ChainProgress const& progress, std::stop_token stop) {
    Run run;
    run.chains.resize(options.chains);
    std::size_t const kept = (options.num_samples + options.thin - 1) / options.thin;
    std::size_t const sweeps = sweeps_of(problem, options);
    std::size_t const total = options.num_warmup + options.num_samples;
    Predictor predictor(problem, options.chains, options.predicts ? kept : 0, options.seed);
    std::mutex mutex;

    SweepOptions sweep = options.sweep;
    sweep.relaxation = relaxation_of(problem, options);

    // Chains that wait for one another have to be there all at once: then the checkpoints say how many run at a time.
    Checkpoints* const checkpoints = options.checkpoints;
    each_chain(
        options.chains, checkpoints == nullptr ? options.threads : options.chains, [&](std::size_t c, std::stop_token const& failed) {
            InTurn const turn(checkpoints);
            Chain& chain = run.chains[c];
            Replica replica(problem, options.seed, c + 1, sweep);
            Recorder recorder(problem, replica.inputs());
            {
                std::lock_guard const lock(mutex);
                if (run.columns.empty()) run.columns = recorder.columns();
            }
            std::size_t const width = recorder.columns().size();
            chain.values.reserve(kept * width);
            auto const begin = std::chrono::steady_clock::now();
            chain.start = choose_start(replica, problem, c + 1, options, stop);
            auto sampling = begin;
            PredictionRecorder predictions(predictor, problem, replica.inputs(), c);
            for (std::size_t i = 0; i < total; ++i) {
                if (stop.stop_requested() || failed.stop_requested()) {
                    chain.is_interrupted = true;
                    break;
                }
                if (i == options.num_warmup) {
                    chain.warmup_seconds = seconds_since(begin);
                    sampling = std::chrono::steady_clock::now();
                }
                for (std::size_t k = 0; k < sweeps; ++k) replica.sweep(i * sweeps + k);
                if (i >= options.num_warmup && (i - options.num_warmup) % options.thin == 0) {
                    chain.values.resize(chain.values.size() + width);
                    recorder.record(replica.state(), chain.values.data() + chain.values.size() - width);
                    chain.log_joint.push_back(replica.log_joint());
                    chain.log_likelihood.push_back(replica.log_likelihood());
                    predictions.record(chain.log_joint.size() - 1, replica.factors());
                }
                if (progress) {
                    std::lock_guard const lock(mutex);
                    progress(c, i + 1, total, i < options.num_warmup, replica.log_joint());
                }
                if (checkpoints != nullptr && i >= options.num_warmup && !checkpoints->go_on(run, i + 1 - options.num_warmup, stop, failed))
                    break;
            }
            (chain.log_joint.empty() ? chain.warmup_seconds : chain.sampling_seconds) = seconds_since(sampling);
        });
    run.predictions = predictor.summarize(run.notes);
    return run;
}

}  // namespace bam
