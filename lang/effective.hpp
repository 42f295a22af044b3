// Which prior every entry of every parameter has in the end, where it was said, and what in it looks like a slip.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "model.hpp"
#include "stated_priors.hpp"

namespace bam {

/// Of every parameter of the model, its entries in as few boxes as have one prior each; of statements, those that no entry follows.
PriorList effective_priors(Model const& model);

/// Priors that are likely to say something else than was meant. `steps`: of the longest sequence, if there is a table. BAM0320, BAM0321,
/// BAM0322, listed in suspicions.cpp.
Diagnostics suspicious_priors(Model const& model, std::optional<std::size_t> steps);

}  // namespace bam
