// Runs a pass over the cells in chunks of some hundred, so that scratch stays in cache however long the sequences are.
#pragma once

#include <span>
#include <vector>

#include "bind.hpp"
#include "kernels.hpp"
#include "plan.hpp"
#include "state.hpp"

namespace bam {

/// What the inputs of a pass are read from. The arrays must not move while a runner refers to them.
struct Inputs {
    Layout const& layout;
    Bound const& bound;
    State const& state;
    std::vector<std::vector<double>> const& weights;  ///< per factor: [component][extent of the target]; empty if it is not weighted
};

/// A range of steps and their cells.
struct Chunk {
    std::size_t first_step = 0;
    std::size_t last_step = 0;  ///< one past the last
    std::size_t first_cell = 0;
    std::size_t last_cell = 0;
};

/// Index, in arrays of that extent, of what a chunk begins with.
inline std::size_t first_of(Chunk const& chunk, Extent extent) {
    return extent == Extent::Cell ? chunk.first_cell : (extent == Extent::Time ? chunk.first_step : 0);
}

/// The steps in chunks of about Grid::chunk_cells cells, or all in one. Without a domain over time there is one chunk.
std::vector<Chunk> make_chunks(Grid const& grid, Extent domain, bool whole = false);

/// One pass bound to its inputs. Nothing is allocated after construction.
class PassRunner {
  public:
    /// `runs`: registers that must stand one after another in memory, `capacity()` numbers apart. `whole`: one chunk over all steps.
    PassRunner(Pass const& pass, Inputs const& inputs, std::vector<std::vector<std::uint32_t>> const& runs = {}, bool whole = false);

    std::span<Chunk const> chunks() const { return chunks_; }
    /// What does not depend on the step. Once, before the chunks; the chunks then in ascending order if the pass has a Scan.
    void begin();
    void run(Chunk const& chunk);
    /// Reads again, at these steps, what lies some steps back: where that was written since begin().
    void look_back(std::size_t first_step, std::size_t last_step);

    /// The register's numbers of the chunk run last; size(chunk) of them, or one if the extent is One.
    double const* at(std::uint32_t reg) const { return pointers_[reg]; }
    bool is_one(std::uint32_t reg) const { return pass_.registers[reg].extent == Extent::One; }
    std::size_t size(Chunk const& chunk) const { return size(chunk, pass_.domain); }
    std::size_t capacity() const { return capacity_; }
    Pass const& pass() const { return pass_; }

  private:
    /// An instruction, or several that add up to one sum of products; its code is then Multiply, or MultiplyAdd if it adds to `out`.
    struct Operation {
        Instruction instruction;
        Extent extent;
        std::vector<Summand> summands;
        std::vector<double> carry;  ///< of a Scan: its last row
    };
    std::size_t size(Chunk const& chunk, Extent extent) const;
    void add_operation(Instruction const& instruction);
    Summand summand(Extent extent, std::uint32_t a, std::uint32_t b) const;
    void execute(Operation& operation, Chunk const& chunk);
    void copy(Instruction const& instruction, Chunk const& chunk);
    void scan(Instruction const& instruction, Chunk const& chunk, std::vector<double>& carry);

    struct Input {
        std::uint32_t reg;
        double const* base;
        Extent extent;
    };
    struct Lagged {
        Input source;
        std::vector<double> values;
        std::uint16_t lag;
    };

    Pass const& pass_;
    Grid const& grid_;
    std::vector<Chunk> chunks_;
    std::size_t capacity_ = 0;
    std::vector<double> scratch_;
    std::vector<double*> outs_;            ///< per register; null for inputs
    std::vector<double const*> pointers_;  ///< per register, for the current chunk
    std::vector<Input> inputs_;            ///< registers that move with the chunk
    std::vector<Lagged> lagged_;
    std::uint32_t one_ = 0;        ///< beyond the pass's registers: holds 1
    std::vector<Operation> once_;  ///< of extent One and Sequence
    std::vector<Operation> chunked_;
};

}  // namespace bam
