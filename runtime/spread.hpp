// In what unit a spread is said: an sd, a variance or a precision.
#pragma once

#include <cmath>

#include "plan.hpp"

namespace bam {

/// A spread of this kind is sd to this power.
inline double power_of_sd(SpreadKind kind) { return kind == SpreadKind::Sd ? 1 : (kind == SpreadKind::Precision ? -2 : 2); }

inline double to_variance(SpreadKind kind, double spread) {
    switch (kind) {
        case SpreadKind::Sd: return spread * spread;
        case SpreadKind::Precision: return 1 / spread;
        case SpreadKind::Variance:
        case SpreadKind::Covariance: break;
    }
    return spread;
}

inline double from_variance(SpreadKind kind, double variance) {
    switch (kind) {
        case SpreadKind::Sd: return std::sqrt(variance);
        case SpreadKind::Precision: return 1 / variance;
        case SpreadKind::Variance:
        case SpreadKind::Covariance: break;
    }
    return variance;
}

/// Of what is said per row, 1: its matrix says the rest.
inline double to_precision(SpreadKind kind, double spread) {
    switch (kind) {
        case SpreadKind::Sd: return 1 / (spread * spread);
        case SpreadKind::Variance: return 1 / spread;
        case SpreadKind::Precision: return spread;
        case SpreadKind::Covariance: break;
    }
    return 1;
}

}  // namespace bam
