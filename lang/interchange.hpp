// What can change places without the likelihood or a prior seeing it: entries of a dim, and blocks of different names.
#pragma once

#include <vector>

#include "conditional.hpp"
#include "layout.hpp"
#include "model.hpp"

namespace bam {

/// Dims of which nothing tells the entries apart, in parameters; not those along which a symmetry mixes entries freely: there numbers mean
/// nothing. Then blocks that change places together, such as those of heads that are written one by one.
std::vector<Interchange> interchanges(Model& model, std::vector<Symmetry> const& symmetries);
/// Where they stand in the draws.
std::vector<InterchangePlan> plan_interchanges(Model const& model, std::vector<Interchange> const& interchanges, LaidOut const& laid_out);

}  // namespace bam
