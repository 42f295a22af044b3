// Tree to text: `bam fmt`, and the dump of `bam check --dump=parse`.
#pragma once

#include <string>

#include "source.hpp"
#include "tree.hpp"

namespace bam {

/// The file as everyone writes it: one statement a line, two blanks of indent, no needless parentheses, operators of `param` and `table`
/// and comments behind statements in columns; brackets that span lines, or are too long for one, have an entry a line. Keeps every
/// comment and single blank lines. The result parses to the same tree, and formatting it again changes nothing. For a file without errors.
std::string format(tree::File const& file, Sources const& sources);

/// The tree, a node a line, with spans as line:column.
std::string print(tree::File const& file, Sources const& sources);

}  // namespace bam
