// A model as text, a line for each thing in it: `bam check --dump=check`.
#pragma once

#include <string>

#include "notation.hpp"

namespace bam {

/// Dims, symbols, definitions, factors, priors of scales and bindings, a line each.
std::string print(Model const& model);

/// ` where t >= 1, out = conc`, or nothing if the region is the whole target.
std::string to_text(Model const& model, Region const& region);

}  // namespace bam
