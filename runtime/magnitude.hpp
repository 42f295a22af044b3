// How large the numbers are that cancel: what rounding is measured against (math.md, 13a. Rounding).
#pragma once

#include <memory>
#include <vector>

#include "adjoint_runner.hpp"
#include "expected_factors.hpp"
#include "factors.hpp"
#include "plan.hpp"

namespace bam {

/// Operations behind a number, generously: it is off by no more than so many units in the last place of what adds up to it.
inline constexpr double rounded_steps = 64;

/// The pass with a shadow behind every register: what the register would hold if nothing in it cancelled, that is, if all that is added
/// and multiplied had its absolute value. Where a function is applied, that of its result.
Pass with_magnitudes(Pass const& pass);
inline std::uint32_t shadow_of(Pass const& pass, std::uint32_t reg) { return static_cast<std::uint32_t>(pass.registers.size()) + reg; }

/// The sums of squared residuals of a model as they would be if nothing in the residuals cancelled. Made where digits are in doubt, and
/// with memory of its own.
class Magnitudes {
  public:
    /// The arrays must not move.
    Magnitudes(Plan const& plan, Inputs const& inputs, Factors const& factors);

    /// Sum of squares times their precision over all counting cells of a factor, at the state as it is. Binary outputs: of their means,
    /// at the precision 1/4 that their local scales have at most.
    double quadratic(std::size_t factor);
    /// Calls visit(square, component, sequence, step) for the counting cells of a factor: squared residuals if nothing in them cancelled.
    template <class Visit>
    void for_each_square(std::size_t factor, Visit visit);
    /// The same of all factors that are not flat.
    double quadratic();

  private:
    struct Shadowed {
        std::unique_ptr<Pass const> pass;
        std::unique_ptr<AdjointRunner> runner;
        std::vector<std::uint32_t> registers;  ///< per component of the target: of the shadow
    };
    Plan const& plan_;
    Bound const& bound_;
    Factors const& factors_;
    std::vector<Covariances> none_;
    std::vector<Shadowed> shadowed_;  ///< per factor
};

template <class Visit>
void Magnitudes::for_each_square(std::size_t f, Visit visit) {
    Shadowed& shadowed = shadowed_[f];
    if (!shadowed.runner) return;
    Variable const& target = plan_.layout.variables[plan_.layout.factors[f].target];
    shadowed.runner->begin();
    for (Chunk const& chunk : shadowed.runner->chunks()) {
        shadowed.runner->run(chunk);
        for (std::size_t c = 0; c < shadowed.registers.size(); ++c) {
            if (shadowed.registers[c] == no_register) continue;
            double const* const values = shadowed.runner->at(shadowed.registers[c]);
            bool const is_one = shadowed.pass->registers[shadowed.registers[c]].extent == Extent::One;
            std::size_t k = 0;
            bound_.grid.for_each(target.extent, chunk.first_step, chunk.last_step, [&](std::size_t i, std::size_t s, std::size_t t) {
                double const value = values[is_one ? 0 : k++];
                if (factors_.mask(f, c, i) > 0) visit(value * value, c, s, t);
            });
        }
        shadowed.runner->advance(chunk);
    }
}

/// The expected quadratic form of a factor of the model (ExpectedFactors::quadratic) as it would be if nothing cancelled.
double expected_magnitude(ExpectedFactors const& expected, std::size_t factor, Pass const& squares, Inputs const& inputs,
                          std::vector<Covariances> const& covariances);

}  // namespace bam
