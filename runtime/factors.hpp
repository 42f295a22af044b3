// Weights and precisions of the cells of every factor, and its log density. One place decides which cells count and how much.
#pragma once

#include <memory>
#include <vector>

#include "bind.hpp"
#include "pass_runner.hpp"
#include "plan.hpp"
#include "problem.hpp"
#include "state.hpp"

namespace bam {

/// Where the number of a part that a cell of the target has stands in its lists: where labels pick one, that of the labels of the cell.
std::size_t place_of(Layout const& layout, Bound const& bound, SpreadLayout const& part, std::size_t component, std::size_t sequence,
                     std::size_t step);

/// What the cells of an entry of a scale say of it: how many count, and the sum of their squares; both times the power of their statement.
struct Statistics {
    double n = 0;
    double squares = 0;
};

/// Derivatives of the log likelihood at a power by the power, local scales of binary outputs integrated out: without such outputs L and 0
/// (math.md, 9b. Powers of the likelihood).
struct PowerSlope {
    double first = 0;
    double second = 0;
};

/// The weights of all factors for one chain, and their log densities at its state.
class Factors {
  public:
    Factors(Problem const& problem, State const& state);

    /// Per factor: sqrt(mask * precision), [component][extent]; empty where the factor is not weighted. Where cells of the target are
    /// drawn, with the power of each cell.
    std::vector<std::vector<double>> const& weights() const { return weights_; }
    /// Recomputes the weights that depend on a scale parameter.
    void refresh();
    /// The power to which the densities of the observed outputs are raised in every conditional: of p(parameters) p(y | parameters)^power
    /// (math.md, 9b. Powers of the likelihood), 0 to 1. Densities, squares and precisions of cells stay those of the model.
    void set_power(double power);
    double power() const { return power_; }
    /// Of one cell of the target: 1 where it is drawn.
    double power(std::size_t factor, std::size_t component, std::size_t index) const;
    /// The precision that weights leave out, of an unweighted factor, or of a weighted one whose spread is one number; times the power that
    /// they leave out.
    double common_precision(std::size_t factor) const;
    double mask(std::size_t factor, std::size_t component, std::size_t index) const;
    /// Of a Covariance: the inverse of its matrix, [k, k].
    std::vector<double> const& covariance_precision(std::size_t factor) const { return covariance_precisions_[factor]; }
    /// Precision of one cell of the target, without its mask: the product of the parts of its spread.
    double precision(std::size_t factor, std::size_t component, std::size_t sequence, std::size_t step) const;
    /// The same without one part.
    double precision_without(std::size_t part, std::size_t factor, std::size_t component, std::size_t sequence, std::size_t step) const;
    /// The same, of the parts that are not learnt.
    double known_precision(std::size_t factor, std::size_t component, std::size_t sequence, std::size_t step) const;

    /// Where the entries of a variable lie, [component][extent]; empty where no prior says anything of it.
    std::vector<Interval> const& intervals(std::uint32_t variable) const { return intervals_[variable]; }
    Interval interval(std::uint32_t variable, std::size_t entry) const {
        return intervals_[variable].empty() ? Interval{} : intervals_[variable][entry];
    }
    /// What log_density() has of a truncated prior besides its normals: minus the logarithms of the shares that lie in the intervals, or,
    /// where it is flat, of their widths. 0 of any other factor, and of an interval with one end that has no integral.
    double log_truncation(std::size_t factor) const { return log_truncations_[factor]; }

    /// Of a variable with categorical priors: log weights of its entries, [component][extent]; empty of any other.
    std::vector<double> const& log_weights(std::uint32_t variable) const { return log_weights_[variable]; }
    /// The log density of a categorical prior: the sum of the target's values times their log weights. At probabilities of what is chosen
    /// it is the expectation. 0 of any other factor.
    double log_choices(std::size_t factor) const;

    /// The parts of the factor's spread that are learnt.
    std::vector<std::uint32_t> const& learnt_parts(std::size_t factor) const { return learnt_parts_[factor]; }
    /// Entry of a part's variable that a cell has: [component][extent of the variable].
    std::size_t scale_index(ScaleUse const& use, std::size_t component, std::size_t sequence, std::size_t step) const;
    /// Runs every residual pass.
    void score(Inputs const& inputs);
    /// Brings squares(use) of one scale up to the other scales as they are.
    void gather(ScaleLayout const& scale);
    /// Per entry of the scale, [component][extent]: its cells that count, and the sum of their squared residuals times the rest of their
    /// precision; of a local scale of a binary output, of their squared means.
    std::vector<double> const& counts(ScaleUse const& use) const { return sums_of(use).counts; }
    std::vector<double> const& squares(ScaleUse const& use) const { return sums_of(use).squares; }
    /// What draws of an entry of a scale see of it.
    Statistics statistics(ScaleLayout const& scale, std::size_t entry) const;
    /// Of a factor with several learnt parts: the squared residual of one cell times what is known of its precision, 0 where the cell does
    /// not count.
    double known_square(std::size_t factor, std::size_t component, std::size_t index) const {
        std::vector<double> const& squares = scores_[factor].of_cells;
        return squares[component * bound_.grid.size(plan_.layout.variables[plan_.layout.factors[factor].target].extent) + index];
    }
    /// Sum of squared residuals times their precision at the last score() and the scales as they are now; and the cells that it is over.
    double quadratic(std::size_t factor) const;
    double cells(std::size_t factor) const { return scores_[factor].cells; }
    /// By how much log_density() may be off where residuals are off by `error`: the sum of error * precision * |residual|, or a bound of
    /// it.
    double rounding(std::size_t factor, double error) const;
    /// log density of all counting cells of the factor at the last score() and the scales as they are now; of a binary one log p(y | mean),
    /// its local scales integrated out.
    double log_density(std::size_t factor) const;
    /// What drawn cells of the target add to it.
    double log_density_of_drawn(std::size_t factor) const;
    /// Of a binary factor: the log likelihood at a power, its local scales integrated out. log_density() at 1, 0 at 0.
    double log_of_binary(std::size_t factor, double power) const;
    PowerSlope slope_of_binary(std::size_t factor, double power) const;

  private:
    /// What the cells of a factor say of one part of its spread.
    struct Sums {
        std::vector<double> counts;
        std::vector<double> squares;
        std::vector<double> drawn_counts, drawn_squares;  ///< of the drawn ones among them; empty where there are none
    };
    /// A cell that counts and is drawn.
    struct DrawnCell {
        std::size_t component = 0, index = 0, sequence = 0, step = 0;
        double square = 0;  ///< as in of_cells
    };
    struct Score {
        std::vector<Sums> parts;       ///< of the learnt parts, in their order
        double quadratic = 0;          ///< of a factor without learnt parts
        double cells = 0;              ///< that count
        double log_constant = 0;       ///< log densities without the residuals and what is learnt
        std::vector<double> of_cells;  ///< squared residuals times what is known of their precision, [component][extent], 0 where a cell
                                       ///< does not count; of a factor with several learnt parts
        std::vector<double> means;     ///< of a binary factor: [component][extent]
        std::vector<DrawnCell> drawn;  ///< of an observation, by step
    };
    Sums const& sums_of(ScaleUse const& use) const;
    void lay_out(std::size_t factor);
    /// Fills intervals_ and log_truncations_ of what a truncated prior speaks of.
    void truncate(std::size_t factor);
    /// Fills log_weights_ of what a categorical prior speaks of.
    void weigh(std::size_t factor);
    void gather(std::size_t factor, std::size_t learnt);
    /// Calls visit(component, index, sequence, step) for the cells of the factor's target.
    template <class Visit>
    void for_each_cell(std::size_t factor, Visit visit) const;
    double precision_of(SpreadLayout const& part, std::size_t component, std::size_t sequence, std::size_t step) const;
    void score(std::size_t factor, PassRunner& runner);
    void score_binary(std::size_t factor, PassRunner& runner);
    /// Fills what Score and Sums have of drawn cells, but for their squares.
    void list_drawn(std::size_t factor);
    /// `start`: index of the chunk's first cell.
    void score_drawn(std::size_t factor, PassRunner const& runner, Chunk const& chunk, std::size_t start);
    void gather_drawn(std::size_t factor, std::size_t learnt);
    /// A number times what is learnt of the precision of a cell, without one of the learnt parts.
    double times_learnt(double number, std::size_t factor, std::size_t but, std::size_t component, std::size_t sequence,
                        std::size_t step) const;
    static constexpr std::size_t all_learnt = static_cast<std::size_t>(-1);
    /// The weights of one factor.
    void weigh_cells(std::size_t factor);
    /// Sum of f(mean, output, local scale) over the counting cells of a binary factor.
    template <class F>
    double sum_over_binary(std::size_t factor, F f) const;
    double quadratic_of_binary(std::size_t factor) const;
    double quadratic_form(std::size_t factor, PassRunner const& runner, std::size_t start, std::size_t n) const;

    Problem const& problem_;
    Plan const& plan_;
    Bound const& bound_;
    State const& state_;
    std::vector<std::vector<double>> const& masks_;
    std::vector<bool> const& weighted_;
    std::vector<std::vector<double>> weights_;
    std::vector<std::vector<double>> covariance_precisions_;  ///< per factor: inverse of its matrix
    std::vector<std::unique_ptr<PassRunner>> runners_;
    std::vector<Score> scores_;
    std::vector<std::vector<std::uint32_t>> learnt_parts_;
    std::vector<std::vector<Interval>> intervals_;  ///< per variable
    std::vector<double> log_truncations_;           ///< per factor
    double power_ = 1;
    std::vector<std::vector<double>> log_weights_;  ///< per variable
    bool is_fresh_ = false;                         ///< refresh() has run once
};

template <class Visit>
void Factors::for_each_cell(std::size_t f, Visit visit) const {
    Variable const& target = plan_.layout.variables[plan_.layout.factors[f].target];
    for (std::size_t c = 0; c < target.components; ++c)
        bound_.grid.for_each(target.extent, [&](std::size_t i, std::size_t sequence, std::size_t step) { visit(c, i, sequence, step); });
}

}  // namespace bam
