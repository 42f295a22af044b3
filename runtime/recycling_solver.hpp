// One linear system with many right sides.
#pragma once

#include <Eigen/Core>
#include <functional>
#include <optional>
#include <vector>

namespace bam {

/// Solves A x = b for one b after another, A known by its products only, by generalised conjugate residuals (Eisenstat, Elman and Schultz
/// 1983). Directions are kept with their images: each further b starts from the best x in their span, so that all right sides together take
/// no more products than A has rows.
class RecyclingSolver {
  public:
    /// x, or nothing where the residual does not fall to a millionth of b. `apply` returns A v.
    std::optional<Eigen::VectorXd> solve(Eigen::VectorXd const& b, std::function<Eigen::VectorXd(Eigen::VectorXd const&)> const& apply);

  private:
    struct Direction {
        Eigen::VectorXd direction, image;
    };
    /// A new direction whose image has length 1 and is orthogonal to those of the others; nothing if there is none.
    std::optional<Direction> next(Eigen::VectorXd const& residual, std::function<Eigen::VectorXd(Eigen::VectorXd const&)> const& apply);

    std::vector<Direction> directions_;
};

}  // namespace bam
