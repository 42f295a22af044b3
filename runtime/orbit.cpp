#include "orbit.hpp"

#include <algorithm>
#include <cmath>

namespace bam {

OrbitMoves::OrbitMoves(OrbitPlan const& orbit, Layout const& layout, Grid const& grid, State& state, Priors& first, Priors& second)
    : orbit_(orbit),
      first_{state.values[orbit.first], first, orbit.first_slices, grid.size(layout.variables[orbit.first].extent), {}, {}},
      second_{state.values[orbit.second], second, orbit.second_slices, grid.size(layout.variables[orbit.second].extent), {}, {}} {
    for (Side* side : {&first_, &second_}) {
        side->direction.resize(side->values.size());
        side->product.resize(side->values.size());
    }
}

void OrbitMoves::move(Stream& stream) {
    first_.priors.update();
    second_.priors.update();
    if (!orbit_.has_dim) {
        set_direction(first_);
        set_direction(second_);
        scale_and_sign(static_cast<double>(first_.values.size()), static_cast<double>(second_.values.size()), stream);
        return;
    }
    std::size_t const n = first_.slices.size();
    for (std::size_t i = 0; i < n && !orbit_.is_diagonal; ++i) {
        for (std::size_t j = 0; j < n; ++j) {
            if (i != j) shear(i, j, &stream);
        }
    }
    for (std::size_t i = 0; i < n; ++i) {
        set_direction(first_, i, i, 1);
        set_direction(second_, i, i, 1);
        scale_and_sign(static_cast<double>(first_.slices[i].size() * first_.size),
                       static_cast<double>(second_.slices[i].size() * second_.size), stream);
    }
}

/// direction = factor * the values of slice `from`, standing at slice `slice`
void OrbitMoves::set_direction(Side& side, std::size_t slice, std::size_t from, double factor) {
    std::fill(side.direction.begin(), side.direction.end(), 0.0);
    for (std::size_t k = 0; k < side.slices[slice].size(); ++k) {
        for (std::size_t i = 0; i < side.size; ++i) {
            side.direction[side.slices[slice][k] * side.size + i] = factor * side.values[side.slices[from][k] * side.size + i];
        }
    }
}

void OrbitMoves::set_direction(Side& side) { side.direction = side.values; }

OrbitMoves::Quadratic OrbitMoves::along(Side& side, double at) {
    Quadratic result;
    side.priors.multiply(side.direction, side.product);
    std::vector<double> const& linear = side.priors.linear();
    for (std::size_t i = 0; i < side.values.size(); ++i) {
        // d'P(x - at d) = (P d)'(x - at d), since P is symmetric
        result.quadratic += side.product[i] * side.direction[i];
        result.linear += side.direction[i] * linear[i] - side.product[i] * (side.values[i] - at * side.direction[i]);
    }
    return result;
}

void OrbitMoves::step(Side& side, double amount) {
    for (std::size_t i = 0; i < side.values.size(); ++i) side.values[i] += amount * side.direction[i];
}

/// Along a direction that is the values themselves, at a slice or everywhere: those times c.
void OrbitMoves::stretch(Side& side, double c) {
    constexpr double small = 1e-3;  // below which c - 1 has lost digits of c
    if (std::abs(c) >= small) return step(side, c - 1);
    for (std::size_t i = 0; i < side.values.size(); ++i)
        if (side.direction[i] != 0) side.values[i] = c * side.direction[i];
}

bool OrbitMoves::maximise() {
    first_.priors.update();
    second_.priors.update();
    if (!orbit_.has_dim) {
        set_direction(first_);
        set_direction(second_);
        return best_scale_and_sign();
    }
    std::size_t const n = first_.slices.size();
    for (std::size_t i = 0; i < n && !orbit_.is_diagonal; ++i) {
        for (std::size_t j = 0; j < n; ++j) {
            if (i != j) shear(i, j, nullptr);
        }
    }
    bool is_bounded = true;
    for (std::size_t i = 0; i < n; ++i) {
        set_direction(first_, i, i, 1);
        set_direction(second_, i, i, 1);
        is_bounded = best_scale_and_sign() && is_bounded;
    }
    return is_bounded;
}

/// A[i] += δ A[j], B[j] -= δ B[i]: Jacobian 1, δ exactly normal; without a stream, its mean.
void OrbitMoves::shear(std::size_t i, std::size_t j, Stream* stream) {
    set_direction(first_, i, j, 1);
    set_direction(second_, j, i, -1);
    Quadratic const a = along(first_, 0);
    Quadratic const b = along(second_, 0);
    double const precision = a.quadratic + b.quadratic;
    if (!(precision > 0)) return;  // flat in this direction: nothing to draw from
    double delta = (a.linear + b.linear) / precision;
    if (stream != nullptr) delta += stream->normal() / std::sqrt(precision);
    step(first_, delta);
    step(second_, delta);
}

/// (A, B) -> (c A, B / c) along the directions: a slice step in u = log c under the prior and the Jacobian (entries up - entries down) u,
/// then a draw of both signs.
void OrbitMoves::scale_and_sign(double first_entries, double second_entries, Stream& stream) {
    Quadratic const a = along(first_, 1);
    Quadratic const b = along(second_, 1);
    if (!(a.quadratic > 0) || !(b.quadratic > 0)) return;
    auto log_density = [&](double u) {
        double const c = std::exp(u);
        return -0.5 * c * c * a.quadratic + c * a.linear - 0.5 * b.quadratic / (c * c) + b.linear / c +
               (first_entries - second_entries) * u;
    };
    // Slice sampling with stepping out and shrinkage (Neal 2003).
    constexpr double width = 0.5;
    double const level = log_density(0) - stream.exponential();
    double left = -width * stream.uniform();
    double right = left + width;
    for (int k = 0; k < 100 && log_density(left) > level; ++k) left -= width;
    for (int k = 0; k < 100 && log_density(right) > level; ++k) right += width;
    double u = 0;
    for (int k = 0; k < 200; ++k) {
        u = left + (right - left) * stream.uniform();
        if (log_density(u) > level) break;
        (u < 0 ? left : right) = u;
        u = 0;
    }
    double c = std::exp(u);
    // By heat bath: with priors centred at 0 a Metropolis flip would always be accepted, and two symmetries that share a block would undo
    // each other's flips for ever.
    if (stream.uniform() < 1 / (1 + std::exp(2 * (c * a.linear + b.linear / c)))) c = -c;
    stretch(first_, c);
    stretch(second_, 1 / c);
}

namespace {

/// The log prior at (c A, B / c), c = sign e^u, without what does not depend on c; and its derivatives in u.
struct AlongScale {
    double quadratic_a, linear_a, quadratic_b, linear_b;

    double value(double u, double sign) const {
        double const c = sign * std::exp(u);
        return -0.5 * quadratic_a * c * c + linear_a * c - 0.5 * quadratic_b / (c * c) + linear_b / c;
    }
    double slope(double u, double sign) const {
        double const c = sign * std::exp(u);
        return -quadratic_a * c * c + linear_a * c + quadratic_b / (c * c) - linear_b / c;
    }
    double curvature(double u, double sign) const {
        double const c = sign * std::exp(u);
        return -2 * quadratic_a * c * c + linear_a * c - 2 * quadratic_b / (c * c) + linear_b / c;
    }
};

constexpr double farthest = 40;  ///< in u, beyond which there is no highest point

/// Newton from u = 0, no step longer than 1 and each halved until it rises. Close to the highest point the rise is below rounding, and the
/// slope, which is not, alone decides.
double best_scale(AlongScale const& along, double sign) {
    constexpr double close = 1e-4;
    double u = 0;
    for (int k = 0; k < 100 && std::abs(u) < farthest; ++k) {
        double const slope = along.slope(u, sign);
        double const curvature = along.curvature(u, sign);
        double change = curvature < 0 ? -slope / curvature : slope;
        if (curvature < 0 && std::abs(change) < close) return u + change;  // squared, what is left of the error is below 1e-8
        change = std::clamp(change, -1.0, 1.0);
        double const here = along.value(u, sign);
        for (int halved = 0; halved < 60 && !(along.value(u + change, sign) > here); ++halved) change /= 2;
        if (!(along.value(u + change, sign) > here)) break;
        u += change;
    }
    return u;
}

}  // namespace

bool OrbitMoves::best_scale_and_sign() {
    Quadratic const a = along(first_, 1);
    Quadratic const b = along(second_, 1);
    if (!(a.quadratic > 0) && !(b.quadratic > 0)) return true;  // flat along the whole orbit
    AlongScale const along_scale{a.quadratic, a.linear, b.quadratic, b.linear};
    double const positive = best_scale(along_scale, 1);
    double const negative = best_scale(along_scale, -1);
    bool const flips = along_scale.value(negative, -1) > along_scale.value(positive, 1);
    double const u = flips ? negative : positive;
    if (std::abs(u) >= farthest) return false;
    double const c = (flips ? -1 : 1) * std::exp(u);
    stretch(first_, c);
    stretch(second_, 1 / c);
    return true;
}

}  // namespace bam
