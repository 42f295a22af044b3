// Which flags of `bam fit` go with a backend, and with one another.
#pragma once

#include <functional>
#include <string>

#include "bam/bam.hpp"

namespace bam::cli {

struct Options;

/// Refuses flags that would do nothing: a run that is not the one that was asked for must not look like it. `is_given`: whether a flag
/// stands on the command line. Throws Error (BAM0525).
void refuse_idle_flags(FitOptions const& options, std::function<bool(std::string const& flag)> const& is_given);

/// Refuses flags on replicas that contradict one another. Throws Error (BAM0549).
void refuse_contradiction(Options const& options);

}  // namespace bam::cli
