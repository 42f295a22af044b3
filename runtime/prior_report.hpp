// The priors of a model, listed for people and for programs.
#pragma once

#include <string>

#include "compile.hpp"

namespace bam {

/// A line per group of entries with one prior: what it is, where it was said, what it overrides; then what nothing uses, and the sets there
/// are.
std::string priors_text(PriorList const& list, Sources const& sources);
/// {"priors": [...], "unused": [...], "sets": [...], "warnings": [...]}; docs/formats.md.
std::string priors_json(PriorList const& list, Diagnostics const& warnings, Sources const& sources);

}  // namespace bam
