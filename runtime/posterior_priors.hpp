// What a run has learnt, as a set of priors for the next one.
#pragma once

#include <string>

#include "config.hpp"
#include "draws.hpp"
#include "program.hpp"

namespace bam {

/// Of every parameter of the run's draws the statements with the same moments: normal with mean and sd per entry, or with the covariance
/// of whole rows where `has_rows`; spreads by the family that their use allows. Comments say what is lost. Adds BAM0326.
std::string posterior_priors(Program::Parts const& program, RunConfig const& config, Run const& run, std::string const& set,
                             std::string const& verdict, bool has_rows, Diagnostics& diagnostics);

}  // namespace bam
