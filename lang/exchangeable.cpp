// Codes of this file:
//   BAM0331  (note) groups that nothing tells apart
#include "exchangeable.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <set>

namespace bam {
namespace {

bool has_dim(std::vector<DimId> const& dims, DimId dim) { return std::find(dims.begin(), dims.end(), dim) != dims.end(); }

bool names(Region const& region, DimId dim) {
    return std::any_of(region.labels.begin(), region.labels.end(), [&](Region::Labels const& label) { return label.dim == dim; });
}

}  // namespace

bool are_told_apart(Model const& model, DimId dim) {
    std::vector<Term> roots;
    for (Factor const& factor : model.factors) {
        if (names(factor.region, dim)) return true;
        roots.push_back(factor.residual);
        for (SpreadPart const& part : factor.spread) roots.push_back(part.value);
        if (factor.weights) roots.push_back(*factor.weights);
    }
    for (ScalePrior const& prior : model.scale_priors)
        if (names(prior.region, dim)) return true;
    for (Symbol const& symbol : model.symbols)
        if (symbol.label_dim == dim) return true;  // each row says which one it is
    return are_told_apart(model, roots, dim);
}

bool are_told_apart(Model const& model, std::vector<Term> const& terms, DimId dim) {
    for (Term const term : model.terms.postorder(terms)) {
        Node const& node = model.terms[term];
        if (node.op == Op::Literal && has_dim(model.literals[node.payload].dims, dim)) return true;
        if (node.op == Op::LagData && std::any_of(node.axes.begin(), node.axes.end(), [&](Axis axis) { return axis.dim == dim; }))
            return true;
        if (node.op != Op::Param && node.op != Op::Data) continue;
        Symbol const& symbol = model.symbols[static_cast<SymbolId>(node.payload)];
        bool const is_known =
            symbol.kind == SymbolKind::Data || (symbol.kind == SymbolKind::Fixed && model.literals[*symbol.literal].values.size() > 1);
        if (is_known && has_dim(symbol.dims, dim)) return true;
    }
    return false;
}

Diagnostics exchangeable_choices(Model const& model) {
    Diagnostics notes;
    std::set<DimId> seen;
    for (SymbolId id = 0; id < model.symbols.size(); ++id) {
        auto const dim = model.choice_of(id);
        if (!dim || !seen.insert(*dim).second || model.dims[*dim].size == 1 || are_told_apart(model, *dim)) continue;
        std::string const& name = model.dims[*dim].name;
        Diagnostic note{
            331, Severity::Note, fmt::format("nothing tells the entries of `{}` apart: chains may number them differently", name), {}, {}};
        note.labels.push_back({model.symbols[id].span, "it chooses among them"});
        note.notes.push_back(fmt::format(
            "give what they differ in a prior for each of them, such as a list of means, or say of which `{}` a sequence is known to be",
            name));
        notes.push_back(std::move(note));
    }
    return notes;
}

}  // namespace bam
