// Coordinate ascent of the ELBO in one factor of a factorised posterior.
//
// With F the expected quadratic form of all statements, sum of mask * E[precision] * E[residual^2], what a Gaussian factor with mean m and
// covariance V contributes to the ELBO is -F(m, V) / 2 + log |V| / 2 + constants, and F is linear in V and quadratic in m: its optimum is
//     precision = dF/dV,     m' = m - inv(precision) (dF/dm) / 2,
// the expectations of the precision and of the linear term of the Gibbs conditional (dF/dV = E[J' W J] where the residual is J θ + o). At a
// point mass of all other factors it is that conditional.
#pragma once

#include <Eigen/Core>
#include <functional>
#include <memory>
#include <optional>

#include "covariances.hpp"
#include "expected_factors.hpp"
#include "replica.hpp"

namespace bam {

/// A posterior of independent factors: the means of all parameters, their covariances, and the factors of scales.
struct Posterior {
    State state;                                   ///< means; of a scale, the number whose precision is the expected one
    std::vector<Covariances> covariances;          ///< per variable
    std::vector<std::vector<ScaleFactor>> scales;  ///< per scale of the layout: [component][extent]
};

class FactorUpdate {
  public:
    virtual ~FactorUpdate() = default;
    /// Moves to the optimum; returns by how much the ELBO rises (infinite from a point mass).
    virtual double update() = 0;
    /// The same, but each step of a block over time sees the others at point masses, also those that were just updated: the factor that the
    /// Gibbs conditional is compared with.
    virtual void update_at_points() { update(); }
};

/// A term, linear in each block, that can be added to the log joint density: sum of ε * E[term], weights = -2 ε as F counts.
struct Tilt {
    TermPlan const* term = nullptr;
    std::vector<double> weights;  ///< [component][extent of its domain]
};

struct UpdateContext {
    Problem const& problem;
    ExpectationPlan const& expectations;
    Inputs inputs;
    ExpectedFactors const& factors;
    Posterior& posterior;
    std::vector<Tilt> const& tilts;
};

std::unique_ptr<FactorUpdate> make_joint_update(UpdateContext const& context, BlockPlan const& block);
std::unique_ptr<FactorUpdate> make_sweep_update(UpdateContext const& context, BlockPlan const& block);
std::unique_ptr<FactorUpdate> make_markov_update(UpdateContext const& context, BlockPlan const& block);
/// The missing cells of an output that later means look back at, each a factor of its own.
std::unique_ptr<FactorUpdate> make_output_update(UpdateContext const& context, std::size_t lagged_output);

/// Along a symmetry of the likelihood; null where a block of it is not drawn jointly.
std::unique_ptr<FactorUpdate> make_orbit_update(UpdateContext const& context, OrbitPlan const& orbit);

/// Runners of every factor in which the variable occurs, which differentiate in it.
std::vector<std::unique_ptr<AdjointRunner>> make_runners(UpdateContext const& context, std::uint32_t variable);

/// A Gaussian system: moves mean and covariance to the optimum. `gradient`, `precision` (lower triangle) are overwritten.
struct GaussianStep {
    double rise = 0;  ///< of the ELBO
    bool is_proper = true;
};
GaussianStep step_to_optimum(Variable const& variable, std::vector<std::uint32_t> const& group, std::size_t index, Gradient const& gradient,
                             std::vector<double>& means, Covariances& covariances);

/// Whether entry `index` of a variable's extent exists (`a[t > 0]`).
bool exists(Variable const& variable, Grid const& grid, std::size_t index);

/// Calls f(group, index, index one step back or nothing) for the systems of a block that are updated together, each path in the order of
/// its steps.
void for_each_system(BlockPlan const& block, Variable const& variable, Grid const& grid,
                     std::function<void(std::vector<std::uint32_t> const&, std::size_t, std::optional<std::size_t>)> const& f);
/// [group, group] at one index, and between that and one step back.
Eigen::MatrixXd covariance_of(std::vector<std::uint32_t> const& group, std::size_t index, Covariances const& covariances);
Eigen::MatrixXd earlier_of(std::vector<std::uint32_t> const& group, std::size_t index, Covariances const& covariances);

/// log density of a block's values under its factors; `step`: of one step of a swept block only.
double log_factor_density(BlockPlan const& block, Variable const& variable, Grid const& grid, Posterior const& posterior,
                          std::vector<double> const& values, std::optional<std::size_t> step = {});
/// A draw of a block from its factors, from normals in the order of for_each_system.
void draw_factor(BlockPlan const& block, Variable const& variable, Grid const& grid, Posterior const& posterior, NormalSource& normals,
                 std::vector<double>& values);
/// Entropy of all Gaussian factors of a block; minus infinity at a point mass, and none where the block is learnt as numbers.
double entropy(BlockPlan const& block, Variable const& variable, Grid const& grid, Covariances const& covariances);
/// The sequence's number of steps.
std::size_t length(Grid const& grid, Extent extent, std::size_t lane);

}  // namespace bam
