// What a choice is among, when nothing tells one from the other: then any numbering of them is a posterior as good as another.
#pragma once

#include "model.hpp"

namespace bam {

/// A note (BAM0331) for every dim along which a categorical parameter chooses and whose entries have the same priors and weights.
Diagnostics exchangeable_choices(Model const& model);

}  // namespace bam
