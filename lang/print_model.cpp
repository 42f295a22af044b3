#include "print_model.hpp"

#include <fmt/format.h>

namespace bam {
namespace {

std::string write_column(ColumnExpr const& column) {
    auto const binary = [&](char const* sign) { return "(" + write_column(column.args[0]) + sign + write_column(column.args[1]) + ")"; };
    auto const call = [&](char const* name) { return name + ("(" + write_column(column.args[0]) + ")"); };
    switch (column.op) {
        case ColumnOp::Number: return fmt::format("{}", column.value);
        case ColumnOp::Column: return column.name;
        case ColumnOp::Text: return "\"" + column.name + "\"";
        case ColumnOp::Negate: return "-" + write_column(column.args[0]);
        case ColumnOp::Add: return binary(" + ");
        case ColumnOp::Subtract: return binary(" - ");
        case ColumnOp::Multiply: return binary(" * ");
        case ColumnOp::Divide: return binary(" / ");
        case ColumnOp::Power: return binary(" ^ ");
        case ColumnOp::Equal: return binary(" == ");
        case ColumnOp::NotEqual: return binary(" != ");
        case ColumnOp::Less: return binary(" < ");
        case ColumnOp::LessEqual: return binary(" <= ");
        case ColumnOp::Greater: return binary(" > ");
        case ColumnOp::GreaterEqual: return binary(" >= ");
        case ColumnOp::Exp: return call("exp");
        case ColumnOp::Log: return call("log");
        case ColumnOp::Sqrt: return call("sqrt");
        case ColumnOp::Abs: return call("abs");
        case ColumnOp::Standardize: return call("standardize");
        case ColumnOp::Difference: return call("difference");
        case ColumnOp::Label: return write_column(column.args[0]);
    }
    return {};
}

std::string write_dim(Dim const& dim) {
    std::string out = dim.role == Role::Sequence ? "sequence " : dim.role == Role::Time ? "time " : "";
    out += dim.name;
    if (!dim.labels.empty()) return out + fmt::format(" = [{}]", fmt::join(dim.labels, ", "));
    return dim.size ? out + fmt::format(" = {}", *dim.size) : out;
}

std::string write_overridden(std::vector<std::uint32_t> const& by) {
    return by.empty() ? "" : fmt::format("  but where {} speak", fmt::join(by, ", "));
}

std::string write_symbol(Model const& model, Notation& notation, SymbolId id) {
    Symbol const& symbol = model.symbols[id];
    std::string const declared = notation.declaration(id);
    std::string const since = symbol.first_step > 0 ? fmt::format("  from step {}", symbol.first_step) : "";
    switch (symbol.kind) {
        case SymbolKind::Data:
            return "data " + declared + (symbol.may_be_missing ? " missing" : "") +
                   (symbol.label_dim ? " in " + model.dims[*symbol.label_dim].name : "");
        case SymbolKind::Block: return "block " + declared + since;
        case SymbolKind::Scale: return "scale " + declared + since;
        case SymbolKind::Fixed: {
            Literal const& literal = model.literals[*symbol.literal];
            return "fixed " + declared + since + fmt::format(" = {}", fmt::join(literal.values, ", "));
        }
        case SymbolKind::Definition: return (symbol.is_report ? "report " : "state ") + notation.definition(id) + since;
    }
    return {};
}

std::string write_factor(Model const& model, Notation& notation, Factor const& factor) {
    std::string out = notation.declaration(factor.target) + to_text(model, factor.region);
    if (factor.is_categorical()) {
        bool const is_even = model.terms[*factor.weights].op == Op::Constant;
        return out + " ~ categorical(" + (is_even ? "" : notation.text(*factor.weights)) + ")" + write_overridden(factor.overridden_by);
    }
    if (factor.is_flat()) return out + " ~ flat()" + to_text(factor.interval);
    if (factor.is_binary)
        return out +
               fmt::format(" ~ bernoulli_logit({}), local {}", notation.text(factor.mean), notation.text(factor.spread.front().value)) +
               write_overridden(factor.overridden_by);
    out += " ~ normal(" + notation.text(factor.mean);
    for (SpreadPart const& part : factor.spread) out += fmt::format(", {} = {}", argument_name(part.kind), notation.text(part.value));
    return out + ")" + to_text(factor.interval) + write_overridden(factor.overridden_by);
}

std::string write_scale_prior(Model const& model, Notation const& notation, ScalePrior const& prior) {
    return fmt::format("{} {}{} ~ {}", argument_name(prior.spread), notation.declaration(prior.scale), to_text(model, prior.region),
                       prior.df ? fmt::format("gamma({0}/2, {0}/2)", model.symbols[*prior.df].name)
                                : to_text(prior.family, prior.first, prior.second)) +
           write_overridden(prior.overridden_by);
}

std::string write_binding(Model const& model, Binding const& binding) {
    std::string out = binding.dim ? model.dims[*binding.dim].name : model.symbols[*binding.symbol].name;
    std::string columns;
    for (ColumnExpr const& column : binding.columns) columns += (columns.empty() ? "" : ", ") + write_column(column);
    if (binding.is_order) return out + " = order(" + columns + ")";
    bool const is_list = binding.dim && model.dims[*binding.dim].role == Role::Labelled;
    return out + " = " + (is_list ? "[" + columns + "]" : columns);
}

}  // namespace

std::string to_text(Model const& model, Region const& region) {
    std::string out;
    auto const add = [&](std::string const& text) { out += (out.empty() ? "" : ", ") + text; };
    std::string const time = model.time ? model.dims[*model.time].name : "t";
    if (region.first_step == region.last_step) {
        add(fmt::format("{} = {}", time, region.first_step));
    } else {
        if (region.first_step > 0) add(fmt::format("{} >= {}", time, region.first_step));
        if (region.last_step != SIZE_MAX) add(fmt::format("{} <= {}", time, region.last_step));
    }
    for (Region::Labels const& label : region.labels) add(fmt::format("{} = {}", model.dims[label.dim].name, label.label));
    return out.empty() ? out : " where " + out;
}

std::string print(Model const& model) {
    Notation notation(model);
    std::string out = model.name.empty() ? "" : "model " + model.name + "\n";
    std::vector<std::string> lines;
    auto const section = [&](char const* title) {
        if (lines.empty()) return;
        out += std::string(title) + "\n";
        for (std::string const& line : lines) out += "  " + line + "\n";
        lines.clear();
    };
    for (Dim const& dim : model.dims) lines.push_back(write_dim(dim));
    section("dims");
    for (SymbolId id = 0; id < model.symbols.size(); ++id) lines.push_back(write_symbol(model, notation, id));
    section("symbols");
    std::size_t number = 0;
    for (Factor const& factor : model.factors) lines.push_back(fmt::format("{}: ", number++) + write_factor(model, notation, factor));
    section("factors");
    number = 0;
    for (ScalePrior const& prior : model.scale_priors)
        lines.push_back(fmt::format("{}: ", number++) + write_scale_prior(model, notation, prior));
    section("scales");
    lines = notation.take_where();
    section("where");
    for (Binding const& binding : model.bindings) lines.push_back(write_binding(model, binding));
    section("table");
    return out;
}

}  // namespace bam
