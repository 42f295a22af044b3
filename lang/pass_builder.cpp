#include "pass_builder.hpp"

#include <algorithm>

namespace bam {
namespace {

Extent join(Extent a, Extent b) {
    if (a == b || b == Extent::One) return a;
    return a == Extent::One ? b : Extent::Cell;
}

}  // namespace

std::vector<DimId> Numbering::labelled(std::vector<DimId> const& dims) const {
    std::vector<DimId> result;
    std::copy_if(dims.begin(), dims.end(), std::back_inserter(result), [&](DimId dim) { return model.dims[dim].role == Role::Labelled; });
    return result;
}

std::vector<DimId> Numbering::labelled(SymbolId symbol) const { return labelled(model.symbols[symbol].dims); }

std::vector<Entry> Numbering::entries(std::vector<DimId> const& dims, std::uint16_t copy) const {
    std::vector<Entry> result{{}};
    for (DimId dim : dims) {
        std::vector<Entry> longer;
        for (Entry const& entry : result) {
            for (std::size_t i = 0; i < size(dim); ++i) {
                longer.push_back(entry);
                longer.back()[{dim, copy}] = i;
            }
        }
        result = std::move(longer);
    }
    return result;
}

std::size_t Numbering::position(std::vector<DimId> const& dims, Entry const& entry, std::uint16_t copy) const {
    std::size_t position = 0;
    for (DimId dim : dims) position = position * size(dim) + entry.at({dim, copy});
    return position;
}

Extent Numbering::extent(Axes const& axes) const {
    bool const has_sequence = std::any_of(axes.begin(), axes.end(), [&](Axis axis) { return model.dims[axis.dim].role == Role::Sequence; });
    bool const has_time = std::any_of(axes.begin(), axes.end(), [&](Axis axis) { return model.dims[axis.dim].role == Role::Time; });
    if (has_sequence) return has_time ? Extent::Cell : Extent::Sequence;
    return has_time ? Extent::Time : Extent::One;
}

std::uint32_t PassBuilder::add_register(Register reg) {
    pass_.registers.push_back(reg);
    return static_cast<std::uint32_t>(pass_.registers.size() - 1);
}

std::uint32_t PassBuilder::constant(double value) {
    auto const [it, is_new] = constants_.try_emplace(value, 0);
    if (is_new) {
        Register reg;
        reg.from = From::Constant;
        reg.value = value;
        it->second = add_register(reg);
    }
    return it->second;
}

bool PassBuilder::is_constant(std::uint32_t reg, double value) const {
    return pass_.registers[reg].from == From::Constant && pass_.registers[reg].value == value;
}

std::uint32_t PassBuilder::spread(std::uint32_t reg, Extent extent) {
    if (pass_.registers[reg].extent == extent) return reg;
    auto const key = std::tuple(Code::Copy, reg, static_cast<std::uint32_t>(extent));
    if (auto it = computed_.find(key); it != computed_.end()) return it->second;
    std::uint32_t const out = add_register({extent, From::Scratch, 0, 0, 0, 0});
    pass_.instructions.push_back({Code::Copy, out, reg, reg});
    computed_.emplace(key, out);
    return out;
}

std::uint32_t PassBuilder::emit(Code code, std::uint32_t a, std::uint32_t b) {
    if (code == Code::Multiply && is_constant(a, 1)) return b;
    if (code == Code::Multiply && is_constant(b, 1)) return a;
    Extent const extent = join(pass_.registers[a].extent, pass_.registers[b].extent);
    bool const is_step_coefficient = code == Code::Scan && pass_.registers[a].extent == Extent::Time;
    if (pass_.registers[a].extent != Extent::One && !is_step_coefficient) a = spread(a, extent);
    if (pass_.registers[b].extent != Extent::One) b = spread(b, extent);
    if ((code == Code::Multiply || code == Code::Add) && a > b) std::swap(a, b);
    auto const key = std::tuple(code, a, b);
    if (auto it = computed_.find(key); it != computed_.end()) return it->second;
    std::uint32_t const out = add_register({extent, From::Scratch, 0, 0, 0, 0});
    pass_.instructions.push_back({code, out, a, b});
    computed_.emplace(key, out);
    return out;
}

std::optional<std::uint32_t> PassBuilder::component(Term term, Entry const& entry) {
    std::vector<std::size_t> key;
    for (Axis axis : numbering_.model.terms.axes(term)) {
        if (numbering_.model.dims[axis.dim].role == Role::Labelled) key.push_back(entry.at(axis));
    }
    auto const memo = std::pair(term, std::move(key));
    if (auto it = components_.find(memo); it != components_.end()) return it->second;
    auto const result = compute(term, entry);
    components_.emplace(memo, result);
    return result;
}

std::optional<std::uint32_t> PassBuilder::component(Term term, Entry const& entry, Extent extent) {
    auto const reg = component(term, entry);
    return reg ? std::optional(spread(*reg, extent)) : reg;
}

std::uint32_t PassBuilder::column(Term term, Entry const& entry) {
    auto reg = component(term, entry);
    if (!reg) return no_register;
    if (pass_.registers[*reg].from != From::Scratch || pass_.registers[*reg].extent != pass_.domain || columns_.contains(*reg)) {
        std::uint32_t const out = add_register({pass_.domain, From::Scratch, 0, 0, 0, 0});
        pass_.instructions.push_back({Code::Copy, out, *reg, *reg});
        reg = out;
    }
    columns_.insert(*reg);
    return *reg;
}

std::optional<std::uint32_t> PassBuilder::compute(Term term, Entry const& entry) {
    Terms const& terms = numbering_.model.terms;
    Node const& node = terms[term];
    switch (node.op) {
        case Op::Constant: {
            double const value = terms.constant_value(term);
            return value == 0 ? std::nullopt : std::optional(constant(value));
        }
        case Op::Literal:
        case Op::Data:
        case Op::LagData:
        case Op::Param:
        case Op::Weight: return variable(node, entry);
        case Op::Previous: return std::nullopt;
        case Op::Covariance: return covariance(node, entry);
        case Op::Shift: {
            auto const argument = component(node.args[0], entry, numbering_.extent(node.axes));
            return argument ? std::optional(emit(Code::Shift, *argument, *argument)) : std::nullopt;
        }
        case Op::Member: return member(node, entry);
        case Op::Delta: return entry.at(node.axes[0]) == entry.at(node.axes[1]) ? std::optional(constant(1)) : std::nullopt;
        case Op::Add: {
            std::vector<std::pair<std::uint32_t, std::uint32_t>> products;
            for (Term arg : node.args) {
                if (auto const reg = component(arg, entry)) products.emplace_back(*reg, constant(1));
            }
            if (products.empty()) return std::nullopt;
            return sum(products);
        }
        case Op::Multiply: return product(node.args, entry);
        case Op::Contract: return contract(node, entry);
        case Op::Scan: {
            Extent const extent = numbering_.extent(node.axes);
            auto const input = component(node.args[1], entry, extent);
            if (!input) return std::nullopt;
            auto const coefficient = component(node.args[0], entry);
            if (!coefficient) return input;
            return emit(Code::Scan, *coefficient, *input);
        }
        case Op::Apply: {
            auto const argument = component(node.args[0], entry);
            static constexpr Code codes[] = {Code::Exp, Code::Log, Code::Sqrt, Code::Abs, Code::Reciprocal};
            std::uint32_t const reg = argument ? *argument : constant(0);
            return emit(codes[node.payload], reg, reg);
        }
    }
    return std::nullopt;
}

std::optional<std::uint32_t> PassBuilder::variable(Node const& node, Entry const& entry) {
    Model const& model = numbering_.model;
    auto index_of = [&](DimId dim) {
        auto const it = std::find_if(node.axes.begin(), node.axes.end(), [&](Axis axis) { return axis.dim == dim; });
        return entry.at(*it);
    };
    auto position = [&](std::vector<DimId> const& dims) {
        std::size_t result = 0;
        for (DimId dim : numbering_.labelled(dims)) result = result * numbering_.size(dim) + index_of(dim);
        return result;
    };
    auto literal = [&](std::size_t which) -> std::optional<std::uint32_t> {
        Literal const& values = model.literals[which];
        double const value = values.values[values.values.size() == 1 ? 0 : position(values.dims)];
        return value == 0 ? std::nullopt : std::optional(constant(value));
    };
    if (node.op == Op::Literal) return literal(node.payload);

    Register reg;
    reg.extent = numbering_.extent(node.axes);
    reg.lag = node.lag;
    auto const id = static_cast<SymbolId>(node.payload);
    if (node.op == Op::Weight) {
        reg.from = From::Weight;
        reg.index = id;
        reg.component = static_cast<std::uint32_t>(position(model.symbols[model.factors[id].target].dims));
    } else {
        Symbol const& symbol = model.symbols[id];
        if (symbol.kind == SymbolKind::Fixed) return literal(*symbol.literal);
        reg.from = From::Variable;
        reg.index = numbering_.variables.at(id);
        reg.component = static_cast<std::uint32_t>(position(symbol.dims));
        if (node.op == Op::LagData) {
            auto const lag = std::find_if(node.axes.begin(), node.axes.end(), [&](Axis axis) { return !model.is_over(id, axis.dim); });
            reg.lag = static_cast<std::uint16_t>(entry.at(*lag) + 1);
        }
    }
    return input(reg);
}

/// Labels are numbered from 1.
std::uint32_t PassBuilder::member(Node const& node, Entry const& entry) {
    Register reg;
    reg.extent = numbering_.extent(node.axes);
    reg.from = From::Variable;
    reg.index = numbering_.variables.at(static_cast<SymbolId>(node.payload));
    reg.lag = node.lag;
    return emit(Code::Equal, input(reg), constant(static_cast<double>(entry.at(Terms::labels_of(node)) + 1)));
}

std::uint32_t PassBuilder::input(Register const& reg) {
    auto const [it, is_new] = inputs_.try_emplace({reg.from, reg.index, reg.component, reg.lag, reg.second, reg.second_lag}, 0);
    if (is_new) it->second = add_register(reg);
    return it->second;
}

std::optional<std::uint32_t> PassBuilder::covariance(Node const& node, Entry const& entry) {
    Model const& model = numbering_.model;
    auto const id = static_cast<SymbolId>(Terms::covariance_symbol(node));
    auto const& dims = model.symbols[id].dims;
    struct Place {
        std::uint32_t component = 0;
        std::uint16_t lag = 0;
    };
    auto place = [&](Axes const& axes, std::uint16_t lag) {
        std::size_t component = 0;
        for (std::size_t i = 0; i < dims.size(); ++i) {
            if (model.dims[dims[i]].role == Role::Labelled) component = component * numbering_.size(dims[i]) + entry.at(axes[i]);
        }
        if (axes.size() > dims.size()) lag = static_cast<std::uint16_t>(entry.at(axes.back()) + 1);  // of LagData
        return Place{static_cast<std::uint32_t>(component), lag};
    };
    Place first = place(node.first, node.lag);
    Place second = place(node.second, Terms::second_lag(node));
    Numbering::Correlation const& correlation = numbering_.correlations.at(id);
    if (correlation.groups[first.component] != correlation.groups[second.component]) return std::nullopt;
    if (first.lag != second.lag && !correlation.along_time) return std::nullopt;
    if (std::pair(first.lag, first.component) > std::pair(second.lag, second.component)) std::swap(first, second);
    Register reg;
    reg.extent = numbering_.extent(node.axes);
    reg.from = From::Covariance;
    reg.index = numbering_.variables.at(id);
    reg.component = first.component;
    reg.lag = first.lag;
    reg.second = second.component;
    reg.second_lag = second.lag;
    return input(reg);
}

/// Factors in order of how much they spread, so that what few components share is multiplied first.
std::optional<std::uint32_t> PassBuilder::product(std::vector<Term> factors, Entry const& entry) {
    std::vector<std::uint32_t> registers;
    Terms const& terms = numbering_.model.terms;
    std::stable_sort(factors.begin(), factors.end(), [&](Term a, Term b) {
        Extent const extent_a = numbering_.extent(terms.axes(a));
        Extent const extent_b = numbering_.extent(terms.axes(b));
        return extent_a != extent_b ? extent_a < extent_b : terms.axes(a).size() < terms.axes(b).size();
    });
    for (Term factor : factors) {
        auto const reg = component(factor, entry);
        if (!reg) return std::nullopt;
        registers.push_back(*reg);
    }
    std::uint32_t result = registers.front();
    for (std::size_t i = 1; i < registers.size(); ++i) result = emit(Code::Multiply, result, registers[i]);
    return result;
}

std::optional<std::uint32_t> PassBuilder::contract(Node const& node, Entry const& entry) {
    std::vector<DimId> dims;
    for (Axis axis : node.summed) dims.push_back(axis.dim);
    std::vector<std::pair<std::uint32_t, std::uint32_t>> products;
    std::size_t count = 1;
    for (DimId dim : dims) count *= numbering_.size(dim);
    for (std::size_t k = 0; k < count; ++k) {
        Entry inner = entry;
        std::size_t rest = k;
        for (std::size_t i = dims.size(); i-- > 0;) {
            inner[node.summed[i]] = rest % numbering_.size(dims[i]);
            rest /= numbering_.size(dims[i]);
        }
        std::vector<Term> const head(node.args.begin(), node.args.end() - 1);
        auto const last = component(node.args.back(), inner);
        auto const first = head.empty() ? std::optional(constant(1)) : product(head, inner);
        if (first && last) products.emplace_back(*first, *last);
    }
    if (products.empty()) return std::nullopt;
    return sum(products);
}

/// Sum of products, the terms of each extent accumulated apart, then joined.
std::uint32_t PassBuilder::sum(std::vector<std::pair<std::uint32_t, std::uint32_t>> const& products) {
    if (products.size() == 1) return emit(Code::Multiply, products[0].first, products[0].second);
    std::map<Extent, std::vector<std::pair<std::uint32_t, std::uint32_t>>> by_extent;
    for (auto const& product : products) {
        by_extent[join(pass_.registers[product.first].extent, pass_.registers[product.second].extent)].push_back(product);
    }
    std::optional<std::uint32_t> total;
    for (auto const& [extent, terms] : by_extent) {
        std::uint32_t accumulated = 0;
        if (terms.size() == 1) {
            accumulated = emit(Code::Multiply, terms[0].first, terms[0].second);
        } else {
            bool is_first = true;
            for (auto [a, b] : terms) {
                if (pass_.registers[a].extent != Extent::One) a = spread(a, extent);
                if (pass_.registers[b].extent != Extent::One) b = spread(b, extent);
                if (is_first) accumulated = add_register({extent, From::Scratch, 0, 0, 0, 0});
                // A plain summand is added, not multiplied by one.
                if (is_constant(a, 1)) std::swap(a, b);
                if (is_first) {
                    pass_.instructions.push_back(is_constant(b, 1) ? Instruction{Code::Copy, accumulated, a, a}
                                                                   : Instruction{Code::Multiply, accumulated, a, b});
                } else if (is_constant(b, 1)) {
                    pass_.instructions.push_back({Code::Add, accumulated, accumulated, a});
                } else {
                    pass_.instructions.push_back({Code::MultiplyAdd, accumulated, a, b});
                }
                is_first = false;
            }
        }
        total = total ? emit(Code::Add, *total, accumulated) : accumulated;
    }
    return *total;
}

}  // namespace bam
