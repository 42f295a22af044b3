// What an output is called in the table, and its values in the table's own unit.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "replica.hpp"

namespace bam {

/// The label of the component, or the name of data without a labelled dim.
std::string output_name(Layout const& layout, std::uint32_t variable, std::size_t component);
/// The one column of the table that the output is an invertible function of, if there is one.
std::optional<std::string> output_column(Layout const& layout, std::uint32_t variable, std::size_t component);
/// The value in the unit of that column; as it is where there is none.
double in_table_unit(Problem const& problem, std::uint32_t variable, std::size_t component, double value);
/// What the log density of a value takes to become one in the unit of that column; 0 where there is none.
double log_unit_slope(Problem const& problem, std::uint32_t variable, std::size_t component, double value);
/// Whether a larger value is a smaller one in that unit.
bool is_flipped(Problem const& problem, std::uint32_t variable, std::size_t component);
/// The column, or the expression where there is no one column: the same of outputs that are the same thing in two models.
std::string unit_key(Layout const& layout, std::uint32_t variable, std::size_t component);

}  // namespace bam
