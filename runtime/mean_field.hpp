// Coordinate ascent variational inference: every factor in turn to its optimum, which raises the evidence lower bound each time.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "binary_moments.hpp"
#include "degrees_of_freedom.hpp"
#include "exact_fit.hpp"
#include "factor_update.hpp"
#include "predict.hpp"
#include "replica.hpp"

namespace bam {

/// A factorised posterior of one problem with all it takes to climb.
class MeanField {
  public:
    /// `expectations`: planned for drawn_outputs(problem).
    /// `tilted`: terms that tilt() can add to the log joint density.
    MeanField(Problem const& problem, ExpectationPlan const& expectations, bool moves_orbits = true,
              std::vector<TermPlan const*> const& tilted = {});
    MeanField(MeanField const&) = delete;
    MeanField& operator=(MeanField const&) = delete;

    /// Point masses at a state; factors of scales at what its residuals say. Numbers that are learnt start where the model says, but scales
    /// among them no narrower than in the state.
    void start(State const& state);
    /// Every factor once. Returns the ELBO. Throws NumericalTrouble, TooLarge, LostDigits; ExactFit where the outputs are fitted exactly;
    /// std::logic_error if an update lowers the ELBO beyond rounding.
    double pass();
    /// By how much the last pass raised the ELBO beside what its updates said: rounding, as it came out.
    double unexplained() const { return unexplained_; }
    /// How far rounding can move the ELBO, wherever the numbers are that cancel (math.md, 13a. Rounding).
    double cancellation() const;
    /// At the end of a climb, throws ExactFit where a spread goes to 0, if slowly: the means meet all its outputs, and its prior does not
    /// hold it.
    void require_spread();
    /// From scratch. Minus infinity before the first pass.
    double elbo();
    /// The same for one factor, for tests and certificates: blocks of the plan, then scales of the layout, then lagged outputs with missing
    /// cells. Returns by how much the ELBO rises.
    double update(std::size_t factor);
    /// Along every symmetry of the likelihood once. Returns by how much the ELBO rises.
    double move_orbits();
    std::size_t factors() const { return updates_.size() + problem_.plan.layout.scales.size() + outputs_.size(); }
    std::string name(std::size_t factor) const;
    /// A scale of the layout.
    bool is_scale(std::size_t factor) const { return factor >= updates_.size() && factor - updates_.size() < posterior_.scales.size(); }
    /// Learnt as numbers, without a spread.
    bool is_number(std::size_t factor) const;
    /// FactorUpdate::update_at_points of a block of the plan.
    void update_at_points(std::size_t block) {
        elbo_.reset();
        updates_[block]->update_at_points();
    }
    /// Expected sum of squared residuals of a factor of the model times their precision.
    double expected_quadratic(std::size_t factor) { return expected_.quadratic(factor); }

    /// Variances of a factor's means under the posterior, [component][extent of its target]; of an observation.
    std::vector<double> variance_of_mean(std::size_t factor) const;
    /// Numbers of a term at the means, [component][extent of its domain].
    std::vector<double> values_of(TermPlan const& term) const;
    /// Means and variances of new outputs in every cell, noise included.
    PredictiveMoments predictive_moments() const;

    Posterior const& posterior() const { return posterior_; }
    void set_posterior(Posterior const& posterior);
    /// Missing outputs that later means look back at, as they are in a state.
    void set_outputs(State const& state);
    Inputs inputs() const { return {problem_.plan.layout, problem_.bound, posterior_.state, factors_.weights()}; }
    /// Adds ε times the number at `offset`, [component][extent], of a tilted term to the log joint density, in place of what stood there.
    /// The ELBO that elbo() and pass() know of is without it: update factor by factor.
    void tilt(std::size_t term, std::size_t offset, double epsilon) { tilts_[term].weights[offset] = -2 * epsilon; }
    /// Adds ε times the logarithm of the sd of an entry of a scale of the layout.
    void tilt_scale(std::size_t scale, std::size_t entry, double epsilon) { scale_tilts_[scale][entry] = epsilon; }
    /// Cells that count of every entry of a scale of the layout, [component][extent].
    std::vector<double> const& counts(std::size_t scale) const { return counts_[scale]; }
    /// Of degrees of freedom, a scale of the layout.
    LocalSums local_sums(std::size_t scale) const;
    Problem const& problem() const { return problem_; }

  private:
    double climb();
    void look_behind(std::optional<std::size_t> block, bool is_of_digits);
    double cancellation_on_the_way();
    std::size_t index_of(ScaleLayout const& scale) const { return static_cast<std::size_t>(&scale - problem_.plan.layout.scales.data()); }
    ScaleFactor const& factor_of(ScaleLayout const& scale, std::size_t entry) const { return posterior_.scales[index_of(scale)][entry]; }
    double counts_of(ScaleLayout const& scale, std::size_t entry) const { return counts_[index_of(scale)][entry]; }
    double update_scale(std::size_t scale);
    double update_degrees_of_freedom(std::size_t scale);
    double update_binary(std::size_t scale);
    /// Throws LearntToZero.
    void require_learnt(ScaleLayout const& scale, std::size_t entry, ScaleFactor const& old, ScaleFactor const& now);
    /// What completing the square takes from the ELBO of a binary output: log p(y | mean, w) is that of a normal and this, per cell.
    double completed_squares(std::size_t scale) const;
    /// E[1 / precision] of a new output in a cell.
    double noise_variance(std::size_t factor, std::size_t component, std::size_t sequence, std::size_t step) const;
    void set_scale(std::size_t scale, std::size_t entry, ScaleFactor const& factor);

    Problem const& problem_;
    ExpectationPlan const& expectations_;
    Posterior posterior_;
    Factors factors_;
    ExpectedFactors expected_;
    ExactFitWatch exact_fit_;
    std::vector<Tilt> tilts_;
    std::vector<std::vector<double>> counts_;             ///< per scale of the layout: [component][extent]
    std::vector<std::vector<double>> scale_tilts_;        ///< per scale of the layout: [component][extent]
    std::vector<std::unique_ptr<FactorUpdate>> updates_;  ///< per block of the plan
    std::vector<std::unique_ptr<FactorUpdate>> outputs_;  ///< per lagged output with missing cells
    std::vector<std::unique_ptr<FactorUpdate>> orbits_;
    std::vector<std::unique_ptr<BinaryMoments>> binary_;  ///< per binary factor of the layout
    std::vector<std::size_t> lagged_;                     ///< of outputs_: which lagged output
    std::optional<double> elbo_;                          ///< where it is known
    double unexplained_ = 0;
    Posterior before_;  ///< the last pass
};

/// Per variable, whether some of its cells are unknowns (augment.hpp).
std::vector<bool> drawn_outputs(Problem const& problem);

}  // namespace bam
