// A posterior of independent factors: what the variational backend climbs in, and what its files and draws are made of.
#pragma once

#include <Eigen/Core>
#include <functional>
#include <optional>
#include <vector>

#include "covariances.hpp"
#include "random.hpp"
#include "scale_factor.hpp"
#include "state.hpp"
#include "truncated_normal.hpp"

namespace bam {

/// The factor of an entry whose prior is truncated. Its mean and its variance stand with those of the others.
struct TruncatedFactor {
    TruncatedNormal density;
    double entropy = 0;
    double log_integral = 0;  ///< of exp(-density.drop)
    double log_density(double x) const { return -density.drop(x) - log_integral; }
};

/// The means of all parameters, their covariances, and the factors of scales.
struct Posterior {
    State state;                                   ///< means; of a scale, the number whose precision is the expected one
    std::vector<Covariances> covariances;          ///< per variable
    std::vector<std::vector<ScaleFactor>> scales;  ///< per scale of the layout: [component][extent]
    /// Per variable: [component][extent], empty where no prior is truncated. Of an entry without an interval it is not used.
    std::vector<std::vector<TruncatedFactor>> truncated;

    /// The factor of an entry, if its prior is truncated.
    TruncatedFactor const* truncated_at(std::uint32_t variable, std::size_t entry) const {
        if (truncated[variable].empty() || !truncated[variable][entry].density.interval().is_bounded()) return nullptr;
        return &truncated[variable][entry];
    }
};

/// Calls f(group, index, index one step back or nothing) for the systems of a block that are updated together, each path in the order of
/// its steps.
void for_each_system(BlockPlan const& block, Variable const& variable, Grid const& grid,
                     std::function<void(std::vector<std::uint32_t> const&, std::size_t, std::optional<std::size_t>)> const& f);

/// [group, group] at one index, and between that and one step back.
Eigen::MatrixXd covariance_of(std::vector<std::uint32_t> const& group, std::size_t index, Covariances const& covariances);
Eigen::MatrixXd earlier_of(std::vector<std::uint32_t> const& group, std::size_t index, Covariances const& covariances);

/// log |V|; minus infinity where it is singular.
double log_determinant(Eigen::MatrixXd const& matrix);

/// A system given the values one step back: its mean moves by `gain` times their deviation from their means.
struct GivenBefore {
    Eigen::MatrixXd covariance;
    Eigen::MatrixXd gain;  ///< empty where nothing is before
};
GivenBefore given_before(std::vector<std::uint32_t> const& group, std::size_t index, std::optional<std::size_t> before,
                         Covariances const& covariances);

/// Entropy of all factors of a block; minus infinity at a point mass, and none where the block is learnt as numbers.
double entropy(BlockPlan const& block, Variable const& variable, Grid const& grid, Posterior const& posterior);
/// log density of a block's values under its factors; `step`: of one step of a swept block only.
double log_factor_density(BlockPlan const& block, Variable const& variable, Grid const& grid, Posterior const& posterior,
                          std::vector<double> const& values, std::optional<std::size_t> step = {});
/// A draw of a block from its factors, from normals in the order of for_each_system.
void draw_factor(BlockPlan const& block, Variable const& variable, Grid const& grid, Posterior const& posterior, NormalSource& normals,
                 std::vector<double>& values);

}  // namespace bam
