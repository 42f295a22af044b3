// The table section: which columns are what. Names on the right are columns of the table, not names of the model.
// An entry of a list is called by its label, `conc = Conc / 10`, or by the one column it reads: `log(earn)` is called earn.
// Codes of this file:
//   BAM0140  an entry about something that has no column
//   BAM0141  bound twice
//   BAM0142  not bound
//   BAM0143  a list where there is one column, or the other way round
//   BAM0144  labels
//   BAM0145  an expression that is not one over columns
//   BAM0146  a list of another length than its dim
//   BAM0152  labels that are no column as it is
//   BAM0153  a list of columns for a dim whose labels are the values of one
//   BAM0512  --dim for a dim with a list
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "nearest.hpp"
#include "workspace.hpp"

namespace bam {
namespace {

using tree::Expr;
using tree::ExprKind;
using tree::Statement;
using tree::StatementKind;

/// Reads one expression over columns.
class Columns {
  public:
    explicit Columns(Workspace& workspace) : workspace_(workspace) {}

    std::optional<ColumnExpr> read(Expr const& expr) {
        ColumnExpr result;
        result.span = expr.span;
        switch (expr.kind) {
            case ExprKind::Number: result.value = expr.value; return result;
            case ExprKind::Name:
            case ExprKind::Text:
                result.op = ColumnOp::Column;
                result.name = expr.text;
                return result;
            case ExprKind::Negate: return with(ColumnOp::Negate, expr);
            case ExprKind::Add: return with(ColumnOp::Add, expr);
            case ExprKind::Subtract: return with(ColumnOp::Subtract, expr);
            case ExprKind::Multiply: return with(ColumnOp::Multiply, expr);
            case ExprKind::Divide: return with(ColumnOp::Divide, expr);
            case ExprKind::Power: return with(ColumnOp::Power, expr);
            case ExprKind::Equal: return comparison(ColumnOp::Equal, expr);
            case ExprKind::NotEqual: return comparison(ColumnOp::NotEqual, expr);
            case ExprKind::Less: return with(ColumnOp::Less, expr);
            case ExprKind::LessEqual: return with(ColumnOp::LessEqual, expr);
            case ExprKind::Greater: return with(ColumnOp::Greater, expr);
            case ExprKind::GreaterEqual: return with(ColumnOp::GreaterEqual, expr);
            case ExprKind::Call: return call(expr);
            case ExprKind::ElementwiseMultiply: return refuse(expr, "columns are multiplied with `*`");
            case ExprKind::Index: return refuse(expr, "a column is not indexed: earlier steps are taken in the model, as in `x[t-1]`");
            case ExprKind::List: return refuse(expr, "a list stands alone behind `=`");
            case ExprKind::Assign:
            case ExprKind::Transpose:
            case ExprKind::Range: return refuse(expr, "");
        }
        return std::nullopt;
    }

  private:
    std::optional<ColumnExpr> refuse(Expr const& expr, std::string note) {
        Diagnostic& d = workspace_.error(145, expr.span, "this is not an expression over columns");
        if (!note.empty()) d.notes.push_back(std::move(note));
        return std::nullopt;
    }

    std::optional<ColumnExpr> with(ColumnOp op, Expr const& expr) {
        ColumnExpr result;
        result.op = op;
        result.span = expr.span;
        bool is_good = true;
        for (Expr const& arg : expr.args) {
            auto column = read(arg);
            is_good = is_good && column.has_value();
            if (column) result.args.push_back(std::move(*column));
        }
        return is_good ? std::optional(result) : std::nullopt;
    }

    /// What is quoted on the right of `==` is the text of a cell; on the left it is a column.
    std::optional<ColumnExpr> comparison(ColumnOp op, Expr const& expr) {
        auto result = with(op, expr);
        if (!result || expr.args[1].kind != ExprKind::Text) return result;
        if (result->args[0].op != ColumnOp::Column) return refuse(expr.args[0], "what is compared with a text is one column");
        result->args[1].op = ColumnOp::Text;
        return result;
    }

    std::optional<ColumnExpr> call(Expr const& expr) {
        static std::map<std::string, ColumnOp> const functions{{"exp", ColumnOp::Exp},
                                                               {"log", ColumnOp::Log},
                                                               {"sqrt", ColumnOp::Sqrt},
                                                               {"abs", ColumnOp::Abs},
                                                               {"standardize", ColumnOp::Standardize},
                                                               {"difference", ColumnOp::Difference}};
        auto const it = functions.find(expr.text);
        if (it == functions.end()) {
            std::vector<std::string> names;
            for (auto const& [name, op] : functions) names.push_back(name);
            Diagnostic& d = workspace_.error(145, expr.name_span, fmt::format("there is no function `{}` of columns", expr.text));
            if (expr.text == "order")
                d.notes.push_back("only the time dim has an order");
            else if (expr.text == "lag")
                d.notes.push_back("what stood a step back is said in a mean: `y[t-1]`");
            else if (auto const near = nearest(expr.text, names))
                d.notes.push_back(hint(*near));
            else
                d.notes.push_back("there are " + enumerate(names));
            return std::nullopt;
        }
        if (expr.args.size() != 1 || expr.args[0].kind == ExprKind::Assign)
            return refuse(expr, fmt::format("{} takes one argument", expr.text));
        if (it->second == ColumnOp::Difference && !workspace_.model.time)
            return refuse(expr, "without a time dim no row has one before it");
        return with(it->second, expr);
    }

    Workspace& workspace_;
};

void collect_columns(ColumnExpr const& expr, std::set<std::string>& names) {
    if (expr.op == ColumnOp::Column) names.insert(expr.name);
    for (ColumnExpr const& arg : expr.args) collect_columns(arg, names);
}

bool has_difference(ColumnExpr const& expr) {
    return expr.op == ColumnOp::Difference || std::any_of(expr.args.begin(), expr.args.end(), has_difference);
}

class Bindings {
  public:
    explicit Bindings(Workspace& workspace) : workspace_(workspace), model_(workspace.model), columns_(workspace) {}

    void run() {
        workspace_.each_statement("table", [&](Statement const& s) { written_.insert(s.lhs.text); });
        workspace_.each_statement("table", [&](Statement const& s) { add(s); });
        if (workspace_.has_table) refuse_unbound();
    }

  private:
    void add(Statement const& s) {
        if (s.kind != StatementKind::Define || !s.role.empty() || s.lhs.kind != ExprKind::Name) {
            workspace_.error(103, s.span, "the table section says which column is what", "",
                             {"as in `t = order(Time)`, or `out = [conc]` for the labels of a dim"});
            bound_.emplace(s.lhs.text, s.lhs.span);
            return;
        }
        Name const* const name = workspace_.find(s.lhs.text);
        if (!name) {
            std::vector<std::string> candidates = workspace_.names_of({NameKind::Dim, NameKind::Data});
            std::erase_if(candidates, [&](std::string const& candidate) { return written_.contains(candidate); });
            return workspace_.unknown_name(s.lhs.text, s.lhs.span, "dim or data", candidates);
        }
        auto const [it, is_new] = bound_.emplace(s.lhs.text, s.lhs.span);
        if (!is_new) {
            workspace_.error(141, s.lhs.span, fmt::format("`{}` is bound twice", s.lhs.text), "here")
                .labels.push_back({it->second, "and here"});
            return;
        }
        if (!name->is_sound) return;
        if (name->kind == NameKind::Data) return add_data(s, name->id);
        if (name->kind == NameKind::Dim) return add_dim(s, static_cast<DimId>(name->id));
        bool const is_param = name->kind == NameKind::Param;
        Diagnostic& d = workspace_.error(140, s.lhs.span,
                                         fmt::format("`{}` is {}, so it has no column", s.lhs.text, is_param ? "a parameter" : "computed"));
        d.labels.push_back({name->span, "declared here"});
        d.notes.push_back("to read it from the table, declare it in the data section");
    }

    // ---- one column ----

    void add_data(Statement const& s, SymbolId symbol) {
        std::vector<DimId> const dims = workspace_.labelled_dims(symbol);
        if (!dims.empty()) {
            std::string const& dim = model_.dims[dims[0]].name;
            Diagnostic& d = workspace_.error(143, s.lhs.span, fmt::format("the columns of `{}` are those of its dim", s.lhs.text));
            d.labels.push_back({model_.symbols[symbol].span, fmt::format("it has a column for each `{}`", dim)});
            if (!bound_.contains(dim)) d.notes.push_back(hint(dim));
            bound_.emplace(dim, s.lhs.span);
            return;
        }
        if (auto binding = one_column(s)) {
            if (model_.symbols[symbol].label_dim && !make_labels(*binding, s, symbol)) return;
            binding->symbol = symbol;
            model_.bindings.push_back(std::move(*binding));
        }
    }

    /// The number of the label that the cell has, among those of the dim.
    bool make_labels(Binding& binding, Statement const& s, SymbolId symbol) {
        ColumnExpr& column = binding.columns.front();
        Dim const& dim = model_.dims[*model_.symbols[symbol].label_dim];
        if (column.op != ColumnOp::Column) {
            workspace_.error(152, s.rhs.span, fmt::format("the labels of `{}` are the values of a column as it is", dim.name),
                             "not an expression");
            return false;
        }
        ColumnExpr labels;
        labels.op = ColumnOp::Label;
        labels.span = column.span;
        labels.args.push_back(std::move(column));
        for (std::string const& text : dim.labels) {
            ColumnExpr& label = labels.args.emplace_back();
            label.op = ColumnOp::Text;
            label.name = text;
            label.span = labels.span;
        }
        column = std::move(labels);
        return true;
    }

    std::optional<Binding> one_column(Statement const& s) {
        if (s.rhs.kind == ExprKind::List) {
            Diagnostic& d = workspace_.error(143, s.rhs.span, fmt::format("`{}` is one column, not a list", s.lhs.text));
            if (s.rhs.args.size() == 1)
                d.notes.push_back(
                    hint(workspace_.text(s.rhs.args[0].kind == ExprKind::Assign ? s.rhs.args[0].args[0].span : s.rhs.args[0].span)));
            return std::nullopt;
        }
        auto column = columns_.read(s.rhs);
        if (!column) return std::nullopt;
        Binding binding;
        binding.columns.push_back(std::move(*column));
        binding.span = s.span;
        return binding;
    }

    void add_dim(Statement const& s, DimId dim) {
        Role const role = model_.dims[dim].role;
        if (role == Role::Labelled) return add_labelled(s, dim);
        bool const is_order = role == Role::Time && s.rhs.kind == ExprKind::Call && s.rhs.text == "order";
        std::optional<Binding> binding;
        if (is_order && s.rhs.args.size() == 1) {
            Statement inner = s;
            inner.rhs = s.rhs.args[0];
            binding = one_column(inner);
        } else {
            binding = one_column(s);
        }
        if (!binding) return;
        if (role == Role::Sequence && binding->columns[0].op != ColumnOp::Column) {
            workspace_.error(145, s.rhs.span, fmt::format("the labels of `{}` are a column as it is", s.lhs.text), "not an expression");
            return;
        }
        if (has_difference(binding->columns[0])) {
            workspace_.error(145, s.rhs.span, "the order of rows cannot hang on a difference of rows",
                             "a difference is taken in that order");
            return;
        }
        binding->dim = dim;
        binding->is_order = is_order;
        model_.bindings.push_back(std::move(*binding));
    }

    // ---- a list ----

    void add_labelled(Statement const& s, DimId dim) {
        Dim& d = model_.dims[dim];
        if (d.is_of_table) {
            workspace_.error(153, s.span, fmt::format("the labels of `{}` are the values of the column of {}", d.name, labelling(dim)),
                             "no list of columns", {"leave this line out"});
            return;
        }
        if (workspace_.choices.dims.contains(d.name)) {
            workspace_.diagnostics.push_back({512,
                                              Severity::Error,
                                              fmt::format("--dim {}: its labels come from the table section", d.name),
                                              {{s.span, "a list of columns has its length"}},
                                              {fmt::format("leave --dim {} out", d.name)}});
        }
        if (s.rhs.kind != ExprKind::List) {
            workspace_.error(143, s.rhs.span, fmt::format("the columns of `{}` are a list", d.name), "",
                             {hint("[" + workspace_.text(s.rhs.span) + "]")});
            return;
        }
        if (!has_one_owner(s, dim)) return;
        Binding binding;
        binding.dim = dim;
        binding.span = s.span;
        std::vector<std::string> labels;
        for (Expr const& entry : s.rhs.args) {
            auto column = columns_.read(entry.kind == ExprKind::Assign ? entry.args[0] : entry);
            auto const label = column ? label_of(entry, *column) : std::nullopt;
            if (!label) return;
            auto const first = std::find(labels.begin(), labels.end(), *label);
            if (first != labels.end()) {
                Expr const& other = s.rhs.args[static_cast<std::size_t>(first - labels.begin())];
                Diagnostic& error =
                    workspace_.error(144, entry.span, fmt::format("`{}` has two entries `{}`", d.name, *label), "the second");
                error.labels.push_back({other.span, "the first"});
                error.notes.push_back(hint(
                    fmt::format("{}_2 = {}", *label, workspace_.text(entry.kind == ExprKind::Assign ? entry.args[0].span : entry.span))));
                return;
            }
            labels.push_back(*label);
            binding.columns.push_back(std::move(*column));
        }
        if (labels.size() > 1 && std::find(labels.begin(), labels.end(), d.name) != labels.end()) {
            workspace_.error(144, s.rhs.span, fmt::format("an entry of `{0}` is called `{0}` too", d.name),
                             "an index could mean one entry or all", {"give the entry or the dim another name"});
            return;
        }
        if (d.size && *d.size != labels.size() && !workspace_.choices.dims.contains(d.name)) {
            workspace_
                .error(146, s.rhs.span, fmt::format("`{}` has {} entries", d.name, *d.size), fmt::format("this list has {}", labels.size()))
                .labels.push_back({d.span, "declared here"});
            return;
        }
        d.size = labels.size();
        d.labels = std::move(labels);
        model_.bindings.push_back(std::move(binding));
    }

    /// The data whose values are its labels.
    std::string labelling(DimId dim) const {
        std::vector<std::string> names;
        for (Symbol const& symbol : model_.symbols)
            if (symbol.label_dim == dim) names.push_back("`" + symbol.name + "`");
        return enumerate(names);
    }

    bool has_one_owner(Statement const& s, DimId dim) {
        std::vector<SymbolId> owners;
        for (SymbolId symbol = 0; symbol < model_.symbols.size(); ++symbol) {
            if (model_.symbols[symbol].kind == SymbolKind::Data && model_.is_over(symbol, dim)) owners.push_back(symbol);
        }
        if (owners.size() == 1) return true;
        std::string const& name = model_.dims[dim].name;
        Diagnostic& d = workspace_.error(
            143, s.span,
            owners.empty() ? fmt::format("no data are over `{}`", name) : fmt::format("more than one variable is over `{}`", name));
        if (owners.empty()) d.notes.push_back(fmt::format("a dim that only parameters have gets a size in dims: `{} = 2`", name));
        for (SymbolId owner : owners) d.labels.push_back({model_.symbols[owner].span, fmt::format("`{}` is", model_.symbols[owner].name)});
        if (!owners.empty()) d.notes.push_back("a list of columns gives one variable its values: give each a dim of its own");
        return false;
    }

    std::optional<std::string> label_of(Expr const& entry, ColumnExpr const& column) {
        if (entry.kind == ExprKind::Assign) return entry.text;
        std::set<std::string> names;
        collect_columns(column, names);
        if (names.size() == 1) return *names.begin();
        std::string const label = names.empty() ? "one" : *names.begin();
        workspace_.error(144, entry.span, "this entry needs a label",
                         names.empty() ? "it reads no column" : "it reads more than one column",
                         {hint(fmt::format("{} = {}", label, workspace_.text(entry.span)))});
        return std::nullopt;
    }

    // ---- what is left ----

    void refuse_unbound() {
        for (std::size_t dim = 0; dim < model_.dims.size(); ++dim) {
            Dim const& d = model_.dims[dim];
            bool const is_read = std::any_of(model_.symbols.begin(), model_.symbols.end(), [&](Symbol const& symbol) {
                return symbol.kind == SymbolKind::Data && std::find(symbol.dims.begin(), symbol.dims.end(), dim) != symbol.dims.end();
            });
            // Without a column for it, every row is of one sequence; without a time dim, each is one of its own.
            bool const needs_column = d.role == Role::Time || (d.role == Role::Labelled && !d.is_of_table && (is_read || !d.size));
            if (!needs_column || bound_.contains(d.name)) continue;
            char const* const example = d.role == Role::Time ? "order(...)" : "[...]";
            std::string note = fmt::format("add `{} = {}` to the table section", d.name, example);
            if (d.role == Role::Labelled && !is_read)
                note = fmt::format(
                    "no data are over it or in it, so it needs a size, `{0} = 2` in dims or --dim {0}=2, or data whose values are its "
                    "labels, "
                    "`x[...] in {0}`",
                    d.name);
            workspace_.error(142, d.span, fmt::format("the table section does not say what `{}` is", d.name), "", {note});
        }
        for (SymbolId symbol = 0; symbol < model_.symbols.size(); ++symbol) {
            Symbol const& data = model_.symbols[symbol];
            Name const* const name = workspace_.find(data.name);
            if (data.kind != SymbolKind::Data || !name || !name->is_sound || bound_.contains(data.name)) continue;
            std::size_t const labelled = workspace_.labelled_dims(symbol).size();
            if (labelled == 0) {
                workspace_.error(142, data.span, fmt::format("the table section does not say what `{}` is", data.name), "",
                                 {fmt::format("add `{} = ...` to the table section", data.name)});
            } else if (labelled == 2) {
                workspace_.error(143, data.span,
                                 fmt::format("`{}` has two labelled dims: no list of columns gives it its values", data.name));
            }
        }
    }

    Workspace& workspace_;
    Model& model_;
    Columns columns_;
    std::set<std::string> written_;  ///< on the left of any entry
    std::map<std::string, Span> bound_;
};

}  // namespace

void bind_columns(Workspace& workspace) { Bindings(workspace).run(); }

}  // namespace bam
