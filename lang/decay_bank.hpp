// Position kernels as positive sums of exponentials: g(d) = sum_j w_j b_j^d over lags d = 0, 1, 2, ... Each exponential is a recurrence of
// first order, so that a kernel costs as many recurrences as it has terms (math.md, 5b).
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

namespace bam {

/// What is left of the influence of a step after `lag` more, g(0) = 1. Both are completely monotone, hence positive mixtures of
/// exponentials (Bernstein).
struct PositionKernel {
    enum class Form {
        Ggd,    ///< exp(-(lag / first)^second): scale > 0 in steps, shape in (0, 1]
        Power,  ///< (1 + second * lag)^-first: both > 0
    };
    Form form = Form::Ggd;
    double first = 1;
    double second = 1;

    double log_at(double lag) const;
};

/// Slowest term first. All decays are in (0, 1). Of one kernel all weights are above 0.
struct DecayBank {
    std::vector<double> decays;   ///< b_j
    std::vector<double> weights;  ///< w_j; of a bank that several kernels share, [kernel][j]
    double error = 0;             ///< the largest |sum_j w_j b_j^d / g(d) - 1| over d = 0..lags; of a shared bank |sum_j w_j b_j^d - g(d)|
};

inline constexpr std::size_t most_decays = 32;  ///< a fit of more is lost in rounding

/// The bank of `terms` exponentials whose largest relative error over lags 0..lags is smallest, as far as it is found: least squares of the
/// relative error by Levenberg and Marquardt in log rates and log weights, then reweighted towards the largest errors (Lawson). 1 <= terms
/// <= most_decays. The same bits every time; a few milliseconds.
DecayBank fit_decay_bank(PositionKernel const& kernel, std::size_t terms, std::size_t lags);

/// The smallest bank whose error is at most `tolerance`; nothing if most_decays are too few.
std::optional<DecayBank> find_decay_bank(PositionKernel const& kernel, double tolerance, std::size_t lags);

/// A bank for several kernels: the same decays, weights of its own for each. Rates are evenly spaced in their logarithm from the slowest to
/// the fastest fall of any of them; weights are least squares of the error relative to g(0) = 1.
DecayBank fit_shared_bank(std::vector<PositionKernel> const& kernels, std::size_t terms, std::size_t lags);
std::optional<DecayBank> find_shared_bank(std::vector<PositionKernel> const& kernels, double tolerance, std::size_t lags);

}  // namespace bam
