// Terms made anew from terms: other names for axes, other leaves; and walks over them.
#include <algorithm>

#include "term.hpp"

namespace bam {
namespace {

bool contains(Axes const& axes, Axis axis) { return std::binary_search(axes.begin(), axes.end(), axis); }

}  // namespace

Term Terms::rebuild(Term term, std::vector<Term> args) {
    Node const node = nodes_[term];
    switch (node.op) {
        case Op::Add: return add(std::move(args));
        case Op::Multiply: return multiply(std::move(args));
        case Op::Contract: return contract(std::move(args), node.summed);
        case Op::Scan: return scan(args[0], args[1], time_of(node));
        case Op::Shift: return shift(args[0], time_of(node));
        case Op::Apply: return apply(static_cast<Function>(node.payload), args[0]);
        case Op::Constant:
        case Op::Literal:
        case Op::Data:
        case Op::LagData:
        case Op::Member:
        case Op::Param:
        case Op::Previous:
        case Op::Weight:
        case Op::Covariance:
        case Op::Delta: break;
    }
    return term;
}

Term Terms::rename(Term root, Axis from, Axis to) {
    std::unordered_map<Term, Term> done;
    std::function<Term(Term)> walk = [&](Term term) -> Term {
        if (!has_axis(term, from)) return term;
        if (auto it = done.find(term); it != done.end()) return it->second;
        Node const node = nodes_[term];
        Term result = term;
        if (node.op == Op::Delta) {
            result = delta(node.axes[0] == from ? to : node.axes[0], node.axes[1] == from ? to : node.axes[1]);
        } else if (node.op == Op::Covariance) {
            Axes first = node.first;
            Axes second = node.second;
            std::replace(first.begin(), first.end(), from, to);
            std::replace(second.begin(), second.end(), from, to);
            result = covariance(covariance_symbol(node), std::move(first), node.lag, std::move(second), second_lag(node));
        } else if (node.op == Op::Member) {
            Axes cells = node.axes;
            std::erase(cells, labels_of(node));
            std::replace(cells.begin(), cells.end(), from, to);
            result = member(static_cast<std::uint32_t>(node.payload), std::move(cells), labels_of(node) == from ? to : labels_of(node),
                            node.lag);
        } else if (node.args.empty()) {
            Axes axes = node.axes;
            std::replace(axes.begin(), axes.end(), from, to);
            result = leaf(node.op, node.payload, std::move(axes), node.lag);
        } else if (node.op == Op::Contract && contains(node.summed, to)) {
            // `to` is already summed in here: that axis makes way first.
            result = walk(with_summed_called(term, to, unused_bound(term, to)));
        } else {
            std::vector<Term> args;
            for (Term arg : node.args) args.push_back(walk(arg));
            result = rebuild(term, std::move(args));
        }
        done.emplace(term, result);
        return result;
    };
    return walk(root);
}

Axis Terms::unused_bound(Term term, Axis axis) const {
    axis.copy = std::max(axis.copy, Axis::bound);
    auto is_used = [&](Node const& inner) { return contains(inner.axes, axis) || contains(inner.summed, axis); };
    while (any(term, is_used)) ++axis.copy;
    return axis;
}

Term Terms::with_summed_called(Term term, Axis from, Axis to) {
    Node node = nodes_[term];
    for (Term& arg : node.args) arg = rename(arg, from, to);
    std::replace(node.summed.begin(), node.summed.end(), from, to);
    std::sort(node.summed.begin(), node.summed.end());
    std::sort(node.args.begin(), node.args.end());
    return intern(std::move(node));
}

Term Terms::substitute(Term root, std::function<bool(Term, Term&)> const& replacement) {
    std::unordered_map<Term, Term> done;
    std::function<Term(Term)> walk = [&](Term term) -> Term {
        if (auto it = done.find(term); it != done.end()) return it->second;
        Term result = term;
        if (!replacement(term, result)) {
            std::vector<Term> args;
            std::vector<Term> const old = nodes_[term].args;
            for (Term arg : old) args.push_back(walk(arg));
            if (args != old) result = rebuild(term, std::move(args));
        }
        done.emplace(term, result);
        return result;
    };
    return walk(root);
}

bool Terms::any(Term root, std::function<bool(Node const&)> const& predicate) const {
    Term const roots[] = {root};
    for (Term term : postorder(roots)) {
        if (predicate(nodes_[term])) return true;
    }
    return false;
}

std::vector<Term> Terms::postorder(std::span<Term const> roots) const {
    std::vector<Term> order;
    std::unordered_map<Term, bool> seen;
    std::function<void(Term)> walk = [&](Term term) {
        if (!seen.emplace(term, true).second) return;
        for (Term arg : nodes_[term].args) walk(arg);
        order.push_back(term);
    };
    for (Term root : roots) walk(root);
    return order;
}

}  // namespace bam
