// From a state to a row of draws: which numbers are kept, in which order, under which names.
#pragma once

#include <memory>
#include <vector>

#include "draws.hpp"
#include "pass_runner.hpp"
#include "replica.hpp"

namespace bam {

/// The columns of a run: every entry of every parameter, every report, and the fitted mean of up to `most_means` cells (`mean_y`), on which
/// convergence is judged because the data identify them. Column-major as Stan writes: the first index changes fastest; steps and sequences
/// count from 1 in the order of the table.
class Recorder {
  public:
    static constexpr std::size_t most_means = 200;

    Recorder(Problem const& problem, Inputs const& inputs);

    std::vector<DrawColumn> const& columns() const { return columns_; }
    /// Where a column's number is: of a term (its registers are components) or, without one, of a variable; [component][extent].
    struct Source {
        TermPlan const* term = nullptr;
        std::uint32_t variable = 0;
        std::size_t offset = 0;
    };
    Source source(std::size_t column) const;
    /// Writes one row, [columns].
    void record(State const& state, double* row);
    /// One row of numbers that parameters have, [variable][component][extent]; NaN for the other columns.
    void record_entries(std::vector<std::vector<double>> const& entries, double* row) const;

  private:
    struct Place {
        std::uint32_t term = 0;  ///< no_register: a value of the state
        std::uint32_t variable = 0;
        std::size_t offset = 0;
    };
    struct Evaluated {
        TermPlan const* plan = nullptr;
        std::unique_ptr<PassRunner> runner;
        Extent extent = Extent::One;
        std::vector<double> values;  ///< [component][extent]
    };
    void add(std::string const& name, std::vector<std::uint16_t> const& dims, Extent extent, std::uint32_t term, std::uint32_t variable,
             std::size_t first_step, bool is_identified, bool is_shown);
    void add_means(std::size_t factor);
    void evaluate(Evaluated& evaluated) const;

    Problem const& problem_;
    std::vector<DrawColumn> columns_;
    std::vector<Place> places_;
    std::vector<Evaluated> terms_;
};

}  // namespace bam
