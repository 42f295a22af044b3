#include "term.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace bam {
namespace {

void insert_all(Axes& into, Axes const& from) {
    Axes merged;
    std::set_union(into.begin(), into.end(), from.begin(), from.end(), std::back_inserter(merged));
    into = std::move(merged);
}

bool contains(Axes const& axes, Axis axis) { return std::binary_search(axes.begin(), axes.end(), axis); }

bool intersects(Axes const& a, Axes const& b) {
    return std::any_of(a.begin(), a.end(), [&](Axis axis) { return contains(b, axis); });
}

std::size_t hash(Node const& node) {
    std::size_t seed = static_cast<std::size_t>(node.op) * 31 + node.lag;
    auto mix = [&](std::uint64_t value) { seed ^= value * 0x9e3779b97f4a7c15ULL + (seed << 6) + (seed >> 2); };
    mix(node.payload);
    for (Term arg : node.args) mix(arg);
    for (Axis axis : node.summed) mix((std::uint64_t{axis.dim} << 16) | axis.copy);
    for (Axis axis : node.axes) mix((std::uint64_t{axis.dim} << 16) | axis.copy);
    for (Axis axis : node.first) mix((std::uint64_t{axis.dim} << 16) | axis.copy);
    for (Axis axis : node.second) mix((std::uint64_t{axis.dim} << 16) | axis.copy);
    return seed;
}

}  // namespace

Terms::Terms() {
    zero_ = constant(0);
    one_ = constant(1);
}

Term Terms::intern(Node node) {
    std::size_t const key = hash(node);
    auto const [first, last] = index_.equal_range(key);
    for (auto it = first; it != last; ++it) {
        if (nodes_[it->second] == node) return it->second;
    }
    auto const term = static_cast<Term>(nodes_.size());
    nodes_.push_back(std::move(node));
    index_.emplace(key, term);
    return term;
}

bool Terms::has_axis(Term term, Axis axis) const { return contains(nodes_[term].axes, axis); }

Term Terms::constant(double value) {
    Node node;
    node.op = Op::Constant;
    node.payload = std::bit_cast<std::uint64_t>(value == 0 ? 0.0 : value);  // one zero, so that -0 is 0
    return intern(std::move(node));
}

bool Terms::is_constant(Term term, double value) const { return nodes_[term].op == Op::Constant && constant_value(term) == value; }

double Terms::constant_value(Term term) const { return std::bit_cast<double>(nodes_[term].payload); }

Term Terms::leaf(Op op, std::uint64_t payload, Axes axes, std::uint16_t lag) {
    std::sort(axes.begin(), axes.end());
    Node node;
    node.op = op;
    node.payload = payload;
    node.lag = lag;
    node.axes = std::move(axes);
    return intern(std::move(node));
}

Term Terms::delta(Axis a, Axis b) {
    if (a == b) return one_;
    Node node;
    node.op = Op::Delta;
    node.axes = a < b ? Axes{a, b} : Axes{b, a};
    node.has_delta = true;
    return intern(std::move(node));
}

Term Terms::member(std::uint32_t symbol, Axes cells, Axis labels, std::uint16_t lag) {
    Node node;
    node.op = Op::Member;
    node.payload = symbol;
    node.lag = lag;
    node.first = {labels};
    node.axes = std::move(cells);
    node.axes.push_back(labels);
    std::sort(node.axes.begin(), node.axes.end());
    return intern(std::move(node));
}

bool Terms::join_members(std::vector<Term>& factors) {
    auto const cells = [](Node const& node) {
        Axes axes = node.axes;
        std::erase(axes, labels_of(node));
        return axes;
    };
    for (std::size_t i = 0; i < factors.size(); ++i) {
        Node const a = nodes_[factors[i]];
        if (a.op != Op::Member) continue;
        for (std::size_t j = i + 1; j < factors.size(); ++j) {
            Node const b = nodes_[factors[j]];
            if (b.op != Op::Member || b.payload != a.payload || b.lag != a.lag || cells(a) != cells(b)) continue;
            factors[j] = delta(labels_of(a), labels_of(b));
            return true;
        }
    }
    return false;
}

Term Terms::add(std::vector<Term> terms) {
    // Flatten, then collect equal terms: each is (factor, rest).
    std::vector<Term> flat;
    for (Term term : terms) {
        if (nodes_[term].op == Op::Add) {
            flat.insert(flat.end(), nodes_[term].args.begin(), nodes_[term].args.end());
        } else {
            flat.push_back(term);
        }
    }
    std::map<Term, double> coefficients;
    double offset = 0;
    for (Term term : flat) {
        Node const& node = nodes_[term];
        if (node.op == Op::Constant) {
            offset += constant_value(term);
        } else if (node.op == Op::Multiply && nodes_[node.args.front()].op == Op::Constant) {
            double const factor = constant_value(node.args.front());
            std::vector<Term> const rest(node.args.begin() + 1, node.args.end());
            coefficients[multiply(rest)] += factor;
        } else {
            coefficients[term] += 1;
        }
    }
    std::vector<Term> args;
    for (auto const& [term, factor] : coefficients) {
        if (factor != 0) args.push_back(factor == 1 ? term : multiply({constant(factor), term}));
    }
    if (offset != 0) args.push_back(constant(offset));
    if (args.empty()) return zero_;
    if (args.size() == 1) return args.front();
    std::sort(args.begin(), args.end());
    Node node;
    node.op = Op::Add;
    for (Term arg : args) {
        insert_all(node.axes, nodes_[arg].axes);
        node.has_delta = node.has_delta || nodes_[arg].has_delta;
    }
    node.args = std::move(args);
    return intern(std::move(node));
}

Term Terms::multiply(std::vector<Term> factors) { return contract(std::move(factors), {}); }

Term Terms::contract(std::vector<Term> factors, Axes summed) {
    // Flatten products; a sum that carries a Delta is multiplied out, so that every Delta meets the axes it can remove.
    std::vector<Term> flat;
    double scale = 1;
    for (std::size_t i = 0; i < factors.size(); ++i) {
        Node const node = nodes_[factors[i]];
        if (node.op == Op::Constant) {
            scale *= constant_value(factors[i]);
        } else if (node.op == Op::Multiply) {
            factors[i] = one_;  // its own factors stand for it from here on
            factors.insert(factors.end(), node.args.begin(), node.args.end());
        } else if (node.op == Op::Add && node.has_delta) {
            std::vector<Term> sum;
            for (Term arg : node.args) {
                std::vector<Term> product(factors);
                product[i] = arg;
                sum.push_back(contract(std::move(product), summed));
            }
            return add(std::move(sum));
        } else {
            flat.push_back(factors[i]);
        }
    }
    if (scale == 0) return zero_;

    // A Delta over a summed axis is a renaming; a Delta over two free axes lets the others use the smaller one.
    for (bool again = true; again;) {
        again = join_members(flat);
        for (std::size_t i = 0; i < flat.size() && !again; ++i) {
            if (nodes_[flat[i]].op != Op::Delta) continue;
            Axis keep = nodes_[flat[i]].axes[0];
            Axis drop = nodes_[flat[i]].axes[1];
            bool const drops_delta = contains(summed, keep) || contains(summed, drop);
            if (drops_delta && !contains(summed, drop)) std::swap(keep, drop);
            std::vector<Term> renamed;
            bool changed = false;
            for (std::size_t j = 0; j < flat.size(); ++j) {
                if (j == i) continue;
                Term const term = has_axis(flat[j], drop) ? rename(flat[j], drop, keep) : flat[j];
                changed = changed || term != flat[j];
                renamed.push_back(term);
            }
            if (drops_delta) {
                std::erase(summed, drop);
                flat = std::move(renamed);
                again = true;
            } else if (changed) {
                renamed.insert(renamed.begin() + static_cast<std::ptrdiff_t>(i), flat[i]);
                flat = std::move(renamed);
                again = true;
            }
        }
    }
    std::erase(flat, one_);

    // A sum over an axis that no factor has counts its entries.
    std::vector<Term> product;
    for (Axis axis : summed) {
        if (std::any_of(flat.begin(), flat.end(), [&](Term term) { return has_axis(term, axis); })) continue;
        Node count;
        count.op = Op::Contract;
        count.args = {one_};
        count.summed = {{axis.dim, Axis::bound}};
        product.push_back(intern(std::move(count)));
    }

    // Factors linked by summed axes stay together; the others leave.
    std::vector<Term> pending(flat);
    while (!pending.empty()) {
        std::vector<Term> group{pending.back()};
        pending.pop_back();
        Axes linked;
        for (bool grew = true; grew;) {
            grew = false;
            linked.clear();
            for (Term term : group) {
                for (Axis axis : nodes_[term].axes) {
                    if (contains(summed, axis)) linked.push_back(axis);
                }
            }
            std::sort(linked.begin(), linked.end());
            linked.erase(std::unique(linked.begin(), linked.end()), linked.end());
            for (std::size_t i = 0; i < pending.size(); ++i) {
                if (!intersects(nodes_[pending[i]].axes, linked)) continue;
                group.push_back(pending[i]);
                pending.erase(pending.begin() + static_cast<std::ptrdiff_t>(i));
                grew = true;
                break;
            }
        }
        if (linked.empty()) {
            product.insert(product.end(), group.begin(), group.end());
            continue;
        }
        // Bound axes get the first copy that no argument uses, so that equal contractions are equal terms.
        Node node;
        node.op = Op::Contract;
        for (Axis axis : linked) {
            Axis name{axis.dim, Axis::bound};
            auto is_used = [&](Node const& inner) { return contains(inner.axes, name) || contains(inner.summed, name); };
            while (std::any_of(group.begin(), group.end(), [&](Term term) { return any(term, is_used); }) || contains(node.summed, name)) {
                if (name == axis) break;
                ++name.copy;
            }
            for (Term& term : group) {
                if (has_axis(term, axis)) term = rename(term, axis, name);
            }
            node.summed.push_back(name);
            std::sort(node.summed.begin(), node.summed.end());
        }
        std::sort(group.begin(), group.end());
        for (Term term : group) {
            for (Axis axis : nodes_[term].axes) {
                if (!contains(node.summed, axis)) insert_all(node.axes, {axis});
            }
            node.has_delta = node.has_delta || nodes_[term].has_delta;
        }
        node.args = std::move(group);
        product.push_back(intern(std::move(node)));
    }

    if (scale != 1 || product.empty()) product.push_back(constant(scale));
    if (product.size() == 1) return product.front();
    if (product.size() == 2 && scale != 1) {
        // A number times a sum is the sum of the multiples: keeps `-(a + b)` and `-a - b` one term.
        Term const other = product.front();
        if (nodes_[other].op == Op::Add) {
            std::vector<Term> sum;
            for (Term arg : std::vector<Term>(nodes_[other].args)) sum.push_back(multiply({constant(scale), arg}));
            return add(std::move(sum));
        }
    }
    std::sort(product.begin(), product.end(), [&](Term a, Term b) {
        bool const a_number = nodes_[a].op == Op::Constant;
        bool const b_number = nodes_[b].op == Op::Constant;
        return a_number != b_number ? a_number : a < b;
    });
    Node node;
    node.op = Op::Multiply;
    for (Term arg : product) {
        insert_all(node.axes, nodes_[arg].axes);
        node.has_delta = node.has_delta || nodes_[arg].has_delta;
    }
    node.args = std::move(product);
    return intern(std::move(node));
}

std::vector<Term> Terms::factors_of(Term term) const {
    return nodes_[term].op == Op::Multiply ? nodes_[term].args : std::vector<Term>{term};
}

Terms::Split Terms::split_by(Axis axis, std::vector<Term> const& factors) const {
    Split split;
    for (Term factor : factors) (has_axis(factor, axis) ? split.inside : split.outside).push_back(factor);
    return split;
}

Term Terms::scan(Term coefficient, Term input, Axis time) {
    if (input == zero_) return zero_;
    if (coefficient == zero_) return input;
    Node const node = nodes_[input];
    if (node.op == Op::Add && node.has_delta) {
        std::vector<Term> sum;
        for (Term arg : node.args) sum.push_back(scan(coefficient, arg, time));
        return add(std::move(sum));
    }
    // What does not change with time leaves the recurrence: scan(c, f u) = f scan(c, u).
    auto [outside, inside] = split_by(time, factors_of(input));
    Node result;
    result.op = Op::Scan;
    result.payload = (std::uint64_t{time.dim} << 16) | time.copy;
    Term const changing = multiply(std::move(inside));
    result.args = {coefficient, changing};
    result.axes = nodes_[changing].axes;
    insert_all(result.axes, nodes_[coefficient].axes);
    insert_all(result.axes, {time});
    outside.push_back(intern(std::move(result)));
    return multiply(std::move(outside));
}

Term Terms::shift(Term term, Axis time) {
    Node const node = nodes_[term];
    if (term == zero_) return zero_;
    if (node.op == Op::Add) {
        std::vector<Term> sum;
        for (Term arg : node.args) sum.push_back(shift(arg, time));
        return add(std::move(sum));
    }
    // What does not change with time leaves; where nothing changes, the first step still has nothing before it.
    auto [outside, inside] = split_by(time, factors_of(term));
    Node result;
    result.op = Op::Shift;
    result.payload = (std::uint64_t{time.dim} << 16) | time.copy;
    result.args = {multiply(std::move(inside))};
    result.axes = nodes_[result.args.front()].axes;
    insert_all(result.axes, {time});
    outside.push_back(intern(std::move(result)));
    return multiply(std::move(outside));
}

Term Terms::covariance(std::uint32_t symbol, Axes first, std::uint16_t first_lag, Axes second, std::uint16_t second_lag) {
    if (std::pair(second_lag, second) < std::pair(first_lag, first)) {
        std::swap(first, second);
        std::swap(first_lag, second_lag);
    }
    Node node;
    node.op = Op::Covariance;
    node.payload = (std::uint64_t{second_lag} << 32) | symbol;
    node.lag = first_lag;
    node.axes = first;
    node.axes.insert(node.axes.end(), second.begin(), second.end());
    std::sort(node.axes.begin(), node.axes.end());
    node.axes.erase(std::unique(node.axes.begin(), node.axes.end()), node.axes.end());
    node.first = std::move(first);
    node.second = std::move(second);
    return intern(std::move(node));
}

Term Terms::apply(Function function, Term argument) {
    if (nodes_[argument].op == Op::Constant) {
        double const x = constant_value(argument);
        switch (function) {
            case Function::Exp: return constant(std::exp(x));
            case Function::Log: return constant(std::log(x));
            case Function::Sqrt: return constant(std::sqrt(x));
            case Function::Abs: return constant(std::abs(x));
            case Function::Reciprocal: return constant(1 / x);
        }
    }
    Node node;
    node.op = Op::Apply;
    node.payload = static_cast<std::uint64_t>(function);
    node.axes = nodes_[argument].axes;
    node.args = {argument};
    return intern(std::move(node));
}

}  // namespace bam
