// Independent draws from a factorised posterior.
#pragma once

#include <Eigen/Core>
#include <optional>
#include <vector>

#include "degrees_of_freedom.hpp"
#include "mean_field.hpp"

namespace bam {

/// Holds a copy of the posterior as the field has it, with the roots of its covariances: a draw costs its products, not their factoring.
class PosteriorSampler {
  public:
    explicit PosteriorSampler(MeanField const& field);

    /// Draws every parameter, and missing outputs that later means look back at. Returns the log density of the draw under the posterior.
    /// `index` numbers the draw: the same number gives the same bits.
    double draw(std::uint64_t seed, std::uint64_t index, State& state) const;

  private:
    struct System {
        std::vector<std::size_t> places, before;  ///< in the values of the variable; one step back, or empty
        Eigen::MatrixXd root;                     ///< Cholesky factor of the covariance given the step before
        Eigen::MatrixXd gain;                     ///< regression on the step before
        double log_normaliser = 0;
        std::optional<TruncatedFactor> truncated;  ///< instead of root and gain
        std::vector<double> log_probabilities;     ///< of a choice, likewise
    };
    struct Block {
        std::uint32_t variable = 0;
        std::vector<System> systems;
    };
    struct Scale {
        std::size_t index = 0;  ///< of the layout's scales
        std::vector<ScaleSampler> samplers;
        std::vector<double> counts;
        std::optional<DegreesOfFreedomSampler> df;  ///< in the place of samplers
    };
    void add_system(Block& block, std::vector<std::size_t> places, std::vector<std::size_t> before, Eigen::MatrixXd covariance,
                    Eigen::MatrixXd gain);
    void add_scale(std::size_t index, MeanField const& field);
    /// Returns the log density of the draw.
    double draw_scale(Scale const& scale, Stream& stream, State& state) const;

    Problem const& problem_;
    Posterior posterior_;
    std::vector<Block> blocks_;
    std::vector<Scale> scales_;  ///< degrees of freedom before the local scales that they are of
};

}  // namespace bam
