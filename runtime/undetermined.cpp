#include "undetermined.hpp"

#include <fmt/format.h>

#include <Eigen/Eigenvalues>
#include <cmath>

#include "entry_name.hpp"
#include "words.hpp"

namespace bam {
namespace {

constexpr double least_share = 0.1;  ///< of the largest coefficient: what is smaller is rounding, or hardly takes part

}  // namespace

std::string explain_undetermined(Eigen::MatrixXd const& precision, std::vector<std::uint32_t> const& components, std::size_t index,
                                 Variable const& variable, Layout const& layout, Bound const& bound) {
    std::vector<std::string> names;
    auto const name = [&](Eigen::Index i) { return entry_name(variable, components[static_cast<std::size_t>(i)], index, layout, bound); };
    for (Eigen::Index i = 0; i < precision.rows(); ++i)
        if (!(precision(i, i) > 0)) names.push_back(name(i));
    if (!names.empty()) return fmt::format("nothing determines {}", first_few(names));
    Eigen::VectorXd const scale = precision.diagonal().cwiseSqrt().cwiseInverse();
    Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> const solver(scale.asDiagonal() * precision * scale.asDiagonal());  // reads the lower
    Eigen::VectorXd const weakest = solver.eigenvectors().col(0).cwiseAbs();
    for (Eigen::Index i = 0; i < weakest.size(); ++i)
        if (weakest(i) > least_share * weakest.maxCoeff()) names.push_back(name(i));
    if (names.size() == 1) return fmt::format("nothing determines {}", first_few(names));
    return fmt::format("nothing tells {} apart", first_few(names));
}

std::string without_variance(Variable const& variable, std::string const& advice, bool is_of_numbers) {
    return fmt::format("the full conditional of {} has no finite variance{}", variable.name, is_of_numbers ? "" : "; " + advice);
}

}  // namespace bam
