// Codes of this file:
//   BAM0423  the logarithm of a number that is not positive
//   BAM0424  the square root of a negative number
//   BAM0425  a division by 0
//   BAM0426  a result beyond the range of a double, or a power that is not real
#include "operation.hpp"

#include <cmath>
#include <stdexcept>

namespace bam {

double apply(ColumnOp op, double left, double right) {
    switch (op) {
        case ColumnOp::Negate: return -left;
        case ColumnOp::Add: return left + right;
        case ColumnOp::Subtract: return left - right;
        case ColumnOp::Multiply: return left * right;
        case ColumnOp::Divide: return left / right;
        case ColumnOp::Power: return std::pow(left, right);
        case ColumnOp::Equal: return left == right ? 1 : 0;
        case ColumnOp::NotEqual: return left != right ? 1 : 0;
        case ColumnOp::Less: return left < right ? 1 : 0;
        case ColumnOp::LessEqual: return left <= right ? 1 : 0;
        case ColumnOp::Greater: return left > right ? 1 : 0;
        case ColumnOp::GreaterEqual: return left >= right ? 1 : 0;
        case ColumnOp::Exp: return std::exp(left);
        case ColumnOp::Log: return std::log(left);
        case ColumnOp::Sqrt: return std::sqrt(left);
        case ColumnOp::Abs: return std::abs(left);
        case ColumnOp::Number:
        case ColumnOp::Column:
        case ColumnOp::Standardize:
        case ColumnOp::Difference:
        case ColumnOp::Label:
        case ColumnOp::Text: break;
    }
    throw std::logic_error("a column expression has no such operation");
}

OperationFault find_fault(ColumnOp op, double left, double right) {
    if (op == ColumnOp::Log && left == 0)
        return {423, "the logarithm of 0", "leave the cell empty if nothing was measured; `log(x + 1)` is defined at 0"};
    if (op == ColumnOp::Log)
        return {423, "the logarithm of a negative number",
                "leave the cell empty if nothing was measured; a logarithm needs numbers above 0"};
    if (op == ColumnOp::Sqrt)
        return {424, "the square root of a negative number",
                "leave the cell empty if nothing was measured; a root needs numbers from 0 on"};
    if ((op == ColumnOp::Divide && right == 0) || (op == ColumnOp::Power && left == 0 && right < 0))
        return {425, "a division by 0", "leave the cell empty if nothing was measured"};
    if (op == ColumnOp::Power && std::isnan(apply(op, left, right)))
        return {426, "a power that is not real", "a negative number has whole powers only"};
    return {426, "a number beyond the range of a double", "change the unit of the column, `x / 1000` say"};
}

}  // namespace bam
