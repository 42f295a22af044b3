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
class Magnitudes;

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
    /// A scale with an entry that `is_exact` says so of. `outputs`: the sum of squares of its observed outputs, weighted as
    /// Factors::squares() are; 1 if that is 0.
    using IsExact = std::function<bool(ScaleLayout const& scale, std::size_t entry, double outputs)>;
    std::optional<std::uint32_t> find(Factors const& factors, IsExact const& is_exact) const;
    /// Once something has failed: throws what is behind it, if residuals are. ExactFit, where they are next to nothing of the outputs;
    /// TooLarge, where they are no numbers; LostDigits, where they are rounding; HiddenPrior, where `block`, of the plan, failed and has a
    /// proper prior. `factors`: scored.
    void look_behind(Factors const& factors, Magnitudes& magnitudes, std::optional<std::size_t> block) const;

  private:
    struct Watched {
        ScaleLayout const* scale = nullptr;
        std::vector<bool> may_vanish;         ///< per entry: its prior allows 0
        mutable std::vector<double> outputs;  ///< per entry, of find()
        bool is_shared = false;               ///< other learnt spreads weigh the outputs: they are summed up again each time
    };
    void sum_outputs(Factors const& factors, Watched const& watched) const;

    Problem const& problem_;
    std::vector<Watched> watched_;
};

}  // namespace bam
