#include "mean_field.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <stdexcept>

#include "block_sampler.hpp"
#include "magnitude.hpp"
#include "scales.hpp"
#include "spread.hpp"
#include "trouble.hpp"

namespace bam {
namespace {

Posterior make_posterior(Problem const& problem) {
    Posterior posterior;
    posterior.state = make_state(problem.plan.layout, problem.bound.grid);
    for (std::size_t k = 0; k < problem.augmented.size(); ++k) {
        if (problem.augmented[k].empty()) continue;
        std::uint32_t const v = problem.plan.lagged_outputs[k].variable;
        posterior.state.values[v] = problem.bound.data[v];
    }
    posterior.covariances = make_covariances(problem.plan, problem.bound.grid, drawn_outputs(problem));
    for (ScaleLayout const& scale : problem.plan.layout.scales)
        posterior.scales.emplace_back(posterior.state.values[scale.variable].size());
    posterior.truncated.resize(problem.plan.layout.variables.size());
    return posterior;
}

constexpr double suspiciously_exact = 1e-8;  ///< of the sum of squares of outputs: residuals that may be rounding
constexpr double far_below = 1e-6;           ///< of an expected sum of squares: what the residuals of the means have of it

}  // namespace

std::vector<bool> drawn_outputs(Problem const& problem) {
    std::vector<bool> drawn(problem.plan.layout.variables.size(), false);
    for (std::size_t k = 0; k < problem.augmented.size(); ++k) {
        if (!problem.augmented[k].empty()) drawn[problem.plan.lagged_outputs[k].variable] = true;
    }
    return drawn;
}

MeanField::MeanField(Problem const& problem, ExpectationPlan const& expectations, bool moves_orbits,
                     std::vector<TermPlan const*> const& tilted)
    : problem_(problem),
      expectations_(expectations),
      posterior_(make_posterior(problem)),
      factors_(problem, posterior_.state),
      expected_(problem.plan, expectations, inputs(), factors_, posterior_.covariances),
      exact_fit_(problem, factors_) {
    for (TermPlan const* term : tilted)
        tilts_.push_back({term, std::vector<double>(term->registers.size() * problem.bound.grid.size(term->pass.domain), 0.0)});
    for (auto const& scale : posterior_.scales) scale_tilts_.emplace_back(scale.size(), 0.0);
    for (std::size_t s = 0; s < problem.plan.layout.scales.size(); ++s) {
        counts_.emplace_back(posterior_.scales[s].size(), 0.0);
        for (ScaleUse const& use : problem.plan.layout.scales[s].uses)
            for (std::size_t e = 0; e < counts_[s].size(); ++e) counts_[s][e] += factors_.counts(use)[e];
    }
    for (std::size_t f = 0; f < problem.plan.layout.factors.size(); ++f) {
        if (!problem.plan.layout.factors[f].is_binary) continue;
        binary_.push_back(std::make_unique<BinaryMoments>(problem.plan, expectations, f, inputs(), factors_, posterior_.covariances));
    }
    for (std::uint32_t v = 0; v < posterior_.truncated.size(); ++v) {
        for (Interval const& interval : factors_.intervals(v))
            posterior_.truncated[v].push_back({TruncatedNormal(1, interval.nearest(0), interval), 0, 0});
    }
    UpdateContext const context{problem, expectations, inputs(), expected_, posterior_, tilts_};
    for (BlockPlan const& block : problem.plan.blocks) {
        switch (block.method) {
            case PlanMethod::Joint: updates_.push_back(make_joint_update(context, block)); break;
            case PlanMethod::Sweep: updates_.push_back(make_sweep_update(context, block)); break;
            case PlanMethod::Markov: updates_.push_back(make_markov_update(context, block)); break;
        }
    }
    for (std::size_t k = 0; k < problem.augmented.size(); ++k) {
        if (problem.augmented[k].empty()) continue;
        outputs_.push_back(make_output_update(context, k));
        lagged_.push_back(k);
    }
    for (OrbitPlan const& orbit : problem.plan.orbits) {
        bool const is_of_numbers =
            problem.plan.layout.variables[orbit.first].learnt_from || problem.plan.layout.variables[orbit.second].learnt_from;
        auto update = moves_orbits && orbit.is_moved && !is_of_numbers ? make_orbit_update(context, orbit) : nullptr;
        if (update) orbits_.push_back(std::move(update));
    }
}

void MeanField::start(State const& state) {
    elbo_.reset();
    for (std::size_t v = 0; v < state.values.size(); ++v) {
        if (problem_.plan.layout.variables[v].kind != VariableKind::Data)
            std::copy(state.values[v].begin(), state.values[v].end(), posterior_.state.values[v].begin());
    }
    for (std::size_t v = 0; v < state.values.size(); ++v) {
        auto const& from = problem_.plan.layout.variables[v].learnt_from;
        if (from) std::fill(posterior_.state.values[v].begin(), posterior_.state.values[v].end(), *from);
    }
    for (ScaleLayout const& scale : problem_.plan.layout.scales) {
        if (!problem_.plan.layout.variables[scale.variable].learnt_from) continue;
        // Expectation maximisation leaves an sd near 0 by steps of its cube, and one that is too large by a share of it.
        for (std::size_t e = 0; e < state.values[scale.variable].size(); ++e) {
            double& value = posterior_.state.values[scale.variable][e];
            double const wide = state.values[scale.variable][e];
            if (to_precision(scale.spread, wide) < to_precision(scale.spread, value)) value = wide;
        }
    }
    for (Covariances& covariances : posterior_.covariances) {
        std::fill(covariances.same.begin(), covariances.same.end(), 0.0);
        std::fill(covariances.before.begin(), covariances.before.end(), 0.0);
    }
    for (std::size_t s = 0; s < problem_.plan.layout.scales.size(); ++s) {
        ScaleLayout const& scale = problem_.plan.layout.scales[s];
        for (std::size_t e = 0; e < posterior_.scales[s].size(); ++e) {
            double const x = posterior_.state.values[scale.variable][e];
            double const precision = to_precision(scale.spread, x);
            set_scale(s, e, {precision, std::log(precision), 1 / precision, x, 0, 0, -HUGE_VAL});
        }
        for (ScaleUse const& use : scale.uses) expected_.refresh(use.factor);
    }
}

void MeanField::set_posterior(Posterior const& posterior) {
    elbo_.reset();
    // The runners refer to the arrays: they are filled, not replaced.
    for (std::size_t v = 0; v < posterior.state.values.size(); ++v)
        std::copy(posterior.state.values[v].begin(), posterior.state.values[v].end(), posterior_.state.values[v].begin());
    for (std::size_t v = 0; v < posterior.covariances.size(); ++v) {
        std::copy(posterior.covariances[v].same.begin(), posterior.covariances[v].same.end(), posterior_.covariances[v].same.begin());
        std::copy(posterior.covariances[v].before.begin(), posterior.covariances[v].before.end(), posterior_.covariances[v].before.begin());
    }
    posterior_.scales = posterior.scales;
    posterior_.truncated = posterior.truncated;
    for (std::size_t f = 0; f < problem_.plan.layout.factors.size(); ++f) expected_.refresh(f);
}

void MeanField::set_outputs(State const& state) {
    elbo_.reset();
    for (std::size_t k : lagged_) {
        std::uint32_t const v = problem_.plan.lagged_outputs[k].variable;
        std::copy(state.values[v].begin(), state.values[v].end(), posterior_.state.values[v].begin());
    }
}

void MeanField::set_scale(std::size_t s, std::size_t entry, ScaleFactor const& factor) {
    ScaleLayout const& scale = problem_.plan.layout.scales[s];
    posterior_.scales[s][entry] = factor;
    posterior_.state.values[scale.variable][entry] = from_variance(scale.spread, 1 / factor.precision);
}

LocalSums MeanField::local_sums(std::size_t s) const {
    LocalSums sums;
    for (std::uint32_t const local : problem_.plan.layout.scales[s].locals) {
        for (std::size_t e = 0; e < posterior_.scales[local].size(); ++e) {
            // That of a cell that does not count has its prior given ν, and says nothing of ν.
            if (counts_[local][e] == 0) continue;
            ScaleFactor const& factor = posterior_.scales[local][e];
            sums.count += 1;
            sums.sum += factor.log_precision - factor.precision;
        }
    }
    return sums;
}

/// With their local scales, whose factors are made from their mean.
double MeanField::update_degrees_of_freedom(std::size_t s) {
    ScaleLayout const& scale = problem_.plan.layout.scales[s];
    ScaleFactor const factor = make_degrees_of_freedom_factor(scale.priors.back(), local_sums(s));
    double rise = factor.log_normaliser - posterior_.scales[s].front().log_normaliser;
    set_scale(s, 0, factor);
    for (std::uint32_t const local : scale.locals) rise += update_scale(local);
    return rise;
}

/// Cells that do not count keep a factor of no weight.
double MeanField::update_binary(std::size_t s) {
    ScaleLayout const& scale = problem_.plan.layout.scales[s];
    std::vector<double> squares(posterior_.scales[s].size(), 0.0);
    for (auto& moments : binary_)
        if (std::any_of(scale.uses.begin(), scale.uses.end(), [&](ScaleUse const& use) { return use.factor == moments->factor(); }))
            moments->add_squares(squares);
    double rise = 0;
    for (std::size_t e = 0; e < squares.size(); ++e) {
        ScaleFactor const old = posterior_.scales[s][e];
        ScaleFactor factor = make_polya_gamma_factor(squares[e]);
        if (counts_[s][e] == 0)
            factor.log_normaliser = 0;
        else
            rise += factor.log_normaliser - old.log_normaliser - 0.5 * old.precision * (old.squares - squares[e]);
        set_scale(s, e, factor);
    }
    for (ScaleUse const& use : scale.uses) expected_.refresh(use.factor);
    return rise;
}

double MeanField::completed_squares(std::size_t s) const {
    double sum = 0;
    for (std::size_t e = 0; e < counts_[s].size(); ++e)
        if (counts_[s][e] > 0) sum += 0.5 * std::log(2 * std::numbers::pi) + 1 / (8 * posterior_.scales[s][e].precision);
    return sum;
}

double MeanField::update_scale(std::size_t s) {
    ScaleLayout const& scale = problem_.plan.layout.scales[s];
    if (is_binary(scale)) return update_binary(s);
    if (!scale.locals.empty()) return update_degrees_of_freedom(s);
    std::size_t const entries = posterior_.scales[s].size();
    std::vector<double> squares(entries, 0.0);
    std::vector<double> const& counts = counts_[s];
    for (ScaleUse const& use : scale.uses) {
        std::vector<double> const of_factor = expected_.squares(use);
        for (std::size_t e = 0; e < entries; ++e) squares[e] += of_factor[e];
    }
    for (std::size_t e = 0; e < entries; ++e)
        if (counts[e] > 0 && !(squares[e] >= 0 && std::isfinite(squares[e])))
            throw NumericalTrouble(fmt::format("the expected squares that `{}` is learnt from are no number above 0",
                                               problem_.plan.layout.variables[scale.variable].name));
    double rise = 0;
    std::size_t const size = entries / problem_.plan.layout.variables[scale.variable].components;
    for (std::size_t e = 0; e < entries; ++e) {
        ScaleFactor const old = posterior_.scales[s][e];
        bool const is_point = problem_.plan.layout.variables[scale.variable].learnt_from.has_value();
        ScaleFactor const factor = is_point ? make_scale_point(scale.spread, counts[e], squares[e])
                                            : make_scale_factor(prior_of(scale, e / size, posterior_.state), scale.spread, counts[e],
                                                                squares[e], scale_tilts_[s][e]);
        if (is_point) require_learnt(scale, e, old, factor);
        rise += factor.log_normaliser - old.log_normaliser - 0.5 * old.precision * (old.squares - squares[e]);
        set_scale(s, e, factor);
    }
    for (ScaleUse const& use : scale.uses) expected_.refresh(use.factor);
    return rise;
}

/// Expectation maximisation comes near an sd of 0 as one over the square root of its passes, and never there. On the way all that is left
/// of the expected squares is the prior's own variance: the means differ by next to nothing, and the variance falls by a share of itself.
void MeanField::require_learnt(ScaleLayout const& scale, std::size_t entry, ScaleFactor const& old, ScaleFactor const& now) {
    constexpr double next_to_nothing = 1e-3;
    double const fall = now.precision / old.precision - 1;
    if (!(fall > 1e-12 && fall < next_to_nothing)) return;
    factors_.score(inputs());
    double squares = 0;
    for (ScaleUse const& use : scale.uses) squares += factors_.squares(use)[entry];
    if (squares <= next_to_nothing * now.squares) throw LearntToZero(scale.variable);
}

double MeanField::update(std::size_t factor) {
    elbo_.reset();
    if (factor < updates_.size()) return updates_[factor]->update();
    factor -= updates_.size();
    if (factor < posterior_.scales.size()) return update_scale(factor);
    return outputs_[factor - posterior_.scales.size()]->update();
}

bool MeanField::is_number(std::size_t factor) const {
    Layout const& layout = problem_.plan.layout;
    if (factor < updates_.size()) return layout.variables[problem_.plan.blocks[factor].variable].learnt_from.has_value();
    factor -= updates_.size();
    return factor < posterior_.scales.size() && layout.variables[layout.scales[factor].variable].learnt_from.has_value();
}

std::string MeanField::name(std::size_t factor) const {
    Layout const& layout = problem_.plan.layout;
    if (factor < updates_.size()) return layout.variables[problem_.plan.blocks[factor].variable].name;
    factor -= updates_.size();
    if (factor < posterior_.scales.size()) return layout.variables[layout.scales[factor].variable].name;
    return layout.variables[problem_.plan.lagged_outputs[lagged_[factor - posterior_.scales.size()]].variable].name;
}

double MeanField::move_orbits() {
    if (!orbits_.empty()) elbo_.reset();
    double rise = 0;
    for (auto& orbit : orbits_) rise += orbit->update();
    return rise;
}

double MeanField::pass() {
    try {
        double const after = climb();
        bool const is_suspicious = exact_fit_.has(factors_, [&](ExactFitWatch::Watched const& of, std::size_t entry, double outputs) {
            return factor_of(*of.scale, entry).squares <= suspiciously_exact * outputs;
        });
        if (!is_suspicious) return after;
        factors_.score(inputs());
        exact_fit_.check(factors_, inputs());
        return after;
    } catch (NumericalTrouble const& trouble) {
        look_behind(trouble.block, trouble.is_of_numbers || !trouble.block);
        throw;
    } catch (std::logic_error const&) {
        // Where residuals are hardly more than rounding, so is what the ELBO rises by.
        look_behind({}, true);
        throw;
    }
}

void MeanField::look_behind(std::optional<std::size_t> block, bool is_of_digits) {
    factors_.score(inputs());
    Magnitudes magnitudes(problem_.plan, inputs(), factors_);
    exact_fit_.look_behind(factors_, magnitudes, block, is_of_digits);
}

void MeanField::require_spread() {
    factors_.score(inputs());
    exact_fit_.throw_if(factors_, [&](ExactFitWatch::Watched const& of, std::size_t entry, double outputs) {
        ScaleFactor const& factor = factor_of(*of.scale, entry);
        if (factor.squares > suspiciously_exact * outputs) return false;
        // Its prior would hold the spread, and E[precision] would be n / S or more.
        return exact_fit_.squares(of, factors_)[entry] <= far_below * factor.squares &&
               counts_of(*of.scale, entry) - factor.precision * factor.squares > 0.5;
    });
}

/// Every factor once, with the checks of pass().
double MeanField::climb() {
    double const before = elbo();
    before_ = posterior_;
    double sum_of_rises = 0;
    double magnitude = 1 + std::abs(before);
    for (std::size_t k = 0; k < factors(); ++k) {
        double const rise = update(k);
        if (std::isnan(rise)) throw NumericalTrouble("the factor of " + name(k) + " is not finite");
        sum_of_rises += rise;
        if (rise < -1e-9 * magnitude && rise < -cancellation())
            throw std::logic_error(fmt::format("the update of {} lowers the ELBO by {:.3g}", name(k), -rise));
    }
    if (std::isfinite(before)) sum_of_rises += move_orbits();  // not from point masses
    double const after = elbo();
    // The rises come from the derivatives, the ELBO from the expectations themselves: they check each other.
    magnitude = 1 + std::abs(before) + std::abs(after);
    if (!std::isfinite(after)) throw TooLarge("the ELBO");
    unexplained_ = std::isfinite(before) ? std::abs(after - before - sum_of_rises) : 0;
    if (unexplained_ > 1e-7 * magnitude && unexplained_ > cancellation_on_the_way())
        throw std::logic_error(
            fmt::format("a pass should raise the ELBO by {:.9g}, but raises it by {:.9g}", sum_of_rises, after - before));
    return after;
}

/// The most of all states that the last pass went through.
double MeanField::cancellation_on_the_way() {
    Posterior const after = posterior_;
    set_posterior(before_);
    double most = cancellation();
    for (std::size_t k = 0; k < factors(); ++k) {
        update(k);
        most = std::max(most, cancellation());
    }
    set_posterior(after);
    return most;
}

double MeanField::cancellation() const {
    double sum = 0;
    for (std::size_t f = 0; f < problem_.plan.layout.factors.size(); ++f)
        sum += expected_magnitude(expected_, f, expectations_.squares[f].pass, inputs(), posterior_.covariances);
    // What degrees of freedom are learnt from is the difference of logarithms and means of local scales, times them.
    for (std::size_t s = 0; s < posterior_.scales.size(); ++s)
        if (!problem_.plan.layout.scales[s].locals.empty()) sum += posterior_.scales[s].front().mean * local_sums(s).count;
    return std::isnan(sum) ? HUGE_VAL : rounded_steps * std::numeric_limits<double>::epsilon() * sum;
}

double MeanField::elbo() {
    if (elbo_) return *elbo_;
    Plan const& plan = problem_.plan;
    double total = 0;
    for (std::size_t f = 0; f < plan.layout.factors.size(); ++f)
        total += factors_.log_truncation(f) + factors_.log_choices(f) +
                 (expected_.is_flat(f) ? 0 : expected_.constant(f) - 0.5 * expected_.quadratic(f));
    // E[log prior - log q] of a scale; what its cells have of E[log precision] is in q as well and cancels.
    for (std::vector<ScaleFactor> const& scales : posterior_.scales)
        for (ScaleFactor const& factor : scales) total += factor.log_normaliser + 0.5 * factor.precision * factor.squares;
    for (std::size_t s = 0; s < plan.layout.scales.size(); ++s)
        if (is_binary(plan.layout.scales[s])) total += completed_squares(s);
    for (BlockPlan const& block : plan.blocks) {
        total += entropy(block, plan.layout.variables[block.variable], problem_.bound.grid, posterior_);
    }
    for (std::size_t k : lagged_) {
        Covariances const& covariances = posterior_.covariances[plan.lagged_outputs[k].variable];
        for (std::size_t c = 0; c < covariances.components; ++c) {
            for (std::size_t i = 0; i < covariances.size; ++i) {
                double const variance = covariances.at(c, c)[i];
                if (problem_.augmented[k][c * covariances.size + i] && variance > 0)  // 0: no statement speaks of the cell
                    total += 0.5 * (1 + std::log(2 * std::numbers::pi * variance));
            }
        }
    }
    elbo_ = total;
    return total;
}

}  // namespace bam
