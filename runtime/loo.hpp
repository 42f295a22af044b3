// Leave-one-out cross-validation by Pareto smoothed importance sampling (math.md, 15. Which of several models).
#pragma once

#include <span>
#include <vector>

namespace bam {

/// What draws say of something that they have not seen. Log densities are natural logarithms.
struct Expected {
    double elpd = 0;        ///< log of the predictive density
    double mcse = 0;        ///< Monte Carlo standard error of elpd
    double k = 0;           ///< of the tail of what is averaged: above highest_k() a few draws decide
    double efficiency = 1;  ///< effective sample size of the density over the number of draws
};

/// As the R package `loo`: weights 1 / density, smoothed. `log_densities`: of what is left out, [chain][draw]; the draws have seen it.
/// `weights`: if given, of every draw, adding up to 1. O(S log S).
Expected leave_out(std::span<double const> log_densities, std::size_t chains, std::vector<double>* weights = nullptr);

/// The same from draws that have not seen it: a plain mean. Its k is that of the densities themselves.
Expected average(std::span<double const> log_densities, std::size_t chains);

/// The same from draws with log weights: exp(log_ratios), smoothed. Its k is that of the weights.
Expected reweighted(std::span<double const> log_densities, std::span<double const> log_ratios, std::size_t chains);

/// The k alone, of weights exp(log_ratios).
double k_of_weights(std::span<double const> log_ratios, std::size_t chains);

/// log of the mean of exp.
double log_mean_exp(std::span<double const> values);

}  // namespace bam
