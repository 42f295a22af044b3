#include "normal_equations.hpp"

#include <algorithm>

#include "kernels.hpp"

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
        if (source.kronecker) {
            auto const rows = static_cast<Eigen::Index>(equation.runner->capacity());
            auto const left = static_cast<Eigen::Index>(source.kronecker->left.size());
            auto const right = static_cast<Eigen::Index>(source.kronecker->right.front().size());
            KroneckerSum sum;
            sum.plan = &*source.kronecker;
            sum.left.resize(rows, left);
            sum.left_pairs.resize(rows, left * (left + 1) / 2);
            sum.right_pairs.resize(rows, right * (right + 1) / 2);
            sum.right_offsets.resize(rows, right);
            sum.pairs.resize(left * (left + 1) / 2, right * (right + 1) / 2);
            sum.linear.resize(left, right);
            equation.kronecker = std::move(sum);
        }
        equations_.push_back(std::move(equation));
    }
}

void NormalEquations::accumulate() {
    for (auto& precision : precision_) precision.setZero();
    for (auto& linear : linear_) linear.setZero();
    for (Equation& equation : equations_) {
        for (Sum& sum : equation.sums) sum.moments.setZero();
        if (equation.kronecker) {
            equation.kronecker->pairs.setZero();
            equation.kronecker->linear.setZero();
        }
        double const precision = factors_.common_precision(equation.factor);
        if (precision == 0) continue;
        PassRunner& runner = *equation.runner;
        runner.begin();
        for (Chunk const& chunk : runner.chunks()) {
            runner.run(chunk);
            for (Sum& sum : equation.sums) add_rows(sum, runner, runner.size(chunk));
            if (equation.kronecker) add_chunk(*equation.kronecker, runner, runner.size(chunk));
        }
        for (Sum const& sum : equation.sums) scatter(sum, precision);
        if (equation.kronecker) scatter(*equation.kronecker, precision);
    }
}

void NormalEquations::add_rows(Sum& sum, PassRunner const& runner, std::size_t n) {
    auto const k = static_cast<std::size_t>(sum.moments.rows());
    // Nobody asks for the square of the offset.
    for (std::uint32_t start : sum.starts) add_gram(sum.moments.data(), runner.at(start), runner.capacity(), k, n, !sum.has_offset);
}

void NormalEquations::scatter(Sum const& sum, double precision) {
    Eigen::MatrixXd& matrix = precision_[sum.group];
    Eigen::VectorXd& linear = linear_[sum.group];
    auto const k = static_cast<Eigen::Index>(sum.active.size());
    for (Eigen::Index j = 0; j < k; ++j) {
        for (Eigen::Index i = j; i < k; ++i)
            matrix(sum.active[static_cast<std::size_t>(i)], sum.active[static_cast<std::size_t>(j)]) += precision * sum.moments(i, j);
        if (sum.has_offset) linear(sum.active[static_cast<std::size_t>(j)]) -= precision * sum.moments(k, j);
    }
}

namespace {

/// out = a b, or out += a b
void multiply(double* out, double const* a, double const* b, std::size_t n, bool is_first) {
    if (is_first) {
        for (std::size_t i = 0; i < n; ++i) out[i] = a[i] * b[i];
    } else {
        for (std::size_t i = 0; i < n; ++i) out[i] += a[i] * b[i];
    }
}

}  // namespace

void NormalEquations::add_chunk(KroneckerSum& sum, PassRunner const& runner, std::size_t n) {
    KroneckerPlan const& plan = *sum.plan;
    auto const rows = static_cast<Eigen::Index>(n);
    Eigen::Index pair = 0;
    for (std::size_t i = 0; i < plan.left.size(); ++i) {
        std::copy_n(runner.at(plan.left[i]), n, sum.left.col(static_cast<Eigen::Index>(i)).data());
        for (std::size_t j = 0; j <= i; ++j)
            multiply(sum.left_pairs.col(pair++).data(), runner.at(plan.left[i]), runner.at(plan.left[j]), n, true);
    }
    bool has_offset = false;
    for (std::size_t p = 0; p < plan.right.size(); ++p) {
        std::vector<std::uint32_t> const& right = plan.right[p];
        pair = 0;
        for (std::size_t i = 0; i < right.size(); ++i) {
            for (std::size_t j = 0; j <= i; ++j)
                multiply(sum.right_pairs.col(pair++).data(), runner.at(right[i]), runner.at(right[j]), n, p == 0);
        }
        if (plan.offsets[p] == no_register) continue;
        for (std::size_t i = 0; i < right.size(); ++i) {
            multiply(sum.right_offsets.col(static_cast<Eigen::Index>(i)).data(), runner.at(right[i]), runner.at(plan.offsets[p]), n,
                     !has_offset);
        }
        has_offset = true;
    }
    sum.pairs.noalias() += sum.left_pairs.topRows(rows).transpose() * sum.right_pairs.topRows(rows);
    if (has_offset) sum.linear.noalias() += sum.left.topRows(rows).transpose() * sum.right_offsets.topRows(rows);
}

void NormalEquations::scatter(KroneckerSum const& sum, double precision) {
    Eigen::MatrixXd& matrix = precision_.front();
    Eigen::VectorXd& linear = linear_.front();
    auto const lefts = static_cast<Eigen::Index>(sum.plan->left.size());
    auto const rights = sum.linear.cols();
    auto position = [&](Eigen::Index i, Eigen::Index j) {
        return static_cast<Eigen::Index>(sum.plan->position[static_cast<std::size_t>(i * rights + j)]);
    };
    auto pair = [](Eigen::Index i, Eigen::Index j) { return i >= j ? i * (i + 1) / 2 + j : j * (j + 1) / 2 + i; };
    for (Eigen::Index i = 0; i < lefts; ++i) {
        for (Eigen::Index j = 0; j < rights; ++j) {
            Eigen::Index const row = position(i, j);
            linear(row) -= precision * sum.linear(i, j);
            for (Eigen::Index k = 0; k < lefts; ++k) {
                for (Eigen::Index l = 0; l < rights; ++l) {
                    Eigen::Index const column = position(k, l);
                    if (column <= row) matrix(row, column) += precision * sum.pairs(pair(i, k), pair(j, l));
                }
            }
        }
    }
}

}  // namespace bam
