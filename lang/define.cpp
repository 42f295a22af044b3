// Definitions, each read when it is first needed, so that they may stand in any order.
// Codes of this file:
//   BAM0111  a definition that is not what its left-hand side says
//   BAM0119  definitions in a circle
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "workspace.hpp"

namespace bam {
namespace {

using tree::Expr;

/// The labelled axes as the left-hand side has them must be those of the value.
bool agrees(Workspace& workspace, Definition const& definition, Shape const& shape) {
    if (!definition.declared) return true;
    Axes const axes = shape.axes();
    if (*definition.declared == axes && !(shape.column && !shape.row)) return true;
    Expr const& lhs = definition.statement->lhs;
    Expr const& rhs = definition.statement->rhs;
    std::vector<DimId> dims;
    for (Axis axis : *definition.declared) dims.push_back(axis.dim);
    Diagnostic& d = workspace.error(
        111, rhs.span, fmt::format("`{}` is declared {}, but this is {}", lhs.text, workspace.list_dims(dims), workspace.to_text(shape)));
    d.labels.push_back({lhs.span, "declared here"});
    if (Shape{shape.column, shape.row}.axes() == *definition.declared) d.notes.push_back(hint(as_operand(workspace, rhs) + "'"));
    return false;
}

/// A state may mention itself one step back: then its shape is found first, and the recurrence taken apart.
Value read_definition(Workspace& workspace, Definition const& definition) {
    Symbol const& symbol = workspace.model.symbols[definition.symbol];
    Expr const& rhs = definition.statement->rhs;
    bool const was_trial = std::exchange(workspace.is_trial, true);
    Value const trial = lower_definition(workspace, definition.symbol, rhs, std::nullopt);
    workspace.is_trial = was_trial;
    Shape shape = trial.shape;
    if (trial.is_open && definition.declared) {
        Axes const& axes = *definition.declared;
        shape.row = axes[0].dim;
        if (axes.size() > 1) shape.column = axes[1].dim;
    }
    Value value = lower_definition(workspace, definition.symbol, rhs, trial.is_known ? std::optional(shape) : std::nullopt);
    if (!trial.is_known || !value.is_known || !agrees(workspace, definition, value.shape)) return {};
    Leaf const previous{Op::Previous, definition.symbol, 0};
    if (!mentions(workspace.model, value.term, previous)) return value;
    if (value.shape != shape) {
        workspace.error(111, rhs.span, fmt::format("`{}` would change its shape from step to step", symbol.name),
                        fmt::format("{} if it is {} one step back", workspace.to_text(value.shape), workspace.to_text(shape)),
                        {fmt::format("write its dims on the left, as in `{}[t, unit] = ...`", symbol.name)});
        return {};
    }
    auto const recurrence = take_apart(workspace, value.term, definition.symbol, shape, rhs);
    if (!recurrence) return {};
    value.term = workspace.model.terms.scan(recurrence->coefficient, recurrence->input, *workspace.model.time_axis());
    return value;
}

void report_circle(Workspace& workspace, SymbolId symbol, Span use) {
    std::vector<SymbolId> const& reading = workspace.reading;
    std::string circle;
    std::vector<Label> labels;
    for (auto it = std::find(reading.begin(), reading.end(), symbol); it != reading.end(); ++it) {
        Symbol const& member = workspace.model.symbols[*it];
        circle += member.name + " -> ";
        labels.push_back({member.span, fmt::format("`{}` is defined here", member.name)});
    }
    Diagnostic& d = workspace.error(119, use, fmt::format("definitions in a circle: {}{}", circle, workspace.model.symbols[symbol].name));
    d.labels.insert(d.labels.end(), labels.begin(), labels.end());
    d.notes.push_back("a state may depend on itself one step back, and on no other state that depends on it");
}

/// Sequence, time, row, column.
Axes reading_order(Model const& model, Term term, Shape const& shape) {
    Axes order;
    for (std::optional<DimId> dim : {model.sequence, model.time}) {
        if (dim && model.terms.has_axis(term, {*dim, 0})) order.push_back({*dim, 0});
    }
    for (Axis axis : shape.axes()) order.push_back(axis);
    return order;
}

}  // namespace

Value const& value_of(Workspace& workspace, SymbolId symbol, Span use) {
    static Value const unknown;
    Definition* const definition = workspace.find_definition(symbol);
    if (!definition) return unknown;
    if (definition->progress == Definition::Progress::Reading) {
        report_circle(workspace, symbol, use);
        return unknown;
    }
    if (definition->progress == Definition::Progress::Read) return definition->value;
    definition->progress = Definition::Progress::Reading;
    workspace.reading.push_back(symbol);
    bool const was_trial = std::exchange(workspace.is_trial, false);
    Value const value = read_definition(workspace, *definition);
    workspace.is_trial = was_trial;
    workspace.reading.pop_back();
    definition->progress = Definition::Progress::Read;
    definition->value = value;
    if (!value.is_known) return definition->value;
    Model& model = workspace.model;
    Symbol& defined = model.symbols[symbol];
    defined.term = value.term;
    defined.order = reading_order(model, value.term, value.shape);
    for (Axis axis : defined.order) defined.dims.push_back(axis.dim);
    if (!model.terms[value.term].args.empty()) model.names.emplace(value.term, symbol);
    return definition->value;
}

void define_all(Workspace& workspace) {
    for (Definition const& definition : workspace.definitions) value_of(workspace, definition.symbol, definition.statement->span);
}

}  // namespace bam
