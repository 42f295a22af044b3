#include "parting.hpp"

#include <algorithm>
#include <set>

namespace bam {
namespace {

/// What picks the entry along a dim in every summand of the covariates; `is_zero`: they have no summand, and anything does.
struct Selectors {
    bool is_zero = false;
    std::set<Term> terms;
};

Selectors common(Selectors const& a, Selectors const& b) {
    if (a.is_zero) return b;
    if (b.is_zero) return a;
    Selectors both;
    std::set_intersection(a.terms.begin(), a.terms.end(), b.terms.begin(), b.terms.end(), std::inserter(both.terms, both.terms.end()));
    return both;
}

Selectors selectors(Terms const& terms, Term term, DimId dim) {
    if (term == terms.zero()) return {true, {}};
    Node const& node = terms[term];
    Selectors found;
    if (node.op == Op::Add) {
        found.is_zero = true;
        for (Term const arg : node.args) found = common(found, selectors(terms, arg, dim));
        return found;
    }
    Axis const entry{dim, entry_copy};
    for (Term const factor : terms.factors_of(term)) {
        Node const& part = terms[factor];
        bool const is_delta = part.op == Op::Delta && part.axes == Axes{{dim, 0}, entry};
        bool const is_label = part.op == Op::Member && Terms::labels_of(part) == entry;
        if (is_delta || is_label) found.terms.insert(factor);
    }
    return found;
}

}  // namespace

bool is_parted(Model const& model, Contribution const& contribution, DimId dim) {
    Factor const& factor = model.factors[contribution.factor];
    if (factor.has_covariance() && model.symbols[factor.target].dims.back() == dim) return false;
    Selectors const found = common(selectors(model.terms, contribution.covariates, dim), selectors(model.terms, contribution.lagged, dim));
    return found.is_zero || !found.terms.empty();
}

}  // namespace bam
