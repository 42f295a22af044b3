// Log densities of what is left out, at every draw of a run, and where it lies in what is predicted: what judging a run is made of.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "draws.hpp"
#include "left_out.hpp"

namespace bam {

/// A number of everything that is asked for, at every draw: [asked for][chain][draw]. All chains have the same number of draws.
struct DrawNumbers {
    static constexpr std::size_t most_numbers = std::size_t{1} << 25;  ///< 256 MiB: of more, every k-th draw is used

    std::size_t chains = 0;
    std::size_t draws = 0;   ///< of each chain
    std::size_t stride = 1;  ///< every stride-th of the run's
    std::vector<double> values;

    std::span<double const> of(std::size_t k) const { return std::span(values).subspan(k * chains * draws, chains * draws); }
};

/// In the units of the table. `run` are draws of the posterior of `fitted`; `read` is the same table with the left out cells observed
/// (`fitted` itself, if they are). Local scales are integrated out; so are, of a whole sequence that `fitted` has observed, the missing
/// outputs that its means look back at. O(draws * cells). Reports what CarryMap reports.
DrawNumbers log_densities(Problem const& fitted, Problem const& read, Run const& run, std::uint64_t seed,
                          std::vector<LeftOut> const& left_out, std::size_t threads, Diagnostics& diagnostics);

/// Shares of what is predicted for a cell, noise included, that lie below what was observed, in the units of the table: one by one of the
/// cells of `left_out`, which must be cells. Local scales are drawn anew. Reports what CarryMap reports.
DrawNumbers shares_below(Problem const& problem, Run const& run, std::uint64_t seed, std::vector<LeftOut> const& left_out,
                         std::size_t threads, Diagnostics& diagnostics);

}  // namespace bam
