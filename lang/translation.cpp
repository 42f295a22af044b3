// A residual of degree one in two blocks does not change with (a + c, b + c) if its derivatives in them add up to 0, and not with
// (a + c, b - c) if they are the same. Terms are interned: equal derivatives have equal ids.
#include "translation.hpp"

#include <algorithm>
#include <optional>

#include "passes.hpp"

namespace bam {
namespace {

enum class Direction : std::uint8_t { Any, Same, Opposite, None };

bool mentions_either(Model const& model, Term term, SymbolId a, SymbolId b) {
    return mentions(model, term, {Op::Param, a, 0}) || mentions(model, term, {Op::Param, b, 0});
}

/// In which direction both move without a change of the term.
Direction direction_in(Model& model, Term term, SymbolId a, SymbolId b) {
    if (!mentions_either(model, term, a, b)) return Direction::Any;
    if (degree(model, term, a).value > 1 || degree(model, term, b).value > 1) return Direction::None;
    Term const by_a = differentiate(model, term, {Op::Param, a, 0}, entry_copy);
    Term const by_b = differentiate(model, term, {Op::Param, b, 0}, entry_copy);
    if (mentions_either(model, by_a, a, b) || mentions_either(model, by_b, a, b)) return Direction::None;
    if (by_a == by_b) return Direction::Opposite;
    return by_a == model.terms.negate(by_b) || by_b == model.terms.negate(by_a) ? Direction::Same : Direction::None;
}

/// The prior of one of them, which does not hold the other.
bool is_own_prior(Model const& model, Factor const& factor, SymbolId a, SymbolId b) {
    return (factor.target == a || factor.target == b) && !mentions_either(model, factor.mean, a, b);
}

Direction direction_of(Model& model, SymbolId a, SymbolId b) {
    Direction direction = Direction::Any;
    for (std::size_t f = 0; f < model.factors.size(); ++f) {
        if (is_own_prior(model, model.factors[f], a, b)) continue;
        Direction const here = direction_in(model, model.factors[f].residual, a, b);
        if (here == Direction::Any) continue;
        if (here == Direction::None || (direction != Direction::Any && direction != here)) return Direction::None;
        direction = here;
    }
    return direction;
}

}  // namespace

std::vector<Translation> translations(Model& model) {
    std::vector<SymbolId> blocks;
    for (SymbolId s = 0; s < model.symbols.size(); ++s)
        if (model.symbols[s].kind == SymbolKind::Block && !model.is_over(s, model.time) && !model.choice_of(s)) blocks.push_back(s);
    std::vector<Translation> found;
    for (std::size_t i = 0; i < blocks.size(); ++i) {
        for (std::size_t j = i + 1; j < blocks.size(); ++j) {
            if (model.symbols[blocks[i]].dims != model.symbols[blocks[j]].dims) continue;
            Direction const direction = direction_of(model, blocks[i], blocks[j]);
            if (direction == Direction::Same || direction == Direction::Opposite)
                found.push_back({blocks[i], blocks[j], direction == Direction::Opposite});
        }
    }
    return found;
}

}  // namespace bam
