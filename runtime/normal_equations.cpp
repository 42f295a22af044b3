#include "normal_equations.hpp"

#include <algorithm>

namespace bam {

NormalEquations::NormalEquations(BlockPlan const& block, Inputs const& inputs, Factors const& factors) : factors_(factors) {
    for (auto const& group : block.groups) {
        auto const d = static_cast<Eigen::Index>(group.size());
        precision_.emplace_back(Eigen::MatrixXd::Zero(d, d));
        linear_.emplace_back(Eigen::VectorXd::Zero(d));
    }
    for (Equations const& source : block.equations) {
        Equation equation;
        equation.factor = source.factor;
        std::vector<std::vector<std::uint32_t>> runs;
        for (std::size_t g = 0; g < source.groups.size(); ++g) {
            for (EquationRow const& row : source.groups[g]) {
                std::vector<std::uint32_t> run;
                std::vector<Eigen::Index> active;
                for (std::size_t i = 0; i < row.covariates.size(); ++i) {
                    if (row.covariates[i] == no_register) continue;
                    run.push_back(row.covariates[i]);
                    active.push_back(static_cast<Eigen::Index>(i));
                }
                bool const has_offset = row.offset != no_register;
                if (has_offset) run.push_back(row.offset);
                auto it = std::find_if(equation.sums.begin(), equation.sums.end(), [&](Sum const& sum) {
                    return sum.group == g && sum.active == active && sum.has_offset == has_offset;
                });
                if (it == equation.sums.end()) {
                    auto const k = static_cast<Eigen::Index>(run.size());
                    equation.sums.push_back({g, active, {}, has_offset, Eigen::MatrixXd::Zero(k, k)});
                    it = equation.sums.end() - 1;
                }
                it->starts.push_back(run.front());
                runs.push_back(std::move(run));
            }
        }
        equation.runner = std::make_unique<PassRunner>(source.pass, inputs, runs);
        equations_.push_back(std::move(equation));
    }
}

void NormalEquations::accumulate() {
    for (auto& precision : precision_) precision.setZero();
    for (auto& linear : linear_) linear.setZero();
    for (Equation& equation : equations_) {
        for (Sum& sum : equation.sums) sum.moments.setZero();
        PassRunner& runner = *equation.runner;
        runner.begin();
        for (Chunk const& chunk : runner.chunks()) {
            runner.run(chunk);
            for (Sum& sum : equation.sums) add_rows(sum, runner, runner.size(chunk));
        }
        double const precision = factors_.common_precision(equation.factor);
        for (Sum const& sum : equation.sums) scatter(sum, precision);
    }
}

void NormalEquations::add_rows(Sum& sum, PassRunner const& runner, std::size_t n) {
    auto const rows = static_cast<Eigen::Index>(n);
    auto const k = sum.moments.rows();
    Eigen::OuterStride<> const stride(static_cast<Eigen::Index>(runner.capacity()));
    for (std::uint32_t start : sum.starts) {
        Eigen::Map<Eigen::MatrixXd const, 0, Eigen::OuterStride<>> const columns(runner.at(start), rows, k, stride);
        if (k == 1) {
            sum.moments(0, 0) += columns.col(0).squaredNorm();  // rankUpdate takes a 1 x k for a vector of length k (Eigen 3.4.0)
        } else {
            sum.moments.selfadjointView<Eigen::Lower>().rankUpdate(columns.transpose());
        }
    }
}

void NormalEquations::scatter(Sum const& sum, double precision) {
    Eigen::MatrixXd& matrix = precision_[sum.group];
    Eigen::VectorXd& linear = linear_[sum.group];
    auto const k = static_cast<Eigen::Index>(sum.active.size());
    for (Eigen::Index j = 0; j < k; ++j) {
        for (Eigen::Index i = j; i < k; ++i) matrix(sum.active[static_cast<std::size_t>(i)], sum.active[static_cast<std::size_t>(j)]) += precision * sum.moments(i, j);
        if (sum.has_offset) linear(sum.active[static_cast<std::size_t>(j)]) -= precision * sum.moments(k, j);
    }
}

}  // namespace bam
