#include "cross_validation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <stdexcept>

#include "incidents.hpp"
#include "log_densities.hpp"
#include "pareto.hpp"
#include "scales.hpp"
#include "stopping.hpp"
#include "words.hpp"

namespace bam {
namespace {

using Basis = CrossValidation::Basis;

constexpr double doubtful_rhat = 1.05;  ///< of a mean over draws, to which modes that differ would matter

bool is_good(double k, double highest) { return k < highest; }  // a NaN is not

/// Without what is left out, a scale may have too few cells for a flat prior.
bool is_proper(Problem const& problem) {
    Layout const& layout = problem.plan.layout;
    State const state = make_state(layout, problem.bound.grid);
    Factors const factors(problem, state);
    return std::all_of(layout.scales.begin(), layout.scales.end(),
                       [&](ScaleLayout const& scale) { return is_proper(scale, layout, factors); });
}

/// Log densities of `wanted` at draws that have not seen `hidden`; none, and `why`, if there can be no such draws.
/// `rhat`: becomes the worst that such fits had.
std::optional<DrawNumbers> fit_anew(RunOfProblem const& of, std::vector<OutputCell> const& hidden, std::vector<LeftOut> const& wanted,
                                    std::string& why, double& rhat) {
    Problem const rest = without(of.compiled, of.problem, hidden);
    ChainOptions options = of.chains;
    options.predicts = false;
    options.evidence = false;
    try {
        if (!is_proper(rest)) {
            why = "a flat prior of a scale has too few cells without them";
            return std::nullopt;
        }
        Run const run = run_chains(rest, options, {}, {});
        if (mark_of(run.incidents) >= Mark::Jitter) {  // of what is doubted anyway, only draws that are as they should be
            why = run.incidents.back().reason;
            return std::nullopt;
        }
        double const of_run = check_draws(rest.plan, run).rhat;
        rhat = std::isnan(of_run) ? HUGE_VAL : std::max(rhat, of_run);
        Diagnostics diagnostics;
        DrawNumbers densities = log_densities(rest, of.problem, run, options.seed, wanted, options.threads, diagnostics);
        if (!has_error(diagnostics)) return densities;
        why = diagnostics.front().message;
    } catch (std::domain_error const& trouble) {
        why = trouble.what();
    } catch (std::runtime_error const& trouble) {  // of trouble.hpp and its kin: the rest does not determine the parameters
        why = trouble.what();
    }  // all else is a fault of bam, and not of the rest
    return std::nullopt;
}

void count_doubtful(CrossValidation& result) {
    for (CrossValidation::Point const& point : result.points) result.doubtful += point.basis == Basis::Doubtful ? 1 : 0;
}

/// Draws that have not seen it may still hardly meet it.
void set_average(CrossValidation::Point& point, std::span<double const> log_densities, DrawNumbers const& of, double highest) {
    point.expected = average(log_densities, of.chains);
    point.basis = is_good(point.expected.k, highest) ? Basis::Refitted : Basis::Doubtful;
}

void note_convergence(CrossValidation& result, double rhat) {
    if (!(rhat > doubtful_rhat)) return;
    result.notes.push_back(std::isfinite(rhat) ? fmt::format("chains of a fit anew disagree (R-hat {:.2f}): more draws, "
                                                             "`bam fit --num-samples`, or an earlier start, `--num-warmup`",
                                                             rhat)
                                               : "chains of a fit anew stood still: `bam fit` with more draws, `--num-samples`");
}

CrossValidation of_draws(std::vector<LeftOut> left_out, std::size_t draws) {
    CrossValidation result;
    result.left_out = std::move(left_out);
    result.points.resize(result.left_out.size());
    result.draws = draws;
    result.highest_k = highest_k(draws);
    return result;
}

}  // namespace

CrossValidation leave_each_out(RunOfProblem const& of, std::vector<LeftOut> left_out, std::size_t most_refits,
                               RefitProgress const& progress) {
    Diagnostics diagnostics;
    DrawNumbers const densities = log_densities(of.problem, of.problem, of.run, of.chains.seed, left_out, of.chains.threads, diagnostics);
    if (has_error(diagnostics)) throw std::logic_error(diagnostics.front().message);  // the table was fitted: nothing in it is new
    CrossValidation result = of_draws(std::move(left_out), densities.chains * densities.draws);
    if (densities.stride > 1)
        result.notes.push_back(fmt::format("log densities use one draw in {}, to stay within 256 MiB", densities.stride));
    std::vector<std::size_t> bad;
    for (std::size_t i = 0; i < result.points.size(); ++i) {
        CrossValidation::Point& point = result.points[i];
        point.expected = leave_out(densities.of(i), densities.chains);
        point.k = point.expected.k;
        point.p = log_mean_exp(densities.of(i)) - point.expected.elpd;
        if (is_good(point.k, result.highest_k)) continue;
        point.basis = Basis::Doubtful;
        bad.push_back(i);
    }
    std::stable_sort(bad.begin(), bad.end(), [&](std::size_t a, std::size_t b) { return result.points[a].k > result.points[b].k; });
    bad.resize(std::min(bad.size(), most_refits));
    std::size_t failed = 0;
    std::string why;
    double rhat = 0;
    for (std::size_t i : bad) {
        if (progress) progress(result.refits + failed + 1, bad.size());
        auto const unseen = fit_anew(of, result.left_out[i].cells, {result.left_out[i]}, why, rhat);
        if (!unseen) {
            ++failed;
            continue;
        }
        ++result.refits;
        CrossValidation::Point& point = result.points[i];
        double const seen = point.p + point.expected.elpd;
        set_average(point, unseen->of(0), *unseen, result.highest_k);
        point.p = seen - point.expected.elpd;
    }
    if (failed > 0)
        result.notes.push_back(fmt::format("{} could not be fitted without what is left out: {}", counted(failed, "time"), why));
    note_convergence(result, rhat);
    count_doubtful(result);
    return result;
}

CrossValidation leave_future_out(RunOfProblem const& of, std::vector<LeftOut> steps, std::size_t known, std::size_t most_refits,
                                 RefitProgress const& progress) {
    std::size_t const all = of.chains.chains * ((of.chains.num_samples + of.chains.thin - 1) / of.chains.thin);
    std::vector<LeftOut> future;
    for (LeftOut const& step : steps)
        if (step.step >= known) future.push_back(step);
    CrossValidation result = of_draws(std::move(future), all);
    std::vector<LeftOut> const& left_out = result.left_out;
    std::string why;
    double rhat = 0;
    std::size_t first = 0;  // of left_out: what the draws have not seen begins there
    std::optional<DrawNumbers> densities;
    std::vector<double> log_ratios;
    auto const make_draws = [&](std::size_t from) {
        std::vector<OutputCell> hidden;
        for (std::size_t k = from; k < left_out.size(); ++k)
            hidden.insert(hidden.end(), left_out[k].cells.begin(), left_out[k].cells.end());
        if (progress) progress(result.refits + 1, most_refits);
        auto made = fit_anew(of, hidden, {left_out.begin() + static_cast<std::ptrdiff_t>(from), left_out.end()}, why, rhat);
        if (!made) return false;
        ++result.refits;
        densities = std::move(made);
        first = from;
        log_ratios.assign(densities->chains * densities->draws, 0.0);
        return true;
    };
    for (std::size_t begin = 0; begin < left_out.size();) {
        std::size_t end = begin;
        while (end < left_out.size() && left_out[end].step == left_out[begin].step) ++end;
        double const k = densities ? k_of_weights(log_ratios, densities->chains) : std::numeric_limits<double>::infinity();
        bool const is_wanted = !is_good(k, result.highest_k) && result.refits < std::max<std::size_t>(1, most_refits);
        bool const is_new = is_wanted && make_draws(begin);
        if (!densities) throw std::runtime_error(why);
        for (std::size_t i = begin; i < end; ++i) {
            CrossValidation::Point& point = result.points[i];
            point.k = k;
            if (is_new) {
                set_average(point, densities->of(i - first), *densities, result.highest_k);
                continue;
            }
            point.expected = reweighted(densities->of(i - first), log_ratios, densities->chains);
            if (!is_good(k, result.highest_k)) point.basis = Basis::Doubtful;
        }
        for (std::size_t i = begin; i < end; ++i)
            for (std::size_t s = 0; s < log_ratios.size(); ++s) log_ratios[s] += densities->of(i - first)[s];
        begin = end;
    }
    note_convergence(result, rhat);
    count_doubtful(result);
    return result;
}

}  // namespace bam
