#include "notation.hpp"

#include <doctest/doctest.h>

#include "print_model.hpp"

using namespace bam;

namespace {

/// The terms of models/attention.bam, made by hand.
struct Attention {
    Model model;
    Term x, h, q, mean;
    static constexpr DimId seq = 0, t = 1, feat = 2, unit = 3, out = 4;

    SymbolId add(SymbolKind kind, char const* name, std::vector<DimId> dims) {
        Symbol symbol;
        symbol.kind = kind;
        symbol.name = name;
        symbol.dims = std::move(dims);
        model.symbols.push_back(std::move(symbol));
        return static_cast<SymbolId>(model.symbols.size() - 1);
    }

    Term leaf(Op op, SymbolId symbol) { return model.terms.leaf(op, symbol, model.axes_of(symbol)); }

    Term define(char const* name, Term term, Axes order) {
        SymbolId const symbol = add(SymbolKind::Definition, name, {});
        model.symbols[symbol].term = term;
        model.symbols[symbol].order = std::move(order);
        model.names.emplace(term, symbol);
        return term;
    }

    Attention() {
        Terms& terms = model.terms;
        model.dims = {{"seq", Role::Sequence, {}, {}, {}},
                      {"t", Role::Time, {}, {}, {}},
                      {"feat", Role::Labelled, {}, {}, {}},
                      {"unit", Role::Labelled, 2, {}, {}},
                      {"out", Role::Labelled, {}, {}, {}}};
        model.sequence = seq;
        model.time = t;
        x = leaf(Op::Data, add(SymbolKind::Data, "x", {seq, t, feat}));
        Term const w_k = leaf(Op::Param, add(SymbolKind::Block, "W_k", {unit, feat}));
        Term const w_q = leaf(Op::Param, add(SymbolKind::Block, "W_q", {unit, feat}));
        Term const w_v = leaf(Op::Param, add(SymbolKind::Block, "W_v", {out, feat}));
        Term const a = leaf(Op::Param, add(SymbolKind::Block, "a", {t}));
        Term const k = define("k", terms.contract({w_k, x}, {{feat, 0}}), {{seq, 0}, {t, 0}, {unit, 0}});
        q = define("q", terms.contract({w_q, x}, {{feat, 0}}), {{seq, 0}, {t, 0}, {unit, 0}});
        Term const v = define("v", terms.contract({w_v, x}, {{feat, 0}}), {{seq, 0}, {t, 0}, {out, 0}});
        h = define("h", terms.scan(a, terms.multiply({k, v}), {t, 0}), {{seq, 0}, {t, 0}, {unit, 0}, {out, 0}});
        mean = terms.contract({h, q}, {{unit, 0}});
    }
};

}  // namespace

TEST_CASE("notation: definitions are written by name under any names of their axes") {
    Attention m;
    CHECK(to_text(m.model, m.mean) == "sum[unit] h[t,unit,out] q[t,unit]");
    Notation notation(m.model);
    CHECK(notation.definition(5) == "k[t,unit] = sum[feat] W_k[unit,feat] x[t,feat]");
    CHECK(notation.definition(8) == "h[t,unit,out] = a[t] h[t-1,unit,out] + k[t,unit] v[t,out]");
}

TEST_CASE("notation: sums are products of sums, with signs and quotients as on paper") {
    Attention m;
    Terms& terms = m.model.terms;
    SymbolId const y_symbol = m.add(SymbolKind::Data, "y", {Attention::seq, Attention::t, Attention::out});
    Term const y = m.leaf(Op::Data, y_symbol);
    CHECK(to_text(m.model, terms.add({terms.negate(y), m.mean})) == "sum[unit] h[t,unit,out] q[t,unit] - y[t,out]");
    Term const s = terms.leaf(Op::Param, m.add(SymbolKind::Scale, "s", {}), {});
    Term const inverse = terms.apply(Function::Reciprocal, s);
    CHECK(to_text(m.model, terms.multiply({y, inverse, terms.constant(-0.5)})) == "-0.5 y[t,out] / s");
    CHECK(to_text(m.model, terms.multiply({terms.add({y, s}), inverse, terms.apply(Function::Reciprocal, y)})) ==
          "(y[t,out] + s) / (s y[t,out])");
    CHECK(to_text(m.model, inverse) == "1 / s");
    CHECK(to_text(m.model, terms.apply(Function::Exp, terms.add({s, terms.constant(-1)}))) == "exp(s - 1)");
    Term const lagged = terms.leaf(Op::Data, y_symbol, terms.axes(y), 1);
    CHECK(to_text(m.model, lagged) == "y[t-1,out]");
}

TEST_CASE("notation: two axes over one dim are told apart by a prime") {
    Attention m;
    Terms& terms = m.model.terms;
    Term const other = terms.rename(m.x, {Attention::feat, 0}, {Attention::feat, 64});
    CHECK(to_text(m.model, terms.multiply({m.x, other})) == "x[t,feat] x[t,feat']");
    CHECK(to_text(m.model, other) == "x[t,feat]");
    CHECK(to_text(m.model, terms.delta({Attention::unit, 0}, {Attention::unit, 64})) == "[unit = unit']");
    Term const sum = terms.contract({m.x, m.x}, {{Attention::feat, 0}});
    CHECK(to_text(m.model, terms.multiply({sum, m.x})) == "x[t,feat] sum[feat'] x[t,feat']^2");
}

TEST_CASE("notation: a recurrence without a name is spelled out once") {
    Attention m;
    Terms& terms = m.model.terms;
    Term const a = terms.leaf(Op::Param, 4, {{Attention::t, 0}});
    Term const moments = terms.scan(a, m.x, {Attention::t, 0});
    CHECK(to_text(m.model, terms.multiply({moments, moments})) == "S1[t,feat]^2, where S1[t,feat] = a[t] S1[t-1,feat] + x[t,feat]");
}
