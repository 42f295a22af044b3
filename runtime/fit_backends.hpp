// A run of each backend, put into the parts of a fit.
#pragma once

#include <stop_token>

#include "fit.hpp"

namespace bam {

/// Fills run, and mode or climb, of `parts`, whose config stands. Throws Error (explain_trouble.hpp).
void run_backend(Fit::Parts& parts, Prepared::Parts const& prepared, FitOptions const& options, ProgressCallback const& progress,
                 std::stop_token stop);

}  // namespace bam
