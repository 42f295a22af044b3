// The way back from a column expression to the table's column: inverses, slopes, directions.
#include <cmath>
#include <limits>
#include <stdexcept>

#include "operation.hpp"
#include "transform.hpp"

namespace bam {
namespace {

/// The value of an expression without columns.
std::optional<double> find_constant(ColumnExpr const& expression) {
    if (expression.op == ColumnOp::Number) return expression.value;
    if (expression.args.empty() || expression.op == ColumnOp::Standardize || expression.op == ColumnOp::Difference) return std::nullopt;
    auto const left = find_constant(expression.args[0]);
    auto const right = expression.args.size() == 2 ? find_constant(expression.args[1]) : left;
    if (!left || !right) return std::nullopt;
    double const value = apply(expression.op, *left, *right);
    return std::isfinite(value) ? std::optional(value) : std::nullopt;
}

/// One step of a chain of invertible operations: the operand that leads to the column, and the constant it is combined with.
struct Link {
    ColumnExpr const* operand = nullptr;
    double constant = 0;
    bool is_constant_first = false;
};
std::optional<Link> find_link(ColumnExpr const& expression) {
    switch (expression.op) {
        case ColumnOp::Negate:
        case ColumnOp::Exp:
        case ColumnOp::Log:
        case ColumnOp::Sqrt:
        case ColumnOp::Standardize: return Link{&expression.args[0], 0, false};
        case ColumnOp::Add:
        case ColumnOp::Subtract:
        case ColumnOp::Multiply:
        case ColumnOp::Divide: break;
        default: return std::nullopt;
    }
    auto const left = find_constant(expression.args[0]);
    auto const right = find_constant(expression.args[1]);
    if (left.has_value() == right.has_value() || (left && expression.op == ColumnOp::Divide)) return std::nullopt;
    bool const is_scaling = expression.op == ColumnOp::Multiply || expression.op == ColumnOp::Divide;
    if (is_scaling && left.value_or(right.value_or(0)) == 0) return std::nullopt;
    return left ? Link{&expression.args[1], *left, true} : Link{&expression.args[0], *right, false};
}

Link link_of(ColumnExpr const& expression) {
    auto const link = find_link(expression);
    if (!link) throw std::logic_error("a column expression that has no inverse was to be inverted");
    return *link;
}

/// The number of constants that were learnt before those of `expression` itself: by what stands inside it.
std::size_t constants_inside(ColumnExpr const& expression) {
    std::size_t count = 0;
    for (ColumnExpr const& arg : expression.args) count += constants_inside(arg) + (arg.op == ColumnOp::Standardize ? 2U : 0U);
    return count;
}

/// One step of the way back: the operand's value, and the logarithm of |d expression / d operand| there.
struct StepBack {
    ColumnExpr const* operand = nullptr;
    double value = 0;
    double log_slope = 0;
};
StepBack step_back(ColumnExpr const& expression, Learnt const& learnt, double value) {
    auto const [operand, constant, is_constant_first] = link_of(expression);
    switch (expression.op) {
        case ColumnOp::Negate: return {operand, -value, 0};
        case ColumnOp::Add: return {operand, value - constant, 0};
        case ColumnOp::Subtract: return {operand, is_constant_first ? constant - value : value + constant, 0};
        case ColumnOp::Multiply: return {operand, value / constant, std::log(std::abs(constant))};
        case ColumnOp::Divide: return {operand, value * constant, -std::log(std::abs(constant))};
        case ColumnOp::Exp: {
            double const log_value = value > 0 ? std::log(value) : -std::numeric_limits<double>::infinity();
            return {operand, log_value, log_value};
        }
        case ColumnOp::Log: return {operand, std::exp(value), -value};
        case ColumnOp::Sqrt: return {operand, value > 0 ? value * value : 0, -std::log(2 * value)};
        case ColumnOp::Standardize: {
            std::size_t const mean = constants_inside(expression);
            if (mean + 2 > learnt.constants.size()) throw std::logic_error("a transform was learnt from another expression");
            double const sd = learnt.constants[mean + 1];
            return {operand, learnt.constants[mean] + sd * value, -std::log(sd)};
        }
        default: return {operand, value, 0};
    }
}

}  // namespace

std::optional<std::string> find_source_column(ColumnExpr const& expression) {
    if (expression.op == ColumnOp::Column) return expression.name;
    auto const link = find_link(expression);
    return link ? find_source_column(*link->operand) : std::nullopt;
}

double invert(ColumnExpr const& expression, Learnt const& learnt, double value) {
    if (expression.op == ColumnOp::Column) return value;
    StepBack const back = step_back(expression, learnt, value);
    return invert(*back.operand, learnt, back.value);
}

double log_slope(ColumnExpr const& expression, Learnt const& learnt, double value) {
    if (expression.op == ColumnOp::Column) return 0;
    StepBack const back = step_back(expression, learnt, value);
    return back.log_slope + log_slope(*back.operand, learnt, back.value);
}

bool is_decreasing(ColumnExpr const& expression, Learnt const& learnt) {
    if (expression.op == ColumnOp::Column) return false;
    auto const [operand, constant, is_constant_first] = link_of(expression);
    bool const is_scaling = expression.op == ColumnOp::Multiply || expression.op == ColumnOp::Divide;
    bool const flips =
        expression.op == ColumnOp::Negate || (expression.op == ColumnOp::Subtract && is_constant_first) || (is_scaling && constant < 0);
    return flips != is_decreasing(*operand, learnt);
}

}  // namespace bam
