// Which entries of categorical parameters are sure, in words.
#pragma once

#include <string>
#include <vector>

#include "summary.hpp"

namespace bam {

inline constexpr double sure_assignment = 0.9;

/// Per categorical parameter, a sentence: how many of its choices have a probability below sure_assignment, and the least sure of them.
/// Draws hold one choice each, so that predictions mix over them as they are. Nothing of parameters that are `left_out`.
std::vector<std::string> say_assignments(std::vector<SummaryRow> const& rows, std::vector<std::string> const& left_out = {});

}  // namespace bam
