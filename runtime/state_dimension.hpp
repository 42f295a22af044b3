// How many directions of the state matter: a number that no change of its coordinates moves (math.md, 15b. While a chain runs).
#pragma once

#include <Eigen/Core>
#include <memory>
#include <vector>

#include "factors.hpp"
#include "pass_runner.hpp"

namespace bam {

/// Of states that blocks over time are coefficients or inputs of. The state that `inputs` refer to must not move.
class StateDimension {
  public:
    StateDimension(Plan const& plan, Inputs const& inputs, Factors const& factors);

    bool has_states() const { return !sweeps_.empty(); }
    /// (sum s)² / sum s², s the roots of the eigenvalues of the product of both Grams, of the states and of how outputs read them. NaN
    /// where no output reads any. O(cells * states²).
    double at_present();

  private:
    struct Sweep {
        SweepPlan const& plan;
        PassRunner runner;
        std::vector<double> state;  ///< [state, lane]
        Eigen::MatrixXd states, readouts;
    };
    void add_grams(Sweep& sweep);

    Grid const& grid_;
    Factors const& factors_;
    std::vector<std::unique_ptr<Sweep>> sweeps_;
};

}  // namespace bam
