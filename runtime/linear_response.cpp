#include "linear_response.hpp"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <limits>
#include <list>

#include "block_sampler.hpp"
#include "factor_coordinates.hpp"
#include "posterior_sampler.hpp"
#include "recycling_solver.hpp"

namespace bam {
namespace {

constexpr double relative_tilt = 1e-3;  ///< shift aimed at, in sds
constexpr double relative_move = 1e-5;  ///< of the factors, in sds, where a pass is differentiated
constexpr double least_linear = 0.5;    ///< share of the sd under the factors that is of first order
constexpr Eigen::Index sd_draws = 200;  ///< for that sd

/// A variable as a term: its components are registers.
TermPlan variable_term(Layout const& layout, std::uint32_t variable) {
    TermPlan term;
    term.pass.domain = layout.variables[variable].extent;
    for (std::uint32_t c = 0; c < layout.variables[variable].components; ++c) {
        term.registers.push_back(c);
        term.pass.registers.push_back({layout.variables[variable].extent, From::Variable, variable, c, 0, 0});
    }
    return term;
}

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

class Responses {
  public:
    Responses(Problem const& problem, ExpectationPlan const& expectations, Posterior const& optimum, Recorder const& recorder)
        : problem_(problem), expectations_(expectations), optimum_(optimum), recorder_(recorder), coordinates_(problem, optimum) {
        Layout const& layout = problem.plan.layout;
        for (std::size_t k = 0; k < recorder.columns().size(); ++k) targets_.push_back(target(k, layout));
        MeanField field(problem, expectations);
        field.set_posterior(optimum);
        sds_ = sds_of_draws(field);
    }

    std::size_t size() const { return targets_.size(); }

    void run(std::vector<double>& out, ResponseProgress const& progress, std::stop_token const& stop) const {
        std::vector<TermPlan const*> terms;
        for (TermPlan const& term : terms_) terms.push_back(&term);
        MeanField field(problem_, expectations_, true, terms);
        field.set_posterior(optimum_);
        pass(field);
        Eigen::VectorXd const settled_at = coordinates_.distance(field.posterior());
        RecyclingSolver solver;
        for (std::size_t k = 0; k < targets_.size() && !stop.stop_requested(); ++k) {
            out[k] = response(field, solver, settled_at, targets_[k], sds_[static_cast<Eigen::Index>(k)]);
            if (progress) progress(k + 1, targets_.size());
        }
    }

  private:
    enum class Kind : std::uint8_t { None, Term, Scale };
    struct Target {
        Kind kind = Kind::None;
        std::size_t index = 0;  ///< of terms_, or of the layout's scales
        std::size_t offset = 0;
    };

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

    /// One pass of the climb, given the numbers that were learnt.
    static void pass(MeanField& field) {
        for (std::size_t f = 0; f < field.factors(); ++f) {
            if (!field.is_number(f)) field.update(f);
        }
        field.move_orbits();
    }

    /// Where a pass leads from a point near the optimum.
    Eigen::VectorXd after_pass(MeanField& field, Eigen::VectorXd const& from) const {
        field.set_posterior(coordinates_.at(from));
        pass(field);
        return coordinates_.distance(field.posterior());
    }

    /// Where a pass leads from the optimum, by ε.
    Eigen::VectorXd push(MeanField& field, Target const& target, double epsilon) const {
        Eigen::VectorXd const origin = Eigen::VectorXd::Zero(coordinates_.size());
        tilt(field, target, epsilon);
        Eigen::VectorXd const up = after_pass(field, origin);
        tilt(field, target, -epsilon);
        Eigen::VectorXd const down = after_pass(field, origin);
        tilt(field, target, 0);
        return (up - down) / (2 * epsilon);
    }

    /// d E[g] as the factors move.
    double slope_along(MeanField& field, Target const& target, Eigen::VectorXd const& direction) const {
        double const length = direction.norm();
        if (length == 0) return 0;
        double const step = relative_move / length;
        field.set_posterior(coordinates_.at(step * direction));
        double const up = mean(field, target);
        field.set_posterior(coordinates_.at(-step * direction));
        return (up - mean(field, target)) / (2 * step);
    }

    /// Sd of g, whose sd under the factors is `own`.
    double response(MeanField& field, RecyclingSolver& solver, Eigen::VectorXd const& settled_at, Target const& target, double own) const {
        constexpr double none = std::numeric_limits<double>::quiet_NaN();
        if (target.kind == Kind::None) return none;
        field.set_posterior(optimum_);
        double const before = mean(field, target);
        double const sd = factor_sd(field, target, before, own);
        if (sd == 0 && own == 0) return 0;
        if (!(sd > 0)) return none;
        // A product of factors that are all near 0 hardly moves with any one of them: what it varies by is of second order.
        if (target.kind == Kind::Term && !(sd > least_linear * own)) return none;
        double variance = 0;
        try {
            // The optimum x of the tilted density is where a pass P leads to itself: dx = dP/dx dx + dP/dε.
            auto const apply = [&](Eigen::VectorXd const& v) -> Eigen::VectorXd {
                return v - (after_pass(field, relative_move * v) - settled_at) / relative_move;
            };
            auto const moved = solver.solve(push(field, target, relative_tilt / sd), apply);
            if (!moved) return none;
            variance = slope_along(field, target, *moved);
        } catch (NumericalTrouble const&) {  // a tilted density need not have an integral
            tilt(field, target, 0);
            return none;
        }
        if (!(variance > 0)) return none;
        double const response = target.kind == Kind::Scale ? std::sqrt(variance) * slope(target) : std::sqrt(variance);
        return std::isfinite(response) ? response : none;
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
    FactorCoordinates coordinates_;
    std::vector<void const*> keys_;
    std::list<TermPlan> terms_;
    std::vector<Target> targets_;
    Eigen::ArrayXd sds_;  ///< of the columns under the factors
};

}  // namespace

std::vector<double> linear_response(Problem const& problem, ExpectationPlan const& expectations, Posterior const& optimum,
                                    Recorder const& recorder, ResponseProgress const& progress, std::stop_token const& stop) {
    Responses const responses(problem, expectations, optimum, recorder);
    std::vector<double> result(responses.size(), std::numeric_limits<double>::quiet_NaN());
    responses.run(result, progress, stop);
    return result;
}

}  // namespace bam
