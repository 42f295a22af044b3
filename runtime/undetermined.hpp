// Why a normal draw failed: the entries of a block that nothing tells apart.
#pragma once

#include <Eigen/Core>
#include <string>
#include <vector>

#include "bind.hpp"
#include "plan.hpp"

namespace bam {

/// "nothing tells `b[one]` and `b[year]` apart": the entries of the direction in which a precision (lower triangle) is weakest, scaled to a
/// unit diagonal. `components`: of the variable, one per row, at `index` of its extent.
std::string explain_undetermined(Eigen::MatrixXd const& precision, std::vector<std::uint32_t> const& components, std::size_t index,
                                 Variable const& variable, Layout const& layout, Bound const& bound);

/// "the full conditional of b has no finite variance", with what to do about it unless it is a matter of numbers.
std::string without_variance(Variable const& variable, std::string const& advice, bool is_of_numbers);

}  // namespace bam
