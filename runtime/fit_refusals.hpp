// What a backend cannot do for a model, said before it runs.
#pragma once

#include "program.hpp"

namespace bam {

/// Throws Error. BAM0492, BAM0493: no mode is found of such a model; BAM0516: no number is marked to be learnt.
void refuse_unfit(Prepared::Parts const& prepared, FitOptions const& options);

/// Throws Error if chains cannot exchange as asked for, or the run needs more memory than there is (BAM0508). `options`: with what was left
/// to the program filled in.
void refuse_excess(Prepared::Parts const& prepared, FitOptions const& options);

}  // namespace bam
