#include "recycling_solver.hpp"

namespace bam {
namespace {

constexpr std::size_t most_products = 400;     ///< of one right side
constexpr double settled = 1e-6;               ///< of the residual, relative
constexpr double independent = 1e-10;          ///< share of an image that is new
constexpr std::size_t most_kept = 30'000'000;  ///< numbers, in each of directions and images

}  // namespace

std::optional<RecyclingSolver::Direction> RecyclingSolver::next(Eigen::VectorXd const& residual,
                                                                std::function<Eigen::VectorXd(Eigen::VectorXd const&)> const& apply) {
    if (directions_.size() * static_cast<std::size_t>(residual.size()) > most_kept) directions_.clear();
    Direction d{residual / residual.norm(), {}};
    d.image = apply(d.direction);
    double const whole = d.image.norm();
    for (int twice = 0; twice < 2; ++twice) {  // once loses digits
        for (Direction const& known : directions_) {
            double const share = known.image.dot(d.image);
            d.image -= share * known.image;
            d.direction -= share * known.direction;
        }
    }
    double const length = d.image.norm();
    if (!(length > independent * whole)) return std::nullopt;
    d.image /= length;
    d.direction /= length;
    return d;
}

std::optional<Eigen::VectorXd> RecyclingSolver::solve(Eigen::VectorXd const& b,
                                                      std::function<Eigen::VectorXd(Eigen::VectorXd const&)> const& apply) {
    Eigen::VectorXd x = Eigen::VectorXd::Zero(b.size());
    Eigen::VectorXd residual = b;
    auto const go_along = [&](Direction const& d) {
        double const share = d.image.dot(residual);
        x += share * d.direction;
        residual -= share * d.image;
    };
    for (Direction const& d : directions_) go_along(d);
    for (std::size_t product = 0; residual.norm() > settled * b.norm(); ++product) {
        if (product == most_products || !residual.allFinite()) return std::nullopt;
        auto d = next(residual, apply);
        if (!d) return std::nullopt;
        go_along(*d);
        directions_.push_back(std::move(*d));
    }
    if (!x.allFinite()) return std::nullopt;
    return x;
}

}  // namespace bam
