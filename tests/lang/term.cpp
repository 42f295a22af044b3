// The algebra of Terms against a reference that does not simplify: both are evaluated on small tensors with random entries.
#include "term.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <map>
#include <random>
#include <string>

using namespace bam;

namespace {

constexpr DimId row = 0;
constexpr DimId column = 1;
constexpr DimId step = 2;
constexpr std::size_t sizes[] = {2, 3, 4};
constexpr Axis time_axis{step, 0};

using Cell = std::map<Axis, std::size_t>;

/// A number in (-1, 1) for an entry of a leaf, the same wherever it is asked for.
double entry(std::uint64_t leaf, std::vector<std::size_t> const& indices) {
    std::uint64_t hash = leaf * 0x9e3779b97f4a7c15ULL + 1;
    for (std::size_t index : indices) hash = (hash ^ (index + 17)) * 0xbf58476d1ce4e5b9ULL;
    hash ^= hash >> 29;
    return static_cast<double>((hash * 0x94d049bb133111ebULL) >> 11) * 0x1p-52 - 1;
}

double leaf_value(std::uint64_t payload, Axes const& axes, std::size_t lag, Cell const& cell) {
    std::vector<std::size_t> indices;
    for (Axis axis : axes) {
        std::size_t const index = cell.at(axis);
        if (axis.dim == step && index < lag) return 0;
        indices.push_back(axis.dim == step ? index - lag : index);
    }
    return entry(payload, indices);
}

/// Of a column of labels of `dim`: the entry at a step, the same wherever it is asked for; none before the first.
bool has_label(DimId dim, std::size_t label, Axes const& cells, std::size_t lag, Cell const& cell) {
    std::size_t const t = cells.empty() ? 0 : cell.at(time_axis);
    if (t < lag) return false;
    double const at = (entry(20 + dim, {t - lag}) + 1) / 2;
    return static_cast<std::size_t>(at * static_cast<double>(sizes[dim])) == label;
}

double sum_over(Axes const& axes, Cell cell, std::function<double(Cell const&)> const& value, std::size_t from = 0) {
    if (from == axes.size()) return value(cell);
    double sum = 0;
    for (std::size_t i = 0; i < sizes[axes[from].dim]; ++i) {
        cell[axes[from]] = i;
        sum += sum_over(axes, cell, value, from + 1);
    }
    return sum;
}

double scanned(std::function<double(Cell const&)> const& coefficient, std::function<double(Cell const&)> const& input, Axis time,
               Cell cell) {
    std::size_t const last = cell.at(time);
    double h = 0;
    for (std::size_t t = 0; t <= last; ++t) {
        cell[time] = t;
        h = (t == 0 ? 0 : coefficient(cell) * h) + input(cell);
    }
    return h;
}

double applied(Function function, double x) {
    switch (function) {
        case Function::Exp: return std::exp(x);
        case Function::Log: return std::log(x);
        case Function::Sqrt: return std::sqrt(x);
        case Function::Abs: return std::abs(x);
        case Function::Reciprocal: return 1 / x;
    }
    return 0;
}

double evaluate(Terms const& terms, Term term, Cell const& cell) {
    Node const& node = terms[term];
    auto const of = [&](std::size_t arg) { return [&terms, &node, arg](Cell const& at) { return evaluate(terms, node.args[arg], at); }; };
    switch (node.op) {
        case Op::Constant: return terms.constant_value(term);
        case Op::Delta: return cell.at(node.axes[0]) == cell.at(node.axes[1]) ? 1 : 0;
        case Op::Member: {
            Axis const labels = Terms::labels_of(node);
            Axes cells = node.axes;
            std::erase(cells, labels);
            return has_label(labels.dim, cell.at(labels), cells, node.lag, cell) ? 1 : 0;
        }
        case Op::Add: {
            double sum = 0;
            for (Term arg : node.args) sum += evaluate(terms, arg, cell);
            return sum;
        }
        case Op::Multiply:
        case Op::Contract:
            return sum_over(node.summed, cell, [&](Cell const& at) {
                double product = 1;
                for (Term arg : node.args) product *= evaluate(terms, arg, at);
                return product;
            });
        case Op::Scan: return scanned(of(0), of(1), Terms::time_of(node), cell);
        case Op::Apply: return applied(static_cast<Function>(node.payload), evaluate(terms, node.args[0], cell));
        default: return leaf_value(node.payload, node.axes, node.lag, cell);
    }
}

/// A term and what it should be worth in each cell.
struct Pair {
    Term term = 0;
    std::function<double(Cell const&)> value;
};

/// Makes random terms over the axes (row|column, 0..2) and time, each beside its reference.
struct Maker {
    Terms terms;
    std::mt19937 random;

    std::size_t below(std::size_t n) { return std::uniform_int_distribution<std::size_t>(0, n - 1)(random); }
    Axis any_axis() { return {static_cast<DimId>(below(2)), static_cast<std::uint16_t>(below(3))}; }

    Pair leaf() {
        std::size_t const which = below(8);
        std::uint64_t const payload = which + 1;
        Axes axes;
        if (which & 1) axes.push_back({row, static_cast<std::uint16_t>(below(3))});
        if (which & 2) axes.push_back({column, static_cast<std::uint16_t>(below(3))});
        if (which & 4) axes.push_back(time_axis);
        auto const lag = static_cast<std::uint16_t>(which & 4 ? below(2) : 0);
        return {terms.leaf(Op::Data, payload, axes, lag), [=](Cell const& cell) { return leaf_value(payload, axes, lag, cell); }};
    }

    Pair label() {
        Axis const labels = any_axis();
        Axes const cells = below(2) == 0 ? Axes{} : Axes{time_axis};
        auto const lag = static_cast<std::uint16_t>(cells.empty() ? 0 : below(2));
        return {terms.member(20u + labels.dim, cells, labels, lag),
                [=](Cell const& cell) { return has_label(labels.dim, cell.at(labels), cells, lag, cell) ? 1.0 : 0.0; }};
    }

    Pair make(std::size_t depth) {
        if (depth == 0) return below(4) == 0 ? label() : leaf();
        switch (below(10)) {
            case 0: return leaf();
            case 1: {
                Axis const a = any_axis();
                Axis const b{a.dim, static_cast<std::uint16_t>(below(3))};
                return {terms.delta(a, b), [=](Cell const& cell) { return cell.at(a) == cell.at(b) ? 1.0 : 0.0; }};
            }
            case 2: {
                double const number = static_cast<double>(below(5)) - 2;
                return {terms.constant(number), [=](Cell const&) { return number; }};
            }
            case 3:
            case 4: {
                Pair const a = make(depth - 1);
                Pair const b = make(depth - 1);
                return {terms.add({a.term, b.term}), [=](Cell const& cell) { return a.value(cell) + b.value(cell); }};
            }
            case 5: {
                Pair const a = make(depth - 1);
                Pair const b = make(depth - 1);
                return {terms.multiply({a.term, b.term}), [=](Cell const& cell) { return a.value(cell) * b.value(cell); }};
            }
            case 6:
            case 7: {
                Pair const a = make(depth - 1);
                Pair const b = make(depth - 1);
                Pair const c = make(depth - 1);
                Axes summed{any_axis()};
                Axis const second = any_axis();
                if (second != summed[0]) summed.push_back(second);
                std::sort(summed.begin(), summed.end());
                return {terms.contract({a.term, b.term, c.term}, summed), [=](Cell const& cell) {
                            return sum_over(summed, cell, [&](Cell const& at) { return a.value(at) * b.value(at) * c.value(at); });
                        }};
            }
            case 8: {
                Pair const c = make(depth - 1);
                Pair const u = make(depth - 1);
                return {terms.scan(c.term, u.term, time_axis),
                        [=](Cell const& cell) { return scanned(c.value, u.value, time_axis, cell); }};
            }
            default: {
                Pair const a = make(depth - 1);
                Axis const from = any_axis();
                Axis const to = below(2) == 0 ? Axis{from.dim, Axis::bound} : Axis{from.dim, static_cast<std::uint16_t>(below(3))};
                if (to == from || terms.has_axis(a.term, to)) return a;
                return {terms.rename(terms.rename(a.term, from, to), to, from), a.value};
            }
        }
    }
};

void check_equal(Terms const& terms, Pair const& pair) {
    Axes all;
    for (DimId dim : {row, column}) {
        for (std::uint16_t copy = 0; copy < 3; ++copy) all.push_back({dim, copy});
    }
    all.push_back(time_axis);
    double worst = 0;
    sum_over(all, {}, [&](Cell const& cell) {
        double const expected = pair.value(cell);
        double const error = std::abs(evaluate(terms, pair.term, cell) - expected) / (1 + std::abs(expected));
        worst = std::max(worst, error);
        return 0.0;
    });
    CHECK(worst < 1e-9);
}

}  // namespace

TEST_CASE("terms: whatever is simplified keeps its value") {
    for (unsigned seed = 0; seed < 200; ++seed) {
        CAPTURE(seed);
        Maker maker{{}, std::mt19937(seed)};
        check_equal(maker.terms, maker.make(3));
    }
}

TEST_CASE("terms: equal terms have equal ids") {
    Terms terms;
    Term const w = terms.leaf(Op::Param, 1, {{row, 0}, {column, 0}});
    Term const x = terms.leaf(Op::Data, 2, {{column, 0}, time_axis});
    Term const product = terms.contract({w, x}, {{column, 0}});
    Term const renamed =
        terms.contract({terms.rename(x, {column, 0}, {column, 127}), terms.rename(w, {column, 0}, {column, 127})}, {{column, 127}});
    CHECK(product == renamed);
    CHECK(terms.axes(product) == Axes{{row, 0}, time_axis});
    CHECK(terms.add({w, w}) == terms.multiply({terms.constant(2), w}));
    CHECK(terms.add({w, terms.negate(w)}) == terms.zero());
    CHECK(terms.negate(terms.add({w, x})) == terms.add({terms.negate(x), terms.negate(w)}));
    CHECK(terms.constant(-0.0) == terms.zero());
    // There and back again, past a copy that is summed inside.
    CHECK(terms.rename(terms.rename(product, {row, 0}, {row, Axis::bound}), {row, Axis::bound}, {row, 0}) == product);
}

TEST_CASE("terms: a Delta disappears with the axis that is summed") {
    Terms terms;
    Term const v = terms.leaf(Op::Param, 1, {{row, 0}});
    Term const w = terms.leaf(Op::Param, 2, {{row, 1}, {column, 0}});
    Term const diagonal = terms.multiply({v, terms.delta({row, 0}, {row, 1})});
    CHECK(terms[diagonal].has_delta);
    Term const scaled = terms.contract({diagonal, w}, {{row, 1}});
    CHECK(scaled == terms.multiply({v, terms.rename(w, {row, 1}, {row, 0})}));
    CHECK_FALSE(terms[scaled].has_delta);
}

TEST_CASE("terms: a cell has one label") {
    Terms terms;
    Term const here = terms.member(1, {time_axis}, {row, 0});
    Term const there = terms.member(1, {time_axis}, {row, 1});
    CHECK(terms.multiply({here, here}) == here);
    CHECK(terms.multiply({here, there}) == terms.multiply({here, terms.delta({row, 0}, {row, 1})}));
    // sum over k and l of a[k] b[l] [g = k] [g = l]
    Term const a = terms.leaf(Op::Param, 2, {{row, 0}});
    Term const b = terms.leaf(Op::Param, 3, {{row, 1}});
    CHECK(terms.contract({a, b, here, there}, {{row, 0}, {row, 1}}) ==
          terms.contract({a, terms.rename(b, {row, 1}, {row, 0}), here}, {{row, 0}}));
    // Another column, or the same a step back, has a label of its own.
    CHECK(terms[terms.multiply({here, terms.member(4, {time_axis}, {row, 1})})].has_delta == false);
    CHECK(terms[terms.multiply({here, terms.member(1, {time_axis}, {row, 1}, 1)})].has_delta == false);
    CHECK(terms.rename(here, {row, 0}, {row, 1}) == there);
}

TEST_CASE("terms: a product is not counted twice beside a sum with a Delta") {
    Terms terms;
    Term const a = terms.leaf(Op::Param, 1, {});
    Term const b = terms.leaf(Op::Param, 2, {});
    Term const delta = terms.delta({row, 0}, {row, 1});
    Term const c = terms.leaf(Op::Param, 3, {{row, 0}});
    Term const product = terms.multiply({a, b});
    CHECK(terms.multiply({product, terms.add({delta, c})}) == terms.add({terms.multiply({a, b, delta}), terms.multiply({a, b, c})}));
}

TEST_CASE("terms: a sum over an axis that no factor has counts its entries") {
    Terms terms;
    Term const v = terms.leaf(Op::Param, 1, {{column, 0}});
    Term const summed = terms.contract({v}, {{row, 0}});
    CHECK(evaluate(terms, summed, {{{column, 0}, 1}}) == doctest::Approx(2 * evaluate(terms, v, {{{column, 0}, 1}})));
    Term const trace = terms.contract({terms.delta({column, 0}, {column, 1})}, {{column, 0}, {column, 1}});
    CHECK(evaluate(terms, trace, {}) == 3);
}

TEST_CASE("terms: a new name does not fall under a sum inside") {
    Terms terms;
    Axis const summed{row, Axis::bound};
    // sum over row#128 of w[row#128, column#0] v[row#128]: to call column something cannot clash, to call row#1 row#128 would.
    Term const w = terms.leaf(Op::Param, 1, {{row, 0}, {column, 0}});
    Term const v = terms.leaf(Op::Param, 2, {{row, 0}});
    Term const free_row = terms.leaf(Op::Param, 3, {{row, 1}, {column, 0}});
    Term const inner = terms.contract({w, v, free_row}, {{row, 0}, {column, 0}});
    REQUIRE(terms.axes(inner) == Axes{{row, 1}});
    Term const renamed = terms.rename(inner, {row, 1}, summed);
    CHECK(terms.axes(renamed) == Axes{summed});
    for (std::size_t i = 0; i < sizes[row]; ++i) {
        CHECK(evaluate(terms, renamed, {{summed, i}}) == doctest::Approx(evaluate(terms, inner, {{{row, 1}, i}})));
    }
    CHECK(terms.rename(renamed, summed, {row, 1}) == inner);
}

TEST_CASE("terms: what does not change with time leaves a recurrence") {
    Terms terms;
    Term const a = terms.leaf(Op::Param, 1, {time_axis});
    Term const b = terms.leaf(Op::Param, 2, {{row, 0}});
    Term const x = terms.leaf(Op::Data, 3, {time_axis});
    Term const state = terms.scan(a, terms.multiply({b, x}), time_axis);
    CHECK(state == terms.multiply({b, terms.scan(a, x, time_axis)}));
    CHECK(terms.scan(terms.zero(), x, time_axis) == x);
    CHECK(terms.scan(a, terms.zero(), time_axis) == terms.zero());
}

TEST_CASE("terms: substitution rebuilds what held the leaf") {
    Terms terms;
    Term const a = terms.leaf(Op::Param, 1, {});
    Term const x = terms.leaf(Op::Data, 2, {time_axis});
    Term const sum = terms.add({terms.multiply({a, x}), x});
    auto const at = [&](double value) {
        return terms.substitute(sum, [&](Term term, Term& replacement) {
            if (term != a) return false;
            replacement = terms.constant(value);
            return true;
        });
    };
    CHECK(at(0) == x);
    CHECK(at(-1) == terms.zero());
    CHECK(at(1) == terms.multiply({terms.constant(2), x}));
}
