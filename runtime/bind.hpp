// A table's columns as the arrays of a layout's variables, cell by cell of a grid.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "grid.hpp"
#include "plan.hpp"
#include "table.hpp"
#include "transform.hpp"

namespace bam {

/// A table read through a layout.
struct Bound {
    Grid grid;
    std::vector<std::string> sequence_labels;  ///< [sequences], in grid order
    std::vector<std::size_t> lengths;          ///< [sequences]
    std::vector<std::size_t> appearance;       ///< [sequences]: grid index of the k-th sequence of the table
    std::vector<std::string> time_labels;      ///< [cells]: the time column as written; 1, 2, ... without one
    std::vector<std::size_t> rows;             ///< [cells]: row of the table
    std::vector<std::vector<double>> data;     ///< per variable of the layout: [component][extent]; NaN where missing; empty for parameters
    std::vector<std::vector<Learnt>> learnt;   ///< per variable, per component
};

/// What of a new table may differ from the one that was fitted: outputs may be absent.
struct BindOptions {
    std::vector<std::vector<Learnt>> const* learnt = nullptr;  ///< transforms of an earlier run
    bool outputs_may_be_absent = false;                        ///< prediction: output columns may not be there at all
};

/// Reads every data variable of the layout. Rows may come in any order.
///
/// - Without a column for sequences the table is one sequence, "1"; without a time dim every row is a sequence of its own.
/// - Steps are ordered by numbers or dates; without a time column, as the rows are.
/// - An entry that several rows speak of (of a variable without the time dim, say) has the value of those of them that have one; they must
/// agree.
/// - `first_step` of a variable: what stands before it is not needed.
///
/// Reports BAM0441..0453 (listed in bind.cpp and arrange.cpp) and what `evaluate` reports: all independent errors at once. Notes sequences
/// without any observed output, steps that look like missing rows, and an unused column whose name is all but that of a used one.
std::optional<Bound> bind(Layout const& layout, Table const& table, BindOptions const& options, Diagnostics& diagnostics);

/// Data that an observation is of, or that may be missing.
bool is_output(Layout const& layout, std::size_t variable);

}  // namespace bam
