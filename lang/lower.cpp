// Expressions to values: names, indices, functions; numbers and lists.
// Codes of this file:
//   BAM0113  an index that cannot be taken
//   BAM0114  a step of something that has none
//   BAM0115  a name that is not a value there
//   BAM0116  an unknown function
//   BAM0117  something that is not a value
//   BAM0118  a list of another shape
//   BAM0139  an expression that is too large
//   BAM0214  a state of itself at the same step
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "nearest.hpp"
#include "workspace.hpp"

namespace bam {
namespace {

using tree::Expr;
using tree::ExprKind;

constexpr double longest_lag = 10000;
constexpr std::size_t deepest = 2000;  ///< expressions within expressions, through definitions too: no walk may run out of stack

/// How an index moves a variable in time.
struct Lag {
    std::uint16_t steps = 0;
    std::optional<DimId> dim;  ///< of `t - lag`
};

class Lowering {
  public:
    Lowering(Workspace& workspace, bool is_report, std::optional<SymbolId> state = std::nullopt,
             std::optional<Shape> state_shape = std::nullopt)
        : workspace_(workspace),
          model_(workspace.model),
          algebra_(workspace),
          is_report_(is_report),
          state_(state),
          state_shape_(state_shape) {}

    Value value(Expr const& expr) {
        if (workspace_.depth >= deepest) return too_large(expr, "it is nested too deeply");
        ++workspace_.depth;
        Value const result = compute(expr);
        --workspace_.depth;
        if (result.is_known && workspace_.is_too_large(result.term))
            return too_large(expr, "give its parts parameters or columns of their own");
        bool const is_new = result.is_known && !result.is_open && !workspace_.is_trial && model_.terms[result.term].op != Op::Constant;
        if (is_new) model_.uses.emplace(result.term, expr.span);
        return result;
    }

  private:
    using Operand = Algebra::Operand;
    Operand operand(Expr const& expr) { return {value(expr), expr}; }

    Value compute(Expr const& expr) {
        switch (expr.kind) {
            case ExprKind::Number: return {model_.terms.constant(expr.value), {}, true};
            case ExprKind::Name:
            case ExprKind::Index: return named(expr);
            case ExprKind::Call: return call(expr);
            case ExprKind::Negate: return algebra_.negate(value(expr.args[0]));
            case ExprKind::Transpose: return algebra_.transpose(operand(expr.args[0]));
            case ExprKind::Add:
            case ExprKind::Subtract: {
                Operand const a = operand(expr.args[0]);
                return algebra_.add(a, operand(expr.args[1]), expr.kind == ExprKind::Subtract, expr.span);
            }
            case ExprKind::Multiply: {
                Operand const a = operand(expr.args[0]);
                return algebra_.multiply(a, operand(expr.args[1]), expr.span);
            }
            case ExprKind::ElementwiseMultiply: {
                Operand const a = operand(expr.args[0]);
                return algebra_.multiply_elementwise(a, operand(expr.args[1]), expr.span);
            }
            case ExprKind::Divide: {
                Operand const a = operand(expr.args[0]);
                return algebra_.divide(a, operand(expr.args[1]), expr.span, is_report_);
            }
            case ExprKind::Power: {
                Operand const a = operand(expr.args[0]);
                return algebra_.power(a, operand(expr.args[1]), expr.span, is_report_);
            }
            case ExprKind::List:
                return refuse(expr, "a list stands alone",
                              "numbers in a list are a prior mean, a spread or the value of a fixed parameter");
            case ExprKind::Text: return refuse(expr, "a text is not a value", "columns are named in the table section");
            case ExprKind::Assign:
            case ExprKind::Range: return refuse(expr, "this is not a value", "");
            case ExprKind::Equal:
            case ExprKind::NotEqual:
            case ExprKind::Less:
            case ExprKind::LessEqual:
            case ExprKind::Greater:
            case ExprKind::GreaterEqual:
                return refuse(expr, "a comparison is not a value", "0/1 columns are made in the table section: `[male = Sex == \"male\"]`");
        }
        return {};
    }

    Value refuse(Expr const& expr, std::string message, std::string note) {
        Diagnostic& d = workspace_.error(117, expr.span, std::move(message));
        if (!note.empty()) d.notes.push_back(std::move(note));
        return {};
    }

    Value too_large(Expr const& expr, std::string note) {
        workspace_.error(139, expr.span, "this expression is too large", "multiplied out", {std::move(note)});
        return {};
    }

    // ---- names ----

    Value named(Expr const& expr) {
        Name const* const name = workspace_.find(expr.text);
        Span const span = expr.name_span;
        if (!name) {
            workspace_.unknown_name(expr.text, span, "variable", {NameKind::Data, NameKind::Param, NameKind::State});
            return {};
        }
        if (!name->is_sound) return {};
        switch (name->kind) {
            case NameKind::Dim: {
                Diagnostic& d = workspace_.error(115, span, fmt::format("`{}` is a dim, not a value", expr.text));
                d.labels.push_back({name->span, "declared here"});
                d.notes.emplace_back("a number to compute with is data: declare it in `data` and bind its column in `table`");
                return {};
            }
            case NameKind::Report:
                if (!is_report_) {
                    Diagnostic& d =
                        workspace_.error(115, span, fmt::format("`{}` is a report", expr.text), "reports are computed after the model");
                    d.labels.push_back({name->span, "move it to the state section"});
                    return {};
                }
                [[fallthrough]];
            case NameKind::State: return definition(expr, name->id);
            case NameKind::Data:
            case NameKind::Param: return variable(expr, name->id, name->kind == NameKind::Data);
        }
        return {};
    }

    Value variable(Expr const& expr, SymbolId symbol, bool is_data) {
        auto const lag = read_lag(expr, model_.symbols[symbol].dims);
        if (!lag) return {};
        Shape shape = workspace_.shape_of(symbol);
        Axes axes = model_.axes_of(symbol);
        if (!lag->dim) return {model_.terms.leaf(is_data ? Op::Data : Op::Param, symbol, axes, lag->steps), shape, true};
        if (!is_data) {
            workspace_.error(114, expr.span, fmt::format("`{}` is a parameter", expr.text), "only data can be indexed by a dim of lags");
            return {};
        }
        if (shape.column || model_.is_over(symbol, lag->dim)) {
            workspace_.error(114, expr.span, "this has more than two labelled dims",
                             fmt::format("`{}` is {} and the lags are one more", expr.text, workspace_.to_text(shape)));
            return {};
        }
        (shape.row ? shape.column : shape.row) = lag->dim;
        axes.push_back({*lag->dim, 0});
        return {model_.terms.leaf(Op::LagData, symbol, axes), shape, true};
    }

    Value definition(Expr const& expr, SymbolId symbol) {
        bool const is_own = state_ == symbol;
        std::optional<DimId> const time = model_.time;
        std::vector<DimId> dims;
        for (std::size_t d = 0; d < model_.dims.size(); ++d) dims.push_back(static_cast<DimId>(d));  // which it has is not known here
        auto const lag = read_lag(expr, dims);
        if (!lag) return {};
        bool const is_lagged = lag->steps > 0 || lag->dim;
        if (is_own && lag->steps == 1 && !lag->dim) {
            if (!state_shape_) return {model_.terms.one(), {}, true, true};
            Axes axes = state_shape_->axes();
            axes.push_back({*time, 0});
            return {model_.terms.leaf(Op::Previous, symbol, axes), *state_shape_, true};
        }
        if (is_own && is_lagged) {
            workspace_.error(114, expr.span, fmt::format("`{}` more than one step back", expr.text), "a recurrence is of first order",
                             {"keep the step before the last in a state of its own"});
            return {};
        }
        if (is_own) {
            Diagnostic& d = workspace_.error(214, expr.span, fmt::format("`{}` is defined by itself", expr.text), "at the same step");
            if (time && !is_report_) d.notes.push_back(hint(fmt::format("{}[{}-1]", expr.text, model_.dims[*time].name)));
            return {};
        }
        if (is_lagged) {
            std::string const& t = time ? model_.dims[*time].name : "t";
            Diagnostic& d =
                workspace_.error(114, expr.span, fmt::format("`{}` is computed: it cannot be taken at an earlier step", expr.text),
                                 "only data, parameters, and a state inside its own definition can");
            d.labels.push_back({model_.symbols[symbol].span, "computed here"});
            d.notes.push_back(fmt::format("lag the data inside it instead: for `k = W * x[{0}]` put `W * x[{0}-1]`", t));
            return {};
        }
        return value_of(workspace_, symbol, expr.span);
    }

    /// The lag that the indices say. Others may only name the variable's dims.
    std::optional<Lag> read_lag(Expr const& expr, std::vector<DimId> const& dims) {
        Lag lag;
        bool is_good = true;
        if (expr.kind == ExprKind::Index) {
            for (Expr const& index : expr.args) is_good = read_index(expr, index, dims, lag) && is_good;
        }
        return is_good ? std::optional(lag) : std::nullopt;
    }

    bool read_index(Expr const& expr, Expr const& index, std::vector<DimId> const& dims, Lag& lag) {
        bool const is_moved = index.kind == ExprKind::Subtract || index.kind == ExprKind::Add;
        Expr const& base = is_moved ? index.args[0] : index;
        Name const* const dim = base.kind == ExprKind::Name ? workspace_.find(base.text) : nullptr;
        if (!dim || dim->kind != NameKind::Dim) return refuse_index(expr, index, base, dim);
        auto const id = static_cast<DimId>(dim->id);
        if (std::find(dims.begin(), dims.end(), id) == dims.end()) {
            workspace_.error(113, index.span, fmt::format("`{}` is not over `{}`", expr.text, base.text))
                .labels.push_back({workspace_.find(expr.text)->span, "declared here"});
            return false;
        }
        if (!is_moved) return true;
        if (id != model_.time) {
            workspace_.error(113, index.span, fmt::format("`{}` is not ordered", base.text), "only steps can be counted back");
            return false;
        }
        return read_steps_back(index, lag);
    }

    bool read_steps_back(Expr const& index, Lag& lag) {
        Expr const& by = index.args[1];
        std::string const& t = index.args[0].text;
        if (by.kind == ExprKind::Name && index.kind == ExprKind::Subtract) {
            Name const* const dim = workspace_.find(by.text);
            bool const is_labelled = dim && dim->kind == NameKind::Dim && model_.dims[dim->id].role == Role::Labelled;
            if (!dim)
                workspace_.unknown_name(by.text, by.span, "dim of lags", {NameKind::Dim});
            else if (!is_labelled)
                workspace_.error(113, by.span, fmt::format("`{}` is not a dim of lags", by.text), "", {"declare one in dims: `lag = 5`"});
            if (is_labelled) lag.dim = static_cast<DimId>(dim->id);
            return is_labelled;
        }
        bool const is_whole = by.kind == ExprKind::Number && by.value == std::floor(by.value) && by.value <= longest_lag;
        if (!is_whole) {
            workspace_.error(113, index.span, "a lag is a whole number or a dim of lags", "",
                             {fmt::format("as in `[{0}-1]`, or `[{0} - lag]` with `lag = 5` in dims", t)});
            return false;
        }
        if (index.kind == ExprKind::Add && by.value > 0) {
            workspace_.error(113, index.span, "this reaches into the future", "a step may depend on itself and on earlier ones",
                             {"shift the model: call the later step t, and write the earlier ones as `[t-1]`"});
            return false;
        }
        lag.steps = static_cast<std::uint16_t>(by.value);
        return true;
    }

    bool refuse_index(Expr const& expr, Expr const& index, Expr const& base, Name const* name) {
        if (base.kind == ExprKind::Name && !name && (index.kind == ExprKind::Add || index.kind == ExprKind::Subtract)) {
            workspace_.unknown_name(base.text, base.span, "dim", {NameKind::Dim});
            return false;
        }
        Diagnostic& d = workspace_.error(113, index.span, fmt::format("`{}` cannot be indexed so", expr.text),
                                         "an index in an expression is a step: `[t]`, `[t-1]`, `[t - lag]`");
        if (model_.time && base.kind == ExprKind::Name && !name) {
            std::vector<std::string> const candidates{model_.dims[*model_.time].name};
            if (auto const near = nearest(base.text, candidates)) d.notes.push_back(hint(*near));
        }
        return false;
    }

    // ---- functions ----

    Value call(Expr const& expr) {
        static std::map<std::string, Function> const functions{
            {"exp", Function::Exp}, {"log", Function::Log}, {"sqrt", Function::Sqrt}, {"abs", Function::Abs}};
        auto const it = functions.find(expr.text);
        if (it == functions.end() && expr.text != "diag") return unknown_function(expr);
        if (expr.args.size() != 1 || expr.args[0].kind == ExprKind::Assign) {
            workspace_.error(116, expr.span, fmt::format("{} takes one argument", expr.text));
            return {};
        }
        Operand const argument = operand(expr.args[0]);
        if (expr.text == "diag") return algebra_.diagonal(argument, expr.span);
        return algebra_.apply(it->second, argument, expr.span, is_report_);
    }

    Value unknown_function(Expr const& expr) {
        static std::vector<std::string> const known{"exp", "log", "sqrt", "abs", "diag"};
        static std::vector<std::string> const distributions = [] {
            std::vector<std::string> names{"normal",           "student_t",        "laplace",      "horseshoe",      "bernoulli_logit",
                                           "laplace_position", "uniform_position", "ggd_position", "power_position", "categorical"};
            for (ScaleFamilyRow const& row : scale_families()) names.emplace_back(row.name);
            return names;
        }();
        if (is_list(expr))
            return refuse(expr, fmt::format("`{}` gives a list, and a list stands alone", expr.text),
                          "numbers in a list are a prior mean, a spread or the value of a fixed parameter");
        Diagnostic& d = workspace_.error(116, expr.name_span, fmt::format("there is no function `{}`", expr.text));
        if (std::find(distributions.begin(), distributions.end(), expr.text) != distributions.end()) {
            d.message = fmt::format("`{}` is a distribution", expr.text);
            d.labels[0].text = "it stands behind `~`";
        } else if (workspace_.find(expr.text)) {
            std::string const whole = workspace_.text(expr.span).substr(expr.name_span.end - expr.span.begin);
            d.labels[0] = {expr.span, fmt::format("`{}` is not a function", expr.text)};
            if (whole.size() > 2) d.notes.push_back(hint(expr.text + "[" + whole.substr(1, whole.size() - 2) + "]"));
        } else if (expr.text == "standardize" || expr.text == "order" || expr.text == "difference") {
            d.notes.push_back("it belongs to columns: write it in the table section");
        } else if (auto const near = nearest(expr.text, known)) {
            d.notes.push_back(hint(*near));
        } else {
            d.notes.push_back("there are " + enumerate(known));
        }
        bool const is_variable = workspace_.find(expr.text) != nullptr;  // then the argument was meant as an index
        for (Expr const& arg : expr.args) {
            if (!is_variable) value(arg.kind == ExprKind::Assign ? arg.args[0] : arg);
        }
        return {};
    }

    Workspace& workspace_;
    Model& model_;
    Algebra algebra_;
    bool is_report_;
    std::optional<SymbolId> state_;
    std::optional<Shape> state_shape_;
};

}  // namespace

Value lower(Workspace& workspace, Expr const& expr) { return Lowering(workspace, false).value(expr); }

Value lower_definition(Workspace& workspace, SymbolId symbol, Expr const& expr, std::optional<Shape> shape) {
    return Lowering(workspace, workspace.model.symbols[symbol].is_report, symbol, shape).value(expr);
}

std::optional<double> number_of(Workspace& workspace, Expr const& expr, std::string const& what) {
    Value const value = lower(workspace, expr);
    if (!value.is_known) return std::nullopt;
    if (workspace.model.terms[value.term].op == Op::Constant && value.shape.is_scalar())
        return workspace.model.terms.constant_value(value.term);
    workspace.error(117, expr.span, fmt::format("{} is a number", what), "this is not one");
    return std::nullopt;
}

std::optional<Term> literal_of(Workspace& workspace, Expr const& list, std::vector<DimId> const& dims, std::uint32_t* index) {
    Model& model = workspace.model;
    Literal literal;
    literal.dims = dims;
    literal.shape.assign(dims.size(), 0);
    bool is_good = true;
    auto const refuse = [&](Span span, std::string label) {
        if (is_good && dims.empty()) {
            workspace.error(118, span, "a list where one number is", "it has several entries",
                            {"what has a number for each entry of a dim is declared with it, as `sigma[out]`"});
        } else if (is_good) {
            Diagnostic& d =
                workspace.error(118, span, fmt::format("a list over {} of another shape", workspace.list_dims(dims)), std::move(label));
            if (dims.size() == 2)
                d.notes.push_back(fmt::format("`[[...], [...]]`: a list for each `{}`, with an entry for each `{}`",
                                              model.dims[dims[0]].name, model.dims[dims[1]].name));
        }
        is_good = false;
    };
    auto const read = [&](auto const& self, Expr const& expr, std::size_t depth) -> void {
        if (!is_good) return;
        if (depth == dims.size()) {
            if (is_list(expr)) return refuse(expr.span, "nested too deeply");
            auto const number = number_of(workspace, expr, "an entry of a list");
            is_good = is_good && number.has_value();
            return literal.values.push_back(number.value_or(0));
        }
        if (!is_list(expr)) return refuse(expr.span, "expected a list here");
        if (expr.kind == ExprKind::Call) {
            if (depth + 1 < dims.size()) return refuse(expr.span, "this is one list");
            auto const numbers = list_of_function(workspace, expr, dims[depth]);
            is_good = is_good && numbers.has_value();
            if (!numbers) return;
            literal.shape[depth] = numbers->size();
            literal.values.insert(literal.values.end(), numbers->begin(), numbers->end());
            return;
        }
        std::size_t const count = expr.args.size();
        Dim const& dim = model.dims[dims[depth]];
        if (dim.size && *dim.size != count)
            return refuse(expr.span, fmt::format("{} entries, but `{}` has {}", count, dim.name, *dim.size));
        if (literal.shape[depth] != 0 && literal.shape[depth] != count) return refuse(expr.span, "the lists differ in length");
        literal.shape[depth] = count;
        for (Expr const& arg : expr.args) self(self, arg, depth + 1);
    };
    read(read, list, 0);
    if (!is_good) return std::nullopt;
    Axes axes;
    for (DimId dim : dims)
        axes.push_back({dim, static_cast<std::uint16_t>(std::count_if(axes.begin(), axes.end(), [&](Axis a) { return a.dim == dim; }))});
    model.literals.push_back(std::move(literal));
    auto const id = static_cast<std::uint32_t>(model.literals.size() - 1);
    if (index) *index = id;
    return model.terms.leaf(Op::Literal, id, axes);
}

}  // namespace bam
