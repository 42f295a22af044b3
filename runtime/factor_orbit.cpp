// The variational twin of orbit moves (parameter-expanded variational Bayes: Qi and Jaakkola 2006). Along a symmetry of the likelihood only
// the priors and the entropy change, so the ELBO is maximised over it in closed form (shears) or in one dimension (scalings):
//     θ1 -> (I + δ S1) θ1,   θ2 -> (I + ε S2) θ2,
// with ε = -δ for a shear of one slice by another, and 1 + δ = c, 1 + ε = 1 / c for a scaling of a slice. With Λ and k the prior's
// quadratic form E[θ' Λ θ] + k' m,
//     F(δ) = F(0) + δ (2 E[(S θ)' Λ θ] + k' S m) + δ^2 E[(S θ)' Λ S θ].
#include <Eigen/Dense>
#include <algorithm>
#include <cmath>

#include "factor_update.hpp"

namespace bam {
namespace {

/// θ[to] += δ θ[from]
struct Step {
    std::uint32_t to, from;
};

/// One of the two variables of an orbit, with the quadratic form of its own priors.
class Side {
  public:
    Side(UpdateContext const& context, BlockPlan const& block)
        : block_(block),
          factors_(context, block.variable, priors_of(block)),
          group_of_(factors_.variable.components, 0),
          place_(factors_.variable.components, 0) {
        for (std::size_t g = 0; g < block.groups.size(); ++g) {
            for (std::size_t i = 0; i < block.groups[g].size(); ++i) {
                group_of_[block.groups[g][i]] = g;
                place_[block.groups[g][i]] = static_cast<Eigen::Index>(i);
            }
        }
    }

    /// The priors as they are now.
    void read() {
        factors_.differentiate();
        systems_.clear();
        for (std::size_t g = 0; g < block_.groups.size(); ++g) {
            for (std::size_t e = first_index(factors_.variable, factors_.grid); e < factors_.covariances.size; ++e)
                systems_.push_back(system(g, e));
        }
    }

    bool is_within_groups(std::vector<Step> const& steps) const {
        return std::all_of(steps.begin(), steps.end(), [&](Step step) { return group_of_[step.to] == group_of_[step.from]; });
    }

    struct Change {
        double slope = 0, curvature = 0;  ///< F(δ) - F(0) = slope δ + curvature δ^2
        double at(double delta) const { return (slope + curvature * delta) * delta; }
    };

    Change change(std::vector<Step> const& steps) const {
        Change result;
        for (System const& s : systems_) {
            auto const moves = places(steps, s.group);
            for (auto const& [to, from] : moves) {
                // E[θ θ'] = V + m m'
                result.slope += 2 * (s.covariance.row(from).dot(s.precision.row(to)) + s.mean(from) * s.mean.dot(s.precision.row(to))) +
                                s.offset(to) * s.mean(from);
                for (auto const& [other_to, other_from] : moves)
                    result.curvature += s.precision(to, other_to) * (s.covariance(from, other_from) + s.mean(from) * s.mean(other_from));
            }
        }
        return result;
    }

    void apply(std::vector<Step> const& steps, double delta) {
        for (System& s : systems_) {
            // No step moves what another reads, but for itself: rows and columns can be moved one by one.
            for (auto const& [to, from] : places(steps, s.group)) {
                s.mean(to) += delta * s.mean(from);
                s.covariance.row(to) += (delta * s.covariance.row(from)).eval();
                s.covariance.col(to) += (delta * s.covariance.col(from)).eval();
            }
        }
    }

    /// Puts the moved systems into the posterior.
    void write() {
        for (System const& s : systems_) {
            auto const& group = block_.groups[s.group];
            for (std::size_t i = 0; i < group.size(); ++i) {
                auto const row = static_cast<Eigen::Index>(i);
                factors_.means[group[i] * factors_.covariances.size + s.index] = s.mean(row);
                for (std::size_t j = 0; j <= i; ++j)
                    factors_.covariances.at(group[i], group[j])[s.index] = s.covariance(row, static_cast<Eigen::Index>(j));
            }
        }
    }

    /// Numbers that a step changes.
    double count(std::vector<Step> const& steps) const {
        std::size_t const first = std::min(first_index(factors_.variable, factors_.grid), factors_.covariances.size);
        return static_cast<double>(steps.size() * (factors_.covariances.size - first));
    }

  private:
    static std::vector<std::uint32_t> priors_of(BlockPlan const& block) {
        std::vector<std::uint32_t> factors;
        for (PriorPlan const& prior : block.priors) factors.push_back(prior.factor);
        return factors;
    }

    struct System {
        std::size_t group = 0, index = 0;
        Eigen::VectorXd mean, offset;
        Eigen::MatrixXd covariance, precision;
    };

    System system(std::size_t g, std::size_t e) const {
        auto const& group = block_.groups[g];
        auto const d = static_cast<Eigen::Index>(group.size());
        System s{g, e, Eigen::VectorXd(d), {}, covariance_of(group, e, factors_.covariances), factors_.precision(group, e)};
        for (Eigen::Index i = 0; i < d; ++i) s.mean(i) = factors_.means[group[static_cast<std::size_t>(i)] * factors_.covariances.size + e];
        s.offset = factors_.slope(group, e) - 2 * s.precision * s.mean;
        return s;
    }

    /// Steps within a group, as places in it.
    std::vector<std::pair<Eigen::Index, Eigen::Index>> places(std::vector<Step> const& steps, std::size_t g) const {
        std::vector<std::pair<Eigen::Index, Eigen::Index>> result;
        for (Step step : steps) {
            if (group_of_[step.to] == g) result.emplace_back(place_[step.to], place_[step.from]);
        }
        return result;
    }

    BlockPlan const& block_;
    GaussianFactors factors_;            ///< with the derivatives of the priors only
    std::vector<std::size_t> group_of_;  ///< per component
    std::vector<Eigen::Index> place_;    ///< per component: in its group
    std::vector<System> systems_;
};

std::vector<Step> steps_of(std::vector<std::uint32_t> const& to, std::vector<std::uint32_t> const& from) {
    std::vector<Step> steps;
    for (std::size_t k = 0; k < to.size(); ++k) steps.push_back({to[k], from[k]});
    return steps;
}

class OrbitUpdate : public FactorUpdate {
  public:
    OrbitUpdate(UpdateContext const& context, OrbitPlan const& orbit)
        : orbit_(orbit), first_(context, block_of(context, orbit.first)), second_(context, block_of(context, orbit.second)) {
        std::vector<std::uint32_t> all_first(context.problem.plan.layout.variables[orbit.first].components);
        std::vector<std::uint32_t> all_second(context.problem.plan.layout.variables[orbit.second].components);
        for (std::uint32_t c = 0; c < all_first.size(); ++c) all_first[c] = c;
        for (std::uint32_t c = 0; c < all_second.size(); ++c) all_second[c] = c;
        if (!orbit.has_dim) {
            scalings_.push_back({steps_of(all_first, all_first), steps_of(all_second, all_second)});
            return;
        }
        for (std::size_t i = 0; i < orbit.first_slices.size(); ++i) {
            scalings_.push_back(
                {steps_of(orbit.first_slices[i], orbit.first_slices[i]), steps_of(orbit.second_slices[i], orbit.second_slices[i])});
            for (std::size_t j = 0; !orbit.is_diagonal && j < orbit.first_slices.size(); ++j) {
                if (i == j) continue;
                Pair shear{steps_of(orbit.first_slices[i], orbit.first_slices[j]),
                           steps_of(orbit.second_slices[j], orbit.second_slices[i])};
                // A shear across groups would correlate what the factors hold independent.
                if (first_.is_within_groups(shear.first) && second_.is_within_groups(shear.second)) shears_.push_back(std::move(shear));
            }
        }
    }

    static bool fits(UpdateContext const& context, OrbitPlan const& orbit) {
        return block_of(context, orbit.first).method == PlanMethod::Joint && block_of(context, orbit.second).method == PlanMethod::Joint;
    }

    double update() override {
        first_.read();
        second_.read();
        double rise = 0;
        for (Pair const& pair : shears_) rise += shear(pair);
        for (Pair const& pair : scalings_) rise += scale(pair);
        first_.write();
        second_.write();
        return rise;
    }

  private:
    struct Pair {
        std::vector<Step> first, second;
    };

    static BlockPlan const& block_of(UpdateContext const& context, std::uint32_t variable) {
        auto const& blocks = context.problem.plan.blocks;
        return *std::find_if(blocks.begin(), blocks.end(), [&](BlockPlan const& block) { return block.variable == variable; });
    }

    double shear(Pair const& pair) {
        Side::Change const a = first_.change(pair.first);
        Side::Change const b = second_.change(pair.second);
        double const curvature = a.curvature + b.curvature;
        if (!(curvature > 0)) return 0;
        double const delta = -0.5 * (a.slope - b.slope) / curvature;
        double const rise = -0.5 * (a.at(delta) + b.at(-delta));
        first_.apply(pair.first, delta);
        second_.apply(pair.second, -delta);
        return rise;
    }

    double scale(Pair const& pair) {
        Side::Change const a = first_.change(pair.first);
        Side::Change const b = second_.change(pair.second);
        if (!(a.curvature > 0) || !(b.curvature > 0)) return 0;  // nothing holds the product's share of one side
        double const count = first_.count(pair.first) - second_.count(pair.second);
        auto rise = [&](double u) { return -0.5 * (a.at(std::expm1(u)) + b.at(std::expm1(-u))) + count * u; };
        // Newton from where it stands, halved until the ELBO rises.
        double u = 0;
        double best = 0;
        for (int k = 0; k < 20; ++k) {
            double const c = std::exp(u);
            double const slope_a = (a.slope + 2 * a.curvature * std::expm1(u)) * c;
            double const slope_b = (b.slope + 2 * b.curvature * std::expm1(-u)) / c;
            double const slope = -0.5 * (slope_a - slope_b) + count;
            double const curvature = -0.5 * (slope_a + 2 * a.curvature * c * c + slope_b + 2 * b.curvature / (c * c));
            double step = curvature < 0 ? -slope / curvature : (slope > 0 ? 0.5 : -0.5);
            step = std::clamp(step, -1.0, 1.0);
            while (std::abs(step) > 1e-12 && !(rise(u + step) >= best)) step /= 2;
            if (std::abs(step) <= 1e-12) break;
            u += step;
            best = rise(u);
        }
        first_.apply(pair.first, std::expm1(u));
        second_.apply(pair.second, std::expm1(-u));
        return best;
    }

    OrbitPlan const& orbit_;
    Side first_, second_;
    std::vector<Pair> scalings_, shears_;
};

}  // namespace

std::unique_ptr<FactorUpdate> make_orbit_update(UpdateContext const& context, OrbitPlan const& orbit) {
    if (!OrbitUpdate::fits(context, orbit)) return nullptr;
    return std::make_unique<OrbitUpdate>(context, orbit);
}

}  // namespace bam
