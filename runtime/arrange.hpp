// Rows of a table become cells of a grid: which sequence a row belongs to, and which step of it the row is.
#pragma once

#include <string>

#include "bind.hpp"

namespace bam {

/// Fills everything of `bound` but the data. Reports BAM0442..0447 and BAM0453 (listed in arrange.cpp); false after an error.
bool arrange(Layout const& layout, Table const& table, Bound& bound, Diagnostics& diagnostics);

/// Where a cell is, in the model's own words: "seq s07, t 3". What the model does not tell apart is left out; "the table" if that is all.
std::string describe_cell(Layout const& layout, Bound const& bound, std::size_t sequence, std::size_t step);

}  // namespace bam
