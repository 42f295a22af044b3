#include "variational.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <exception>
#include <limits>

#include "posterior_sampler.hpp"
#include "predict.hpp"
#include "record.hpp"
#include "trouble.hpp"

namespace bam {
namespace {

constexpr std::size_t short_passes = 20;
constexpr std::size_t sweeps_to_choose = 20;
constexpr double rounding = 1e-14;  ///< of the ELBO, relative
constexpr double most_left = 1e-3;  ///< nats between the end of a climb and its optimum, by extrapolation

bool has_choices(Plan const& plan) {
    return std::any_of(plan.layout.variables.begin(), plan.layout.variables.end(),
                       [](Variable const& variable) { return variable.is_categorical; });
}

std::vector<std::string> held_choices(Plan const& plan) {
    Layout const& layout = plan.layout;
    std::vector<std::string> names;
    for (std::uint32_t v = 0; v < layout.variables.size(); ++v) {
        if (!layout.variables[v].is_categorical) continue;
        bool is_held = false;
        for (std::size_t f = 0; f < layout.factors.size(); ++f) {
            if (layout.factors[f].is_observation || layout.factors[f].target == v) continue;
            auto const& registers = plan.residuals[f].pass.registers;
            is_held = is_held || std::any_of(registers.begin(), registers.end(),
                                             [&](Register const& reg) { return reg.from == From::Variable && reg.index == v; });
        }
        if (is_held) names.push_back(layout.variables[v].name);
    }
    return names;
}

}  // namespace

Climb climb(MeanField& field, VariationalOptions const& options, ClimbProgress const& progress, std::stop_token const& stop) {
    auto const begin = std::chrono::steady_clock::now();
    Problem const& problem = field.problem();
    std::size_t const starts = problem.plan.is_multilinear && !options.start ? std::max<std::size_t>(options.starts, 1) : 1;
    Climb result;
    result.held_choices = held_choices(problem.plan);
    Posterior best;
    std::vector<double> best_trace;
    std::exception_ptr failure;  // of the first start that failed
    auto const climb_shortly = [&](std::size_t k) {
        std::vector<double> trace;
        if (options.start) {
            field.start(*options.start);
        } else {
            Replica replica(problem, options.seed, 1, {});
            replica.start(k, options.starts_from_prior);
            // Independent factors leave a choice where it is when what hangs on it has settled there; draws do not.
            for (std::size_t i = 0; has_choices(problem.plan) && i < sweeps_to_choose; ++i) replica.sweep(k * sweeps_to_choose + i);
            field.start(replica.state());
        }
        // One pass at least: point masses are no factors.
        for (std::size_t i = 0; i < short_passes && i < options.max_passes && (trace.empty() || !stop.stop_requested()); ++i) {
            trace.push_back(field.pass());
            if (progress) progress(k + 1, i + 1, trace.back());
        }
        return trace;
    };
    bool has_one = false;
    for (std::size_t k = 0; k < starts && (k == 0 || !stop.stop_requested()); ++k) {
        std::vector<double> trace;
        try {
            trace = climb_shortly(k);
            result.failures.emplace_back();
        } catch (std::exception const& thrown) {
            auto const reason = reason_of_start(thrown);
            if (!reason) throw;
            if (!failure) failure = std::current_exception();
            result.failures.push_back(*reason);
            result.starts.push_back(std::numeric_limits<double>::quiet_NaN());
            continue;
        }
        double const elbo = trace.empty() ? -HUGE_VAL : trace.back();
        result.starts.push_back(elbo);
        if (has_one && !(elbo > result.starts[result.chosen])) continue;
        has_one = true;
        result.chosen = k;
        best = field.posterior();
        best_trace = std::move(trace);
    }
    if (!has_one) std::rethrow_exception(failure);
    result.trace = std::move(best_trace);
    if (!best.covariances.empty()) field.set_posterior(best);
    auto has_converged = [&] {
        std::size_t const n = result.trace.size();
        if (n < 3) return false;
        double const scale = 1 + std::abs(result.trace[n - 1]);
        double const rise = result.trace[n - 1] - result.trace[n - 2];
        double const last = result.trace[n - 2] - result.trace[n - 3];
        if (rise <= rounding * scale) return true;
        // A slow climb rises little in one pass and much in all of those to come: what is left of a geometric sequence.
        double const ratio = rise / last;
        return rise <= options.tolerance * scale && ratio < 1 && rise * ratio / (1 - ratio) <= most_left;
    };
    std::array<double, 3> unexplained{};
    while (true) {
        if (has_converged()) {
            result.rounding = *std::max_element(unexplained.begin(), unexplained.end());
            result.ending = result.rounding <= most_left ? ClimbEnding::Converged : ClimbEnding::Rounding;
            break;
        }
        if (stop.stop_requested()) {
            result.ending = ClimbEnding::Stopped;
            break;
        }
        if (result.trace.size() >= options.max_passes) break;
        result.trace.push_back(field.pass());
        unexplained[result.trace.size() % unexplained.size()] = field.unexplained();
        if (progress) progress(result.chosen + 1, result.trace.size(), result.trace.back());
    }
    if (result.ending != ClimbEnding::Stopped) field.require_spread();
    result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    return result;
}

FactorDraws draw_factors(MeanField& field, std::size_t draws, std::uint64_t seed) {
    Problem const& problem = field.problem();
    PosteriorSampler const sampler(field);
    Replica replica(problem, seed, 1, {});
    Recorder recorder(problem, replica.inputs());
    FactorDraws result;
    result.run.columns = recorder.columns();
    std::size_t const width = result.run.columns.size();
    Predictor predictor(problem, 1, draws, seed);
    PredictionRecorder predictions(predictor, problem, replica.inputs(), 0);
    Chain chain;
    chain.means.resize(width);
    replica.set_state(field.posterior().state);
    recorder.record(replica.state(), chain.means.data());
    chain.values.resize(draws * width);
    State state;
    for (std::size_t i = 0; i < draws; ++i) {
        double const log_density = sampler.draw(seed, i, state);
        replica.set_state(state);
        recorder.record(replica.state(), chain.values.data() + i * width);
        predictions.record(i, replica.factors());
        chain.log_joint.push_back(replica.log_joint());
        chain.log_likelihood.push_back(replica.log_likelihood());
        chain.log_factors.push_back(log_density);
        result.log_ratios.push_back(replica.log_joint() - log_density);
    }
    result.run.chains.push_back(std::move(chain));
    PredictiveMoments const moments = field.predictive_moments();
    result.run.predictions = predictor.summarize(result.run.notes, &moments);
    return result;
}

}  // namespace bam
