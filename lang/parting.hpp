// Along which dims of a block its entries are independent given the rest.
#pragma once

#include "conditional.hpp"

namespace bam {

/// Whether no cell of the factor reads two entries along `dim`: every summand of the covariates has the same Delta between cell and entry
/// in it, or the same Member that picks the entry by a label (math.md, 4. The conditional).
bool is_parted(Model const& model, Contribution const& contribution, DimId dim);

}  // namespace bam
