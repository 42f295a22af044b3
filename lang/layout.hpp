// The model's arrays, without its terms: what a table is bound to, and where parameters stand.
#pragma once

#include <optional>

#include "conditional.hpp"
#include "model.hpp"
#include "pass_builder.hpp"
#include "plan.hpp"

namespace bam {

/// A layout and how its variables are numbered. Reports BAM0208 for a dim whose size nobody says.
struct LaidOut {
    Layout layout;
    std::map<SymbolId, std::uint32_t> variables;
};
std::optional<LaidOut> lay_out(Model const& model, Derivation const& derivation, Diagnostics& diagnostics);

/// Whether faster forms of the same conditionals are looked for.
enum class Recognition : std::uint8_t { On, Off };

/// The plan of a derived model. `weighted`: per factor, whether its cells differ in weight or precision (missing cells, a region, a spread
/// per cell or output).
Plan make_plan(Model& model, Derivation const& derivation, std::vector<Symmetry> const& symmetries, LaidOut const& laid_out,
               std::vector<bool> const& weighted, Recognition recognition = Recognition::On);

/// Expected squares and variances under a factorised posterior. `drawn`: per variable, whether it is an output whose missing cells are
/// unknowns.
ExpectationPlan plan_expectations(Model& model, Derivation const& derivation, LaidOut const& laid_out, std::vector<bool> const& drawn);

}  // namespace bam
