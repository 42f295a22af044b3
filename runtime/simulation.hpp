// Parameters and outputs as the model makes them: from the priors, then from the means, at the cells of a table.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "carry.hpp"
#include "compile.hpp"
#include "pass_runner.hpp"
#include "random.hpp"
#include "replica.hpp"

namespace bam {

/// Parameters whose prior is flat and cannot be drawn from; names.
std::vector<std::string> find_flat(Problem const& problem);

/// Whether a mean of an output reads an earlier one, its own or another's.
bool looks_back(Plan const& plan);

/// The problem with every output cell that a statement speaks of as one that counts, missing or not: then all of them are simulated.
Problem with_all_cells(Compiled const& compiled, Problem const& problem);
/// Per variable of the layout, [component][extent]: output cells that the table does not have; empty where there are none.
std::vector<std::vector<bool>> missing_cells(Problem const& problem, Problem const& complete);

/// Simulates into the outputs of a problem, whose inputs and missing cells stay. What refers to the problem sees the new outputs.
class Simulation {
  public:
    /// From the priors. The problem must have no flat one, and no mean that looks back at a missing output.
    Simulation(Problem& problem, std::uint64_t seed);
    /// From draws of parameters, whose columns these are; what they do not have comes from its prior. Reports what CarryMap reports, and
    /// is then of no use.
    Simulation(Problem& problem, std::uint64_t seed, std::vector<DrawColumn> const& columns, Diagnostics& diagnostics);

    /// The parameters, with the auxiliaries of their scales, and outputs of simulation `number`, which with the seed and the draw is all
    /// they depend on; `row` has the columns. Returns the parameters.
    State const& draw(std::uint64_t number, double const* row = nullptr);
    /// New outputs of these parameters. Where means hold outputs, new ones come with new local scales of binary outputs, into the
    /// parameters: given the old ones they would not have the probabilities that their means say.
    void draw_outputs(State& parameters, std::uint64_t number);
    /// Per factor, [component][extent of its target]: the means that the last outputs were drawn about, of a binary one the probability of
    /// a 1; 0 where none was.
    std::vector<std::vector<double>> const& means() const { return cell_means_; }
    /// Per factor: the sds about them.
    std::vector<std::vector<double>> const& sds() const { return cell_sds_; }
    /// From now on a parameter has these values, [component][extent]; none: it is drawn again.
    void hold(std::uint32_t variable, std::vector<double> const& values);

  private:
    void set_up(std::vector<DrawColumn> const& columns, Diagnostics& diagnostics);
    void draw_auxiliaries(std::uint64_t number);
    void draw_binary_locals(ScaleLayout const& scale, std::uint64_t number, State& state) const;
    void draw_outputs(std::uint64_t number);
    void fill(std::size_t factor, Chunk const& chunk, Stream& noise);

    Problem& problem_;
    std::uint64_t seed_;
    std::unique_ptr<CarryMap> map_;
    std::unique_ptr<Carrier> carrier_;
    bool looks_back_ = false;  ///< a mean at earlier outputs: simulated step by step
    State state_;
    std::vector<std::size_t> order_;  ///< of the factors that outputs are of: those whose outputs a mean reads come before it
    std::vector<std::unique_ptr<PassRunner>> means_;  ///< per factor; null where the target is a parameter
    std::vector<std::vector<double>> cell_means_, cell_sds_;
    std::vector<std::vector<double>> log_odds_;  ///< per factor: of a binary one, [component][extent]; else empty
};

}  // namespace bam
