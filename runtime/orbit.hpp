// Moves along what the likelihood cannot see (math.md, 8. What the likelihood cannot see): only the priors of two blocks change, so each
// move costs a few products of their size and is exact. On raw weights they bring orders of magnitude in effective draws.
#pragma once

#include <cstdint>
#include <vector>

#include "plan.hpp"
#include "priors.hpp"
#include "random.hpp"
#include "state.hpp"

namespace bam {

class OrbitMoves {
  public:
    /// The priors must be those of orbit.first and orbit.second.
    OrbitMoves(OrbitPlan const& orbit, Layout const& layout, Grid const& grid, State& state, Priors& first, Priors& second);
    void move(Stream& stream);
    /// Instead of a draw, the point on the orbit at which the priors are highest: shears in turn, each to its exact maximum, and scalings
    /// with their sign. The density is that of the parameters as they are, so no Jacobian enters. False if there is no highest point.
    bool maximise();

  private:
    /// One of the two blocks: its values and, for a direction, the prior as a quadratic in the step along it.
    struct Side {
        std::vector<double>& values;
        Priors& priors;
        std::vector<std::vector<std::uint32_t>> const& slices;
        std::size_t size;  ///< of the extent
        std::vector<double> direction, product;
    };
    struct Quadratic {
        double quadratic = 0;  ///< d' P d
        double linear = 0;     ///< d' (η - P (x - at d)), `at` the present multiple of d in x
    };
    Quadratic along(Side& side, double at);
    void set_direction(Side& side, std::size_t slice, std::size_t from, double factor);
    void set_direction(Side& side);
    void step(Side& side, double amount);
    void stretch(Side& side, double c);
    void shear(std::size_t i, std::size_t j, Stream* stream);
    void scale_and_sign(double first_entries, double second_entries, Stream& stream);
    bool best_scale_and_sign();

    OrbitPlan const& orbit_;
    Side first_, second_;
};

}  // namespace bam
