// Text to tree. The only file of Spirit parsers is grammar.cpp.
#pragma once

#include "source.hpp"
#include "tree.hpp"

namespace bam {

/// Parses one source. Every statement that does not parse is reported and left out, so that one run shows all independent errors.
tree::File parse(Sources const& sources, std::uint32_t source, Diagnostics& diagnostics);

}  // namespace bam
