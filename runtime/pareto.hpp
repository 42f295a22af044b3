// The tail of importance ratios: how far a distribution that was drawn from is from the one that is meant.
#pragma once

#include <vector>

namespace bam {

/// Shape k of a generalised Pareto distribution fitted to the largest of exp(log_ratios) (Vehtari, Simpson, Gelman, Yao and Gabry 2024; the
/// fit is that of Zhang and Stephens 2009 with the prior of the R package loo). Below 0.7 the draws, weighted by the ratios, stand for the
/// distribution that is meant; above, the two are too far apart. NaN with fewer than 25 finite ratios, infinite where the tail is constant
/// or a ratio is infinite or no number.
double pareto_k(std::vector<double> log_ratios);

}  // namespace bam
