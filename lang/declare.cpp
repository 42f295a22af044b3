// Names: dims, data, parameters and definitions, in whatever order the sections come.
// Codes of this file:
//   BAM0101  a name defined twice
//   BAM0102  an unknown name (also in the other parts)
//   BAM0103  a statement of a sort that its section does not have (also in the other parts)
//   BAM0104  the role or the size of a dim, or one too many
//   BAM0105  the dims of a declaration
//   BAM0151  `in DIM` of something that has no labels, or for a dim that has none
//   BAM0153  a dim whose labels are the values of columns, and that has a size or data of its own
//   BAM0510  --dim for something that is no labelled dim
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "workspace.hpp"

namespace bam {
namespace {

using tree::Expr;
using tree::ExprKind;
using tree::Statement;
using tree::StatementKind;

constexpr double largest_dim = 1e5;
constexpr std::size_t most_dims = 1000;  ///< a DimId holds more

class Declaring {
  public:
    explicit Declaring(Workspace& workspace) : workspace_(workspace), model_(workspace.model) {}

    void run() {
        for (tree::File const& file : workspace_.files) {
            if (model_.name.empty()) model_.name = file.model;
            for (tree::Section const& section : file.sections) workspace_.has_table = workspace_.has_table || section.keyword == "table";
        }
        refuse_labels_elsewhere();
        workspace_.each_statement("dims", [&](Statement const& s) { add_dim(s); });
        apply_choices();
        workspace_.each_statement("data", [&](Statement const& s) { add_data(s); });
        refuse_data_over_labels();
        add_params();
        workspace_.each_statement("state", [&](Statement const& s) { add_definition(s, false); });
        workspace_.each_statement("report", [&](Statement const& s) { add_definition(s, true); });
        // Dims on the left of a definition are looked up when all are known; the names, so that any order will do, before that.
        for (Definition& definition : workspace_.definitions) read_axes(definition);
    }

  private:
    // ---- names ----

    bool add_name(Expr const& lhs, NameKind kind, std::uint32_t id, bool is_sound = true) {
        auto const [it, is_new] = workspace_.names.emplace(lhs.text, Name{kind, id, lhs.name_span, is_sound});
        if (!is_new) {
            Diagnostic& d = workspace_.error(101, lhs.name_span, fmt::format("`{}` is defined twice", lhs.text), "here");
            d.labels.push_back({it->second.span, "and here"});
            it->second.is_sound = it->second.is_sound && it->second.kind == kind;
        }
        return is_new;
    }

    SymbolId add_symbol(SymbolKind kind, Expr const& lhs, std::vector<DimId> dims) {
        Symbol symbol;
        symbol.kind = kind;
        symbol.name = lhs.text;
        symbol.span = lhs.name_span;
        symbol.dims = std::move(dims);
        model_.symbols.push_back(std::move(symbol));
        return static_cast<SymbolId>(model_.symbols.size() - 1);
    }

    // ---- dims ----

    void add_dim(Statement const& s) {
        if (s.kind == StatementKind::Sample || s.kind == StatementKind::Fixed || s.missing || s.lhs.kind != ExprKind::Name) {
            workspace_.error(103, s.span, "this does not declare a dim", "", {"a dim is `feat`, `unit = 2`, `time t` or `sequence seq`"});
            return;
        }
        if (model_.dims.size() == most_dims) {
            if (!std::exchange(has_too_many_dims_, true))
                workspace_.error(104, s.span, fmt::format("a model has at most {} dims", most_dims), "this is one more");
            return;
        }
        Dim dim;
        dim.name = s.lhs.text;
        dim.span = s.lhs.name_span;
        if (s.role == "time") dim.role = Role::Time;
        if (s.role == "sequence") dim.role = Role::Sequence;
        if (s.kind == StatementKind::Define) dim.size = read_size(s);
        auto const id = static_cast<DimId>(model_.dims.size());
        if (!add_name(s.lhs, NameKind::Dim, id)) return;
        if (dim.role == Role::Time) add_role(model_.time, id, s);
        if (dim.role == Role::Sequence) add_role(model_.sequence, id, s);
        model_.dims.push_back(std::move(dim));
    }

    void add_role(std::optional<DimId>& role, DimId id, Statement const& s) {
        if (role) {
            Diagnostic& d = workspace_.error(104, s.role_span, fmt::format("a second {} dim", s.role), "a model has at most one");
            d.labels.push_back({model_.dims[*role].span, "the first"});
        } else {
            role = id;
        }
    }

    std::optional<std::size_t> read_size(Statement const& s) {
        if (!s.role.empty()) {
            workspace_.error(104, s.rhs.span, fmt::format("the {} dim has no size", s.role), "the table says how many there are");
            return std::nullopt;
        }
        double const size = s.rhs.kind == ExprKind::Number ? s.rhs.value : 0;
        if (!(size >= 1) || size > largest_dim || size != std::floor(size)) {
            workspace_.error(
                104, s.rhs.span, fmt::format("the size of `{}` is not a whole number from 1 to {}", s.lhs.text, largest_dim), "",
                s.rhs.kind == ExprKind::List ? std::vector<std::string>{"labels come from the table section"} : std::vector<std::string>{});
            return std::nullopt;
        }
        return static_cast<std::size_t>(size);
    }

    void apply_choices() {
        for (auto const& [name, size] : workspace_.choices.dims) {
            Name const* found = workspace_.find(name);
            bool const is_dim = found && found->kind == NameKind::Dim;
            std::string problem;
            if (!is_dim)
                problem = fmt::format("--dim {}={}: the model has no dim `{}`", name, size, name);
            else if (model_.dims[found->id].role != Role::Labelled)
                problem = fmt::format("--dim {}={}: the table says how many there are of it", name, size);
            else if (size < 1 || static_cast<double>(size) > largest_dim)
                problem = fmt::format("--dim {}={}: a size is from 1 to {}", name, size, largest_dim);
            if (problem.empty()) {
                model_.dims[found->id].size = size;
                continue;
            }
            std::vector<std::string> labelled;
            for (Dim const& dim : model_.dims) {
                if (dim.role == Role::Labelled) labelled.push_back(dim.name);
            }
            Diagnostic d{510, Severity::Error, problem, {}, {}};
            if (!is_dim && !labelled.empty()) d.notes.push_back("its labelled dims are " + enumerate(labelled));
            workspace_.diagnostics.push_back(std::move(d));
        }
    }

    // ---- data ----

    void add_data(Statement const& s) {
        if (s.kind != StatementKind::Declare || !s.role.empty()) {
            Diagnostic& d = workspace_.error(103, s.span, fmt::format("`{}` is data: it is declared and nothing else", s.lhs.text), "");
            if (s.kind == StatementKind::Sample) d.notes.push_back("what is observed is said in the observe section");
            if (s.kind == StatementKind::Define)
                d.notes.push_back("its column is said in the table section; what is computed stands in state");
            if (s.kind == StatementKind::Fixed) d.notes.push_back("a number that is held is a parameter: `c fixed 1` in the param section");
            add_name(s.lhs, NameKind::Data, 0, false);
            return;
        }
        std::optional<std::vector<DimId>> const dims = read_dims(s.lhs, "data", false);
        SymbolId const symbol = add_symbol(SymbolKind::Data, s.lhs, dims.value_or(std::vector<DimId>{}));
        model_.symbols[symbol].may_be_missing = s.missing;
        bool const is_sound = dims && covers_rows(s.lhs, symbol) && (s.label_dim.empty() || read_label_dim(s, symbol));
        if (!add_name(s.lhs, NameKind::Data, symbol, is_sound)) return;
    }

    /// A table has a row for each step of each sequence: data that no row has, or that all sequences share, is not in it.
    bool covers_rows(Expr const& lhs, SymbolId symbol) {
        auto const missing_dim = model_.sequence && !model_.is_over(symbol, model_.sequence)               ? model_.sequence
                                 : !model_.sequence && model_.time && !model_.is_over(symbol, model_.time) ? model_.time
                                                                                                           : std::nullopt;
        if (missing_dim) {
            std::string const& name = model_.dims[*missing_dim].name;
            Diagnostic& d = workspace_.error(105, lhs.span, fmt::format("data `{}` is not over `{}`", lhs.text, name), "");
            std::string inside = lhs.kind == ExprKind::Index ? workspace_.text(lhs.span).substr(lhs.name_span.end - lhs.span.begin) : "[]";
            inside = inside.substr(inside.find('[') + 1);
            d.notes.push_back(hint(fmt::format("{}[{}{}{}", lhs.text, name, inside == "]" ? "" : ", ", inside)));
            return false;
        }
        if (!model_.sequence && !model_.time) {
            workspace_.error(105, lhs.span, fmt::format("data `{}` has no rows", lhs.text),
                             "the model has neither a sequence nor a time dim",
                             {"declare the rows in dims: `sequence id` for rows that stand alone, `time t` for one ordered record"});
            return false;
        }
        return true;
    }

    // ---- data that are labels ----

    void refuse_labels_elsewhere() {
        for (tree::File const& file : workspace_.files) {
            for (tree::Section const& section : file.sections) {
                for (Statement const& s : section.statements) {
                    if (s.label_dim.empty() || section.keyword == "data") continue;
                    workspace_.error(151, s.label_dim_span, fmt::format("`in {}` is said of data", s.label_dim),
                                     fmt::format("in the data section, of a column whose values are the labels of `{}`", s.label_dim),
                                     section.keyword == "param"
                                         ? std::vector<std::string>{"an interval stands behind a distribution: `~ flat() in 0..1`"}
                                         : std::vector<std::string>{});
                }
            }
        }
    }

    /// `group[seq] in diet`
    bool read_label_dim(Statement const& s, SymbolId symbol) {
        Name const* const name = workspace_.find(s.label_dim);
        Span const place{s.label_dim_span.source, s.label_dim_span.end - static_cast<std::uint32_t>(s.label_dim.size()),
                         s.label_dim_span.end};
        if (!name) {
            workspace_.unknown_name(s.label_dim, place, "dim", {NameKind::Dim});
            return false;
        }
        bool const is_labelled = name->kind == NameKind::Dim && model_.dims[name->id].role == Role::Labelled;
        if (!is_labelled) {
            Diagnostic& d = workspace_.error(151, place, fmt::format("`{}` has no labels that data could have", s.label_dim), "");
            d.labels.push_back({name->span, name->kind == NameKind::Dim ? "its labels are the sequences or the steps" : "this is no dim"});
            d.notes.push_back("declare a labelled dim for them: a line with its name, in dims");
            return false;
        }
        if (!workspace_.labelled_dims(symbol).empty()) {
            workspace_.error(151, s.lhs.span, fmt::format("`{}` has several values in a row, and a label is one", s.lhs.text), "",
                             {"declare a variable for each column of labels"});
            return false;
        }
        auto const id = static_cast<DimId>(name->id);
        Dim& dim = model_.dims[id];
        if (workspace_.choices.dims.contains(dim.name)) {
            workspace_.diagnostics.push_back({512,
                                              Severity::Error,
                                              fmt::format("--dim {}: its labels come from the table", dim.name),
                                              {{s.span, "the values of this column are its labels"}},
                                              {fmt::format("leave --dim {} out", dim.name)}});
            return false;
        }
        if (dim.size && !dim.is_of_table) {
            Diagnostic& d =
                workspace_.error(153, s.label_dim_span, fmt::format("`{}` has a size, and its labels come from the table", dim.name),
                                 "as many as there are values");
            d.labels.push_back({dim.span, "leave its size out"});
            return false;
        }
        dim.is_of_table = true;
        if (auto const labels = workspace_.choices.labels.find(dim.name); labels != workspace_.choices.labels.end()) {
            dim.labels = labels->second;
            dim.size = labels->second.size();
        }
        model_.symbols[symbol].label_dim = id;
        return true;
    }

    void refuse_data_over_labels() {
        for (SymbolId symbol = 0; symbol < model_.symbols.size(); ++symbol) {
            for (DimId dim : workspace_.labelled_dims(symbol)) {
                if (!model_.dims[dim].is_of_table) continue;
                Symbol const& data = model_.symbols[symbol];
                std::string const& name = model_.dims[dim].name;
                Diagnostic& d = workspace_.error(153, data.span,
                                                 fmt::format("`{}` is over `{}`, whose labels are the values of a column", data.name, name),
                                                 "no list of columns can be as long");
                d.notes.push_back(
                    fmt::format("give it a dim of its own; a parameter over `{}` is picked by the label: `theta[...]`", name));
                workspace_.names.find(data.name)->second.is_sound = false;
            }
        }
    }

    // ---- params ----

    void add_params() {
        std::map<std::string, std::vector<Statement const*>> by_name;
        std::vector<std::string> order;
        workspace_.each_statement("param", [&](Statement const& s) {
            if (s.kind == StatementKind::Define) {
                workspace_.error(103, s.span, fmt::format("`{}` is given by `=` in the param section", s.lhs.text), "",
                                 {hint(workspace_.text(s.lhs.span) + (is_number(s.rhs) ? " fixed " : " ~ ") + workspace_.text(s.rhs.span)),
                                  "what is computed stands in state"});
                if (!workspace_.find(s.lhs.text)) add_name(s.lhs, NameKind::Param, 0, false);
                return;
            }
            if (s.missing || !s.role.empty()) {
                workspace_.error(103, s.span, fmt::format("`{}` cannot be said of a parameter", s.missing ? "missing" : s.role), "");
                if (!workspace_.find(s.lhs.text)) add_name(s.lhs, NameKind::Param, 0, false);
                return;
            }
            auto& statements = by_name[s.lhs.text];
            if (statements.empty()) order.push_back(s.lhs.text);
            statements.push_back(&s);
        });
        for (std::string const& name : order) add_param(by_name[name]);
    }

    static bool is_number(Expr const& expr) {
        return expr.kind == ExprKind::Number || expr.kind == ExprKind::List || (expr.kind == ExprKind::Negate && is_number(expr.args[0]));
    }

    /// The first statement whose indices are all dims declares; others may speak of single entries.
    void add_param(std::vector<Statement const*> const& statements) {
        auto const declares = [&](Statement const* s) {
            return std::all_of(s->lhs.args.begin(), s->lhs.args.end(), [&](Expr const& index) { return find_dim(index) != nullptr; });
        };
        auto const first = std::find_if(statements.begin(), statements.end(), declares);
        Statement const& s = first == statements.end() ? *statements.front() : **first;
        std::optional<std::vector<DimId>> const dims = read_dims(s.lhs, "parameter", true);
        SymbolId const symbol = add_symbol(SymbolKind::Block, s.lhs, dims.value_or(std::vector<DimId>{}));
        if (!add_name(s.lhs, NameKind::Param, symbol, dims.has_value())) return;
        if (!dims) return;
        std::size_t first_step = SIZE_MAX;
        workspace_.is_trial = true;  // collect_priors reads the ranges once more and reports
        for (Statement const* statement : statements) {
            std::size_t step = 0;
            for (Expr const& index : statement->lhs.args) {
                if (auto const region = read_steps(workspace_, index)) step = region->first_step;
            }
            first_step = std::min(first_step, step);
        }
        workspace_.is_trial = false;
        model_.symbols[symbol].first_step = first_step;
        workspace_.param_statements[symbol] = statements;
    }

    // ---- definitions ----

    void add_definition(Statement const& s, bool is_report) {
        char const* const section = is_report ? "report" : "state";
        if (s.kind != StatementKind::Define || !s.role.empty()) {
            Diagnostic& d = workspace_.error(103, s.span, fmt::format("the {} section has definitions only", section), "");
            if (s.kind == StatementKind::Sample) {
                d.notes.push_back("a prior stands in param, an observation in observe; to define it, write `=`");
            } else if (s.kind == StatementKind::Declare && !s.missing && s.role.empty()) {
                d.notes.push_back(fmt::format("say what it is: `{} = ...`", workspace_.text(s.lhs.span)));
            }
            if (!workspace_.find(s.lhs.text)) add_name(s.lhs, is_report ? NameKind::Report : NameKind::State, 0, false);
            return;
        }
        SymbolId const symbol = add_symbol(SymbolKind::Definition, s.lhs, {});
        model_.symbols[symbol].is_report = is_report;
        if (!add_name(s.lhs, is_report ? NameKind::Report : NameKind::State, symbol)) return;
        Definition definition;
        definition.statement = &s;
        definition.symbol = symbol;
        workspace_.definitions.push_back(std::move(definition));
    }

    /// `h[t]`, `h[t, unit, out]`, `kernel[feat, feat2 = feat]`: the labelled axes, if any are written.
    void read_axes(Definition& definition) {
        Expr const& lhs = definition.statement->lhs;
        Axes axes;
        auto const refuse = [&](Expr const& index, std::string const& message) {
            workspace_.error(105, index.span, message, "",
                             {fmt::format("the left of a definition is `{0}` or `{0}[t]`, or lists its dims", lhs.text)});
            workspace_.names.find(lhs.text)->second.is_sound = false;
        };
        for (Expr const& index : lhs.args) {
            Expr const& named = index.kind == ExprKind::Assign ? index.args[0] : index;
            if (named.kind != ExprKind::Name) return refuse(index, "a definition holds at every step and for every entry");
            Name const* const dim = find_dim(named);
            if (!dim) return workspace_.unknown_name(named.text, named.span, "dim", {NameKind::Dim}), mark_unsound(lhs);
            auto const id = static_cast<DimId>(dim->id);
            bool const is_cell = model_.dims[id].role != Role::Labelled;
            auto copy = static_cast<std::uint16_t>(std::count_if(axes.begin(), axes.end(), [&](Axis axis) { return axis.dim == id; }));
            if (is_cell && index.kind == ExprKind::Assign) return refuse(index, fmt::format("`{}` has no second copy", named.text));
            if (copy > 0 && index.kind != ExprKind::Assign) {
                return refuse(index, fmt::format("`{0}` stands there twice: call the second one `{0}2 = {0}`", named.text));
            }
            if (!is_cell) axes.push_back({id, copy});
        }
        if (axes.size() > 2) return refuse(lhs, fmt::format("`{}` has more than two labelled dims", lhs.text));
        if (!axes.empty()) definition.declared = std::move(axes);
    }

    void mark_unsound(Expr const& lhs) { workspace_.names.find(lhs.text)->second.is_sound = false; }

    // ---- dims of a declaration ----

    Name const* find_dim(Expr const& index) const {
        Expr const* name = &index;
        bool const is_range = index.kind == ExprKind::Less || index.kind == ExprKind::LessEqual || index.kind == ExprKind::Greater ||
                              index.kind == ExprKind::GreaterEqual || index.kind == ExprKind::Equal;
        if (is_range) name = &index.args[0];
        bool const is_named = name->kind == ExprKind::Name || index.kind == ExprKind::Assign;
        Name const* const found = is_named ? workspace_.find(name->text) : nullptr;
        return found && found->kind == NameKind::Dim ? found : nullptr;
    }

    std::optional<std::vector<DimId>> read_dims(Expr const& lhs, char const* what, bool may_have_range) {
        std::vector<DimId> dims;
        std::size_t labelled = 0;
        bool is_sound = true;
        for (Expr const& index : lhs.args) {
            Name const* const dim = find_dim(index);
            if (!dim) {
                if (index.kind == ExprKind::Name)
                    workspace_.unknown_name(index.text, index.span, "dim", {NameKind::Dim});
                else
                    workspace_.error(105, index.span, fmt::format("the {} `{}` is declared over dims", what, lhs.text), "this is not one");
                is_sound = false;
                continue;
            }
            auto const id = static_cast<DimId>(dim->id);
            Role const role = model_.dims[id].role;
            if (index.kind != ExprKind::Name && !(may_have_range && role == Role::Time && read_steps(workspace_, index))) {
                workspace_.error(105, index.span, fmt::format("`{}` is declared over all of `{}`", lhs.text, model_.dims[id].name),
                                 role == Role::Time ? "" : "single entries are spoken of in later statements",
                                 {hint(model_.dims[id].name)});
                is_sound = false;
            }
            if (std::find(dims.begin(), dims.end(), id) != dims.end()) {
                std::string const& name = model_.dims[id].name;
                workspace_.error(105, index.span, fmt::format("`{}` is over `{}` twice", lhs.text, name), "each dim at most once",
                                 {fmt::format("declare a second dim of the same size: `{}2 = ...` in dims", name)});
                is_sound = false;
            }
            labelled += role == Role::Labelled ? 1 : 0;
            dims.push_back(id);
        }
        if (labelled > 2) {
            workspace_.error(105, lhs.span, fmt::format("`{}` has more than two labelled dims", lhs.text),
                             "a value is a scalar, a vector or a matrix",
                             {"give each entry of one dim a name of its own, or put two dims into one"});
            is_sound = false;
        }
        return is_sound ? std::optional(dims) : std::nullopt;
    }

    Workspace& workspace_;
    Model& model_;
    bool has_too_many_dims_ = false;
};

}  // namespace

void declare(Workspace& workspace) { Declaring(workspace).run(); }

}  // namespace bam
