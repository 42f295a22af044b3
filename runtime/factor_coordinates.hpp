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
    /// Both must outlive it.
    FactorCoordinates(Problem const& problem, Posterior const& optimum);

    Eigen::Index size() const { return static_cast<Eigen::Index>(places_.size()); }
    Eigen::VectorXd distance(Posterior const& posterior) const;
    Posterior at(Eigen::VectorXd const& distance) const;

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
