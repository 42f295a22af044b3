// Parameters and outputs as the model makes them: from the priors, then from the means, at the cells of a table.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "carry.hpp"
#include "pass_runner.hpp"
#include "random.hpp"
#include "replica.hpp"

namespace bam {

/// Parameters whose prior is flat and cannot be drawn from; names.
std::vector<std::string> find_flat(Problem const& problem);

/// Simulates into the outputs of a problem, whose inputs and missing cells stay. What refers to the problem sees the new outputs.
class Simulation {
  public:
    /// The problem must have no flat prior, and no mean that looks back at a missing output.
    Simulation(Problem& problem, std::uint64_t seed);

    /// The parameters, with the auxiliaries of their scales, and outputs of simulation `number`, which with the seed is all they depend on.
    /// Returns the parameters.
    State const& draw(std::uint64_t number);
    /// New outputs of these parameters.
    void draw_outputs(State const& parameters, std::uint64_t number);

  private:
    void draw_auxiliaries(std::uint64_t number);
    void draw_outputs(std::uint64_t number);
    void fill(std::size_t factor, std::size_t first_step, std::size_t last_step, std::uint64_t number);

    Problem& problem_;
    std::uint64_t seed_;
    std::unique_ptr<CarryMap> map_;
    std::unique_ptr<Carrier> carrier_;
    State state_;
    std::vector<std::unique_ptr<PassRunner>> means_;  ///< per factor; null where the target is a parameter
};

}  // namespace bam
