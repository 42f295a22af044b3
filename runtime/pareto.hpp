// The tail of importance ratios: how far a distribution that was drawn from is from the one that is meant.
#pragma once

#include <cstddef>
#include <vector>

namespace bam {

/// Shape k of a generalised Pareto distribution fitted to the largest of exp(log_ratios) (Vehtari, Simpson, Gelman, Yao and Gabry 2024; the
/// fit is that of Zhang and Stephens 2009 with the prior of the R package loo). Below 0.7 the draws, weighted by the ratios, stand for the
/// distribution that is meant; above, the two are too far apart. NaN with fewer than 25 finite ratios, infinite where the tail is constant
/// or a ratio is infinite or no number. `efficiency`: effective sample size of what is averaged over the number of draws; draws that are
/// less independent have a longer tail (the same paper, section 2.4).
double pareto_k(std::vector<double> log_ratios, double efficiency = 1);

/// The shape above which a sample of this size cannot tell: 0.7, less of fewer than 2200 draws.
double highest_k(std::size_t draws);

/// Weights of draws, in their order, that add up to 1.
struct SmoothedWeights {
    std::vector<double> weights;
    double k = 0;  ///< as pareto_k; minus infinity where all ratios are equal
};
/// exp(log_ratios) with the largest replaced by quantiles of the generalised Pareto distribution that is fitted to them, none above the
/// largest ratio (the same paper). Where none can be fitted, the ratios as they are, and of ratios that are infinite or no number none at
/// all.
SmoothedWeights smooth_weights(std::vector<double> const& log_ratios, double efficiency = 1);

}  // namespace bam
