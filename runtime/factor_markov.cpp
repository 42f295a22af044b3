#include <Eigen/Dense>

#include "factor_update.hpp"

namespace bam {
namespace {

/// Blocks over time coupled to the step before. With L the Cholesky factor of the block tridiagonal precision, L[t] on the diagonal and
/// B[t] between t and t - 1, the blocks of its inverse that are needed follow backward (Takahashi, Fagan and Chin 1973): with G = B[t+1]
/// inv(L[t]),
///     V[t+1, t] = -V[t+1] G,     V[t] = inv(L[t] L[t]') + G' V[t+1] G.
class MarkovUpdate : public FactorUpdate {
  public:
    MarkovUpdate(UpdateContext const& context, BlockPlan const& block)
        : block_(block), posterior_(context.posterior), factors_(context, block.variable) {}

    double update() override {
        factors_.differentiate();
        double rise = -entropy(block_, factors_.variable, factors_.grid, posterior_);
        for (auto const& group : block_.groups) {
            std::size_t const lanes = factors_.variable.extent == Extent::Cell ? factors_.grid.sequences : 1;
            for (std::size_t lane = 0; lane < lanes; ++lane) rise += update_path(group, lane);
        }
        return rise + entropy(block_, factors_.variable, factors_.grid, posterior_);
    }

  private:
    std::size_t index(std::size_t lane, std::size_t step) const {
        return factors_.variable.extent == Extent::Cell ? factors_.grid.cell(lane, step) : step;
    }

    /// Precision between a step and the one before.
    Eigen::MatrixXd coupling(std::vector<std::uint32_t> const& group, std::size_t here) const {
        Covariances const& covariances = factors_.covariances;
        auto const d = static_cast<Eigen::Index>(group.size());
        Eigen::MatrixXd result(d, d);
        for (Eigen::Index i = 0; i < d; ++i) {
            for (Eigen::Index j = 0; j < d; ++j) {
                std::uint32_t const pair =
                    covariances.earlier[group[static_cast<std::size_t>(i)] * covariances.components + group[static_cast<std::size_t>(j)]];
                result(i, j) = 0.5 * factors_.gradient.before[pair * covariances.size + here];
            }
        }
        return result;
    }

    double update_path(std::vector<std::uint32_t> const& group, std::size_t lane) {
        auto const d = static_cast<Eigen::Index>(group.size());
        std::size_t const steps = factors_.variable.extent == Extent::Cell ? factors_.grid.length(lane) : factors_.grid.steps;
        std::size_t const first = factors_.variable.first_step;
        if (steps <= first) return 0;
        Covariances& covariances = factors_.covariances;
        std::vector<Eigen::MatrixXd> L(steps), B(steps);
        std::vector<Eigen::VectorXd> v(steps);
        double change = 0;  // of F
        for (std::size_t t = first; t < steps; ++t) {
            std::size_t const here = index(lane, t);
            Eigen::MatrixXd precision = factors_.precision(group, here);
            change += static_cast<double>(d) - precision.cwiseProduct(covariance_of(group, here, covariances)).sum();
            v[t] = -0.5 * factors_.slope(group, here);
            if (t > first) {
                Eigen::MatrixXd const E = coupling(group, here);
                change -= 2 * E.cwiseProduct(earlier_of(group, here, covariances)).sum();
                B[t] = L[t - 1].triangularView<Eigen::Lower>().solve(E.transpose()).transpose();
                precision.noalias() -= B[t] * B[t].transpose();
                v[t].noalias() -= B[t] * v[t - 1];
            }
            Eigen::LLT<Eigen::MatrixXd> const factor(precision);
            if (factor.info() != Eigen::Success) factors_.fail();
            L[t] = factor.matrixL();
            v[t] = L[t].triangularView<Eigen::Lower>().solve(v[t]);
        }
        Eigen::MatrixXd later;
        Eigen::VectorXd move;
        for (std::size_t t = steps; t-- > first;) {
            std::size_t const here = index(lane, t);
            Eigen::MatrixXd const half = L[t].triangularView<Eigen::Lower>().solve(Eigen::MatrixXd::Identity(d, d));
            Eigen::MatrixXd covariance = half.transpose() * half;
            Eigen::VectorXd right = v[t];
            if (t + 1 < steps) {
                Eigen::MatrixXd const G = B[t + 1] * half;
                Eigen::MatrixXd const cross = -later * G;
                std::size_t const next = index(lane, t + 1);
                for (Eigen::Index i = 0; i < d; ++i) {
                    for (Eigen::Index j = 0; j < d; ++j)
                        covariances.before_at(group[static_cast<std::size_t>(i)], group[static_cast<std::size_t>(j)])[next] = cross(i, j);
                }
                covariance += G.transpose() * later * G;
                right.noalias() -= B[t + 1].transpose() * move;
            }
            move = L[t].triangularView<Eigen::Lower>().transpose().solve(right);
            for (Eigen::Index i = 0; i < d; ++i) {
                std::size_t const at = group[static_cast<std::size_t>(i)] * covariances.size + here;
                change += 0.5 * factors_.gradient.mean[at] * move(i);
                factors_.means[at] += move(i);
                for (Eigen::Index j = 0; j <= i; ++j)
                    covariances.at(group[static_cast<std::size_t>(i)], group[static_cast<std::size_t>(j)])[here] = covariance(i, j);
            }
            later = covariance;
        }
        return -0.5 * change;
    }

    BlockPlan const& block_;
    Posterior const& posterior_;
    GaussianFactors factors_;
};

}  // namespace

std::unique_ptr<FactorUpdate> make_markov_update(UpdateContext const& context, BlockPlan const& block) {
    return std::make_unique<MarkovUpdate>(context, block);
}

}  // namespace bam
