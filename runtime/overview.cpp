#include "overview.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "words.hpp"

namespace bam {
namespace {

using Json = nlohmann::ordered_json;
using Kind = Outline::Kind;

constexpr std::size_t width = 100;        // of a line
constexpr std::size_t first_column = 12;  // where what a line says begins

/// A word and a list, wrapped.
std::string entry(std::string const& title, std::vector<std::string> const& items) {
    if (items.empty()) return "";
    std::string line = fmt::format("  {:<{}}", title, first_column - 2);
    if (line.back() != ' ') line += ' ';
    std::string text;
    for (std::size_t i = 0; i < items.size(); ++i) {
        std::string const item = items[i] + (i + 1 < items.size() ? "," : "");
        if (line.size() > first_column && line.size() + 1 + item.size() > width) {
            text += line + '\n';
            line = std::string(first_column, ' ');
        }
        line += (line.back() == ' ' ? "" : " ") + item;
    }
    return text + line + '\n';
}

/// How many numbers a variable has: as far as that is known.
struct Count {
    std::optional<std::size_t> numbers;
    std::string words;  ///< "6", "3 per week", "per shop and week"
};

class Overview {
  public:
    Overview(Outline const& outline, PreparedTable const* table) : outline_(outline), table_(table) {}

    std::string text() const;
    Json json() const;

  private:
    std::string dim(Outline::Dim const& dim) const;
    std::string declaration(Outline::Variable const& variable) const;
    Count count(Outline::Variable const& variable) const;
    std::size_t entries(bool has_sequence, bool has_time, std::size_t first_step) const;
    std::string unknowns() const;
    std::optional<std::size_t> size(Outline::Dim const& dim) const;

    Outline const& outline_;
    PreparedTable const* table_;
};

std::optional<std::size_t> Overview::size(Outline::Dim const& dim) const {
    if (dim.role == DimLayout::Role::Labelled || table_ == nullptr) return dim.size;
    Grid const& grid = table_->problem.bound.grid;
    return dim.role == DimLayout::Role::Sequence ? grid.sequences : grid.steps;
}

std::string Overview::dim(Outline::Dim const& dim) const {
    auto const known = size(dim);
    std::string words = dim.name;
    if (known) {
        bool const varies = dim.role == DimLayout::Role::Time && table_->problem.bound.lengths.back() != *known;
        words += fmt::format(" {}{}", varies ? "up to " : "", *known);
    }
    if (dim.role == DimLayout::Role::Time) words += " (time)";
    if (dim.role == DimLayout::Role::Sequence && !known) words += " (sequence)";
    return words;
}

std::string Overview::declaration(Outline::Variable const& variable) const {
    std::string dims;
    for (std::uint16_t const d : variable.dims) dims += (dims.empty() ? "" : ",") + outline_.dims[d].name;
    return dims.empty() ? variable.name : fmt::format("{}[{}]", variable.name, dims);
}

std::size_t Overview::entries(bool has_sequence, bool has_time, std::size_t first_step) const {
    Bound const& bound = table_->problem.bound;
    if (!has_time) return has_sequence ? bound.grid.sequences : 1;
    if (!has_sequence) return bound.grid.steps - std::min(first_step, bound.grid.steps);
    return bound.grid.cells() - bound.grid.offsets[std::min(first_step, bound.grid.steps)];
}

Count Overview::count(Outline::Variable const& variable) const {
    std::size_t components = 1;
    bool is_known = true;
    std::string per;
    bool has_sequence = false, has_time = false;
    for (std::uint16_t const d : variable.dims) {
        Outline::Dim const& dim = outline_.dims[d];
        has_sequence = has_sequence || dim.role == DimLayout::Role::Sequence;
        has_time = has_time || dim.role == DimLayout::Role::Time;
        is_known = is_known && size(dim);
        if (dim.role == DimLayout::Role::Labelled && dim.size) {
            components *= *dim.size;
        } else {
            per += (per.empty() ? "per " : " and ") + dim.name;
        }
    }
    if (is_known) {
        std::size_t const numbers = components * (has_sequence || has_time ? entries(has_sequence, has_time, variable.first_step) : 1);
        return {numbers, std::to_string(numbers)};
    }
    return {std::nullopt, components > 1 ? fmt::format("{} {}", components, per) : per};
}

std::string Overview::unknowns() const {
    std::vector<std::string> blocks;
    std::vector<std::string> scales;
    std::size_t numbers = 0;
    bool is_known = true;
    for (Outline::Variable const& variable : outline_.variables) {
        if (variable.kind != Kind::Block && variable.kind != Kind::Scale) continue;
        Count const n = count(variable);
        std::string const how = variable.kind == Kind::Scale || variable.method == "jointly" ? "" : fmt::format(" ({})", variable.method);
        std::string const words = n.numbers == 1U ? variable.name + how : fmt::format("{} {}{}", variable.name, n.words, how);
        (variable.kind == Kind::Block ? blocks : scales).push_back(words);
        if (variable.kind != Kind::Block) continue;
        is_known = is_known && n.numbers;
        numbers += n.numbers.value_or(0);
    }
    auto const titled = [](std::string const& title, std::vector<std::string> items) {
        if (!items.empty()) items.front() = title + ": " + items.front();
        return items;
    };
    std::string const total =
        is_known ? fmt::format("{} in {}", numbers, counted(blocks.size(), "block")) : counted(blocks.size(), "block");
    std::string text = entry("unknowns", titled(total, blocks));
    text += entry(text.empty() ? "unknowns" : "", titled(counted(scales.size(), "scale"), scales));
    std::ptrdiff_t drawn = 0;
    if (table_ != nullptr)
        for (std::vector<bool> const& cells : table_->problem.augmented) drawn += std::count(cells.begin(), cells.end(), true);
    if (drawn == 0) return text;
    return text + entry("", {counted(static_cast<std::size_t>(drawn), "missing output") + " that later steps look back at"});
}

std::string Overview::text() const {
    std::vector<std::string> dims, inputs, outputs, fixed;
    for (Outline::Dim const& d : outline_.dims) dims.push_back(dim(d));
    for (Outline::Variable const& variable : outline_.variables) {
        if (variable.kind == Kind::Input) inputs.push_back(declaration(variable));
        if (variable.kind == Kind::Output) outputs.push_back(declaration(variable));
        if (variable.kind == Kind::Fixed) fixed.push_back(declaration(variable));
    }
    std::string text = entry("dims", dims) + entry("inputs", inputs);
    if (table_ == nullptr) text += entry("outputs", outputs);
    if (table_ != nullptr) {
        for (OutputCount const& output : table_->outputs) {
            std::string words = fmt::format("{} observed, {} missing", output.observed, output.missing);
            bool const has_names = table_->problem.plan.layout.sequence_column.has_value();
            if (!output.sequences.empty() && has_names)
                words += fmt::format(" ({} {})", outline_.dims[*table_->problem.plan.layout.sequence].name, first_few(output.sequences));
            text += entry(output.name, {words});
        }
    }
    return text + entry("fixed", fixed) + unknowns();
}

Json Overview::json() const {
    Json json{{"name", outline_.name}, {"dims", Json::array()}, {"variables", Json::array()}};
    for (Outline::Dim const& d : outline_.dims) {
        char const* const role = d.role == DimLayout::Role::Time ? "time" : d.role == DimLayout::Role::Sequence ? "sequence" : "labelled";
        auto const known = size(d);
        json["dims"].push_back({{"name", d.name}, {"role", role}, {"size", known ? Json(*known) : Json(nullptr)}});
    }
    constexpr char const* kinds[] = {"input", "output", "block", "scale", "fixed"};
    for (Outline::Variable const& variable : outline_.variables) {
        Json dims = Json::array();
        for (std::uint16_t const d : variable.dims) dims.push_back(outline_.dims[d].name);
        Count const n = count(variable);
        json["variables"].push_back({{"name", variable.name},
                                     {"kind", kinds[static_cast<std::size_t>(variable.kind)]},
                                     {"dims", std::move(dims)},
                                     {"count", n.numbers ? Json(*n.numbers) : Json(nullptr)}});
        if (!variable.method.empty()) json["variables"].back()["drawn"] = variable.method;
    }
    Json symmetries = Json::array();
    for (Diagnostic const& note : outline_.notes)
        for (std::size_t i = 0; i + 1 < note.notes.size(); ++i) symmetries.push_back(note.notes[i]);
    json["symmetries"] = std::move(symmetries);
    if (table_ == nullptr) return json;
    json["rows"] = table_->rows;
    json["outputs"] = Json::array();
    for (OutputCount const& output : table_->outputs)
        json["outputs"].push_back({{"name", output.name}, {"observed", output.observed}, {"missing", output.missing}});
    return json;
}

}  // namespace

std::string overview_text(Outline const& outline, PreparedTable const* table) { return Overview(outline, table).text(); }

std::string overview_json(Outline const& outline, PreparedTable const* table) {
    return Overview(outline, table).json().dump(2, ' ', false, Json::error_handler_t::replace) + '\n';
}

std::string counts_text(PreparedTable const& table) {
    Bound const& bound = table.problem.bound;
    Layout const& layout = table.problem.plan.layout;
    std::string text = counted(table.rows, "row");
    std::string dims;
    if (layout.sequence) dims = fmt::format("{} {}", layout.dims[*layout.sequence].name, bound.grid.sequences);
    if (layout.time) {
        bool const varies = bound.lengths.back() != bound.grid.steps;
        dims += fmt::format("{}{} {}", dims.empty() ? "" : ", ", layout.dims[*layout.time].name,
                            varies ? fmt::format("{} to {}", bound.lengths.back(), bound.grid.steps) : std::to_string(bound.grid.steps));
    }
    if (!dims.empty()) text += "; " + dims;
    for (OutputCount const& output : table.outputs)
        text += fmt::format("; {} {} observed, {} missing", output.name, output.observed, output.missing);
    return text;
}

}  // namespace bam
