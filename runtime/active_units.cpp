#include "active_units.hpp"

#include <fmt/format.h>

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "draw_entries.hpp"

namespace bam {
namespace {

/// Products of the slices of one block: G[i][j] = A[i]'A[j].
Eigen::MatrixXd gram(std::vector<std::vector<std::uint32_t>> const& slices, std::vector<std::vector<std::size_t>> const& columns,
                     double const* row) {
    auto const n = static_cast<Eigen::Index>(slices.size());
    Eigen::MatrixXd result(n, n);
    for (Eigen::Index i = 0; i < n; ++i) {
        for (Eigen::Index j = 0; j <= i; ++j) {
            auto const& left = slices[static_cast<std::size_t>(i)];
            auto const& right = slices[static_cast<std::size_t>(j)];
            double sum = 0;
            for (std::size_t k = 0; k < left.size(); ++k) sum += row[columns[left[k]].front()] * row[columns[right[k]].front()];
            result(i, j) = result(j, i) = sum;
        }
    }
    return result;
}

/// Squares of the sizes. The squared singular values of A'B are the eigenvalues of root(AA') BB' root(AA').
Eigen::VectorXd squared_sizes(Eigen::MatrixXd const& a, Eigen::MatrixXd const& b, bool is_diagonal) {
    if (is_diagonal) return a.diagonal().cwiseProduct(b.diagonal());
    Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> const of_a(a);
    Eigen::VectorXd const roots = of_a.eigenvalues().cwiseMax(0).cwiseSqrt();
    Eigen::MatrixXd const root = of_a.eigenvectors() * roots.asDiagonal() * of_a.eigenvectors().transpose();
    return Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd>(root * b * root, Eigen::EigenvaluesOnly).eigenvalues().cwiseMax(0);
}

std::string percent(double share) { return share > 0 && share < 0.01 ? "under 1" : fmt::format("{:.0f}", 100 * share); }

}  // namespace

std::vector<ActiveUnits> find_active_units(Layout const& layout, std::vector<OrbitPlan> const& orbits, Run const& run) {
    std::vector<ActiveUnits> result;
    for (OrbitPlan const& orbit : orbits) {
        Variable const& first = layout.variables[orbit.first];
        Variable const& second = layout.variables[orbit.second];
        if (!orbit.has_dim || orbit.first_slices.size() < 2 || first.extent != Extent::One || second.extent != Extent::One) continue;
        auto const of_first = columns_of(layout, first, run);
        auto const of_second = columns_of(layout, second, run);
        if (!of_first || !of_second) continue;
        std::size_t const size = orbit.first_slices.size();
        ActiveUnits units{dim_of(layout, first, orbit.first_slices), first.name, second.name, size, std::vector<double>(size + 1, 0.0)};
        double draws = 0;
        for (Chain const& chain : run.chains) {
            for (std::size_t d = 0; d < chain.log_joint.size(); ++d) {
                double const* const row = chain.values.data() + d * run.columns.size();
                Eigen::VectorXd const squares =
                    squared_sizes(gram(orbit.first_slices, *of_first, row), gram(orbit.second_slices, *of_second, row), orbit.is_diagonal);
                double const least = active_share * active_share * squares.maxCoeff();
                auto const count = std::count_if(squares.data(), squares.data() + squares.size(),
                                                 [&](double square) { return square > 0 && square >= least; });
                units.shares[static_cast<std::size_t>(count)] += 1;
                draws += 1;
            }
        }
        if (draws == 0) continue;
        for (double& share : units.shares) share /= draws;
        result.push_back(std::move(units));
    }
    return result;
}

std::string active_units_text(std::vector<ActiveUnits> const& units) {
    std::string text;
    for (ActiveUnits const& one : units) {
        std::vector<std::size_t> counts;
        for (std::size_t k = 0; k < one.shares.size(); ++k)
            if (one.shares[k] > 0) counts.push_back(k);
        std::stable_sort(counts.begin(), counts.end(), [&](std::size_t a, std::size_t b) { return one.shares[a] > one.shares[b]; });
        std::string list;
        for (std::size_t const k : counts)
            list += list.empty() ? fmt::format("{} of {} in {} % of the draws", k, one.size, percent(one.shares[k]))
                                 : fmt::format(", {} in {} %", k, percent(one.shares[k]));
        text += fmt::format("{}s that count ({} and {}): {}\n", one.dim, one.first, one.second, list);
    }
    return text;
}

std::string active_units_json(std::vector<ActiveUnits> const& units) {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (ActiveUnits const& one : units)
        list.push_back({{"dim", one.dim}, {"blocks", {one.first, one.second}}, {"size", one.size}, {"shares", one.shares}});
    return list.dump();
}

}  // namespace bam
