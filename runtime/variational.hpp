// A run of the variational backend: several starts, the best of them to its end.
#pragma once

#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "mean_field.hpp"

namespace bam {

struct VariationalOptions {
    std::size_t starts = 8;  ///< that compete where there may be several modes
    bool starts_from_prior = false;
    double tolerance = 1e-9;  ///< of the change of the ELBO in one pass, relative to it
    std::size_t max_passes = 10000;
    std::uint64_t seed = 1;
    bool moves_orbits = true;
};

enum class ClimbEnding : std::uint8_t { Converged, PassLimit, Stopped };

/// How the climb went.
struct Climb {
    std::vector<double> starts;  ///< ELBO of each start after its short run
    std::size_t chosen = 0;      ///< index of starts
    std::vector<double> trace;   ///< ELBO after each pass of the chosen one
    ClimbEnding ending = ClimbEnding::PassLimit;
    double seconds = 0;
};

/// Called after each pass, with the number of the start (from 1) and its ELBO.
using ClimbProgress = std::function<void(std::size_t start, std::size_t pass, double elbo)>;

/// Leaves the factors at the best optimum that it found.
Climb climb(MeanField& field, VariationalOptions const& options, ClimbProgress const& progress, std::stop_token const& stop);

}  // namespace bam
