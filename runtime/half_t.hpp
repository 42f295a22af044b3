// Half-t priors of some degrees of freedom: a scale is drawn with the auxiliary of its mixture integrated out.
//
// Given the other, each of scale and auxiliary is known to about 1 / sqrt(df): where few cells say more, drawn in turn they move by small
// steps only.
#pragma once

#include "plan.hpp"
#include "random.hpp"
#include "scale_family.hpp"

namespace bam {

/// Whether the prior is one of those.
bool is_sliced(ScalePriorLayout const& prior);

/// A variance given n cells whose squared residuals sum to `squares`: slice steps (Neal 2003) in its logarithm from `variance`, which leave
/// its density as it is (math.md, 7. Scales).
double draw_half_t(ScalePriorLayout const& prior, double n, double squares, double variance, Stream& stream);

}  // namespace bam
