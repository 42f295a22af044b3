// Which flags of `bam fit` a backend looks at.
#pragma once

#include <functional>
#include <string>

#include "bam/bam.hpp"

namespace bam::cli {

/// Refuses flags that would do nothing: a run that is not the one that was asked for must not look like it. `is_given`: whether a flag
/// stands on the command line. Throws Error (BAM0525).
void refuse_idle_flags(FitOptions const& options, std::function<bool(std::string const& flag)> const& is_given);

}  // namespace bam::cli
