// What a run will take of the memory, before it takes it.
#pragma once

#include <optional>

#include "bam/bam.hpp"
#include "replica.hpp"

namespace bam {

/// Bytes of the machine's memory.
double machine_memory();

/// BAM0508, if the draws of all chains, and the matrices from which chains that run at once draw their blocks, are more than `memory`.
std::optional<Diagnostic> find_excess(Problem const& problem, FitOptions const& options, double memory);

}  // namespace bam
