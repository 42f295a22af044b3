// Distributions as other languages name them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "workspace.hpp"

namespace bam {

/// What to write instead of a call by such a name, as notes; empty if it is none.
std::vector<std::string> other_names(Workspace const& workspace, tree::Expr const& call);

/// What to do instead of a well-known distribution that there is not.
std::optional<std::string> advice_on(std::string_view name);

}  // namespace bam
