// Priors that keep the size of what was written in their place: for hints.
#pragma once

#include <optional>
#include <string>

#include "workspace.hpp"

namespace bam {

/// About how large a number is that has this prior, if its arguments are numbers: what is used as `use` if it is a spread. A prior of a
/// scale says an sd, a variance or a precision, which becomes one of the other.
std::optional<double> size_of(Workspace& workspace, Distribution const& distribution, SpreadKind use);

/// A prior of an sd, a variance or a precision of this size; of size 1 if it is not known.
std::string fitting_spread(SpreadKind use, std::optional<double> size);

/// A prior of a coefficient.
std::string fitting_coefficient(std::optional<double> size);

}  // namespace bam
