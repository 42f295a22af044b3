// How a scale with a half-t prior is drawn: what explains it and what does it have to agree.
#pragma once

namespace bam {

/// Degrees of freedom from which it is drawn by slices, the auxiliary of its mixture integrated out (math.md, 7. Scales).
inline constexpr double least_sliced_df = 3;

}  // namespace bam
