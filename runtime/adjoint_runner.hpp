// A pass run forward, and then backward for the exact derivatives of a weighted sum of its outputs in one variable: reverse accumulation
// (Griewank and Walther, Evaluating Derivatives, 2008), each instruction undone in turn. A recurrence is undone from the last step to the
// first; its values are kept at the start of every chunk and computed again from there, so that memory does not grow with its state.
#pragma once

#include <optional>
#include <vector>

#include "covariances.hpp"
#include "pass_runner.hpp"

namespace bam {

/// A register of a pass with the weight of each of its numbers, [extent of the pass's domain].
struct WeightedOutput {
    std::uint32_t reg = 0;
    double const* weights = nullptr;
};

/// Derivatives in the means and covariances of one variable, laid out as they are. A covariance counts once for each of its two places: the
/// derivative in cov(θ_i, θ_j), i != j, is that of both.
struct Gradient {
    std::vector<double> mean;    ///< [component][extent]
    std::vector<double> same;    ///< as Covariances::same
    std::vector<double> before;  ///< as Covariances::before
};
Gradient make_gradient(Covariances const& covariances);

/// One pass and one variable. Time of a run and of its derivatives is a fixed multiple of that of the pass; nothing is allocated after its
/// first run.
class AdjointRunner {
  public:
    /// `variable`: the one to differentiate in. The arrays that `inputs`, `covariances` and the outputs refer to must not move.
    AdjointRunner(Pass const& pass, std::vector<WeightedOutput> outputs, Inputs const& inputs, std::vector<Covariances> const& covariances,
                  std::uint32_t variable);

    /// The weighted sum, its derivatives added to the gradient.
    double differentiate(Gradient& gradient);
    /// The weighted sum.
    double evaluate();

    /// The numbers of a register in the chunk that was run last, from its first step on.
    double const* at(std::uint32_t reg) const { return pointers_[reg]; }

    // ---- a step at a time, for a variable over time that recurrences carry on ----

    std::vector<Chunk> const& chunks() const { return chunks_; }
    /// Keeps, for every step, the derivative in each carried number of what the later steps make of it. `differentiate` without the
    /// gradient.
    void look_back();
    /// Before the first chunk.
    void begin();
    /// All registers of a chunk; chunks in ascending order, advance() in between.
    void run(Chunk const& chunk);
    void advance(Chunk const& chunk);
    /// Again the registers of one step that depend on the variable. Of the chunk that was run last.
    void run_step(std::size_t t);
    /// Derivatives of the sum in the variable at step t, with what look_back() kept for the later steps: added to the gradient.
    void differentiate_step(std::size_t t, Gradient& gradient);

  private:
    struct Steps {
        std::size_t first, last;
    };
    struct Input {
        std::uint32_t reg;
        double const* base;
    };
    std::size_t count(Extent extent, Steps steps) const;
    std::size_t offset(Extent extent, std::size_t step) const;  ///< in the arrays of the present chunk
    Extent extent(std::uint32_t reg) const { return pass_.registers[reg].extent; }
    bool is_stepped(std::uint32_t reg) const { return extent(reg) == Extent::Time || extent(reg) == Extent::Cell; }
    double const* value(std::uint32_t reg, std::size_t step) const { return pointers_[reg] + offset(extent(reg), step); }
    double* adjoint(std::uint32_t reg, std::size_t step) { return adjoints_[reg].data() + offset(extent(reg), step); }

    void execute(Instruction const& instruction, Steps steps);
    void copy(Instruction const& instruction, Steps steps);
    void scan(Instruction const& instruction, Steps steps, std::vector<double> const& carry);
    void shift(Instruction const& instruction, Steps steps, std::vector<double> const& carry);
    void undo(Instruction const& instruction, Steps steps);
    void undo_copy(Instruction const& instruction, Steps steps);
    void undo_scan(Instruction const& instruction, std::size_t carrier);
    void undo_shift(Instruction const& instruction, std::size_t carrier);
    void undo_scan_step(Instruction const& instruction, std::size_t carrier, std::size_t t);
    void add_to(std::uint32_t reg, double const* values, std::size_t n, Steps steps, double const* factor, bool factor_is_one);
    double const* previous_row(std::uint32_t reg, std::size_t t, std::vector<double> const& carry) const;
    void clear_adjoints(Steps steps);
    void seed(Steps steps);
    double weighted_sum(Steps steps) const;
    void collect(std::uint32_t reg, Steps steps, Gradient& gradient);
    double sweep_back(Gradient* gradient, bool keeps_later);
    std::size_t lanes(Extent extent, std::size_t t) const { return extent == Extent::Time ? 1 : grid_.lanes(t); }

    Pass const& pass_;
    Grid const& grid_;
    std::vector<Covariances> const& covariances_;
    std::uint32_t variable_;
    std::vector<WeightedOutput> outputs_;
    std::vector<Chunk> chunks_;
    Chunk chunk_;
    std::vector<std::vector<double>> values_;    ///< per register that is computed
    std::vector<std::vector<double>> adjoints_;  ///< per register that depends on the variable
    std::vector<double const*> pointers_;        ///< per register, for the present chunk
    std::vector<Input> inputs_;                  ///< registers that move with the chunk
    std::vector<std::pair<std::uint32_t, double const*>> lagged_;
    std::vector<bool> depends_;       ///< per register
    std::vector<std::uint32_t> own_;  ///< registers that are the variable's means and covariances
    std::vector<Instruction> once_;   ///< of extent One and Sequence
    std::vector<Instruction> stepped_;
    std::vector<Instruction> dependent_;                  ///< of stepped_
    std::vector<std::size_t> carriers_;                   ///< per stepped_: its carrier, or SIZE_MAX
    std::vector<std::size_t> dependent_carriers_;         ///< per dependent_
    std::vector<std::vector<double>> carries_;            ///< per carrier: the row before the chunk
    std::vector<std::vector<std::vector<double>>> kept_;  ///< per chunk: carries_ at its start
    std::vector<std::vector<double>> later_;              ///< per carrier: derivative that the next step hands back, [lanes]
    std::vector<std::vector<double>> later_by_step_;      ///< per carrier: the same for every cell, from look_back()
};

}  // namespace bam
