// Degrees of freedom of student_t that are a parameter ν (math.md, 7. Scales): drawn, and their variational factor. The local scales u of
// their entries have the prior gamma(ν/2, ν/2) each.
#pragma once

#include "factors.hpp"
#include "plan.hpp"
#include "random.hpp"
#include "scale_factor.hpp"
#include "state.hpp"

namespace bam {

/// Where a search for them starts.
inline constexpr double usual_degrees_of_freedom = 5;

/// Draws ν given all but the local scales: of its prior times the student_t density of every counting cell, by slice sampling of log ν
/// (Neal 2003). The local scales have to be drawn next, given ν. `factors`: gathered for the local scales.
void draw_degrees_of_freedom(ScaleLayout const& scale, Layout const& layout, Factors const& factors, State& state, Stream& stream);

/// Log density of ν from which it is drawn, plus that of the local scales given ν: up to a constant the log joint density.
double log_density_with_locals(ScaleLayout const& scale, Layout const& layout, Factors const& factors, State const& state);

/// Over the local scales of counting cells: their number, and the sum of E[log u] - E[u].
struct LocalSums {
    double count = 0;
    double sum = 0;
};

/// q(ν) ∝ prior(ν) exp(count c(ν) + ν/2 sum), c(ν) = ν/2 log(ν/2) - log Γ(ν/2). `precision` is E[ν]^-2, so that a scale that is said as an
/// sd holds E[ν]. `log_normaliser`: its share of the ELBO beside what the factors of the local scales, made from E[ν], have: log Z - count
/// c(E[ν]) - E[ν]/2 sum.
ScaleFactor make_degrees_of_freedom_factor(ScalePriorLayout const& prior, LocalSums const& sums);

/// Draws from q(ν).
class DegreesOfFreedomSampler {
  public:
    DegreesOfFreedomSampler(ScalePriorLayout const& prior, LocalSums const& sums);
    double draw(Stream& stream) const;
    double log_density(double df) const;

  private:
    ScalePriorLayout prior_;
    LocalSums sums_;
    double log_mass_ = 0;
    std::optional<LogGridQuantiles> quantiles_;
};

}  // namespace bam
