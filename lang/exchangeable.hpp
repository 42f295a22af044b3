// Entries of a dim that nothing tells apart: then any numbering of them is a posterior as good as another.
#pragma once

#include "model.hpp"

namespace bam {

/// Whether the entries of a dim have a number each, or a statement about one of them: in a prior, in a fixed parameter, in what is read
/// from the table.
bool are_told_apart(Model const& model, DimId dim);
/// The same of the terms alone: some number in them belongs to one of the entries.
bool are_told_apart(Model const& model, std::vector<Term> const& terms, DimId dim);

/// A note (BAM0331) for every dim along which a categorical parameter chooses and whose entries have the same priors and weights.
Diagnostics exchangeable_choices(Model const& model);

}  // namespace bam
