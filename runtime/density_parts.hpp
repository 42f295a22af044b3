// The log joint density of draws in the parts that power-scaling raises to a power: the likelihood, and the prior of each parameter.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "draws.hpp"
#include "replica.hpp"

namespace bam {

/// Which statements are a prior in the sense of power-scaling: those made of numbers and data alone. A prior whose mean or spread holds
/// other parameters, as in `theta ~ normal(mu, tau)`, is part of the model (Kallioinen and others 2023, section 2.3), and so is one that
/// looks back at its own parameter.
struct PriorStatements {
    /// Of one parameter.
    struct Group {
        std::uint32_t variable = 0;
        std::vector<std::size_t> factors;  ///< of a block
        std::vector<std::size_t> scales;   ///< of a scale: indices of the layout's scales
    };
    std::vector<Group> scaled;            ///< in the order of declaration
    std::vector<std::uint32_t> of_model;  ///< parameters with a statement that holds parameters
};
PriorStatements prior_statements(Plan const& plan);

/// Why the likelihood of the observed outputs has no closed form, in words; empty if it has.
std::string why_no_likelihood(Problem const& problem);

/// Log densities, up to no constant. Local scales are integrated out, of outputs and of parameters.
struct DensityParts {
    std::vector<std::vector<double>> log_priors;  ///< per group of PriorStatements::scaled, [draw]
    std::vector<double> log_likelihood;  ///< [draw], of the observed outputs: missing ones that means look back at are integrated out
    std::string no_likelihood;           ///< as why_no_likelihood()
};

/// Of all draws of all chains, one chain after another. `run` has the parameters of this problem, the table that was fitted; reports what
/// CarryMap reports.
DensityParts density_parts(Problem const& problem, PriorStatements const& statements, Run const& run, std::uint64_t seed,
                           Diagnostics& diagnostics);

}  // namespace bam
