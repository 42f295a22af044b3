// The highest point of the log joint: coordinate ascent from several starts.
#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <vector>

#include "replica.hpp"

namespace bam {

struct AscentOptions {
    std::uint64_t seed = 0;
    std::uint64_t chain = 1;         ///< with the seed, what the starts depend on
    std::size_t starts = 8;          ///< where a mean multiplies blocks; elsewhere one
    bool starts_from_prior = false;  ///< as Replica::start
    std::size_t threads = 1;         ///< 0: as many as the machine has
    std::size_t max_passes = 10000;
    bool extrapolates = true;  ///< between passes
    SweepOptions sweep;
};

enum class Ending : std::uint8_t {
    Still,      ///< no entry moves by 1e-8 of its sd given everything else: the gradient is 0
    Rounding,   ///< moves do not get smaller any more, and are below 1e-6
    PassLimit,  ///< max_passes
    Stopped,    ///< from outside
    NoMode,     ///< the density grows without bound
    Failed,     ///< numbers that cannot be computed with
};

struct Ascent {
    State state;
    double log_joint = 0;
    double log_likelihood = 0;
    std::size_t passes = 0;
    double largest_move = 0;  ///< of an entry in the last pass, in sds given everything else
    Ending ending = Ending::PassLimit;
    std::optional<bam::NoMode> without_mode;
    std::vector<std::vector<double>> sds;  ///< Replica::conditional_sds()
    std::string failure = {};              ///< why it failed; then it has nothing else
};

struct Maximum {
    std::vector<Ascent> ascents;  ///< in the order of the starts; those after a stop request are missing. Only the best has its state
    std::size_t best = 0;         ///< the highest of those with a mode; if none has, of those that did not fail
};

/// From all starts the density grew without bound.
struct NoModeFound : std::runtime_error {
    NoModeFound(bam::NoMode what, bool start) : std::runtime_error("the density has no mode"), without_mode(what), is_start(start) {}
    bam::NoMode without_mode;
    bool is_start;  ///< the mode was to be where something else starts
};

/// Ascends from where the replica stands.
Ascent ascend(Replica& replica, AscentOptions const& options, std::stop_token const& stop);

/// Ascends from every start. Depends on the options and nothing else. A start that fails (reason_of_start) is
/// left out; throws why the first one did if all do.
Maximum maximise(Problem const& problem, AscentOptions const& options, std::stop_token const& stop);

/// Throws NoModeFound if no ascent has a mode. `is_start`: of NoModeFound.
void require_mode(Maximum const& maximum, bool is_start);

}  // namespace bam
