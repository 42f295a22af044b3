// Sequences that statements name, beside those of the table.
#pragma once

#include <functional>

#include "bind.hpp"

namespace bam {

/// BAM0451: the table does not have one. Of a statement of a prior set, which may be the posterior of another table, that is a note only.
/// `is_of_set`: by the span of the statement.
void check_named_sequences(Layout const& layout, Bound const& bound, std::function<bool(Span statement)> const& is_of_set,
                           Diagnostics& diagnostics);

}  // namespace bam
