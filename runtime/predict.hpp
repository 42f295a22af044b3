// Predictive draws of every output cell, observation noise included, and their summaries in the table's own units.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "draws.hpp"
#include "output_cells.hpp"
#include "random.hpp"
#include "replica.hpp"

namespace bam {

/// Moments of new outputs that are known without draws, per factor of the model; empty where its target is a parameter.
struct PredictiveMoments {
    std::vector<std::vector<double>> mean, variance;  ///< of the mean of a cell: [component][extent of the target]
    std::vector<std::function<double(std::size_t component, std::size_t sequence, std::size_t step)>> noise;  ///< expected variance
};

/// Room for the predictive draws of all chains. At most `most` numbers are kept: with more every k-th draw is used, which is said.
class Predictor {
  public:
    static constexpr std::size_t most_numbers = std::size_t{1} << 25;  ///< 256 MiB

    /// `draws`: of each chain; nothing where that is not known: then room grows with them, and when it is full every other draw goes.
    Predictor(Problem const& problem, std::size_t chains, std::optional<std::size_t> draws, std::uint64_t seed,
              std::size_t most = most_numbers);

    /// The draws of a chain count no more.
    void leave_out(std::size_t chain) { kept_[chain].draws = 0; }
    /// One row per cell of the table and output, in the table's order. Adds to `notes` what a reader must know.
    /// `exact`: takes the place of the means and sds of the draws where the way to the table's unit is a straight line.
    std::vector<Prediction> summarize(std::vector<std::string>& notes, PredictiveMoments const* exact = nullptr) const;
    /// The same of one point of the parameters, where a cell is normal about its mean: no draws, and nothing random.
    std::vector<Prediction> at_point(Inputs const& inputs, Factors const& factors) const;

  private:
    friend class PredictionRecorder;
    friend class CellMeans;
    using Target = OutputCell;  ///< one that is drawn has its draws as its predictions
    double observed(Target const& target) const;
    bool is_binary(Target const& target) const;
    static void fill_binary(Prediction& prediction);
    /// A value of the target in the table's unit.
    double to_table(Target const& target, double value) const;
    /// The least power of new noise of a target in any draw: tail_of_noise().
    double tail_of(Target const& target) const;
    void set_moments(Prediction& prediction, Target const& target, PredictiveMoments const& exact) const;
    /// With its place and what was observed.
    Prediction prediction_of(Target const& target) const;

    /// Of a chain: every `stride`-th of its draws so far.
    struct Kept {
        std::vector<double> values;  ///< [draw][target]; of a binary output the probability of a 1
        std::size_t draws = 0;
        std::size_t stride = 1;
        std::vector<double> tails;  ///< per factor: the least tail_of_noise() of any draw
    };
    /// Where the numbers of a draw belong, by target; null if it is none of those that are kept.
    double* room_for(std::size_t chain, std::size_t draw);

    Problem const& problem_;
    std::uint64_t seed_;
    std::vector<Target> targets_;
    std::size_t most_;
    std::size_t limit_ = 0;   ///< draws kept of a chain, at most
    bool grows_;              ///< how many draws there will be is not known
    std::vector<Kept> kept_;  ///< per chain
};

/// The means of all targets at one state.
class CellMeans {
  public:
    CellMeans(Problem const& problem, Inputs const& inputs);
    void evaluate();
    /// Of a missing cell that is drawn with the parameters, its value.
    double of(Predictor::Target const& target) const;
    State const& state() const { return state_; }

  private:
    Problem const& problem_;
    State const& state_;
    std::vector<std::unique_ptr<PassRunner>> runners_;  ///< per factor; null where the target is a parameter
    std::vector<std::vector<double>> means_;            ///< per factor: [component][extent]; a mean that is 0 has no register and stays so
};

/// The powers below which noise of a statement has moments, infinite if there are all: of student_t its degrees of freedom.
double tail_of_noise(Problem const& problem, std::size_t factor, State const& state);

/// The precision of a new output of this cell: with local scales drawn anew, as those of the state are what the cell itself says of them,
/// if it is observed.
double new_precision(Problem const& problem, OutputCell const& cell, Factors const& factors, State const& state, Stream& stream);

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
    CellMeans means_;
};

}  // namespace bam
