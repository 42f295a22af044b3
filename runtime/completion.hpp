// Missing outputs of a new table whose earlier steps stand in means: all those of a sequence are drawn at once, given its observed outputs
// before and after them and one draw of the parameters.
#pragma once

#include <memory>
#include <vector>

#include "factors.hpp"
#include "pass_runner.hpp"
#include "plan.hpp"
#include "random.hpp"
#include "replica.hpp"
#include "state.hpp"

namespace bam {

/// Every residual (mean - target) is e = s · y + rest in the missing cells y of a sequence, so y is normal with precision Λ = sum w s s'
/// and linear term η = -sum w rest s. A residual reaches a few steps back, so Λ is banded. Its cells are numbered from the last step to the
/// first: with Λ = L L' the factorisation goes back in time, and the draw, inv(L)' (inv(L) η + z), forward. O(missing cells * band^2).
class Completion {
  public:
    Completion(Problem const& problem, Inputs const& inputs, Factors const& factors, State& state);

    void draw(NormalSource& normals);
    /// Of the cells that were drawn last: their log density given the observed outputs and the parameters.
    double log_density() const { return log_density_; }
    /// The same of those of one sequence.
    double log_density(std::size_t sequence) const { return log_densities_[sequence]; }

  private:
    /// A term at all cells: [component][cell], or [component of the target][component of the output][cell].
    struct Values {
        TermPlan const* plan;
        std::unique_ptr<PassRunner> runner;
        std::vector<double> values;
    };
    /// Where a residual reads a missing cell. `slope` is null in the cell's own residual, where it is -1.
    struct Reading {
        std::size_t unknown;
        double const* slope;
    };
    struct Row {
        std::size_t factor;
        std::size_t component;  ///< of the factor's target
        std::size_t step;
        double const* rest;
        std::vector<Reading> readings;
    };
    struct Sequence {
        std::size_t index = 0;
        std::vector<double*> unknowns;  ///< in the state, from the last step to the first
        std::vector<Row> rows;
        std::size_t band = 0;  ///< largest distance of two unknowns that a row reads
    };
    void add_sequence(std::size_t sequence, State& state);
    void add_rows(Sequence& sequence, std::vector<std::vector<std::size_t>> const& numbers);
    void evaluate(Values& term);
    void draw(Sequence const& sequence, NormalSource& normals);

    Problem const& problem_;
    Factors const& factors_;
    std::vector<Values> residuals_;             ///< per factor of the plan; without a plan where no missing cell is read
    std::vector<std::vector<Values>> effects_;  ///< per lagged output of the plan, as its effects
    std::vector<Sequence> sequences_;           ///< those with missing cells
    std::vector<double> precision_, linear_;
    double log_density_ = 0;
    std::vector<double> log_densities_;  ///< per sequence
};

}  // namespace bam
