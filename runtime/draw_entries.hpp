// Where the entries of a variable stand in a row of draws.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "draws.hpp"
#include "plan.hpp"

namespace bam {

/// Columns by component, and within it by sequence and step in the order of the run; nothing if some are not among the draws.
std::optional<std::vector<std::vector<std::size_t>>> columns_of(Layout const& layout, Variable const& variable, Run const& run);
std::optional<std::vector<std::vector<std::size_t>>> columns_of(Layout const& layout, ReportPlan const& report, Run const& run);

/// The name of the labelled dim of whose i-th index the i-th slice is, components of the variable; empty if there is none.
std::string dim_of(Layout const& layout, Variable const& variable, std::vector<std::vector<std::uint32_t>> const& slices);

}  // namespace bam
