// A factorised posterior near an optimum as a vector.
#pragma once

#include <Eigen/Core>
#include <vector>

#include "posterior.hpp"
#include "replica.hpp"

namespace bam {

/// The numbers that a pass of a climb moves and that other factors read, as distances to an optimum in units of their sds there: means and
/// covariances of the Gaussian factors, E[precision] and E[log precision] of the scales. Numbers that are learnt have none.
class FactorCoordinates {
  public:
    /// Both must outlive it. Without scales they are held as they are.
    FactorCoordinates(Problem const& problem, Posterior const& optimum, bool with_scales = true);

    Eigen::Index size() const { return static_cast<Eigen::Index>(places_.size()); }
    Eigen::VectorXd distance(Posterior const& posterior) const;
    Posterior at(Eigen::VectorXd const& distance) const;

    /// The mean of one entry of a Gaussian factor.
    struct Mean {
        Eigen::Index coordinate = 0;
        std::size_t variable = 0;
        std::size_t entry = 0;  ///< [component][extent]
        double sd = 0;
    };
    std::vector<Mean> means() const;
    /// Covariances under the factors of all means with one, as a distance; along a path of those of its own and the neighbouring steps.
    Eigen::VectorXd covariances_with(Mean const& mean) const;

  private:
    enum class Of : std::uint8_t { Mean, Same, Before, Precision, LogPrecision };
    struct Place {
        Of of = Of::Mean;
        std::size_t array = 0;  ///< variable, or scale of the layout
        std::size_t index = 0;
        double unit = 1;
    };
    void add(Of of, std::size_t array, std::size_t index, double unit);
    void add_gaussian(std::size_t variable, Covariances const& covariances);
    template <class P>
    static auto& number(P& posterior, Place const& place);

    Problem const& problem_;
    Posterior const& optimum_;
    std::vector<Place> places_;
};

}  // namespace bam
