// The algebra of values: which shapes go together, and the terms they make.
// Codes of this file:
//   BAM0110  shapes in a product
//   BAM0111  shapes in a sum or an elementwise product
//   BAM0112  a divisor, a power or an argument that is not a scalar or vector
//   BAM0210  a state whose previous step is mixed by a matrix
//   BAM0213  a parameter inside a function or below a fraction bar
#include <fmt/format.h>

#include <cmath>

#include "workspace.hpp"

namespace bam {
namespace {

constexpr std::uint16_t contracted = 127;  ///< copy of the axis of a matrix product
constexpr std::uint16_t spare = 126;       ///< copy of an axis while two change places
constexpr double largest_power = 8;

bool fits(Shape const& a, Shape const& b) {
    if (a.is_scalar() || b.is_scalar()) return true;
    return a.column == b.row;  // the same dim, or none at all: an outer product
}

Shape transposed(Shape const& shape) { return {shape.column, shape.row}; }

}  // namespace

std::string Algebra::describe(Operand const& operand) const {
    return fmt::format("`{}` is {}", workspace_.text(operand.expr.span), workspace_.to_text(operand.value.shape));
}

Value Algebra::multiply(Operand const& a, Operand const& b, Span span) {
    if (!a.value.is_known || !b.value.is_known) return {};
    Terms& terms = workspace_.model.terms;
    Shape const& left = a.value.shape;
    Shape const& right = b.value.shape;
    if (a.value.is_open || b.value.is_open) return {terms.one(), {}, true, true};
    if (left.is_scalar() || right.is_scalar()) {
        return {terms.multiply({a.value.term, b.value.term}), left.is_scalar() ? right : left, true};
    }
    if (!fits(left, right)) {
        product_does_not_fit(a, b, span);
        return {};
    }
    Shape const shape{left.row, right.column};
    Term factor = a.value.term;
    Term other = b.value.term;
    Axes summed;
    if (left.column) {
        Axis const axis{*left.column, contracted};
        factor = terms.rename(factor, left.column_axis(), axis);
        other = terms.rename(other, right.row_axis(), axis);
        summed = {axis};
    }
    if (right.column) other = terms.rename(other, right.column_axis(), shape.column_axis());
    return {terms.contract({factor, other}, summed), shape, true};
}

void Algebra::product_does_not_fit(Operand const& a, Operand const& b, Span span) {
    Shape const& left = a.value.shape;
    Shape const& right = b.value.shape;
    auto const is_state = [&](Operand const& operand) {
        return workspace_.model.terms.any(operand.value.term, [](Node const& node) { return node.op == Op::Previous; });
    };
    if (is_state(a) || is_state(b)) {
        Diagnostic& d = workspace_.error(210, span, "the recurrence mixes its entries");
        d.labels.push_back({a.expr.span, describe(a)});
        d.labels.push_back({b.expr.span, describe(b)});
        d.notes.push_back("the previous step of a state is multiplied by a scalar, by `diag` of a vector, or elementwise with `.*`");
        return;
    }
    std::string const x = as_operand(workspace_, a.expr);
    std::string const y = as_operand(workspace_, b.expr);
    std::string message = fmt::format("the product of {} and {} has no meaning", workspace_.to_text(left), workspace_.to_text(right));
    if (left.is_column() && right.is_column()) {
        message = fmt::format("the product of two column vectors, {} and {}", workspace_.to_text(left), workspace_.to_text(right));
    }
    Diagnostic& d = workspace_.error(110, span, message, "the dim of the columns on the left must be that of the rows on the right");
    d.labels.push_back({a.expr.span, describe(a)});
    d.labels.push_back({b.expr.span, describe(b)});
    if (fits(transposed(left), right))
        d.notes.push_back(hint(x + "' * " + y));
    else if (fits(left, transposed(right)) || (left.is_column() && right.is_column()))
        d.notes.push_back(hint(x + " * " + y + "'"));
    else if (fits(right, left))
        d.notes.push_back(hint(y + " * " + x));
    if (left == right) d.notes.push_back(fmt::format("or elementwise: {} .* {}", x, y));
}

Value Algebra::multiply_elementwise(Operand const& a, Operand const& b, Span span) {
    if (!a.value.is_known || !b.value.is_known) return {};
    Terms& terms = workspace_.model.terms;
    if (a.value.is_open || b.value.is_open) {
        Value const& other = a.value.is_open ? b.value : a.value;
        return {terms.one(), other.shape, true, other.is_open};
    }
    if (a.value.shape == b.value.shape) return {terms.multiply({a.value.term, b.value.term}), a.value.shape, true};
    Diagnostic& d = workspace_.error(111, span, "an elementwise product of different shapes");
    d.labels.push_back({a.expr.span, describe(a)});
    d.labels.push_back({b.expr.span, describe(b)});
    std::string const x = as_operand(workspace_, a.expr);
    std::string const y = as_operand(workspace_, b.expr);
    if (a.value.shape.is_scalar() || b.value.shape.is_scalar())
        d.notes.push_back(hint(x + " * " + y));
    else if (a.value.shape == transposed(b.value.shape))
        d.notes.push_back(hint(x + " .* " + y + "'"));
    return {};
}

Value Algebra::add(Operand const& a, Operand const& b, bool is_minus, Span span) {
    if (!a.value.is_known || !b.value.is_known) return {};
    Terms& terms = workspace_.model.terms;
    if (a.value.is_open || b.value.is_open) {
        Value const& other = a.value.is_open ? b.value : a.value;
        return {terms.one(), other.shape, true, other.is_open};
    }
    if (a.value.shape == b.value.shape) {
        return {terms.add({a.value.term, is_minus ? terms.negate(b.value.term) : b.value.term}), a.value.shape, true};
    }
    Diagnostic& d = workspace_.error(111, span, fmt::format("{} of different shapes", is_minus ? "the difference" : "the sum"));
    d.labels.push_back({a.expr.span, describe(a)});
    d.labels.push_back({b.expr.span, describe(b)});
    char const* const sign = is_minus ? " - " : " + ";
    if (a.value.shape == transposed(b.value.shape)) {
        d.notes.push_back(hint(as_operand(workspace_, a.expr) + sign + as_operand(workspace_, b.expr) + "'"));
    } else if (a.value.shape.is_scalar() || b.value.shape.is_scalar()) {
        d.notes.push_back("a scalar is not added to every entry: give it the dims of the other");
    }
    return {};
}

bool Algebra::may_be_nonlinear(Operand const& a, std::string const& what, bool is_report) {
    if (is_report || workspace_.is_trial) return true;
    Model const& model = workspace_.model;
    std::optional<SymbolId> parameter;
    model.terms.any(a.value.term, [&](Node const& node) {
        bool const is_state = node.op == Op::Previous;
        bool const is_drawn = node.op == Op::Param && model.symbols[static_cast<SymbolId>(node.payload)].kind != SymbolKind::Fixed;
        if (is_state || is_drawn) parameter = static_cast<SymbolId>(node.payload);
        return is_state || is_drawn;
    });
    if (!parameter) return true;
    std::string const& name = model.symbols[*parameter].name;
    Diagnostic& d = workspace_.error(213, a.expr.span, fmt::format("{} of `{}`", what, name), "what stands here must be data or numbers");
    d.labels.push_back({model.symbols[*parameter].span, fmt::format("`{}` is declared here", name)});
    d.notes.push_back("a mean must be linear in each parameter, the others held fixed: only then is its full conditional Gaussian");
    d.notes.push_back("such an expression may stand in the report section");
    return false;
}

Value Algebra::divide(Operand const& a, Operand const& b, Span span, bool is_report) {
    if (!a.value.is_known || !b.value.is_known) return {};
    Terms& terms = workspace_.model.terms;
    if (b.value.is_open) return a.value;  // refused once its shape is known
    if (!b.value.shape.is_scalar()) {
        workspace_.error(112, b.expr.span, "division by something that is not a scalar", describe(b));
        return {};
    }
    if (terms.is_constant(b.value.term, 0)) {
        workspace_.error(112, span, "division by zero");
        return {};
    }
    if (!may_be_nonlinear(b, "division by a function", is_report)) return {};
    if (a.value.is_open) return a.value;
    return {terms.multiply({a.value.term, terms.apply(Function::Reciprocal, b.value.term)}), a.value.shape, true};
}

Value Algebra::power(Operand const& a, Operand const& exponent, Span span, bool is_report) {
    if (!a.value.is_known || !exponent.value.is_known) return {};
    Terms& terms = workspace_.model.terms;
    if (a.value.is_open || exponent.value.is_open) return a.value;
    if (terms[exponent.value.term].op != Op::Constant) {
        workspace_.error(112, exponent.expr.span, "a power that is not a number");
        return {};
    }
    double const n = terms.constant_value(exponent.value.term);
    if (terms[a.value.term].op == Op::Constant && a.value.shape.is_scalar()) {
        double const result = std::pow(terms.constant_value(a.value.term), n);
        if (std::isfinite(result)) return {terms.constant(result), {}, true};
        workspace_.error(112, span, "a power that is not a finite number");
        return {};
    }
    if (a.value.is_open || !a.value.shape.is_scalar()) {
        Diagnostic& d = workspace_.error(112, span, "a power of something that is not a scalar", a.value.is_open ? "a state" : describe(a));
        std::string const x = as_operand(workspace_, a.expr);
        if (n == 2) d.notes.push_back(hint(x + " .* " + x));
        return {};
    }
    if (n == 0.5) return apply(Function::Sqrt, a, span, is_report);
    if (n == -1)
        return may_be_nonlinear(a, "the reciprocal", is_report) ? Value{terms.apply(Function::Reciprocal, a.value.term), {}, true}
                                                                : Value{};
    if (n >= 0 && n <= largest_power && n == std::floor(n)) {
        return {terms.multiply(std::vector<Term>(static_cast<std::size_t>(n), a.value.term)), {}, true};
    }
    workspace_.error(112, exponent.expr.span, fmt::format("the power {} is not one that bam takes", n),
                     fmt::format("a power is a whole number up to {}, 0.5 or -1", largest_power));
    return {};
}

Value Algebra::apply(Function function, Operand const& a, Span span, bool is_report) {
    if (!a.value.is_known) return {};
    if (a.value.is_open) return a.value;
    static constexpr char const* names[] = {"exp", "log", "sqrt", "abs", "the reciprocal"};
    Terms& terms = workspace_.model.terms;
    if (!may_be_nonlinear(a, fmt::format("{} of a function", names[static_cast<std::size_t>(function)]), is_report)) return {};
    Term const term = terms.apply(function, a.value.term);
    if (terms[term].op == Op::Constant && !std::isfinite(terms.constant_value(term))) {
        workspace_.error(112, span, "this is not a finite number");
        return {};
    }
    return {term, a.value.shape, true};
}

Value Algebra::diagonal(Operand const& a, Span span) {
    if (!a.value.is_known || a.value.is_open) return a.value;
    Shape const& shape = a.value.shape;
    if (!shape.is_column()) {
        Diagnostic& d = workspace_.error(112, span, "diag takes a column vector", describe(a));
        if (shape.column && !shape.row) d.notes.push_back(hint("diag(" + as_operand(workspace_, a.expr) + "')"));
        return {};
    }
    Terms& terms = workspace_.model.terms;
    Shape const square{shape.row, shape.row};
    return {terms.multiply({a.value.term, terms.delta(square.row_axis(), square.column_axis())}), square, true};
}

Value Algebra::pick(Value const& a, DimId dim, SymbolId data, std::uint16_t lag) {
    if (!a.is_known || a.is_open) return a;
    Terms& terms = workspace_.model.terms;
    bool const is_row = a.shape.row == dim;
    Axis const axis{dim, contracted};
    Term const term = terms.rename(a.term, is_row ? a.shape.row_axis() : a.shape.column_axis(), axis);
    Value result = a;
    result.term = terms.contract({term, terms.member(data, workspace_.model.axes_of(data), axis, lag)}, {axis});
    result.shape = {is_row ? a.shape.column : a.shape.row, std::nullopt};
    if (is_row && a.shape.column) result.term = terms.rename(result.term, a.shape.column_axis(), result.shape.row_axis());
    return result;
}

Value Algebra::transpose(Operand const& operand) {
    Value a = operand.value;
    if (!a.is_known || a.is_open) return a;
    if (a.shape.row && a.shape.row == a.shape.column) {
        Terms& terms = workspace_.model.terms;
        // A leaf does not say which of two axes over one dim is its row. Of all leaves, only a state's previous step has two.
        if (terms.any(a.term, [](Node const& node) { return node.op == Op::Previous; })) {
            workspace_.error(210, operand.expr.span, "the recurrence mixes its entries", "a state's previous step is transposed here");
            return {};
        }
        Axis const row = a.shape.row_axis();
        Axis const column = a.shape.column_axis();
        Axis const away{row.dim, spare};
        a.term = terms.rename(terms.rename(terms.rename(a.term, row, away), column, row), away, column);
    }
    a.shape = transposed(a.shape);
    return a;
}

Value Algebra::negate(Value a) {
    if (a.is_known && !a.is_open) a.term = workspace_.model.terms.negate(a.term);
    return a;
}

}  // namespace bam
