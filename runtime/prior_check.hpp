// Priors against a table: what they allow the outputs to be, beside what the outputs are.
#pragma once

#include "prepare.hpp"

namespace bam {

/// Draws means and noise from the priors at the cells of the table. BAM0323 and BAM0324, listed in prior_check.cpp; a note where a prior is
/// flat and so nothing can be drawn. The seed of the draws is fixed.
Diagnostics check_priors(Compiled const& compiled, Problem const& problem);

}  // namespace bam
