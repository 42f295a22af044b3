// How well a run predicts what it has not seen: importance sampling from its draws, and fits anew where that cannot tell.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "chains.hpp"
#include "compile.hpp"
#include "left_out.hpp"
#include "loo.hpp"

namespace bam {

/// A run with the problem that it is of.
struct RunOfProblem {
    Compiled const& compiled;
    Problem const& problem;
    Run const& run;
    ChainOptions chains;  ///< of a fit anew
};

struct CrossValidation {
    enum class Basis : std::uint8_t {
        Smoothed,  ///< weighted draws
        Refitted,  ///< draws that have not seen it
        Doubtful,  ///< of either, where a few draws decide
    };
    struct Point {
        Expected expected;
        Basis basis = Basis::Smoothed;
        double p = 0;  ///< log density with it seen minus elpd; 0 of the future
        double k = 0;  ///< of the weighted draws, also where it was fitted anew
    };
    std::vector<LeftOut> left_out;
    std::vector<Point> points;  ///< per left_out
    std::size_t draws = 0;
    double highest_k = 0;
    std::size_t doubtful = 0;  ///< points
    std::size_t refits = 0;    ///< fits anew
    std::vector<std::string> notes;
};

/// Called before each fit anew, and says how many there are to be.
using RefitProgress = std::function<void(std::size_t number, std::size_t of)>;

/// Leave-one-out: each of `left_out` given all others. Fits anew, at most `most_refits` times, where pareto k is too high; the largest k
/// come first.
CrossValidation leave_each_out(RunOfProblem const& of, std::vector<LeftOut> left_out, std::size_t most_refits,
                               RefitProgress const& progress);

/// Leave-future-out (Bürkner, Gabry and Vehtari 2020): each step of a sequence from step `known` on, given the steps of all sequences
/// before it. Draws are weighted by what they say of the steps since they were made, and made anew where pareto k of that is too high.
/// Throws std::runtime_error if the steps before `known` do not determine the parameters.
CrossValidation leave_future_out(RunOfProblem const& of, std::vector<LeftOut> steps, std::size_t known, std::size_t most_refits,
                                 RefitProgress const& progress);

}  // namespace bam
