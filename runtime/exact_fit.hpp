// Outputs that are fitted exactly: the spread of their observations goes to 0, and the posterior has no finite integral.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <stdexcept>
#include <vector>

#include "factors.hpp"

namespace bam {

struct Problem;

/// Thrown by a sweep whose residuals are no more than rounding.
struct ExactFit : std::runtime_error {
    explicit ExactFit(std::uint32_t of) : std::runtime_error("the outputs are fitted exactly"), variable(of) {}
    std::uint32_t variable;  ///< the scale
};

/// Watches the learnt scales of observations under priors that allow 0 (half_cauchy, half_normal, flat). Near 0 the posterior of such an sd
/// is s^(p-n) exp(-SSE / 2 s^2), of n cells and p coefficients that fit them: an SSE of 0 leaves no finite integral.
class ExactFitWatch {
  public:
    ExactFitWatch(Problem const& problem, Factors const& factors);
    /// Throws ExactFit. `factors`: scored.
    void check(Factors const& factors) const;
    /// The variable of a scale with an entry whose residuals have a sum of squares of at most `share` of that of its outputs.
    /// `squares`: of an entry.
    std::optional<std::uint32_t> find(double share, std::function<double(ScaleLayout const&, std::size_t entry)> const& squares) const;

  private:
    struct Watched {
        ScaleLayout const* scale = nullptr;
        std::vector<double> outputs;  ///< per entry: sum of squares, 1 if that is 0; negative where the prior keeps away from 0
    };
    std::vector<Watched> watched_;
};

}  // namespace bam
