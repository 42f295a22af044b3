// Codes of this file:
//   BAM0301  (note) parameters that are identified only through products
//   BAM0505  a block that the model does not have
#include "compile.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "effective.hpp"
#include "exchangeable.hpp"
#include "format.hpp"
#include "grammar.hpp"
#include "interchange.hpp"
#include "layout.hpp"
#include "load.hpp"
#include "nearest.hpp"
#include "passes.hpp"
#include "pick.hpp"
#include "print_model.hpp"
#include "print_plan.hpp"
#include "translation.hpp"

namespace bam {

struct Compiled::Parts {
    Model model;
    Derivation derivation;
    std::vector<Symmetry> symmetries;
    std::vector<Interchange> interchanges;
    std::vector<Translation> translations;
    std::optional<LaidOut> laid_out;
    Diagnostics layout_diagnostics;  ///< why it is not laid out
    std::map<std::string, std::uint32_t> files;
};

namespace {

constexpr int size_unknown = 208;

Outline::Kind kind_of(Model const& model, SymbolId id) {
    Symbol const& symbol = model.symbols[id];
    switch (symbol.kind) {
        case SymbolKind::Block: return Outline::Kind::Block;
        case SymbolKind::Scale: return Outline::Kind::Scale;
        case SymbolKind::Fixed: return Outline::Kind::Fixed;
        default: break;
    }
    bool const is_output = symbol.may_be_missing || std::any_of(model.factors.begin(), model.factors.end(), [&](Factor const& factor) {
                               return factor.is_observation && factor.target == id;
                           });
    return is_output ? Outline::Kind::Output : Outline::Kind::Input;
}

std::string method_of(Model const& model, Conditional const& conditional) {
    if (conditional.method == Method::Joint) return "jointly";
    return fmt::format("{} {}", conditional.method == Method::Sweep ? "in a sweep over" : "along", model.dims[*model.time].name);
}

/// The first of the letters that the model does not use as a name.
std::string free_letter(Model const& model, std::string_view letters) {
    for (char const letter : letters) {
        bool const is_taken = std::any_of(model.symbols.begin(), model.symbols.end(),
                                          [&](Symbol const& symbol) { return symbol.name == std::string_view(&letter, 1); });
        if (!is_taken) return {letter};
    }
    return {letters.front()};
}

/// `W_k -> A W_k, W_q -> inv(A)' W_q` and what A may be.
std::string equation(Model const& model, Symmetry const& symmetry) {
    std::string const& first = model.symbols[symmetry.first].name;
    std::string const& second = model.symbols[symmetry.second].name;
    if (!symmetry.dim) return fmt::format("{0} -> {2} {0}, {1} -> {1} / {2}", first, second, free_letter(model, "cgkr"));
    Dim const& dim = model.dims[*symmetry.dim];
    std::string const size = dim.size ? fmt::format("{0} x {0}", *dim.size) : fmt::format("{0} x {0}", dim.name);
    std::string const g = free_letter(model, symmetry.is_diagonal ? "DGRS" : "AGMR");
    return symmetry.is_diagonal
               ? fmt::format("{0} -> {4} {0}, {1} -> inv({4}) {1}   ({4}: {2} diagonal, along {3})", first, second, size, dim.name, g)
               : fmt::format("{0} -> {4} {0}, {1} -> inv({4})' {1}   ({4}: {2} invertible, along {3})", first, second, size, dim.name, g);
}

/// `a -> a + c, b -> b + c`
std::string equation(Model const& model, Translation const& translation) {
    Symbol const& first = model.symbols[translation.first];
    std::vector<std::string> dims;
    for (DimId const dim : first.dims) dims.push_back(model.dims[dim].name);
    return fmt::format("{0} -> {0} + {2}, {1} -> {1} {3} {2}{4}", first.name, model.symbols[translation.second].name,
                       free_letter(model, "cdes"), translation.is_opposite ? "-" : "+",
                       dims.empty() ? "" : fmt::format("   (for each of {})", fmt::join(dims, ", ")));
}

/// `(W_k, W_q, a) along unit: any numbering`; `(slow_k, slow_a) <-> (fast_k, fast_a)`.
std::string sentence(Model const& model, Interchange const& interchange) {
    std::string text;
    for (std::vector<SymbolId> const& symbols : interchange.places) {
        std::vector<std::string> names;
        for (SymbolId const id : symbols) names.push_back(model.symbols[id].name);
        text += fmt::format("{}({})", text.empty() ? "" : " <-> ", fmt::join(names, ", "));
    }
    return interchange.dim ? fmt::format("{} along {}: any numbering", text, model.dims[*interchange.dim].name) : text;
}

std::optional<Diagnostic> note_of(Model const& model, std::vector<Symmetry> const& symmetries) {
    if (symmetries.empty()) return std::nullopt;
    std::set<SymbolId> ids;
    for (Symmetry const& symmetry : symmetries) ids.insert({symmetry.first, symmetry.second});
    Diagnostic note{301, Severity::Note, "", {}, {}};
    std::size_t left = ids.size();
    for (SymbolId const id : ids) {
        Symbol const& symbol = model.symbols[id];
        note.message += symbol.name + (left > 2 ? ", " : left == 2 ? " and " : " are identified only up to changes that no output can see");
        note.labels.push_back({symbol.span, ""});
        --left;
    }
    for (Symmetry const& symmetry : symmetries) note.notes.push_back(equation(model, symmetry));
    note.notes.emplace_back(
        "their priors hold them in place; judge by the means of the outputs, by their products, and by reports that are not marked "
        "unidentified");
    return note;
}

/// Lays the model out, or keeps why not. An unknown size alone is no error before there is a table: files to be used have such dims.
bool lay_out_parts(Compiled::Parts& parts, Diagnostics& diagnostics) {
    parts.laid_out = lay_out(parts.model, parts.derivation, parts.layout_diagnostics);
    bool const is_sound = std::all_of(parts.layout_diagnostics.begin(), parts.layout_diagnostics.end(),
                                      [](Diagnostic const& d) { return d.severity != Severity::Error || d.code == size_unknown; });
    if (is_sound && !parts.laid_out) return true;
    diagnostics.insert(diagnostics.end(), parts.layout_diagnostics.begin(), parts.layout_diagnostics.end());
    return is_sound;
}

}  // namespace

CompileResult compile(CompileRequest const& request, Reader const& reader, Sources& sources, Diagnostics& diagnostics) {
    CompileResult result;
    Loaded loaded = load(request.files, reader, sources, diagnostics);
    for (tree::File const& file : loaded.files) result.tree += print(file, sources);
    if (has_error(diagnostics) || request.last == CompileStage::Parse) return result;

    auto parts = std::make_shared<Compiled::Parts>();
    parts->files = std::move(loaded.sources);
    auto model = check(loaded.files, sources, {request.dims, request.priors, request.learns_hyper, request.labels}, diagnostics);
    if (!model) return result;
    parts->model = std::move(*model);
    result.model = print(parts->model);
    if (request.last == CompileStage::Check) return result;
    auto derivation = derive(parts->model, diagnostics);
    if (!derivation) return result;
    parts->derivation = std::move(*derivation);
    parts->symmetries = symmetries(parts->model);
    Model tried = parts->model;  // swapped terms would change the order in which others are made, and the bits of sums with it
    parts->interchanges = interchanges(tried, parts->symmetries);
    parts->translations = translations(tried);
    if (!lay_out_parts(*parts, diagnostics) || has_error(diagnostics)) return result;
    result.compiled.emplace(std::move(parts));
    return result;
}

Outline Compiled::outline() const {
    Model const& model = parts_->model;
    Outline outline;
    outline.name = model.name;
    outline.has_table = !model.bindings.empty();
    for (Dim const& dim : model.dims) {
        auto const role = dim.role == Role::Time       ? DimLayout::Role::Time
                          : dim.role == Role::Sequence ? DimLayout::Role::Sequence
                                                       : DimLayout::Role::Labelled;
        outline.dims.push_back({dim.name, role, dim.role == Role::Labelled ? dim.size : std::nullopt});
    }
    for (SymbolId id = 0; id < model.symbols.size(); ++id) {
        Symbol const& symbol = model.symbols[id];
        if (symbol.kind == SymbolKind::Definition) continue;
        outline.variables.push_back({kind_of(model, id), symbol.name, symbol.dims, symbol.first_step, ""});
        for (Conditional const& conditional : parts_->derivation.blocks)
            if (conditional.block == id) outline.variables.back().method = method_of(model, conditional);
    }
    if (auto note = note_of(model, parts_->symmetries)) outline.notes.push_back(std::move(*note));
    for (Diagnostic& note : exchangeable_choices(model)) outline.notes.push_back(std::move(note));
    return outline;
}

std::vector<LabelColumns> Compiled::label_columns() const { return bam::label_columns(parts_->model); }

Layout const* Compiled::layout(Diagnostics& diagnostics) const {
    if (parts_->laid_out) return &parts_->laid_out->layout;
    diagnostics.insert(diagnostics.end(), parts_->layout_diagnostics.begin(), parts_->layout_diagnostics.end());
    return nullptr;
}

Plan Compiled::plan(std::vector<bool> const& weighted) const {
    Model model = parts_->model;  // planning makes terms
    Plan plan = make_plan(model, parts_->derivation, parts_->symmetries, *parts_->laid_out, weighted);
    plan.interchanges = plan_interchanges(model, parts_->interchanges, *parts_->laid_out);
    return plan;
}

ExpectationPlan Compiled::expectations(std::vector<bool> const& drawn) const {
    Model model = parts_->model;
    return plan_expectations(model, parts_->derivation, *parts_->laid_out, drawn);
}

std::string Compiled::print_plan(std::vector<bool> const& weighted) const { return print(plan(weighted)); }

std::vector<std::string> Compiled::blocks() const {
    std::vector<std::string> names;
    for (Conditional const& conditional : parts_->derivation.blocks) names.push_back(parts_->model.symbols[conditional.block].name);
    for (ScaleConditional const& scale : parts_->derivation.scales) names.push_back(parts_->model.symbols[scale.scale].name);
    return names;
}

std::optional<std::string> Compiled::explain(std::optional<std::string> const& block, Diagnostics& diagnostics) const {
    if (block) {
        auto const names = blocks();
        if (std::find(names.begin(), names.end(), *block) == names.end()) {
            Diagnostic diagnostic{505, Severity::Error, fmt::format("the model has no block `{}`", *block), {}, {}};
            if (auto const near = nearest(*block, names)) diagnostic.notes.push_back(fmt::format("did you mean `{}`?", *near));
            diagnostic.notes.push_back(fmt::format("its blocks are {}", fmt::join(names, ", ")));
            diagnostics.push_back(std::move(diagnostic));
            return std::nullopt;
        }
    }
    return bam::explain(parts_->model, parts_->derivation, block);
}

std::string Compiled::symmetries() const {
    std::string text;
    for (Symmetry const& symmetry : parts_->symmetries) text += equation(parts_->model, symmetry) + "\n";
    for (Translation const& translation : parts_->translations) text += equation(parts_->model, translation) + "\n";
    for (Interchange const& interchange : parts_->interchanges) text += sentence(parts_->model, interchange) + "\n";
    return text;
}

PriorList Compiled::priors() const { return effective_priors(parts_->model); }

Diagnostics Compiled::suspicious_priors(std::optional<std::size_t> steps) const { return bam::suspicious_priors(parts_->model, steps); }

std::map<std::string, std::uint32_t> const& Compiled::files() const { return parts_->files; }

std::optional<std::string> format_text(std::string const& name, std::string text, Sources& sources, Diagnostics& diagnostics) {
    Diagnostics found;
    auto const source = sources.add_model(name, std::move(text), found);
    std::optional<tree::File> file;
    if (source) file = parse(sources, *source, found);
    bool const is_sound = source && !has_error(found);
    diagnostics.insert(diagnostics.end(), found.begin(), found.end());
    if (!is_sound) return std::nullopt;
    return format(*file, sources);
}

}  // namespace bam
