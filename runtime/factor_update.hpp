// Coordinate ascent of the ELBO in one factor of a factorised posterior.
//
// With F the expected quadratic form of all statements, sum of mask * E[precision] * E[residual^2], what a Gaussian factor with mean m and
// covariance V contributes to the ELBO is -F(m, V) / 2 + log |V| / 2 + constants, and F is linear in V and quadratic in m: its optimum is
//     precision = dF/dV,     m' = m - inv(precision) (dF/dm) / 2,
// the expectations of the precision and of the linear term of the Gibbs conditional (dF/dV = E[J' W J] where the residual is J θ + o). At a
// point mass of all other factors it is that conditional.
#pragma once

#include <Eigen/Core>
#include <memory>
#include <vector>

#include "adjoint_runner.hpp"
#include "expected_factors.hpp"
#include "posterior.hpp"
#include "replica.hpp"

namespace bam {

/// The factors of one block, of the missing cells of one output, or along one symmetry: how they get to their optimum while all others
/// stay. Keeps references into the UpdateContext that it was made of.
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

/// What updates share: the problem, the expectations of its statements, and the posterior that they move. All of it outlives them.
struct UpdateContext {
    Problem const& problem;
    ExpectationPlan const& expectations;
    Inputs inputs;
    ExpectedFactors const& factors;
    Posterior& posterior;
    std::vector<Tilt> const& tilts;
};

/// A block that is drawn jointly at each of its indices: Gaussian systems that do not meet, or choices.
std::unique_ptr<FactorUpdate> make_joint_update(UpdateContext const& context, BlockPlan const& block);
/// A block over time whose steps are factors of their own (decays), from the first to the last, in one pass forward and one back.
std::unique_ptr<FactorUpdate> make_sweep_update(UpdateContext const& context, BlockPlan const& block);
/// A block over time whose prior couples neighbouring steps: one factor over all of them, block tridiagonal.
std::unique_ptr<FactorUpdate> make_markov_update(UpdateContext const& context, BlockPlan const& block);
/// The missing cells of an output that later means look back at, each a factor of its own.
std::unique_ptr<FactorUpdate> make_output_update(UpdateContext const& context, std::size_t lagged_output);

/// Along a symmetry of the likelihood; null where a block of it is not drawn jointly.
std::unique_ptr<FactorUpdate> make_orbit_update(UpdateContext const& context, OrbitPlan const& orbit);

/// The Gaussian factors of one variable, some of them truncated, or those of its choices, with the derivatives of F that move them.
struct GaussianFactors {
    Variable const& variable;
    Grid const& grid;
    std::vector<double>& means;  ///< [component][extent]
    Covariances& covariances;
    std::vector<TruncatedFactor>& truncated;  ///< Posterior::truncated
    std::vector<double> const& log_weights;   ///< Factors::log_weights
    std::vector<std::unique_ptr<AdjointRunner>> runners;
    Gradient gradient;

    /// With runners of every factor of the model, and every tilt, in which the variable occurs.
    GaussianFactors(UpdateContext const& context, std::uint32_t variable);
    /// With runners of these factors of the model only.
    GaussianFactors(UpdateContext const& context, std::uint32_t variable, std::vector<std::uint32_t> const& factors);

    void clear();
    /// dF/dm and dF/dV as they are now.
    void differentiate();
    /// dF/dV of a system [group, group], and dF/dm, at one index.
    Eigen::MatrixXd precision(std::vector<std::uint32_t> const& group, std::size_t index) const;
    Eigen::VectorXd slope(std::vector<std::uint32_t> const& group, std::size_t index) const;

    struct Step {
        double rise = 0;  ///< of the ELBO
        bool is_proper = true;
    };
    /// Moves mean and covariance of a system to the optimum, unless its precision is singular.
    Step step(std::vector<std::uint32_t> const& group, std::size_t index);
    /// Throws NumericalTrouble: a factor without a finite variance. `why`: of numbers that neither data nor priors determine.
    [[noreturn]] void fail(std::string const& why = "the data do not determine it and its prior does not either") const;
    /// The same of step().
    [[noreturn]] void fail(std::vector<std::uint32_t> const& group, std::size_t index) const;

  private:
    /// Of an entry whose prior is truncated the optimum is the normal with that precision and linear term, in the interval.
    Step step_truncated(std::uint32_t component, std::size_t index);
    /// Of a choice F is that of a normal with these moments, linear in the probabilities p as E[θ_g^2] = p_g: the optimum has p_g
    /// proportional to weight_g exp(η_g - Λ_gg / 2).
    Step step_choice(std::vector<std::uint32_t> const& group, std::size_t index);
    void add_runner(UpdateContext const& context, Pass const& pass, std::vector<WeightedOutput> outputs);
    UpdateContext context_;
    std::uint32_t index_of_variable_;
    std::optional<std::size_t> block_;  ///< of the plan; none of an output
};

}  // namespace bam
