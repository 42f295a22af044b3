// Tables of the model's own making, in the table's units: what a prior, or a posterior, lets the outputs be, beside what they are.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "simulation.hpp"
#include "table.hpp"

namespace bam {

/// One output over all simulated tables.
struct Replicated {
    static constexpr std::array<double, 5> levels{0.05, 0.25, 0.5, 0.75, 0.95};
    static constexpr std::array<char const*, 4> statistic_names{"mean", "sd", "min", "max"};

    /// One number of each table, over the cells that were observed.
    struct Statistic {
        double observed = 0;  ///< NaN if fewer than two cells were observed
        double q5 = 0, q50 = 0, q95 = 0;
        double share_above = 0;  ///< of tables whose number is above that of the observed one; ties count half
    };
    std::string output;
    bool is_binary = false;
    std::size_t observed = 0, missing = 0;        ///< cells
    std::array<double, 5> observed_quantiles{};   ///< at `levels`; NaN if nothing was observed
    std::array<double, 5> simulated_quantiles{};  ///< of all simulated values of the observed cells; of all cells if there are none
    std::array<Statistic, 4> statistics{};        ///< mean, sd, least, largest
    double share_outside = 0;                     ///< of simulated values: outside of the range of the observed ones, or not finite
    double share_infinite = 0;                    ///< of simulated values
    double share_unexpected = 0;                  ///< of observed values: outside of the central 95 % of the simulated ones
    double times_range = 0;                       ///< central 95 % of the simulated values over the range of the observed ones
};

struct Replication {
    std::size_t draws = 0;
    std::vector<Replicated> outputs;
    std::string csv;                 ///< empty unless asked for
    std::vector<std::string> notes;  ///< that a reader must know
};

/// Draws `draws` times. `row`: columns of the i-th draw of the parameters, or null to draw them from their priors. `problem` is the table
/// as read, `complete` what the simulation fills. `table`, if given, is written with every output replaced, all draws one after another,
/// with a column `draw` before the others and `NAME.missing` (1 or 0) behind them where cells of an output are missing.
Replication replicate(Problem const& problem, Problem const& complete, Simulation& simulation, std::size_t draws,
                      std::function<double const*(std::size_t)> const& row, Table const* table);

/// A block of lines for each output, with a sentence on what to make of it.
std::string replication_text(Replication const& replication, bool is_prior);
/// {"from": "prior", "draws": ..., "outputs": [...], "notes": [...]}; docs/formats.md.
std::string replication_json(Replication const& replication, bool is_prior);

}  // namespace bam
