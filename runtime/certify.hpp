// Whether what was derived for this model and these data is right, by identities that need no reference: `bam verify`.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "checks.hpp"
#include "replica.hpp"

namespace bam {

/// For every block, missing output, scale and symmetry of the plan. Where the log joint is needed, it comes from the residuals of the
/// factors, of which no conditional is made. With a power of the likelihood (Replica::set_power), of what sweeps then leave as it is.
/// Depends on problem, seed and power only. Throws NumericalTrouble, ExactFit, TooLarge and LostDigits.
std::vector<Check> certify(Problem const& problem, std::uint64_t seed, double power = 1);

/// Why a draw of one block failed: throws what is behind it (ExactFitWatch::look_behind), if that is known.
void look_behind(Problem const& problem, Replica& replica, std::optional<std::size_t> block, bool is_of_digits);

/// What an identity of the log joint at the replica's state may be off by, relative to 1 + |reference|: the tolerance, or what rounding
/// makes of the numbers that cancel there (math.md, 13a. Rounding). Throws LostDigits where that is so much that nothing would be tried.
double allowed_violation(Replica& replica, double reference, double usual);

/// For every Gaussian block, that its variational factor is its Gibbs conditional where all else is at points ("collapse"), and the
/// posterior where it alone is free ("free"); and that no update of a climb lowers the ELBO, or raises it by something else than its
/// derivatives say ("ascent"). `expectations`: planned for drawn_outputs(problem).
std::vector<Check> certify_variational(Problem const& problem, ExpectationPlan const& expectations, std::uint64_t seed);

}  // namespace bam
