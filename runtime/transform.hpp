// Expressions over a table's columns (`Dose / 5`, `log(earn)`, `standardize(kms)`), and their inverses: the way back to the table's units.
#pragma once

#include <cstddef>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "column.hpp"
#include "table.hpp"

namespace bam {

/// The values of a column expression.
struct Column {
    std::vector<double> values;                ///< [rows], finite, or NaN where a cell it reads is missing
    std::vector<std::optional<Span>> missing;  ///< [rows]: the cell whose absence made it NaN, if any; the first from the left
};

/// Constants a transform learnt from the table (`standardize`), in the order in which they occur (inner ones first); kept so that a new
/// table is treated alike.
struct Learnt {
    std::vector<double> constants;  ///< mean, sd, mean, sd, ...; sd with divisor n - 1
};

/// Per row, the row before it of the same sequence; no_row if it is the first.
using RowsBefore = std::vector<std::size_t>;
inline constexpr std::size_t no_row = std::numeric_limits<std::size_t>::max();

/// Evaluates `expression` over every row. If `learnt` is empty it is filled, else it is used as it is. Comparisons give 1 or 0; one with a
/// text compares the cell's text, even if it is a spelling of a missing value. Reports BAM0420..0439 (listed in transform.cpp), with up to
/// five of the cells, and gives nothing: a column that is not there, text in a number, a logarithm, root, quotient or power that is no
/// number, a spread of 0.
///
/// `before` is what `difference` goes by: without it every row is a first one.
std::optional<Column> evaluate(ColumnExpr const& expression, Table const& table, Learnt& learnt, Diagnostics& diagnostics,
                               RowsBefore const& before = {});

/// The one column that the expression is an invertible function of (`conc / 10`, `log(earn)`), if there is one.
std::optional<std::string> find_source_column(ColumnExpr const& expression);

/// The value of the table's column that `expression` maps to `value`: the inverse of a chain of + - * / by constants, log, exp, sqrt,
/// standardize. Monotone, also outside of the range of the expression: exp of nothing real is -infinity, sqrt of nothing real 0. Needs
/// find_source_column(expression).
double invert(ColumnExpr const& expression, Learnt const& learnt, double value);

/// The logarithm of |d expression / d column| where the expression has this value: what a log density of it takes to become one of the
/// column. Needs find_source_column(expression).
double log_slope(ColumnExpr const& expression, Learnt const& learnt, double value);

/// Whether the inverse decreases (`-y`; `1 / y` is not invertible here): then lower and upper quantiles change places. Needs
/// find_source_column(expression).
bool is_decreasing(ColumnExpr const& expression, Learnt const& learnt);

}  // namespace bam
