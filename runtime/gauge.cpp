#include "gauge.hpp"

#include <Eigen/QR>
#include <Eigen/SVD>
#include <algorithm>
#include <cmath>

#include "matching.hpp"

namespace bam {
namespace {

/// Rows of a block as an orthonormal basis times a small matrix: A' = Q R, [entries, k] and [k, units], k the fewer of both.
struct Thin {
    Eigen::MatrixXd basis, small;

    explicit Thin(Eigen::MatrixXd const& rows) {
        Eigen::HouseholderQR<Eigen::MatrixXd> const qr(rows.transpose());
        Eigen::Index const k = std::min(rows.rows(), rows.cols());
        basis = qr.householderQ() * Eigen::MatrixXd::Identity(rows.cols(), k);
        small = qr.matrixQR().topRows(k).triangularView<Eigen::Upper>();
    }
};

Eigen::VectorXd to_svd_gauge(Eigen::MatrixXd& a, Eigen::MatrixXd& b) {
    Thin const left(a), right(b);
    Eigen::JacobiSVD<Eigen::MatrixXd> const svd(left.small * right.small.transpose(), Eigen::ComputeThinU | Eigen::ComputeThinV);
    Eigen::VectorXd const roots = svd.singularValues().cwiseSqrt();
    a.setZero();
    b.setZero();
    a.topRows(roots.size()) = roots.asDiagonal() * (left.basis * svd.matrixU()).transpose();
    b.topRows(roots.size()) = roots.asDiagonal() * (right.basis * svd.matrixV()).transpose();
    return svd.singularValues();
}

/// Norms of some to their geometric mean. Of a product that is 0 nothing can be said.
template <typename Part>
void balance(std::size_t count, Part const& part) {
    double logarithms = 0;
    for (std::size_t k = 0; k < count; ++k) logarithms += std::log(part(k).norm());
    if (!std::isfinite(logarithms)) return;
    double const norm = std::exp(logarithms / static_cast<double>(count));
    for (std::size_t k = 0; k < count; ++k) part(k) *= norm / part(k).norm();
}

Eigen::Index index(std::size_t k) { return static_cast<Eigen::Index>(k); }

/// Signs of the summands, with the product `parity`, that make their sum largest: all as they are, or all but the smallest.
double best_signs(Eigen::VectorXd const& summands, double parity, Eigen::VectorXd& signs) {
    signs = (summands.array() < 0).select(-Eigen::VectorXd::Ones(summands.size()), Eigen::VectorXd::Ones(summands.size()));
    if (signs.prod() != parity) {
        Eigen::Index least = 0;
        summands.cwiseAbs().minCoeff(&least);
        signs(least) = -signs(least);
    }
    return signs.dot(summands);
}

/// One group matched under a sign of the product of its blocks.
struct Candidate {
    GaugeMatch::Group group;
    double value = 0;
};

Candidate match_group(GaugeGroup const& group, BlockValues const& values, BlockValues const& reference, double parity) {
    Eigen::Index const n = values[group.blocks.front()].rows();
    std::vector<Eigen::MatrixXd> products;  // per block, [row of the reference, row of the values]
    for (std::size_t const b : group.blocks) products.push_back(reference[b] * values[b].transpose());
    auto const summands = [&](Eigen::Index i, Eigen::Index j) {
        Eigen::VectorXd of_blocks(index(products.size()));
        for (std::size_t k = 0; k < products.size(); ++k) of_blocks(index(k)) = products[k](i, j);
        return of_blocks;
    };
    Candidate found;
    Eigen::VectorXd signs;
    if (group.mixes) {
        Eigen::MatrixXd gains(n, n);
        for (Eigen::Index i = 0; i < n; ++i)
            for (Eigen::Index j = 0; j < n; ++j) gains(i, j) = best_signs(summands(i, j), parity, signs);
        found.group.rows = best_matching(gains);
    } else {
        for (Eigen::Index i = 0; i < n; ++i) found.group.rows.push_back(static_cast<std::size_t>(i));
    }
    found.group.signs.resize(n, index(group.blocks.size()));
    for (Eigen::Index i = 0; i < n; ++i) {
        found.value += best_signs(summands(i, index(found.group.rows[static_cast<std::size_t>(i)])), parity, signs);
        found.group.signs.row(i) = signs.transpose();
    }
    return found;
}

void flip(Eigen::MatrixXd& rows) { rows = -rows; }

/// Whether the entry that is largest without its sign is below 0.
template <typename Rows>
bool points_down(Rows const& rows) {
    Eigen::Index row = 0, column = 0;
    rows.cwiseAbs().maxCoeff(&row, &column);
    return rows(row, column) < 0;
}

}  // namespace

void to_gauge(std::vector<GaugeGroup> const& groups, BlockValues& values, std::vector<Eigen::VectorXd>* sizes) {
    for (GaugeGroup const& group : groups) {
        if (group.mixes) {
            Eigen::VectorXd found = to_svd_gauge(values[group.blocks[0]], values[group.blocks[1]]);
            if (sizes != nullptr) sizes->push_back(std::move(found));
            continue;
        }
        for (Eigen::Index i = 0; i < values[group.blocks.front()].rows(); ++i)
            balance(group.blocks.size(), [&](std::size_t k) { return values[group.blocks[k]].row(i); });
    }
    balance(values.size(), [&](std::size_t b) -> Eigen::MatrixXd& { return values[b]; });
}

// The sign of the product of all blocks is free in no way: that of the groups' products is, but for one. So each group takes the better of
// both signs, and if these do not multiply to 1, the group that loses least takes the other one.
GaugeMatch match(std::vector<GaugeGroup> const& groups, BlockValues const& values, BlockValues const& reference) {
    GaugeMatch result;
    std::vector<Candidate> others;
    double parity = 1, least_loss = 0;
    std::size_t least = 0;
    for (std::size_t g = 0; g < groups.size(); ++g) {
        Candidate even = match_group(groups[g], values, reference, 1);
        Candidate odd = match_group(groups[g], values, reference, -1);
        if (odd.value > even.value) {
            std::swap(even, odd);
            parity = -parity;
        }
        double const loss = even.value - odd.value;
        if (g == 0 || loss < least_loss) {
            least_loss = loss;
            least = g;
        }
        result.value += even.value;
        result.groups.push_back(std::move(even.group));
        others.push_back(std::move(odd));
    }
    if (parity < 0) {
        result.value -= least_loss;
        result.groups[least] = std::move(others[least].group);
    }
    return result;
}

void apply(GaugeMatch const& found, std::vector<GaugeGroup> const& groups, BlockValues& values) {
    for (std::size_t g = 0; g < groups.size(); ++g) {
        GaugeMatch::Group const& group = found.groups[g];
        for (std::size_t k = 0; k < groups[g].blocks.size(); ++k) {
            Eigen::MatrixXd& rows = values[groups[g].blocks[k]];
            Eigen::MatrixXd const old = rows;
            for (Eigen::Index i = 0; i < rows.rows(); ++i)
                rows.row(i) = group.signs(i, index(k)) * old.row(index(group.rows[static_cast<std::size_t>(i)]));
        }
    }
}

// Rows of all blocks of a group but the last are made to point up, the last one's making up for it; then, of all groups but the first, the
// first row of the last block, the whole block and the last block of the first group turning together.
void orient(std::vector<GaugeGroup> const& groups, BlockValues& values) {
    for (GaugeGroup const& group : groups) {
        Eigen::MatrixXd& last = values[group.blocks.back()];
        for (std::size_t k = 0; k + 1 < group.blocks.size(); ++k) {
            Eigen::MatrixXd& rows = values[group.blocks[k]];
            for (Eigen::Index i = 0; i < rows.rows(); ++i) {
                if (!points_down(rows.row(i))) continue;
                rows.row(i) *= -1;
                last.row(i) *= -1;
            }
        }
    }
    for (std::size_t g = 1; g < groups.size(); ++g) {
        Eigen::MatrixXd& last = values[groups[g].blocks.back()];
        if (!points_down(last.row(0))) continue;
        flip(last);
        flip(values[groups.front().blocks.back()]);
    }
}

}  // namespace bam
