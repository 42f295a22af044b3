// Weights and precisions of the cells of every factor, and its log density. One place decides which cells count and how much.
#pragma once

#include <memory>
#include <vector>

#include "bind.hpp"
#include "pass_runner.hpp"
#include "plan.hpp"
#include "state.hpp"

namespace bam {

/// Which cells of a factor's target count: [component][extent of the target], 1 or 0. A cell counts if its statement speaks of it, no later
/// statement does, the entry exists (`a[t > 0]`), and, for data, it is observed.
std::vector<std::vector<double>> make_masks(Layout const& layout, Bound const& bound);

/// Per factor, whether a pass must multiply by Source weight: a cell does not count, or the spread is not one number for all cells.
std::vector<bool> weighted_factors(Layout const& layout, std::vector<std::vector<double>> const& masks);

/// The weights of all factors for one chain, and their log densities at its state.
class Factors {
  public:
    Factors(Plan const& plan, Bound const& bound, State const& state, std::vector<std::vector<double>> const& masks,
            std::vector<bool> const& weighted);

    /// Per factor: sqrt(mask * precision), [component][extent]; empty where the factor is not weighted.
    std::vector<std::vector<double>> const& weights() const { return weights_; }
    /// Recomputes the weights that depend on a scale parameter.
    void refresh();
    /// The precision that weights leave out: of an unweighted factor, or of a weighted one whose spread is one number.
    double common_precision(std::size_t factor) const;
    double mask(std::size_t factor, std::size_t component, std::size_t index) const;
    /// Of a Covariance: the inverse of its matrix, [k, k].
    std::vector<double> const& covariance_precision(std::size_t factor) const { return covariance_precisions_[factor]; }
    /// Precision of one cell of the target, without its mask.
    double precision(std::size_t factor, std::size_t component, std::size_t sequence, std::size_t step) const;

    /// Entry of the factor's learnt scale that a cell has: [component][extent of the scale].
    std::size_t scale_index(std::size_t factor, std::size_t component, std::size_t sequence, std::size_t step) const;
    bool has_learnt_scale(std::size_t factor) const;
    /// Runs every residual pass: sums of squares by entry of the factor's scale.
    void score(Inputs const& inputs);
    /// Weighted sum of squared residuals and number of counting cells per entry of the scale variable: [component][extent of the scale].
    std::vector<double> const& squares(std::size_t factor) const { return scores_[factor].squares; }
    std::vector<double> const& counts(std::size_t factor) const { return scores_[factor].counts; }
    /// What multiplies sqrt(squares()) and an error of the residuals in the log density: a learnt precision, else the root of that which is
    /// in the squares already.
    double rounding_weight(std::size_t factor, std::size_t entry) const;
    /// log density of all counting cells of the factor at the last score() and the scales as they are now.
    double log_density(std::size_t factor) const;

  private:
    struct Score {
        std::vector<double> squares;
        std::vector<double> counts;
        double quadratic = 0;     ///< of a Covariance
        double log_constant = 0;  ///< log precisions that never change, halved
    };
    void score(std::size_t factor, PassRunner& runner);
    double quadratic_form(std::size_t factor, PassRunner const& runner, std::size_t start, std::size_t n) const;

    Plan const& plan_;
    Bound const& bound_;
    State const& state_;
    std::vector<std::vector<double>> const& masks_;
    std::vector<bool> weighted_;
    std::vector<std::vector<double>> weights_;
    std::vector<std::vector<double>> covariance_precisions_;  ///< per factor: inverse of its matrix
    std::vector<std::unique_ptr<PassRunner>> runners_;
    std::vector<Score> scores_;
    bool is_fresh_ = false;  ///< refresh() has run once
};

}  // namespace bam
