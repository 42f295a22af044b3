#include "workspace.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "nearest.hpp"

namespace bam {
namespace {

constexpr std::size_t most_names = 12;        ///< that a message lists
constexpr std::uint32_t highest_term = 2000;  ///< so that no walk runs out of stack
constexpr std::size_t widest_term = 200;      ///< factors, or summands that a product would multiply out

}  // namespace

Axes Shape::axes() const {
    Axes result;
    if (row) result.push_back(row_axis());
    if (column) result.push_back(column_axis());
    return result;
}

Diagnostic& Workspace::error(int code, Span span, std::string message, std::string label, std::vector<std::string> notes) {
    Diagnostic& d = is_trial ? unsaid : diagnostics.emplace_back();
    d = {code, Severity::Error, std::move(message), {{span, std::move(label)}}, std::move(notes)};
    return d;
}

std::string Workspace::free_name(std::string const& wanted) const {
    auto const is_taken = [&](std::string const& name) {
        auto const has_it = [&](auto const& named) { return named.name == name; };
        return find(name) != nullptr || std::any_of(model.symbols.begin(), model.symbols.end(), has_it) ||
               std::any_of(model.dims.begin(), model.dims.end(), has_it);
    };
    std::string name = wanted;
    for (int k = 2; is_taken(name); ++k) name = fmt::format("{}{}", wanted, k);
    return name;
}

bool Workspace::is_too_large(Term term) {
    for (Term next = static_cast<Term>(heights.size()); next <= term; ++next) {  // arguments are older than what is made of them
        std::uint32_t height = 0;
        for (Term arg : model.terms[next].args) height = std::max(height, heights[arg] + 1);
        heights.push_back(height);
    }
    Node const& node = model.terms[term];
    bool const may_grow = node.op == Op::Multiply || node.op == Op::Contract || (node.op == Op::Add && node.has_delta);
    return heights[term] > highest_term || (may_grow && node.args.size() > widest_term);
}

Name const* Workspace::find(std::string_view name) const {
    auto const it = names.find(name);
    return it == names.end() ? nullptr : &it->second;
}

Definition* Workspace::find_definition(SymbolId symbol) {
    for (Definition& definition : definitions) {
        if (definition.symbol == symbol) return &definition;
    }
    return nullptr;
}

std::vector<DimId> Workspace::labelled_dims(SymbolId symbol) const {
    std::vector<DimId> result;
    for (DimId dim : model.symbols[symbol].dims) {
        if (model.dims[dim].role == Role::Labelled) result.push_back(dim);
    }
    return result;
}

Shape Workspace::shape_of(SymbolId symbol) const {
    std::vector<DimId> const dims = labelled_dims(symbol);
    Shape shape;
    if (!dims.empty()) shape.row = dims[0];
    if (dims.size() > 1) shape.column = dims[1];
    return shape;
}

std::string Workspace::to_text(Shape const& shape) const {
    auto const name = [&](std::optional<DimId> dim) { return model.dims[*dim].name; };
    if (shape.row && shape.column) return fmt::format("[{}, {}]", name(shape.row), name(shape.column));
    if (shape.row) return fmt::format("[{}]", name(shape.row));
    if (shape.column) return fmt::format("[{}]'", name(shape.column));
    return "a scalar";
}

std::string Workspace::list_dims(std::vector<DimId> const& dims) const {
    std::string out;
    for (DimId dim : dims) out += (out.empty() ? "" : ", ") + model.dims[dim].name;
    return "[" + out + "]";
}

std::vector<std::string> Workspace::names_of(std::vector<NameKind> const& kinds) const {
    std::vector<std::string> result;
    for (auto const& [name, meaning] : names) {
        if (std::find(kinds.begin(), kinds.end(), meaning.kind) != kinds.end()) result.push_back(name);
    }
    return result;
}

void Workspace::unknown_name(std::string_view name, Span span, std::string const& what, std::vector<std::string> const& candidates) {
    if (is_trial || !unknown.emplace(name).second) return;
    Diagnostic& d = error(102, span, fmt::format("there is no {} `{}`", what, name));
    if (auto const near = nearest(name, candidates)) {
        d.notes.push_back(hint(*near));
        d.labels.push_back({find(*near)->span, fmt::format("`{}` is declared here", *near)});
    } else if (!candidates.empty() && candidates.size() <= most_names) {
        d.notes.push_back("there are " + enumerate(candidates));
    }
}

std::string hint(std::string const& replacement) { return "write `" + replacement + "`"; }

std::string as_operand(Workspace const& workspace, tree::Expr const& expr) {
    using tree::ExprKind;
    std::string const text = workspace.text(expr.span);
    bool const is_atom = expr.kind == ExprKind::Number || expr.kind == ExprKind::Name || expr.kind == ExprKind::Index ||
                         expr.kind == ExprKind::Call || expr.kind == ExprKind::List || expr.kind == ExprKind::Transpose;
    int depth = 0;
    std::size_t closed = 0;  // where the first parenthesis closes
    for (; closed < text.size(); ++closed) {
        depth += text[closed] == '(' ? 1 : text[closed] == ')' ? -1 : 0;
        if (depth == 0) break;
    }
    return is_atom || closed + 1 == text.size() ? text : "(" + text + ")";
}

std::string enumerate(std::vector<std::string> const& words) {
    std::string out;
    for (std::size_t i = 0; i < words.size(); ++i) out += (i == 0 ? "" : i + 1 == words.size() ? " and " : ", ") + words[i];
    return out;
}

}  // namespace bam
