// Changes of two blocks by the same numbers that no factor but their own priors can see.
#pragma once

#include <vector>

#include "model.hpp"

namespace bam {

/// Of two blocks with the same dims, entry by entry: first + c, and second + c or, `is_opposite`, second - c.
struct Translation {
    SymbolId first = 0;
    SymbolId second = 0;
    bool is_opposite = false;
};

/// Of blocks that are not over time (math.md, 8. What the likelihood cannot see).
std::vector<Translation> translations(Model& model);

}  // namespace bam
