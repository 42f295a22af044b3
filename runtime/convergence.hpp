// Convergence and precision of Monte Carlo draws, as the R package `posterior` 1.4.0 defines them
// (Vehtari, Gelman, Simpson, Carpenter, Bürkner 2021, "Rank-normalization, folding, and localization").
//
// Where `posterior` says NA, the answer here is NaN: too few draws, a NaN among them, all equal, and (but for rhat and ess_bulk, which see
// ranks only) an infinity among them. One difference: `posterior` also calls draws equal whose range is below 2.2e-16 whatever their scale,
// so that a variance around 1e-18 has no ESS; here only draws that are equal are.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace bam {

/// Draws of one quantity. [draw, chain], column-major: draws of a chain are contiguous; all chains have the same length.
struct ChainDraws {
    std::span<double const> values;
    std::size_t draws = 0;
    std::size_t chains = 0;
};

/// The largest of R-hat of the rank-normalised split chains and of the same for the folded draws |x - median|.
double rhat(ChainDraws const& draws);

/// Effective sample sizes: of the rank-normalised split chains; the smaller one of x <= q5 and x <= q95; of x; of |x - mean|. At most
/// S log10(S) for S draws.
double ess_bulk(ChainDraws const& draws);
double ess_tail(ChainDraws const& draws);
double ess_mean(ChainDraws const& draws);
double ess_sd(ChainDraws const& draws);

/// Monte Carlo standard errors of the mean and of the standard deviation.
double mcse_mean(ChainDraws const& draws);
double mcse_sd(ChainDraws const& draws);

/// Quantile of type 7 (R's default) of sorted values without NaN, 0 <= probability <= 1; NaN if there is none.
double sorted_quantile(std::span<double const> sorted, double probability);
/// The same of unsorted values; NaN if there is none or one is NaN.
double quantile(std::vector<double> values, double probability);
double median(std::vector<double> values);
/// Median absolute deviation from the median, times 1.4826.
double mad(std::vector<double> const& values);

/// Everything a summary row shows. Computes the ten together in about the time of the slowest two.
struct QuantitySummary {
    double mean, median, sd, mad, q5, q95, rhat, ess_bulk, ess_tail, mcse_mean, mcse_sd;
};
QuantitySummary summarize(ChainDraws const& draws);

/// The lower one of bulk and tail. Of what has few values, as choices, the tails may have none: then the bulk alone. NaN without a bulk.
double worst_ess(double bulk, double tail);
inline double worst_ess(QuantitySummary const& quantity) { return worst_ess(quantity.ess_bulk, quantity.ess_tail); }

}  // namespace bam
