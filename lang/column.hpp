// What a table binding says of a column, as plain data: checked by lang, evaluated by runtime.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bam/diagnostic.hpp"

namespace bam {

enum class ColumnOp : std::uint8_t {
    Number,  ///< value
    Column,  ///< name
    Negate,
    Add,
    Subtract,
    Multiply,
    Divide,
    Power,
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,  ///< give 0 or 1; Equal with a Text argument compares the cell's text
    Exp,
    Log,
    Sqrt,
    Abs,
    Standardize,
    Difference,  ///< to the row before of the same sequence, in the order of the time dim; 0 in the first
    Text,        ///< name; only beside a Column in Equal, NotEqual and Label
    Label,       ///< of a Column and Texts: the number, from 1, of the Text that the cell has
};

/// An expression over one row of a table.
struct ColumnExpr {
    ColumnOp op = ColumnOp::Number;
    double value = 0;
    std::string name;
    std::vector<ColumnExpr> args;
    Span span;
};

}  // namespace bam
