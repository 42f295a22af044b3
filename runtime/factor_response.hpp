// How an optimum of the factors follows what is added to the log joint density.
#pragma once

#include <Eigen/Core>
#include <functional>
#include <optional>

#include "factor_coordinates.hpp"
#include "mean_field.hpp"
#include "recycling_solver.hpp"

namespace bam {

/// The optimum x is where a pass P of the climb leads to itself, so with ε g added (I - dP/dx) dx/dε = dP/dε: a linear system, of which a
/// pass from a point nearby gives the products. Directions that were tried for one g serve the others.
class FactorResponse {
  public:
    /// Moves the field about, and leaves it anywhere. All must outlive it. Without scales these are held.
    FactorResponse(MeanField& field, Posterior const& optimum, bool with_scales);

    FactorCoordinates const& coordinates() const { return coordinates_; }
    /// dx/dε where `tilt(ε)` adds ε g to the log joint density of the field; nothing where it does not settle. g has that sd, about.
    std::optional<Eigen::VectorXd> to(std::function<void(double)> const& tilt, double sd);

  private:
    void pass();
    Eigen::VectorXd after_pass(Eigen::VectorXd const& from);

    MeanField& field_;
    FactorCoordinates coordinates_;
    bool with_scales_;
    RecyclingSolver solver_;
    Eigen::VectorXd settled_at_;  ///< where a pass leads from the optimum: there, but for rounding
};

/// A variable as a term: its components are registers.
TermPlan variable_term(Layout const& layout, std::uint32_t variable);

inline constexpr double relative_tilt = 1e-3;  ///< shift of what is pushed, in sds
inline constexpr double relative_move = 1e-5;  ///< of the factors, in sds, where something is differentiated along their moves

}  // namespace bam
