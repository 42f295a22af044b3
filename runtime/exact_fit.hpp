// Outputs that are fitted exactly: the spread of their observations goes to 0, and the posterior has no finite integral.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "factors.hpp"

namespace bam {

struct Problem;
class Magnitudes;

/// Thrown by a sweep whose residuals are no more than rounding.
struct ExactFit : std::runtime_error {
    ExactFit(std::uint32_t of, std::string of_entry)
        : std::runtime_error("the outputs are fitted exactly"), variable(of), entry(std::move(of_entry)) {}
    std::uint32_t variable;  ///< the scale
    std::string entry;       ///< which of it: entry_name()
};

/// Watches the learnt scales of observations under priors that allow 0 (half_cauchy, half_normal, flat). Near 0 the posterior of such an sd
/// is s^(p-n) exp(-SSE / 2 s^2), of n cells and p coefficients that fit them: an SSE of 0 leaves no finite integral. Where cells have local
/// scales (student_t, laplace), it is the same of the cells that are met, and each of the others has a power of s that depends on its tails
/// (Fernández and Steel 1999): there half of the cells say whether the outputs are.
class ExactFitWatch {
  public:
    struct Watched {
        ScaleLayout const* scale = nullptr;
        std::vector<bool> has_local;          ///< per use: its cells have local scales
        std::vector<bool> may_vanish;         ///< per entry: its prior allows 0
        mutable std::vector<double> outputs;  ///< per entry, of find()
        bool is_shared = false;               ///< other learnt spreads weigh the outputs: they are summed up again each time
    };
    ExactFitWatch(Problem const& problem, Factors const& factors);
    /// Throws ExactFit; LostDigits where nothing is left of residuals because what adds up to them is far larger. `factors`: scored at
    /// `inputs`.
    void check(Factors const& factors, Inputs const& inputs) const;
    /// Throws ExactFit of an entry that `is_exact` says so of. `outputs`: the sum of squares of its observed outputs, weighted as
    /// squares() are; 1 if that is 0.
    using IsExact = std::function<bool(Watched const& watched, std::size_t entry, double outputs)>;
    void throw_if(Factors const& factors, IsExact const& is_exact) const;
    bool has(Factors const& factors, IsExact const& is_exact) const;
    /// Per entry: its sum of squared residuals as Factors::squares() are; where cells have local scales, the number of cells times the
    /// median of their squared residuals without what is learnt of their precision. `factors`: scored.
    std::vector<double> squares(Watched const& watched, Factors const& factors) const;
    /// Once something has failed: throws what is behind it, if residuals are. ExactFit, where they are next to nothing of the outputs;
    /// TooLarge, where they are no numbers; and, if what failed is a matter of digits, LostDigits, where they are rounding; HiddenPrior,
    /// where `block`, of the plan, failed and has a proper prior. `factors`: scored.
    void look_behind(Factors const& factors, Magnitudes& magnitudes, std::optional<std::size_t> block, bool is_of_digits) const;

  private:
    struct Found {
        Watched const* watched;
        std::size_t entry;
    };
    std::optional<Found> find(Factors const& factors, IsExact const& is_exact) const;
    double weight(Watched const& watched, std::size_t use, Factors const& factors, std::size_t component, std::size_t sequence,
                  std::size_t step) const;
    void sum_outputs(Factors const& factors, Watched const& watched) const;
    std::vector<double> uncancelled(Watched const& watched, Factors const& factors, Magnitudes& magnitudes) const;

    Problem const& problem_;
    std::vector<Watched> watched_;
};

}  // namespace bam
