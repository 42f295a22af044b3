// The Pólya-Gamma distribution PG(1, c), that of the local scales of binary outputs (math.md, 7b): draws, density, mean. It does not know
// the sign of c.
#pragma once

#include "random.hpp"

namespace bam {

/// An exact draw from PG(1, c), of bounded cost for every finite c (Devroye 2009, Polson, Scott and Windle 2013). NaN if c is not finite.
double polya_gamma(Stream& stream, double c);

/// E[w] of w ~ PG(1, c): tanh(c / 2) / (2 c), and 1/4 at c = 0.
double polya_gamma_mean(double c);

/// Var[w]: (sinh c - c) / (4 c^3 cosh(c / 2)^2), and 1/24 at c = 0.
double polya_gamma_variance(double c);

/// Log density of PG(1, c) at w > 0, by its alternating series.
double log_polya_gamma(double w, double c);

/// log(2 cosh(x / 2)), without overflow.
double log_two_cosh_half(double x);

/// Log probability of an output y of 0 or 1 whose log odds are `mean`.
inline double log_binary(double y, double mean) { return (y - 0.5) * mean - log_two_cosh_half(mean); }

/// 1 / (1 + exp(-x)).
double logistic(double x);

}  // namespace bam
