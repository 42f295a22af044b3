// Lines of columns, as they stand on a terminal.
#pragma once

#include <string>
#include <vector>

namespace bam {

/// Columns two blanks apart, each as wide as its widest field; a line ends with its last field. Columns that `is_number` names stand to the
/// right. All lines have as many fields as the first.
std::string text_table(std::vector<std::vector<std::string>> const& lines, std::vector<bool> const& is_number);

}  // namespace bam
