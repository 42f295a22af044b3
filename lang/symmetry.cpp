// What the likelihood cannot see. Two blocks that occur only together, each once, can trade a factor: (c A, B / c). If besides the second
// derivative of every mean in their entries is Delta over a dim they share, times something that does not know the dim, then mean = sum_i
// A[i] M B[i] and (G A, inv(G)' B) changes nothing.
#include <algorithm>
#include <set>

#include "passes.hpp"

namespace bam {
namespace {

using Powers = std::set<std::pair<int, int>>;  ///< (power of A, power of B) of the summands of a term

/// Powers of two blocks in each summand; nothing if a recurrence raises one of them to a power that grows.
std::optional<Powers> powers(Model const& model, Term term, SymbolId a, SymbolId b) {
    Node const& node = model.terms[term];
    switch (node.op) {
        case Op::Param: return Powers{{node.payload == a ? 1 : 0, node.payload == b ? 1 : 0}};
        case Op::Constant:
        case Op::Literal:
        case Op::Data:
        case Op::LagData:
        case Op::Member:
        case Op::Previous:
        case Op::Weight:
        case Op::Covariance:
        case Op::Delta: return Powers{{0, 0}};
        case Op::Shift: return powers(model, node.args[0], a, b);
        case Op::Add: {
            Powers all;
            for (Term arg : node.args) {
                auto const inner = powers(model, arg, a, b);
                if (!inner) return std::nullopt;
                all.insert(inner->begin(), inner->end());
            }
            return all;
        }
        case Op::Multiply:
        case Op::Contract: {
            Powers product{{0, 0}};
            for (Term arg : node.args) {
                auto const inner = powers(model, arg, a, b);
                if (!inner) return std::nullopt;
                Powers next;
                for (auto const& [pa, pb] : product) {
                    for (auto const& [qa, qb] : *inner) next.emplace(pa + qa, pb + qb);
                }
                product = std::move(next);
            }
            return product;
        }
        case Op::Scan: {
            auto const coefficient = powers(model, node.args[0], a, b);
            if (!coefficient || *coefficient != Powers{{0, 0}}) return std::nullopt;
            return powers(model, node.args[1], a, b);
        }
        case Op::Apply: {
            auto const inner = powers(model, node.args[0], a, b);
            return inner && *inner == Powers{{0, 0}} ? inner : std::nullopt;
        }
    }
    return std::nullopt;
}

enum class Mixing : std::uint8_t { None, Diagonal, Full };

/// How freely `dim` mixes between A and B in a mean whose second derivative this is.
Mixing mixing(Model const& model, Term second, DimId dim) {
    Node const& node = model.terms[second];
    if (node.op == Op::Add) {
        Mixing least = Mixing::Full;
        for (Term arg : node.args) least = std::min(least, mixing(model, arg, dim));
        return least;
    }
    Axis const in_a{dim, entry_copy};
    Axis const in_b{dim, second_entry_copy};
    bool has_delta = false;
    bool rest_knows = false;
    std::vector<Axis> same_as_a, same_as_b;  // other axes that a Delta holds them to
    for (Term arg : model.terms.factors_of(second)) {
        bool const has_a = model.terms.has_axis(arg, in_a);
        bool const has_b = model.terms.has_axis(arg, in_b);
        bool const is_delta = model.terms[arg].op == Op::Delta;
        if (is_delta && has_a && has_b) {
            has_delta = true;
            continue;
        }
        rest_knows = rest_knows || has_a || has_b;
        if (!is_delta || has_a == has_b) continue;
        for (Axis const axis : model.terms.axes(arg))
            if (axis != (has_a ? in_a : in_b)) (has_a ? same_as_a : same_as_b).push_back(axis);
    }
    // Of an elementwise product, each is held to an axis of the result.
    has_delta = has_delta || std::any_of(same_as_a.begin(), same_as_a.end(),
                                         [&](Axis axis) { return std::find(same_as_b.begin(), same_as_b.end(), axis) != same_as_b.end(); });
    if (!has_delta) return Mixing::None;
    return rest_knows ? Mixing::Diagonal : Mixing::Full;
}

/// How freely `dim` mixes between the two blocks in this term.
Mixing mixing_in(Model& model, Term term, SymbolId a, SymbolId b, DimId dim) {
    Term const first = differentiate(model, term, {Op::Param, a, 0}, entry_copy);
    Term const second = differentiate(model, first, {Op::Param, b, 0}, second_entry_copy);
    return mixing(model, second, dim);
}

}  // namespace

bool is_invariant(Model& model, Term term, Symmetry const& symmetry) {
    if (!mentions(model, term, {Op::Param, symmetry.first, 0}) && !mentions(model, term, {Op::Param, symmetry.second, 0})) return true;
    auto const found = powers(model, term, symmetry.first, symmetry.second);
    if (!found || std::any_of(found->begin(), found->end(), [](auto p) { return p.first != p.second || p.first > 1; })) return false;
    if (!symmetry.dim) return true;
    Mixing const allowed = mixing_in(model, term, symmetry.first, symmetry.second, *symmetry.dim);
    return allowed == Mixing::Full || (symmetry.is_diagonal && allowed == Mixing::Diagonal);
}

std::vector<Symmetry> symmetries(Model& model) {
    std::vector<SymbolId> blocks;
    for (SymbolId s = 0; s < model.symbols.size(); ++s) {
        // What is 0 or 1 cannot be rescaled.
        if (model.symbols[s].kind == SymbolKind::Block && !model.is_over(s, model.time) && !model.choice_of(s)) blocks.push_back(s);
    }
    std::vector<Symmetry> found;
    for (std::size_t i = 0; i < blocks.size(); ++i) {
        for (std::size_t j = i + 1; j < blocks.size(); ++j) {
            SymbolId const a = blocks[i];
            SymbolId const b = blocks[j];
            bool is_together = false;
            bool is_apart = false;
            std::vector<Term> means;
            for (Factor const& factor : model.factors) {
                bool const is_own = (factor.target == a || factor.target == b) && !mentions(model, factor.mean, {Op::Param, a, 0}) &&
                                    !mentions(model, factor.mean, {Op::Param, b, 0});
                Term const term = factor.residual;
                if (is_own || (!mentions(model, term, {Op::Param, a, 0}) && !mentions(model, term, {Op::Param, b, 0}))) continue;
                auto const found_powers = powers(model, term, a, b);
                is_apart = is_apart || !found_powers ||
                           std::any_of(found_powers->begin(), found_powers->end(), [](auto p) { return p.first != p.second; });
                is_together = true;
                means.push_back(term);
            }
            if (!is_together || is_apart) continue;
            Symmetry symmetry{a, b, std::nullopt, false};
            for (DimId dim : model.symbols[a].dims) {
                if (model.dims[dim].role != Role::Labelled || !model.is_over(b, dim)) continue;
                Mixing least = Mixing::Full;
                for (Term mean : means) least = std::min(least, mixing_in(model, mean, a, b, dim));
                if (least == Mixing::None) continue;
                symmetry.dim = dim;
                symmetry.is_diagonal = least == Mixing::Diagonal;
                if (least == Mixing::Full) break;
            }
            found.push_back(symmetry);
        }
    }
    return found;
}

}  // namespace bam
