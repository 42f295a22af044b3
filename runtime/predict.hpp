// Predictive draws of every output cell, observation noise included, and their summaries in the table's own units.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "draws.hpp"
#include "replica.hpp"

namespace bam {

/// Room for the predictive draws of all chains. At most `most_numbers` are kept: with more cells every k-th draw is used, which is said.
class Predictor {
  public:
    static constexpr std::size_t most_numbers = std::size_t{1} << 25;  ///< 256 MiB

    Predictor(Problem const& problem, std::size_t chains, std::size_t draws, std::uint64_t seed);

    /// One row per cell of the table and output, in the table's order. Adds to `notes` what a reader must know.
    std::vector<Prediction> summarize(std::vector<std::string>& notes) const;

  private:
    friend class PredictionRecorder;
    struct Target {
        std::uint32_t factor = 0;     ///< whose mean it is
        std::uint32_t component = 0;  ///< of the target
        std::size_t index = 0;        ///< in the target's extent
        std::size_t sequence = 0;
        std::size_t step = 0;
        bool is_drawn = false;  ///< a missing cell that is drawn with the parameters (augment.hpp): its draws are its predictions
    };
    double observed(Target const& target) const;

    Problem const& problem_;
    std::uint64_t seed_;
    std::size_t chains_;
    std::size_t draws_ = 0;  ///< kept per chain
    std::size_t stride_ = 1;
    std::vector<Target> targets_;              ///< by factor, component, cell
    std::vector<std::vector<double>> values_;  ///< per chain: [draw][target]
    std::vector<std::size_t> filled_;          ///< per chain: draws recorded
};

/// Records one chain's predictive draws.
class PredictionRecorder {
  public:
    PredictionRecorder(Predictor& predictor, Problem const& problem, Inputs const& inputs, std::size_t chain);
    /// The draw-th kept draw of the chain, at the state that `inputs` refers to.
    void record(std::size_t draw, Factors const& factors);

  private:
    Predictor& predictor_;
    Problem const& problem_;
    std::size_t chain_;
    State const& state_;
    std::vector<std::unique_ptr<PassRunner>> runners_;  ///< per factor; null where the target is a parameter
};

}  // namespace bam
