// The verbs that judge runs.
#pragma once

#include "main_options.hpp"

namespace bam::cli {

/// Each prints, and returns an exit code.
int run_diagnose(Options const& options);
int run_score(Options const& options);
int run_compare(Options const& options);

}  // namespace bam::cli
