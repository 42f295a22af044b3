// Distributions as other languages name them.
#pragma once

#include <string>
#include <vector>

#include "workspace.hpp"

namespace bam {

/// What to write instead of a call by such a name, as notes; empty if it is none.
std::vector<std::string> other_names(Workspace const& workspace, tree::Expr const& call);

}  // namespace bam
