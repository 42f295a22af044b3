#include "expectation.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <set>
#include <stdexcept>

#include "compile.hpp"

namespace bam {
namespace {

/// Copies of axes that this pass makes; what it returns has none of them, because a Contract names its own.
constexpr std::uint16_t first_fresh = 1000;

template <class T>
bool contains(std::vector<T> const& sorted, T const& value) {
    return std::binary_search(sorted.begin(), sorted.end(), value);
}

template <class T>
std::vector<T> united(std::vector<T> const& a, std::vector<T> const& b) {
    std::vector<T> result;
    std::set_union(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(result));
    return result;
}

template <class T>
std::vector<T> common(std::vector<T> const& a, std::vector<T> const& b) {
    std::vector<T> result;
    std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(result));
    return result;
}

template <class T>
std::vector<T> without(std::vector<T> const& a, std::vector<T> const& b) {
    std::vector<T> result;
    std::set_difference(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(result));
    return result;
}

}  // namespace

Expectations::Expectations(Model& model, std::function<bool(SymbolId)> is_random)
    : model_(model), terms_(model.terms), is_random_(std::move(is_random)) {}

std::vector<SymbolId> const& Expectations::symbols(Term term) {
    if (auto it = symbols_.find(term); it != symbols_.end()) return it->second;
    Node const node = terms_[term];
    std::vector<SymbolId> found;
    bool const is_leaf = node.op == Op::Param || node.op == Op::Data || node.op == Op::LagData;
    if (is_leaf && is_random_(static_cast<SymbolId>(node.payload))) found.push_back(static_cast<SymbolId>(node.payload));
    for (Term arg : node.args) found = united(found, symbols(arg));
    return symbols_.emplace(term, std::move(found)).first->second;
}

Axis Expectations::fresh(Axis axis) {
    auto const [it, is_new] = fresh_.try_emplace(axis.dim, first_fresh);
    if (it->second == std::numeric_limits<std::uint16_t>::max()) throw std::length_error("too many products in one mean");
    return {axis.dim, it->second++};
}

// ---------------------------------------------------------------- monomials

void Expectations::finish(Monomial& monomial) {
    std::sort(monomial.summed.begin(), monomial.summed.end());
    monomial.symbols.clear();
    std::size_t random = 0;
    bool has_scan = false;
    for (Term atom : monomial.atoms) {
        if (symbols(atom).empty()) continue;
        ++random;
        has_scan = has_scan || terms_[atom].op == Op::Scan;
        monomial.symbols = united(monomial.symbols, symbols(atom));
    }
    monomial.is_linear = random <= 1 && !has_scan;
}

/// The term as a sum of monomials.
Expectations::Sum Expectations::expand_all(Term term) {
    Sum sum;
    Node const node = terms_[term];
    for (Term arg : node.op == Op::Add && !symbols(term).empty() ? node.args : std::vector<Term>{term}) {
        Sum part = expand(arg);
        if (part.size() == 1) part.front().origin = arg;
        for (Monomial& monomial : part) {
            finish(monomial);
            sum.push_back(std::move(monomial));
        }
    }
    return sum;
}

Expectations::Sum Expectations::expand(Term term) {
    if (symbols(term).empty()) return {{{term}, {}, {}, false, {}}};
    Node node = terms_[term];
    switch (node.op) {
        case Op::Add: {
            Sum sum;
            for (Term arg : node.args) {
                Sum part = expand(arg);
                sum.insert(sum.end(), std::make_move_iterator(part.begin()), std::make_move_iterator(part.end()));
            }
            return sum;
        }
        case Op::Multiply:
        case Op::Contract: {
            Axes summed;
            for (Axis axis : node.summed) {
                summed.push_back(fresh(axis));
                for (Term& arg : node.args) {
                    if (terms_.has_axis(arg, axis)) arg = terms_.rename(arg, axis, summed.back());
                }
            }
            Sum product{{{}, summed, {}, false, {}}};
            for (Term arg : node.args) {
                Sum next;
                for (Monomial const& left : product) {
                    for (Monomial const& right : expand(arg)) {
                        Monomial both = left;
                        both.atoms.insert(both.atoms.end(), right.atoms.begin(), right.atoms.end());
                        both.summed.insert(both.summed.end(), right.summed.begin(), right.summed.end());
                        next.push_back(std::move(both));
                    }
                }
                product = std::move(next);
            }
            return product;
        }
        case Op::Scan: return expand_scan(node);
        case Op::Constant:
        case Op::Literal:
        case Op::Data:
        case Op::LagData:
        case Op::Member:
        case Op::Param:
        case Op::Previous:
        case Op::Weight:
        case Op::Delta:
        case Op::Shift:
        case Op::Covariance:
        case Op::Apply: break;
    }
    return {{{term}, {}, {}, false, {}}};
}

/// scan(c, sum over s of f g) = sum over s of f scan(c, g), for f that do not change with time.
Expectations::Sum Expectations::expand_scan(Node const& node) {
    Axis const time = Terms::time_of(node);
    Sum sum;
    for (Monomial& monomial : expand(node.args[1])) {
        std::sort(monomial.summed.begin(), monomial.summed.end());
        Monomial outside;
        auto split = terms_.split_by(time, monomial.atoms);
        outside.atoms = std::move(split.outside);
        Axes outside_axes;
        for (Term atom : outside.atoms) outside_axes = united(outside_axes, terms_.axes(atom));
        outside.summed = common(monomial.summed, outside_axes);
        Term const input = eliminate(split.inside, without(monomial.summed, outside.summed));
        for (Term atom : terms_.factors_of(terms_.scan(node.args[0], input, time))) outside.atoms.push_back(atom);
        sum.push_back(std::move(outside));
    }
    return sum;
}

/// The same with summed axes of its own, so that it can be multiplied with itself.
Expectations::Monomial Expectations::refreshed(Monomial const& monomial) {
    Monomial result = monomial;
    for (Axis& axis : result.summed) {
        Axis const to = fresh(axis);
        for (Term& atom : result.atoms) {
            if (terms_.has_axis(atom, axis)) atom = terms_.rename(atom, axis, to);
        }
        axis = to;
    }
    std::sort(result.summed.begin(), result.summed.end());
    return result;
}

Term Expectations::term_of(Monomial const& monomial) {
    return monomial.origin ? *monomial.origin : eliminate(monomial.atoms, monomial.summed);
}

// ---------------------------------------------------------------- expectations

Term Expectations::product(Term a, Term b) {
    // What is linear in one block goes as E[a] E[b] + Cov(a, b): with a large offset, E[a b] itself would lose the digits of the
    // covariance.
    Sum const left = expand_all(a);
    Sum const right = a == b ? left : expand_all(b);
    auto mean_of = [&](Sum const& monomials, bool linear, std::function<bool(Monomial const&)> const& counts) {
        std::vector<Term> means;
        for (Monomial const& monomial : monomials) {
            if (monomial.is_linear == linear && counts(monomial)) means.push_back(term_of(monomial));
        }
        return terms_.add(std::move(means));
    };
    auto all = [](Monomial const&) { return true; };
    std::vector<Term> sum{terms_.multiply({mean_of(left, true, all), mean_of(right, true, all)})};
    for (std::size_t i = 0; i < left.size(); ++i) {
        for (std::size_t j = a == b ? i : 0; j < right.size(); ++j) {
            if (common(left[i].symbols, right[j].symbols).empty()) continue;
            Term const both = product(left[i], refreshed(right[j]), left[i].is_linear && right[j].is_linear);
            sum.push_back(a == b && i != j ? terms_.multiply({terms_.constant(2), both}) : both);
        }
    }
    // Independent pairs, but for the linear ones.
    for (Monomial const& l : left) {
        if (l.is_linear) continue;
        auto is_apart = [&](Monomial const& r) { return common(l.symbols, r.symbols).empty(); };
        sum.push_back(terms_.multiply({term_of(l), mean_of(right, true, is_apart)}));
        sum.push_back(terms_.multiply({term_of(l), mean_of(right, false, is_apart)}));
    }
    for (Monomial const& r : right) {
        if (r.is_linear) continue;
        auto is_apart = [&](Monomial const& l) { return common(l.symbols, r.symbols).empty(); };
        sum.push_back(terms_.multiply({mean_of(left, true, is_apart), term_of(r)}));
    }
    return terms_.add(std::move(sum));
}

Term Expectations::covariance(Term a, Term b) {
    Sum const left = expand_all(a);
    Sum const right = a == b ? left : expand_all(b);
    std::vector<Term> sum;
    for (Monomial const& l : left) {
        for (Monomial const& r : right) {
            if (common(l.symbols, r.symbols).empty()) continue;
            bool const is_central = l.is_linear && r.is_linear;
            sum.push_back(product(l, refreshed(r), is_central));
            if (!is_central) sum.push_back(terms_.negate(terms_.multiply({term_of(l), term_of(r)})));
        }
    }
    return terms_.add(std::move(sum));
}

/// E[a b], or the covariance if `is_central`; then both are linear in one block.
Term Expectations::product(Monomial const& a, Monomial const& b, bool is_central) {
    std::vector<Term> factors;
    std::vector<std::vector<Term>> components;  // of atoms that share symbols
    for (Monomial const* monomial : {&a, &b}) {
        for (Term atom : monomial->atoms) {
            if (symbols(atom).empty()) {
                factors.push_back(atom);
                continue;
            }
            std::vector<Term> joined{atom};
            std::erase_if(components, [&](std::vector<Term> const& other) {
                bool const shares =
                    std::any_of(other.begin(), other.end(), [&](Term t) { return !common(symbols(t), symbols(atom)).empty(); });
                if (shares) joined.insert(joined.begin(), other.begin(), other.end());
                return shares;
            });
            components.push_back(std::move(joined));
        }
    }
    for (std::vector<Term> const& atoms : components) {
        for (Term factor : terms_.factors_of(component(atoms, is_central))) factors.push_back(factor);
    }
    return eliminate(std::move(factors), united(a.summed, b.summed));
}

Term Expectations::component(std::vector<Term> const& atoms, bool is_central) {
    auto const scans = std::count_if(atoms.begin(), atoms.end(), [&](Term atom) { return terms_[atom].op == Op::Scan; });
    if (atoms.size() == 1) return atoms.front();  // linear in each block: the expectation is the term at the means
    if (atoms.size() == 2 && scans == 2) return scan_product(atoms[0], atoms[1]);
    if (atoms.size() != 2 || scans != 0) throw NoClosedForm(names(atoms));
    Term const covariance = leaf_covariance(atoms[0], atoms[1]);
    return is_central ? covariance : terms_.add({covariance, terms_.multiply({atoms[0], atoms[1]})});
}

/// The parameters in some atoms, for a message.
std::string Expectations::names(std::vector<Term> const& atoms) {
    std::vector<SymbolId> all;
    for (Term atom : atoms) all = united(all, symbols(atom));
    std::string text;
    for (SymbolId symbol : all) text += (text.empty() ? "" : ", ") + model_.symbols[symbol].name;
    return text;
}

Term Expectations::leaf_covariance(Term a, Term b) {
    auto ordered = [&](Node const& node) {
        Axes axes;
        for (DimId dim : model_.symbols[static_cast<SymbolId>(node.payload)].dims) {
            axes.push_back(*std::find_if(node.axes.begin(), node.axes.end(), [&](Axis axis) { return axis.dim == dim; }));
        }
        for (Axis axis : node.axes) {  // of LagData: the dim of the lags comes last
            if (std::find(axes.begin(), axes.end(), axis) == axes.end()) axes.push_back(axis);
        }
        return axes;
    };
    Node const first = terms_[a];
    Node const second = terms_[b];
    return terms_.covariance(static_cast<std::uint32_t>(first.payload), ordered(first), first.lag, ordered(second), second.lag);
}

Term Expectations::scan_product(Term a, Term b) {
    auto const key = std::minmax(a, b);
    if (auto it = scan_products_.find(key); it != scan_products_.end()) return it->second;
    Node const h = terms_[a];
    Node const g = terms_[b];
    Axis const time = Terms::time_of(h);
    auto has_random_scan = [&](Term term) {
        auto const order = terms_.postorder(std::vector<Term>{term});
        return std::any_of(order.begin(), order.end(), [&](Term t) { return terms_[t].op == Op::Scan && !symbols(t).empty(); });
    };
    for (Term arg : {h.args[0], h.args[1], g.args[0], g.args[1]}) {
        if (has_random_scan(arg)) throw NoClosedForm(names({a, b}));
    }
    Term const coefficient = product(h.args[0], g.args[0]);
    Term const input = terms_.add({terms_.multiply({product(h.args[0], g.args[1]), terms_.shift(a, time)}),
                                   terms_.multiply({product(h.args[1], g.args[0]), terms_.shift(b, time)}), product(h.args[1], g.args[1])});
    Term const result = terms_.scan(coefficient, input, time);
    scan_products_.emplace(key, result);
    return result;
}

// ---------------------------------------------------------------- sums of products

bool Expectations::is_static(Term term) const {
    Axes const& axes = terms_.axes(term);
    return std::all_of(axes.begin(), axes.end(), [&](Axis axis) { return model_.dims[axis.dim].role == Role::Labelled; });
}

double Expectations::size(Axes const& axes) const {
    double product = 1;
    for (Axis axis : axes) {
        if (model_.dims[axis.dim].role == Role::Labelled) product *= static_cast<double>(model_.dims[axis.dim].size.value_or(3));
    }
    return product;
}

/// sum over `summed` of the product of `factors`, one axis after another, the cheapest first.
Term Expectations::eliminate(std::vector<Term> factors, Axes summed) {
    std::vector<Term> atoms;
    for (Term factor : factors) {
        for (Term atom : terms_.factors_of(factor)) atoms.push_back(atom);
    }
    factors = std::move(atoms);
    while (!summed.empty()) {
        if (push_into_scan(factors, summed)) continue;
        Axis cheapest = summed.front();
        double least = 0;
        for (Axis axis : summed) {
            Axes all;
            bool changes = false;
            for (Term factor : factors) {
                if (!terms_.has_axis(factor, axis)) continue;
                all = united(all, terms_.axes(factor));
                changes = changes || !is_static(factor);
            }
            double const cost = size(all) * (changes ? 1 : 1e-3);  // what does not change is computed once, not in every cell
            if (axis == summed.front() || cost < least) {
                least = cost;
                cheapest = axis;
            }
        }
        auto [rest, group] = terms_.split_by(cheapest, factors);
        Axes gone;
        for (Axis axis : summed) {
            bool const is_inside = std::none_of(rest.begin(), rest.end(), [&](Term factor) { return terms_.has_axis(factor, axis); });
            bool const is_here = std::any_of(group.begin(), group.end(), [&](Term factor) { return terms_.has_axis(factor, axis); });
            if (axis == cheapest || (is_inside && is_here)) gone.push_back(axis);
        }
        for (Term factor : terms_.factors_of(terms_.contract(group, gone))) rest.push_back(factor);
        factors = std::move(rest);
        summed = without(summed, gone);
    }
    return terms_.multiply(std::move(factors));
}

/// Moves a factor that does not change with time into a recurrence, with the axes that only these two have, if its state becomes no larger.
bool Expectations::push_into_scan(std::vector<Term>& factors, Axes& summed) {
    for (std::size_t s = 0; s < factors.size(); ++s) {
        Node const scan = terms_[factors[s]];
        if (scan.op != Op::Scan) continue;
        for (std::size_t f = 0; f < factors.size(); ++f) {
            if (f == s || !is_static(factors[f])) continue;
            Axes gone = common(common(summed, scan.axes), terms_.axes(factors[f]));
            std::erase_if(gone, [&](Axis axis) {
                bool elsewhere = terms_.has_axis(scan.args[0], axis);
                for (std::size_t k = 0; k < factors.size(); ++k)
                    elsewhere = elsewhere || (k != f && k != s && terms_.has_axis(factors[k], axis));
                return elsewhere;
            });
            if (gone.empty()) continue;
            if (size(without(united(scan.axes, terms_.axes(factors[f])), gone)) > size(scan.axes)) continue;
            Node const input = terms_[scan.args[1]];
            std::vector<Term> sum;
            for (Term summand : input.op == Op::Add ? input.args : std::vector<Term>{scan.args[1]}) {
                sum.push_back(eliminate({factors[f], summand}, gone));
            }
            Term const moved = terms_.scan(scan.args[0], terms_.add(std::move(sum)), Terms::time_of(scan));
            summed = without(summed, gone);
            factors.erase(factors.begin() + static_cast<std::ptrdiff_t>(std::max(s, f)));
            factors.erase(factors.begin() + static_cast<std::ptrdiff_t>(std::min(s, f)));
            for (Term factor : terms_.factors_of(moved)) factors.push_back(factor);
            return true;
        }
    }
    return false;
}

}  // namespace bam
