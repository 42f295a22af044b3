// Scales (math.md, 7. Scales): their full conditionals, their prior densities, and where a chain starts them.
#pragma once

#include <optional>
#include <vector>

#include "factors.hpp"
#include "plan.hpp"
#include "random.hpp"
#include "scale_family.hpp"
#include "state.hpp"

namespace bam {

/// Draws every entry of one scale (of degrees of freedom, the number; see degrees_of_freedom.hpp) given the sums of squares of its factors,
/// into the state. Every family is a row of one form: with v the variance and S, n the sum of squares and the number of its cells, p(v |
/// rest) ∝ v^(-α-1-n/2) exp(-(β + S/2) / v - γ v / 2). A local scale of a binary output is PG(1, mean).
void draw_scale(ScaleLayout const& scale, Layout const& layout, Factors const& factors, State& state, Stream& stream);

/// The log density, up to a constant, from which draw_scale draws an entry, of the number that the file declares: the kernel with what its
/// factors add. Of a half-t, with the density of its auxiliary given it taken off, as the pair of draws implies.
double log_conditional(ScaleLayout const& scale, Layout const& layout, Factors const& factors, State const& state, std::size_t entry);

/// What maximise_scale found.
struct ScaleMode {
    std::optional<std::size_t> without_mode;  ///< an entry whose density has no highest point, or only one at 0 or infinity
    double largest_move = 0;                  ///< of an entry, in sds of its logarithm given everything else
};

/// Sets every entry of one scale to the mode of its conditional density: of the number that the file declares (sd, variance or precision),
/// not of a transform of it, and with the auxiliary of a half-t integrated out. `starts`: values below 1e-6 of these (as sds) count
/// as no mode: there the density grows without bound. `sds`, like `starts` [component][extent]: of each entry given everything else, from
/// the curvature at the mode.
ScaleMode maximise_scale(ScaleLayout const& scale, Layout const& layout, Factors const& factors, std::vector<double> const& starts,
                         State& state, std::vector<double>& sds);

/// Whether these are the local scales of a binary output.
bool is_binary(ScaleLayout const& scale);

/// Log prior density of all entries of the scale, of the number the file declares (sd, variance or precision).
double log_prior(ScaleLayout const& scale, Layout const& layout, State const& state);

/// A point in the bulk of the prior of each entry, or `guess` (an sd) where the prior says nothing.
void start_scale(ScaleLayout const& scale, Layout const& layout, double guess, State& state);

/// The prior of the entries of a component: the last that speaks of it. Of local scales with degrees of freedom that are a parameter,
/// without their numbers.
ScalePriorLayout const& prior_of(ScaleLayout const& scale, std::size_t component);
/// The same with those numbers as they are in the state.
ScalePriorLayout prior_of(ScaleLayout const& scale, std::size_t component, State const& state);

/// Whether the conditional is proper: flat priors need enough cells. [component][extent] counts as in Factors.
bool is_proper(ScaleLayout const& scale, Layout const& layout, Factors const& factors);

}  // namespace bam
