// What a model is, and what its table holds, on a few lines: `bam check` and the first lines of `bam fit`.
#pragma once

#include <string>

#include "compile.hpp"
#include "prepare.hpp"

namespace bam {

/// Dims, data, unknowns; without a table, sizes as far as the model says them. Lines of two blanks, a word and what it is.
std::string overview_text(Outline const& outline, PreparedTable const* table);
/// The same as a JSON object.
std::string overview_json(Outline const& outline, PreparedTable const* table);

/// "132 rows; subject 12, t 11; y 120 observed, 12 missing".
std::string counts_text(PreparedTable const& table);

}  // namespace bam
