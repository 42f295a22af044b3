// Columns whose values are labels of a dim.
#pragma once

#include <string>
#include <vector>

#include "column.hpp"
#include "compile.hpp"
#include "table.hpp"

namespace bam {

/// Puts the values of the columns that `labels` does not have behind those that it has: in the order of the numbers if all of the new ones
/// are numbers, of their texts otherwise. Reports BAM0420 for a column that is not there.
void add_labels(LabelColumns const& columns, Table const& table, std::vector<std::string>& labels, Diagnostics& diagnostics);

/// Per row: the number, from 1, of the Text of `expression`, a Label, that the cell has; NaN where it is missing. Throws std::logic_error
/// for a cell that has none of them: add_labels() has read them all.
std::vector<double> label_numbers(ColumnExpr const& expression, Table const& table, std::size_t column);

}  // namespace bam
