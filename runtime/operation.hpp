// The arithmetic of column expressions, one number or two at a time, and what to say where it gives no number.
#pragma once

#include <string_view>

#include "column.hpp"

namespace bam {

/// The value of an operation; of one with a single operand, of `left`. Not for Number, Column, Text and Standardize, which need a table.
double apply(ColumnOp op, double left, double right);

/// What an operation gives that is no number: code, message, and what to do about it.
struct OperationFault {
    int code;
    std::string_view message;
    std::string_view remedy;
};
/// Why apply(op, left, right) of finite operands is not finite: BAM0423..0426.
OperationFault find_fault(ColumnOp op, double left, double right);

}  // namespace bam
