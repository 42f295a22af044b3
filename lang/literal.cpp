// Lists of numbers.
// Codes of this file:
//   BAM0118  a list of another shape
#include <fmt/format.h>

#include <algorithm>

#include "workspace.hpp"

namespace bam {

using tree::Expr;
using tree::ExprKind;

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
