#include "posterior.hpp"

#include <Eigen/Dense>
#include <cmath>
#include <numbers>

namespace bam {

void for_each_system(BlockPlan const& block, Variable const& variable, Grid const& grid,
                     std::function<void(std::vector<std::uint32_t> const&, std::size_t, std::optional<std::size_t>)> const& f) {
    for (auto const& group : block.groups) {
        if (block.method != PlanMethod::Markov) {
            for (std::size_t e = first_index(variable, grid); e < grid.size(variable.extent); ++e) f(group, e, std::nullopt);
            continue;
        }
        std::size_t const lanes = variable.extent == Extent::Cell ? grid.sequences : 1;
        for (std::size_t lane = 0; lane < lanes; ++lane) {
            std::optional<std::size_t> before;
            std::size_t const steps = variable.extent == Extent::Cell ? grid.length(lane) : grid.steps;
            for (std::size_t t = variable.first_step; t < steps; ++t) {
                std::size_t const here = variable.extent == Extent::Cell ? grid.cell(lane, t) : t;
                f(group, here, before);
                before = here;
            }
        }
    }
}

Eigen::MatrixXd covariance_of(std::vector<std::uint32_t> const& group, std::size_t index, Covariances const& covariances) {
    auto const d = static_cast<Eigen::Index>(group.size());
    Eigen::MatrixXd result(d, d);
    for (Eigen::Index i = 0; i < d; ++i) {
        for (Eigen::Index j = 0; j < d; ++j)
            result(i, j) = covariances.at(group[static_cast<std::size_t>(i)], group[static_cast<std::size_t>(j)])[index];
    }
    return result;
}

Eigen::MatrixXd earlier_of(std::vector<std::uint32_t> const& group, std::size_t index, Covariances const& covariances) {
    auto const d = static_cast<Eigen::Index>(group.size());
    Eigen::MatrixXd result(d, d);
    for (Eigen::Index i = 0; i < d; ++i) {
        for (Eigen::Index j = 0; j < d; ++j)
            result(i, j) = covariances.before_at(group[static_cast<std::size_t>(i)], group[static_cast<std::size_t>(j)])[index];
    }
    return result;
}

double log_determinant(Eigen::MatrixXd const& matrix) {
    Eigen::LLT<Eigen::MatrixXd> const factor(matrix);
    double const log = 2 * factor.matrixLLT().diagonal().array().log().sum();
    return factor.info() == Eigen::Success && std::isfinite(log) ? log : -HUGE_VAL;
}

GivenBefore given_before(std::vector<std::uint32_t> const& group, std::size_t index, std::optional<std::size_t> before,
                         Covariances const& covariances) {
    GivenBefore result{covariance_of(group, index, covariances), {}};
    if (before) {
        Eigen::MatrixXd const cross = earlier_of(group, index, covariances);
        result.gain = covariance_of(group, *before, covariances).llt().solve(cross.transpose()).transpose();
        result.covariance -= result.gain * cross.transpose();
    }
    return result;
}

namespace {

/// Of a choice: the logarithms of the probabilities of what is chosen among.
std::vector<double> log_probabilities(std::vector<std::uint32_t> const& group, std::size_t here, std::vector<double> const& means,
                                      std::size_t size) {
    std::vector<double> logs;
    for (std::uint32_t const component : group) logs.push_back(std::log(means[component * size + here]));
    return logs;
}

/// Mean and Cholesky factor of the covariance of a system given the values one step back.
struct Given {
    Eigen::VectorXd mean;
    Eigen::MatrixXd root;
};

Given given(std::vector<std::uint32_t> const& group, std::size_t here, std::optional<std::size_t> before, std::vector<double> const& means,
            Covariances const& covariances, std::vector<double> const& values) {
    auto const d = static_cast<Eigen::Index>(group.size());
    GivenBefore const conditional = given_before(group, here, before, covariances);
    Given result{Eigen::VectorXd(d), conditional.covariance.llt().matrixL()};
    for (Eigen::Index i = 0; i < d; ++i) result.mean(i) = means[group[static_cast<std::size_t>(i)] * covariances.size + here];
    if (before) {
        Eigen::VectorXd deviation(d);
        for (Eigen::Index i = 0; i < d; ++i) {
            std::size_t const at = group[static_cast<std::size_t>(i)] * covariances.size + *before;
            deviation(i) = values[at] - means[at];
        }
        result.mean += conditional.gain * deviation;
    }
    return result;
}

}  // namespace

double log_factor_density(BlockPlan const& block, Variable const& variable, Grid const& grid, Posterior const& posterior,
                          std::vector<double> const& values, std::optional<std::size_t> step) {
    Covariances const& covariances = posterior.covariances[block.variable];
    double sum = 0;
    for_each_system(block, variable, grid, [&](auto const& group, std::size_t here, std::optional<std::size_t> before) {
        bool const is_there =
            !step || (variable.extent == Extent::Time ? here == *step : here >= grid.offsets[*step] && here < grid.offsets[*step + 1]);
        if (!is_there) return;
        if (variable.is_categorical) {
            auto const logs = log_probabilities(group, here, posterior.state.values[block.variable], covariances.size);
            for (std::size_t k = 0; k < group.size(); ++k)
                if (values[group[k] * covariances.size + here] > 0) sum += logs[k];
            return;
        }
        std::size_t const first = group.front() * covariances.size + here;
        if (TruncatedFactor const* const factor = posterior.truncated_at(block.variable, first)) {
            sum += factor->log_density(values[first]);
            return;
        }
        Given const of = given(group, here, before, posterior.state.values[block.variable], covariances, values);
        Eigen::VectorXd deviation = -of.mean;
        for (Eigen::Index i = 0; i < deviation.size(); ++i)
            deviation(i) += values[group[static_cast<std::size_t>(i)] * covariances.size + here];
        of.root.triangularView<Eigen::Lower>().solveInPlace(deviation);
        sum -= 0.5 * deviation.squaredNorm() + of.root.diagonal().array().log().sum() +
               0.5 * static_cast<double>(deviation.size()) * std::log(2 * std::numbers::pi);
    });
    return sum;
}

void draw_factor(BlockPlan const& block, Variable const& variable, Grid const& grid, Posterior const& posterior, NormalSource& normals,
                 std::vector<double>& values) {
    Covariances const& covariances = posterior.covariances[block.variable];
    for_each_system(block, variable, grid, [&](auto const& group, std::size_t here, std::optional<std::size_t> before) {
        if (variable.is_categorical) {
            std::size_t const chosen =
                normals.categorical(log_probabilities(group, here, posterior.state.values[block.variable], covariances.size));
            for (std::size_t k = 0; k < group.size(); ++k) values[group[k] * covariances.size + here] = k == chosen ? 1 : 0;
            return;
        }
        std::size_t const first = group.front() * covariances.size + here;
        if (TruncatedFactor const* const factor = posterior.truncated_at(block.variable, first)) {
            values[first] = normals.truncated(factor->density);
            return;
        }
        Given const of = given(group, here, before, posterior.state.values[block.variable], covariances, values);
        Eigen::VectorXd draw(of.mean.size());
        for (Eigen::Index i = 0; i < draw.size(); ++i) draw(i) = normals.normal();
        draw = of.mean + of.root.triangularView<Eigen::Lower>() * draw;
        for (Eigen::Index i = 0; i < draw.size(); ++i) values[group[static_cast<std::size_t>(i)] * covariances.size + here] = draw(i);
    });
}

double entropy(BlockPlan const& block, Variable const& variable, Grid const& grid, Posterior const& posterior) {
    Covariances const& covariances = posterior.covariances[block.variable];
    double sum = 0;
    if (variable.learnt_from) return sum;
    for_each_system(block, variable, grid, [&](auto const& group, std::size_t here, std::optional<std::size_t> before) {
        if (variable.is_categorical) {
            for (std::uint32_t const component : group)
                if (double const p = posterior.state.values[block.variable][component * covariances.size + here]; p > 0)
                    sum -= p * std::log(p);
            return;
        }
        if (TruncatedFactor const* const factor = posterior.truncated_at(block.variable, group.front() * covariances.size + here)) {
            sum += covariances.at(group.front(), group.front())[here] > 0 ? factor->entropy : -HUGE_VAL;
            return;
        }
        sum += 0.5 * (log_determinant(given_before(group, here, before, covariances).covariance) +
                      static_cast<double>(group.size()) * (1 + std::log(2 * std::numbers::pi)));
    });
    return sum;
}

}  // namespace bam
