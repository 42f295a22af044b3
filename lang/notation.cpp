#include "notation.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace bam {
namespace {

constexpr std::uint16_t spare_copy = 120;   ///< of an axis while two of them change names
constexpr std::size_t widest_literal = 12;  ///< entries that are written out

bool is_leaf(Node const& node) { return node.args.empty(); }

/// The axes of `order` as they are actually called.
Axes translated(Axes order, std::map<Axis, Axis> const& actual) {
    for (Axis& axis : order) {
        if (auto it = actual.find(axis); it != actual.end()) axis = it->second;
    }
    return order;
}

}  // namespace

Notation::Notation(Model const& model) : model_(model), terms_(model.terms) {
    for (auto const& [term, symbol] : model.names) {
        if (!is_leaf(terms_[term])) definitions_.emplace(term, symbol);
    }
}

std::string Notation::text(Term term) {
    names_.clear();
    add_names(terms_.axes(term));
    return write(term, Level::Sum);
}

std::string Notation::definition(SymbolId symbol) {
    Symbol const& defined = model_.symbols[symbol];
    names_.clear();
    add_names(terms_.axes(*defined.term));
    root_ = *defined.term;
    Node const node = terms_[*defined.term];
    std::string const text = node.op == Op::Scan ? write_recurrence(defined.name, defined.order, node)
                                                 : indexed(defined.name, defined.order) + " = " + write(*defined.term, Level::Sum);
    root_.reset();
    return text;
}

std::vector<std::string> Notation::take_where() {
    std::vector<std::string> lines;
    for (std::size_t i = 0; i < where_.size(); ++i) {  // writing one may add another
        Term const term = where_[i];
        names_.clear();
        add_names(terms_.axes(term));
        lines.push_back(write_recurrence(recurrences_.at(term), reading_order(term), Node(terms_[term])));
    }
    where_.clear();
    return lines;
}

std::string Notation::declaration(SymbolId symbol) const {
    std::string dims;
    for (DimId dim : model_.symbols[symbol].dims) dims += (dims.empty() ? "" : ",") + model_.dims[dim].name;
    return model_.symbols[symbol].name + (dims.empty() ? "" : "[" + dims + "]");
}

std::string Notation::write(Term term, Level level) {
    Node const node = terms_[term];
    if (term != root_ && !is_leaf(node)) {
        if (auto const named = find_definition(term)) return indexed(model_.symbols[named->symbol].name, named->order);
    }
    auto const wrap = [&](std::string text, Level own) { return own < level ? "(" + text + ")" : text; };
    switch (node.op) {
        case Op::Add: return wrap(write_sum(node), Level::Sum);
        case Op::Constant:
        case Op::Multiply:
        case Op::Contract: {
            auto const [is_negative, text] = write_signed(term);
            bool const is_atom = (node.op == Op::Constant && !is_negative) || is_picked(node);
            return wrap((is_negative ? "-" : "") + text, is_atom ? Level::Atom : Level::Product);
        }
        case Op::Apply:
            return static_cast<Function>(node.payload) == Function::Reciprocal ? wrap(write_product({term}), Level::Product)
                                                                               : write_function(node);
        case Op::Scan: return write_scan(term);
        case Op::Literal:
        case Op::Data:
        case Op::LagData:
        case Op::Member:
        case Op::Param:
        case Op::Previous:
        case Op::Weight:
        case Op::Covariance:
        case Op::Delta: return write_leaf(node);
        case Op::Shift: return "previous(" + write(node.args[0], Level::Sum) + ")";
    }
    return {};
}

std::string Notation::write_sum(Node const& node) {
    std::vector<Signed> parts;
    for (Term arg : node.args) parts.push_back(write_signed(arg));
    std::stable_partition(parts.begin(), parts.end(), [](Signed const& part) { return !part.first; });
    std::string out;
    for (auto const& [is_negative, text] : parts) {
        if (!out.empty())
            out += is_negative ? " - " : " + ";
        else if (is_negative)
            out += "-";
        out += text;
    }
    return out;
}

Notation::Signed Notation::write_signed(Term term) {
    Node const node = terms_[term];
    bool const is_named = term != root_ && !is_leaf(node) && find_definition(term).has_value();
    if (is_named) return {false, write(term, Level::Product)};
    if (node.op == Op::Constant) {
        double const value = terms_.constant_value(term);
        return {value < 0, fmt::format("{}", value < 0 ? -value : value)};
    }
    if (node.op == Op::Contract) return {false, write_contract(node)};
    if (node.op != Op::Multiply) return {false, write(term, Level::Product)};
    double const scale = terms_[node.args.front()].op == Op::Constant ? terms_.constant_value(node.args.front()) : 1;
    if (!(scale < 0)) return {false, write_product(node.args)};
    std::vector<Term> rest(node.args.begin() + 1, node.args.end());
    if (scale != -1) rest.insert(rest.begin(), terms_.constant(-scale));
    return {true, write_product(rest)};
}

/// Factors side by side: numbers, parameters, definitions, data, sums; what is divided by comes last.
std::string Notation::write_product(std::vector<Term> const& factors) {
    std::vector<Term> above;
    std::vector<Term> below;
    for (Term factor : factors) {
        Node const& node = terms_[factor];
        bool const is_reciprocal = node.op == Op::Apply && static_cast<Function>(node.payload) == Function::Reciprocal;
        (is_reciprocal ? below : above).push_back(is_reciprocal ? node.args[0] : factor);
    }
    std::stable_sort(above.begin(), above.end(), [&](Term a, Term b) { return rank(a) < rank(b); });
    std::string out;
    for (std::size_t i = 0; i < above.size();) {
        std::size_t power = 1;
        while (i + power < above.size() && above[i + power] == above[i]) ++power;
        bool const is_last = i + power == above.size() && below.empty();
        bool const is_open = terms_[above[i]].op == Op::Contract && is_last && power == 1;
        out += (out.empty() ? "" : " ") + write(above[i], is_open ? Level::Product : Level::Atom);
        if (power > 1) out += fmt::format("^{}", power);
        i += power;
    }
    if (below.empty()) return out.empty() ? "1" : out;
    if (below.size() == 1) return (out.empty() ? "1" : out) + " / " + write(below.front(), Level::Atom);
    return (out.empty() ? "1" : out) + " / (" + write_product(below) + ")";
}

std::string Notation::write_contract(Node const& node) {
    auto const outer = names_;
    add_names(node.summed);
    std::vector<Term> rest;
    Axes picked;
    for (Term const arg : node.args) {  // a label that picks an entry stands in place of its index
        Node const& part = terms_[arg];
        bool const picks = part.op == Op::Member &&
                           std::find(node.summed.begin(), node.summed.end(), Terms::labels_of(part)) != node.summed.end() &&
                           std::find(picked.begin(), picked.end(), Terms::labels_of(part)) == picked.end();
        if (!picks) {
            rest.push_back(arg);
            continue;
        }
        names_[Terms::labels_of(part)] = write_label(part);
        picked.push_back(Terms::labels_of(part));
    }
    std::string dims;
    for (Axis axis : node.summed)
        if (std::find(picked.begin(), picked.end(), axis) == picked.end()) dims += (dims.empty() ? "" : ",") + name_of(axis);
    std::string out = (dims.empty() ? "" : "sum[" + dims + "] ") + write_product(rest);
    names_ = outer;
    return out;
}

/// `group[seq]`, the data of a Member.
std::string Notation::write_label(Node const& member) const {
    Symbol const& symbol = model_.symbols[member.payload];
    Axes order;
    for (DimId const dim : symbol.dims)
        for (Axis const axis : member.axes)
            if (axis.dim == dim && axis != Terms::labels_of(member)) order.push_back(axis);
    return indexed(symbol.name, order, member.lag == 0 ? "" : fmt::format("-{}", member.lag));
}

/// `theta[group]`: no sum is left to be written.
bool Notation::is_picked(Node const& node) const {
    if (node.op != Op::Contract || node.args.size() != node.summed.size() + 1) return false;
    return std::count_if(node.args.begin(), node.args.end(), [&](Term arg) { return terms_[arg].op == Op::Member; }) ==
           static_cast<std::ptrdiff_t>(node.summed.size());
}

std::string Notation::write_leaf(Node const& node) {
    auto const in_order = [&](std::vector<DimId> const& dims) {
        Axes order;
        for (DimId dim : dims) {
            for (Axis axis : node.axes) {
                if (axis.dim == dim && std::find(order.begin(), order.end(), axis) == order.end()) order.push_back(axis);
            }
        }
        return order;
    };
    switch (node.op) {
        case Op::Literal: {
            Literal const& literal = model_.literals[node.payload];
            return write_literal(literal) + indexed("", in_order(literal.dims));
        }
        case Op::Data:
        case Op::Param: {
            Symbol const& symbol = model_.symbols[node.payload];
            return indexed(symbol.name, in_order(symbol.dims), node.lag == 0 ? "" : fmt::format("-{}", node.lag));
        }
        case Op::LagData: {
            Symbol const& symbol = model_.symbols[node.payload];
            Axes order = in_order(symbol.dims);
            for (Axis axis : node.axes) {
                if (std::find(order.begin(), order.end(), axis) == order.end()) return indexed(symbol.name, order, "-" + name_of(axis));
            }
            return indexed(symbol.name, order);
        }
        case Op::Member: return "[" + write_label(node) + " = " + name_of(Terms::labels_of(node)) + "]";
        case Op::Previous:
            return indexed(node.payload < model_.symbols.size() ? model_.symbols[node.payload].name : "state", node.axes, "-1");
        case Op::Weight: return indexed(weight_name(node.payload), node.axes);
        case Op::Delta: return "[" + name_of(node.axes[0]) + " = " + name_of(node.axes[1]) + "]";
        default: return {};
    }
}

std::string Notation::write_literal(Literal const& literal) const {
    if (literal.values.size() > widest_literal) return fmt::format("[{}, {}, ...]", literal.values[0], literal.values[1]);
    std::size_t at = 0;
    auto const nested = [&](auto const& self, std::size_t depth) -> std::string {
        if (depth == literal.shape.size()) return fmt::format("{}", literal.values[at++]);
        std::string out;
        for (std::size_t i = 0; i < literal.shape[depth]; ++i) out += (out.empty() ? "" : ", ") + self(self, depth + 1);
        return "[" + out + "]";
    };
    return nested(nested, 0);
}

std::string Notation::write_recurrence(std::string const& name, Axes const& order, Node const& scan) {
    Term const coefficient = scan.args[0];
    std::string out = indexed(name, order) + " = ";
    if (!terms_.is_constant(coefficient, 1)) {
        bool const is_product = terms_[coefficient].op == Op::Multiply;
        out += write(coefficient, is_product ? Level::Product : Level::Atom) + " ";
    }
    out += indexed(name, order, "-1");
    std::string const input = write(scan.args[1], Level::Sum);
    return out + (input.starts_with("-") ? " - " + input.substr(1) : " + " + input);
}

std::string Notation::write_scan(Term term) {
    Canonical const form = canonical(term);
    auto [it, is_new] = recurrences_.emplace(form.term, "");
    if (is_new) {
        auto const is_taken = [&](std::string const& name) {
            return std::any_of(model_.symbols.begin(), model_.symbols.end(), [&](Symbol const& symbol) { return symbol.name == name; }) ||
                   std::any_of(recurrences_.begin(), recurrences_.end(), [&](auto const& other) { return other.second == name; });
        };
        std::size_t number = 1;
        while (is_taken(fmt::format("S{}", number))) ++number;
        it->second = fmt::format("S{}", number);
    }
    if (std::find(where_.begin(), where_.end(), form.term) == where_.end()) where_.push_back(form.term);
    return indexed(it->second, translated(reading_order(form.term), form.actual));
}

std::string Notation::write_function(Node const& node) {
    char const* const name = [&] {
        switch (static_cast<Function>(node.payload)) {
            case Function::Exp: return "exp";
            case Function::Log: return "log";
            case Function::Sqrt: return "sqrt";
            case Function::Abs: return "abs";
            case Function::Reciprocal: return "1 / ";
        }
        return "";
    }();
    return name + ("(" + write(node.args[0], Level::Sum) + ")");
}

/// `h[t-1,unit,out]`: the sequence is left out where the step is written, as in a file.
std::string Notation::indexed(std::string const& name, Axes const& order, std::string const& step) const {
    auto const has_role = [&](Role role) {
        return std::any_of(order.begin(), order.end(), [&](Axis axis) { return model_.dims[axis.dim].role == role; });
    };
    std::string out;
    for (Axis axis : order) {
        Role const role = model_.dims[axis.dim].role;
        if (role == Role::Sequence && has_role(Role::Time)) continue;
        out += (out.empty() ? "" : ",") + name_of(axis) + (role == Role::Time ? step : "");
    }
    return out.empty() ? name : name + "[" + out + "]";
}

std::string Notation::name_of(Axis axis) const {
    auto const it = names_.find(axis);
    return it == names_.end() ? model_.dims[axis.dim].name : it->second;
}

/// Calls each of `axes` by its dim, with as many primes as it takes to tell it from what is in scope already.
void Notation::add_names(Axes const& axes) {
    for (Axis axis : axes) {
        names_.erase(axis);  // the same axis of an outer sum is hidden in here
        std::string name = model_.dims[axis.dim].name;
        auto const is_taken = [&](auto const& other) { return other.second == name; };
        while (std::any_of(names_.begin(), names_.end(), is_taken)) name += '\'';
        names_[axis] = name;
    }
}

Notation::Canonical Notation::canonical(Term term) {
    Canonical form{term, {}};
    std::map<DimId, std::uint16_t> copies;
    for (Axis axis : Axes(terms_.axes(term))) {  // sorted, so that no name is taken before it is free
        Axis const name{axis.dim, copies[axis.dim]++};
        form.actual[name] = axis;
        if (name != axis) form.term = terms_.rename(form.term, axis, name);
    }
    return form;
}

std::optional<Notation::Named> Notation::find_definition(Term term) {
    Canonical form = canonical(term);
    auto const look_up = [&]() -> std::optional<Named> {
        auto const it = definitions_.find(form.term);
        if (it == definitions_.end()) return std::nullopt;
        return Named{it->second, translated(model_.symbols[it->second].order, form.actual)};
    };
    if (auto const named = look_up()) return named;
    for (auto const& [name, axis] : std::map<Axis, Axis>(form.actual)) {
        Axis const other{name.dim, static_cast<std::uint16_t>(name.copy + 1)};
        if (name.copy != 0 || form.actual.count(other) == 0) continue;
        Axis const spare{name.dim, spare_copy};
        form.term = terms_.rename(terms_.rename(terms_.rename(form.term, name, spare), other, name), spare, other);
        std::swap(form.actual[name], form.actual[other]);
        return look_up();
    }
    return std::nullopt;
}

/// Sequence, time, then the labelled axes.
Axes Notation::reading_order(Term term) const {
    Axes order = terms_.axes(term);
    auto const place = [&](Axis axis) {
        Role const role = model_.dims[axis.dim].role;
        return role == Role::Sequence ? 0 : role == Role::Time ? 1 : 2;
    };
    std::stable_sort(order.begin(), order.end(), [&](Axis a, Axis b) { return place(a) < place(b); });
    return order;
}

/// `w_y`, with a number if several factors have the target.
std::string Notation::weight_name(std::uint64_t factor) const {
    if (factor >= model_.factors.size()) return "w";
    SymbolId const target = model_.factors[factor].target;
    std::size_t count = 0;
    std::size_t number = 0;
    for (std::size_t f = 0; f < model_.factors.size(); ++f) {
        if (model_.factors[f].target != target) continue;
        ++count;
        if (f <= factor) number = count;
    }
    std::string const name = "w_" + model_.symbols[target].name;
    return count == 1 ? name : fmt::format("{}{}", name, number);
}

/// Where a factor stands in a product.
int Notation::rank(Term term) {
    Node const& node = terms_[term];
    Op const op = node.op;
    if (!is_leaf(node) && op != Op::Scan && find_definition(term)) return 4;
    if (is_picked(node)) return 2;
    switch (op) {
        case Op::Constant: return 0;
        case Op::Weight: return 1;
        case Op::Literal:
        case Op::Covariance:
        case Op::Param: return 2;
        case Op::Shift:
        case Op::Scan:
        case Op::Previous: return 3;
        case Op::Data:
        case Op::LagData:
        case Op::Multiply:
        case Op::Apply: return 5;
        case Op::Add: return 6;
        case Op::Member:
        case Op::Delta: return 7;
        case Op::Contract: return 8;
    }
    return 9;
}

std::string to_text(Model const& model, Term term) {
    Notation notation(model);
    std::string out = notation.text(term);
    std::string separator = ", where ";
    for (std::string const& line : notation.take_where()) {
        out += separator + line;
        separator = ", ";
    }
    return out;
}

}  // namespace bam
