#include "chain_sweeps.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "maximise.hpp"

namespace bam {
namespace {

constexpr std::size_t start_sweeps = 50;
/// Sweep numbers of the short runs lie above those of the chain, so that no random number is used twice; so do those of other warmups.
constexpr std::uint64_t start_base = std::uint64_t{1} << 62;
constexpr std::uint64_t restart_base = std::uint64_t{1} << 61;
constexpr std::uint64_t restart_stride = std::uint64_t{1} << 50;

SweepOptions with_relaxation(Problem const& problem, ChainOptions const& options) {
    SweepOptions sweep = options.sweep;
    sweep.relaxation = relaxation_of(problem, options);
    return sweep;
}

}  // namespace

ChainExchange exchange_of(Ladder const& ladder) { return {ladder.powers(), ladder.refusals(), ladder.round_trips()}; }

ExchangeRates to_rates(Phase phase, ChainExchange const& exchange) {
    ExchangeRates rates{phase, exchange.powers, {}, exchange.barrier(), exchange.round_trips};
    for (double const refusal : exchange.refusals) rates.swap_rates.push_back(1 - refusal);
    return rates;
}

ChainSweeps::ChainSweeps(Problem const& problem, ChainOptions const& options, Tempering const& tempering, std::uint64_t chain,
                         std::size_t threads, Chain& record, std::function<void(Incident const&)> tell)
    : problem_(problem),
      options_(options),
      tempering_(tempering),
      chain_(chain),
      record_(record),
      tell_(std::move(tell)),
      sweeps_(sweeps_of(problem, options)),
      sweep_options_(with_relaxation(problem, options)),
      replica_(problem, options.seed, chain, sweep_options_),
      recovery_(replica_) {
    record_.number = chain;
    if (tempering.most_rungs() > 0)
        ladder_ = std::make_unique<Ladder>(
            problem, LadderOptions{tempering.first_rungs(), tempering.lowest, options.seed, chain, threads, sweep_options_});
}

Replica& ChainSweeps::kept() {
    if (ladder_) replica_.set_state(ladder_->at(0).state());
    return replica_;
}

// ---------------------------------------------------------------- the start

void ChainSweeps::find_start(std::stop_token const& stop) {
    try {
        if (tempering_.finds_start)
            exchange_starts(stop);
        else if (options_.ascent_passes > 0)
            climb_to_mode(stop);
        else
            compete(stop);
    } catch (NumericalTrouble const& trouble) {
        if (!trouble.is_of_numbers) throw;
        replace({trouble.block, trouble.what()});
        kept();
        record_.start = "a new start";
    }
    if (ladder_ && !tempering_.finds_start) ladder_->start(replica_.state());
    kept();
    if (ladder_) record_.exchange = exchange_of(*ladder_);
    if (!tempering_.is_while_sampling) ladder_.reset();
}

/// Replicas from dispersed starts exchange until those at power 1 have found the best mode of them.
void ChainSweeps::exchange_starts(std::stop_token const& stop) {
    ladder_->start(options_.starts_from_prior);
    for (std::size_t k = 0; k < start_rounds && !stop.stop_requested(); ++k) {
        if (std::find(std::begin(start_places), std::end(start_places), k) != std::end(start_places)) ladder_->place(ladder_->rungs());
        at_ = k + 1;
        sweep_once(k);
    }
    for (std::size_t r = tempering_.is_while_sampling ? 0 : std::min<std::size_t>(most_restarts, ladder_->rungs() - 1); r >= 1; --r)
        spares_.push_back({ladder_->at(r).state(), fmt::format("its replica at power {:.2g} before the warmup", ladder_->powers()[r])});
    record_.start = fmt::format("{} replicas ({} sweeps each) exchanged, barrier {:.1f}", ladder_->rungs(), start_rounds,
                                exchange_of(*ladder_).barrier());
}

void ChainSweeps::climb_to_mode(std::stop_token const& stop) {
    AscentOptions ascent;
    ascent.seed = options_.seed;
    ascent.chain = chain_;
    ascent.starts = options_.starts;
    ascent.max_passes = options_.ascent_passes;
    ascent.sweep = sweep_options_;
    Maximum const maximum = maximise(problem_, ascent, stop);
    require_mode(maximum, true);
    Ascent const& best = maximum.ascents[maximum.best];
    replica_.set_state(best.state);
    record_.start =
        fmt::format("mode {} of {}, log joint {:.1f}, {} passes", maximum.best + 1, maximum.ascents.size(), best.log_joint, best.passes);
}

/// The best of several short runs, by log joint averaged over their second halves.
void ChainSweeps::compete(std::stop_token const& stop) {
    std::size_t const starts = problem_.plan.is_multilinear ? std::max<std::size_t>(options_.starts, 1) : 1;
    if (starts == 1) {
        replica_.start(0, options_.starts_from_prior);
        record_.start = options_.starts_from_prior ? "one draw from the prior" : "one dispersed start";
        return;
    }
    State best, second;
    double best_score = 0, second_score = 0, worst_score = 0;
    std::size_t chosen = 0, run = 0;
    std::optional<Trouble> lost;
    for (std::size_t k = 0; k < starts && !stop.stop_requested(); ++k) {
        replica_.start(k, options_.starts_from_prior);
        double score = 0;
        lost.reset();
        for (std::size_t i = 0; i < start_sweeps && !lost; ++i) {
            at_ = i + 1;
            lost = sweep_once(start_base + k * start_sweeps + i);
            if (2 * i >= start_sweeps) score += replica_.log_joint() / (static_cast<double>(start_sweeps) / 2);
        }
        if (lost) {  // it takes no part
            note({Remedy::Restart, lost->block, 0, "its other starts", lost->reason});
            continue;
        }
        if (run == 0 || score > best_score) {
            std::swap(best, second);
            second_score = best_score;
            best = replica_.state();
            best_score = score;
            chosen = k;
        } else if (second.values.empty() || score > second_score) {
            second = replica_.state();
            second_score = score;
        }
        worst_score = run == 0 ? score : std::min(worst_score, score);
        ++run;
    }
    if (lost && run == 0) throw NumericalTrouble(lost->reason, lost->block, true);
    if (!second.values.empty()) spares_.push_back({std::move(second), "the second best of its short runs"});
    if (!best.values.empty()) replica_.set_state(best);
    record_.start = fmt::format("short run {} of {} ({} sweeps each), log joint {:.1f}, the worst {:.1f}", chosen + 1, starts, start_sweeps,
                                best_score, worst_score);
}

// ---------------------------------------------------------------- from there on

/// Places the rungs anew after an eighth, a quarter and a half of the warmup, and counts from its end on.
void ChainSweeps::adapt(std::size_t iteration) {
    std::size_t const num_warmup = options_.num_warmup;
    if (iteration == num_warmup) return ladder_->forget();  // without a warmup, of what found the start
    if (iteration > num_warmup || iteration == 0) return;
    for (std::size_t const part : {8U, 4U, 2U})
        if (iteration == num_warmup / part)
            ladder_->place(options_.rungs > 0 ? options_.rungs : rungs_for(exchange_of(*ladder_).barrier()));
}

ChainStep ChainSweeps::iterate(std::size_t iteration, std::stop_token const& stop) {
    phase_ = iteration < options_.num_warmup ? Phase::Warmup : Phase::Sampling;
    at_ = iteration * sweeps_;
    if (ladder_) adapt(iteration);
    // An iteration is done to its end, whatever is asked for meanwhile: only other warmups are long.
    std::optional<Trouble> trouble = sweep((ladder_ ? start_rounds : 0) + iteration * sweeps_, sweeps_, {}, false);
    while (trouble) {
        if (restarts_ == most_restarts) {
            note({Remedy::Drop, trouble->block, 0, "", trouble->reason});
            return ChainStep::Dropped;
        }
        if (!trouble->is_replaced) replace(*trouble);
        ++restarts_;
        trouble = sweep(restart_base + restarts_ * restart_stride, options_.num_warmup * sweeps_, stop, true);
        if (stop.stop_requested()) return ChainStep::Stopped;
    }
    return ChainStep::Done;
}

std::optional<ChainSweeps::Trouble> ChainSweeps::sweep(std::uint64_t index, std::size_t count, std::stop_token const& stop,
                                                       bool is_hidden) {
    for (std::size_t k = 0; k < count && !stop.stop_requested(); ++k) {
        if (!is_hidden) ++at_;
        try {
            if (auto trouble = sweep_once(index + k)) return trouble;
        } catch (NumericalTrouble const& trouble) {
            if (!trouble.is_of_numbers) throw;
            return Trouble{trouble.block, trouble.what()};
        }
    }
    return std::nullopt;
}

std::optional<ChainSweeps::Trouble> ChainSweeps::sweep_once(std::uint64_t index) {
    if (!ladder_) {
        if (auto const repair = recovery_.sweep(index)) note(*repair);
        return std::nullopt;
    }
    ladder_->step(index);
    std::optional<Trouble> replaced;
    for (Repair const& repair : ladder_->repairs()) {
        note(repair);
        if (repair.remedy == Remedy::Restart) replaced = Trouble{repair.block, repair.reason, true};
    }
    return replaced;
}

void ChainSweeps::replace(Trouble const& why) {
    Repair repair{Remedy::Restart, why.block, 0, "a new start", why.reason};
    std::uint64_t const attempt = options_.starts + ++attempts_;
    if (ladder_) {
        ladder_->start(false, attempt);  // not as wide as priors: there it may have begun
        repair.source = "new starts of all its replicas";
    } else if (!spares_.empty()) {
        replica_.set_state(spares_.back().state);
        repair.source = spares_.back().source;
        spares_.pop_back();
    } else {
        replica_.start(attempt);
    }
    note(repair);
}

void ChainSweeps::note(Repair const& repair) {
    std::string const block =
        repair.block ? problem_.plan.layout.variables[problem_.plan.blocks[*repair.block].variable].name : std::string();
    for (Incident& incident : record_.incidents) {
        if (incident.phase != phase_ || incident.remedy != repair.remedy || incident.block != block || incident.source != repair.source)
            continue;
        ++incident.times;
        incident.amount = std::max(incident.amount, repair.amount);
        return;
    }
    record_.incidents.push_back(
        {static_cast<std::size_t>(chain_), phase_, repair.remedy, block, at_, 1, repair.amount, repair.source, repair.reason});
    if (tell_) tell_(record_.incidents.back());
}

}  // namespace bam
