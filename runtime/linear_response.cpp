#include "linear_response.hpp"

#include <fmt/format.h>

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <limits>
#include <list>
#include <optional>

#include "block_sampler.hpp"
#include "factor_response.hpp"
#include "posterior_sampler.hpp"
#include "spread.hpp"
#include "surplus.hpp"

namespace bam {
namespace {

constexpr double least_linear = 0.5;      ///< share of the sd under the factors that is of first order
constexpr Eigen::Index sd_draws = 200;    ///< for that sd
constexpr std::size_t most_pushed = 500;  ///< means that are pushed for the surplus
constexpr double none = std::numeric_limits<double>::quiet_NaN();

/// Sds of the recorder's columns under the factors, to the precision of a few draws.
Eigen::ArrayXd sds_of_draws(MeanField const& field) {
    PosteriorSampler const sampler(field);
    Replica replica(field.problem(), 1, 1, {});
    Recorder recorder(field.problem(), replica.inputs());
    auto const width = static_cast<Eigen::Index>(recorder.columns().size());
    Eigen::ArrayXXd draws(width, sd_draws);
    State state;
    for (Eigen::Index i = 0; i < sd_draws; ++i) {
        sampler.draw(1, static_cast<std::uint64_t>(i), state);
        replica.set_state(state);
        recorder.record(replica.state(), draws.col(i).data());
    }
    draws.colwise() -= draws.rowwise().mean().eval();
    return (draws.square().rowwise().sum() / static_cast<double>(sd_draws - 1)).sqrt();
}

/// Whether E[term] is the term at the means: of fitted means always.
bool is_linear(TermPlan const& term, Plan const& plan) {
    auto const report =
        std::find_if(plan.reports.begin(), plan.reports.end(), [&](ReportPlan const& candidate) { return &candidate.term == &term; });
    return report == plan.reports.end() || report->is_linear;
}

/// Whether all blocks together are Gaussian given the scales, so that what factors leave out hangs on the scales alone, and none of them is
/// a path: the spread of its steps may be 0, as far as the data go, and the first order is not to be relied on upwards.
bool is_gaussian_without_paths(Problem const& problem, Posterior const& optimum) {
    auto const drawn = drawn_outputs(problem);
    auto const& blocks = problem.plan.blocks;
    bool const has_paths =
        std::any_of(blocks.begin(), blocks.end(), [](BlockPlan const& block) { return block.method == PlanMethod::Markov; });
    return !problem.plan.is_multilinear && !has_paths && std::none_of(drawn.begin(), drawn.end(), [](bool one) { return one; }) &&
           std::all_of(optimum.truncated.begin(), optimum.truncated.end(), [](auto const& of_variable) { return of_variable.empty(); });
}

bool learns_scales(Layout const& layout) {
    return std::any_of(layout.scales.begin(), layout.scales.end(),
                       [&](ScaleLayout const& scale) { return !layout.variables[scale.variable].learnt_from; });
}

class Responses {
  public:
    Responses(Problem const& problem, ExpectationPlan const& expectations, Posterior const& optimum, Recorder const& recorder)
        : problem_(problem), expectations_(expectations), optimum_(optimum), recorder_(recorder) {
        Layout const& layout = problem.plan.layout;
        for (std::size_t k = 0; k < recorder.columns().size(); ++k) targets_.push_back(target(k, layout));
        MeanField field(problem, expectations);
        field.set_posterior(optimum);
        sds_ = sds_of_draws(field);
    }

    LinearResponse run(ResponseProgress const& progress, std::stop_token const& stop) {
        LinearResponse result;
        result.sds.assign(targets_.size(), none);
        find_surplus(result, progress, stop);
        if (surplus_) result.means.assign(targets_.size(), none);
        std::vector<TermPlan const*> terms;
        for (TermPlan const& term : terms_) terms.push_back(&term);
        MeanField field(problem_, expectations_, true, terms);
        field.set_posterior(optimum_);
        FactorResponse response(field, optimum_, true);
        for (std::size_t k = 0; k < targets_.size() && !stop.stop_requested(); ++k) {
            Told const told = tell(field, response, targets_[k], sds_[static_cast<Eigen::Index>(k)]);
            result.sds[k] = told.sd;
            if (surplus_) result.means[k] = told.mean;
            if (progress) progress(pushes_ + k + 1, pushes_ + targets_.size());
        }
        return result;
    }

  private:
    enum class Kind : std::uint8_t { None, Term, Scale };
    struct Target {
        Kind kind = Kind::None;
        std::size_t index = 0;  ///< of terms_, or of the layout's scales
        std::size_t offset = 0;
    };
    struct Told {
        double sd = none;
        double mean = none;
    };

    void find_surplus(LinearResponse& result, ResponseProgress const& progress, std::stop_token const& stop) {
        if (!learns_scales(problem_.plan.layout)) return;
        std::size_t const means = means_to_push(problem_, optimum_);
        if (means > most_pushed) {
            result.without_means = fmt::format("LR_mean is left out: the factors have {} means, more than {}", means, most_pushed);
            return;
        }
        pushes_ = means;
        std::size_t done = 0;
        auto const pushed = [&] {
            if (progress) progress(++done, pushes_ + targets_.size());
        };
        surplus_ = bam::find_surplus(problem_, expectations_, optimum_, pushed, stop);
        if (!surplus_ && !stop.stop_requested()) result.without_means = "LR_mean is left out: a response did not settle";
    }

    Target target(std::size_t column, Layout const& layout) {
        if (!recorder_.columns()[column].is_identified) return {};
        Recorder::Source const source = recorder_.source(column);
        if (source.term == nullptr && layout.variables[source.variable].learnt_from) return {};
        if (source.term == nullptr && layout.variables[source.variable].is_categorical) return {};  // its sd follows from its probability
        if (source.term == nullptr && layout.variables[source.variable].kind == VariableKind::Scale) {
            for (std::size_t s = 0; s < layout.scales.size(); ++s) {
                if (layout.scales[s].variable == source.variable && layout.scales[s].locals.empty()) return {Kind::Scale, s, source.offset};
            }
            return {};
        }
        if (source.term != nullptr && !is_linear(*source.term, problem_.plan)) return {};
        void const* const key = source.term != nullptr ? static_cast<void const*>(source.term) : &layout.variables[source.variable];
        auto const known = std::find(keys_.begin(), keys_.end(), key);
        auto const index = static_cast<std::size_t>(known - keys_.begin());
        if (known == keys_.end()) {
            keys_.push_back(key);
            terms_.push_back(source.term != nullptr ? *source.term : variable_term(layout, source.variable));
        }
        return {Kind::Term, index, source.offset};
    }

    /// d scale / d log sd at the mean of the scale: its sd follows from that of its logarithm, in which tilted densities have an integral.
    double slope(Target const& target) const {
        SpreadKind const spread = problem_.plan.layout.scales[target.index].spread;
        return (spread == SpreadKind::Sd ? 1 : 2) * optimum_.scales[target.index][target.offset].mean;
    }

    /// E[g]; of a scale, of the logarithm of its sd.
    double mean(MeanField const& field, Target const& target) const {
        if (target.kind == Kind::Scale) return -0.5 * field.posterior().scales[target.index][target.offset].log_precision;
        TermPlan const& term = *std::next(terms_.begin(), static_cast<std::ptrdiff_t>(target.index));
        std::size_t const size = problem_.bound.grid.size(term.pass.domain);
        std::uint32_t const reg = term.registers[target.offset / size];
        if (reg == no_register) return 0;
        std::vector<double> weights(size, 0.0);
        weights[target.offset % size] = 1;
        AdjointRunner runner(term.pass, {{reg, weights.data()}}, field.inputs(), field.posterior().covariances, no_register);
        return runner.evaluate();
    }

    void tilt(MeanField& field, Target const& target, double epsilon) const {
        if (target.kind == Kind::Scale) {
            field.tilt_scale(target.index, target.offset, epsilon);
        } else {
            field.tilt(target.index, target.offset, epsilon);
        }
    }

    /// d E[g] as the factors move.
    double slope_along(MeanField& field, FactorCoordinates const& coordinates, Target const& target,
                       Eigen::VectorXd const& direction) const {
        double const length = direction.norm();
        if (length == 0) return 0;
        double const step = relative_move / length;
        field.set_posterior(coordinates.at(step * direction));
        double const up = mean(field, target);
        field.set_posterior(coordinates.at(-step * direction));
        return (up - mean(field, target)) / (2 * step);
    }

    /// Of g, whose sd under the factors is `own`.
    Told tell(MeanField& field, FactorResponse& response, Target const& target, double own) const {
        if (target.kind == Kind::None) return {};
        field.set_posterior(optimum_);
        double const before = mean(field, target);
        double const sd = factor_sd(field, target, before, own);
        if (sd == 0 && own == 0) return {0, none};
        if (!(sd > 0)) return {};
        // A product of factors that are all near 0 hardly moves with any one of them: what it varies by is of second order.
        if (target.kind == Kind::Term && !(sd > least_linear * own)) return {};
        auto const moved = response.to([&](double epsilon) { tilt(field, target, epsilon); }, sd);
        if (!moved) return {};
        double const variance = slope_along(field, response.coordinates(), target, *moved);
        if (!(variance > 0)) return {};
        double const lr_sd = target.kind == Kind::Scale ? std::sqrt(variance) * slope(target) : std::sqrt(variance);
        if (!std::isfinite(lr_sd)) return {};
        double const shifted = surplus_ ? shifted_mean(target, before, variance, response.coordinates().at(*moved)) : none;
        return {lr_sd, std::isfinite(shifted) ? shifted : none};
    }

    /// E[g] once the surplus is taken out: d E[g] = - sum over scales of surplus * Cov(g, log sd), the covariances by linear response, of
    /// which `moved` has those with g. Else of a scale, and its own surplus above 0, only.
    double shifted_mean(Target const& target, double before, double variance, Posterior const& moved) const {
        Layout const& layout = problem_.plan.layout;
        if (target.kind == Kind::Scale && layout.variables[layout.scales[target.index].variable].is_local) return none;
        double shift = 0;
        if (is_gaussian_) {
            for (std::size_t s = 0; s < surplus_->size(); ++s)
                for (std::size_t e = 0; e < (*surplus_)[s].size(); ++e)
                    shift += 0.5 * (*surplus_)[s][e] * (moved.scales[s][e].log_precision - optimum_.scales[s][e].log_precision);
        } else if (target.kind == Kind::Scale) {
            shift = -std::max(0.0, (*surplus_)[target.index][target.offset]) * variance;
        } else {
            return none;
        }
        if (target.kind == Kind::Term) return before + shift;
        double const power = power_of_sd(layout.scales[target.index].spread);
        return optimum_.scales[target.index][target.offset].mean * std::exp(power * shift);
    }

    /// An sd to measure tilts by: of the sum of the variances that the factors bring alone, the response of E[g] to one update of each.
    double factor_sd(MeanField& field, Target const& target, double before, double own) const {
        if (target.kind == Kind::Scale) return field.posterior().scales[target.index][target.offset].sd_of_log;
        double variance = 0;
        // E[g] is linear in the means of one factor, so any ε will do; but the mean of a truncated factor, or of a choice, moves in
        // proportion to small ones only.
        auto const& truncated = optimum_.truncated;
        auto const& variables = problem_.plan.layout.variables;
        bool const is_gaussian =
            std::all_of(truncated.begin(), truncated.end(), [](auto const& of_variable) { return of_variable.empty(); }) &&
            std::none_of(variables.begin(), variables.end(), [](Variable const& variable) { return variable.is_categorical; });
        double const epsilon = is_gaussian || !(own > 0) ? 1 : relative_tilt / own;
        for (std::size_t f = 0; f < problem_.plan.blocks.size(); ++f) {
            tilt(field, target, epsilon);
            if (!field.is_number(f)) field.update(f);
            variance += (mean(field, target) - before) / epsilon;
            tilt(field, target, 0);
            field.set_posterior(optimum_);
        }
        return std::sqrt(std::max(0.0, variance));
    }

    Problem const& problem_;
    ExpectationPlan const& expectations_;
    Posterior const& optimum_;
    Recorder const& recorder_;
    bool is_gaussian_ = is_gaussian_without_paths(problem_, optimum_);
    std::vector<void const*> keys_;
    std::list<TermPlan> terms_;
    std::vector<Target> targets_;
    Eigen::ArrayXd sds_;  ///< of the columns under the factors
    std::size_t pushes_ = 0;
    std::optional<Surplus> surplus_;
};

}  // namespace

LinearResponse linear_response(Problem const& problem, ExpectationPlan const& expectations, Posterior const& optimum,
                               Recorder const& recorder, ResponseProgress const& progress, std::stop_token const& stop) {
    return Responses(problem, expectations, optimum, recorder).run(progress, stop);
}

}  // namespace bam
