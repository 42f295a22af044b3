// Codes of this file (those of rows and their order are in arrange.cpp, those of column expressions in transform.cpp):
//   BAM0441  cells of a variable that must be complete are missing
//   BAM0448  a variable has several values where its dims tell none apart
//   BAM0449  no output is observed
//   BAM0450  (note) sequences of which no output is observed
//   BAM0452  (note) an unused column that is called nearly like a used one
#include "bind.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <utility>

#include "arrange.hpp"
#include "places.hpp"
#include "words.hpp"

namespace bam {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

void collect_columns(ColumnExpr const& expression, std::vector<std::string>& names) {
    if (expression.op == ColumnOp::Column) names.push_back(expression.name);
    for (ColumnExpr const& arg : expression.args) collect_columns(arg, names);
}

std::vector<std::string> columns_of(ColumnExpr const& expression) {
    std::vector<std::string> names;
    collect_columns(expression, names);
    return names;
}

/// A name without what people vary: case of ASCII letters, blanks, dots and underscores.
std::string blurred(std::string_view name) {
    std::string text;
    for (char const c : name)
        if (c != ' ' && c != '_' && c != '.' && c != '-') text += 'A' <= c && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    return text;
}

class Binder {
  public:
    Binder(Layout const& layout, Table const& table, BindOptions const& options, Diagnostics& diagnostics)
        : layout_(layout), table_(table), options_(options), diagnostics_(diagnostics) {}

    std::optional<Bound> run() {
        std::size_t const before = diagnostics_.size();
        bool const is_arranged = arrange(layout_, table_, bound_, diagnostics_);
        if (is_arranged) place_rows();
        std::size_t const count = layout_.variables.size();
        bound_.data.resize(count);
        bound_.learnt.resize(count);
        for (std::size_t v = 0; v < count; ++v)
            if (layout_.variables[v].kind == VariableKind::Data) read(v, is_arranged);
        bool const has_failed = std::any_of(diagnostics_.begin() + static_cast<std::ptrdiff_t>(before), diagnostics_.end(),
                                            [](Diagnostic const& d) { return d.severity == Severity::Error; });
        if (has_failed || (!options_.outputs_may_be_absent && !check_observed())) return std::nullopt;
        note_confusable_columns();
        return std::move(bound_);
    }

  private:
    struct Where {
        std::size_t sequence = 0;
        std::size_t step = 0;
    };
    struct Conflict {
        std::size_t row = 0;
        std::size_t first_row = 0;
        double value = 0;
        double first_value = 0;
    };
    struct Conflicts {
        std::optional<Conflict> first;
        ColumnExpr const* column = nullptr;  ///< of `first`
        std::size_t count = 0;
    };

    void place_rows();
    void read(std::size_t v, bool is_arranged);
    void store(Variable const& variable, std::size_t component, Column const& column, double* entries, Conflicts& conflicts) const;
    void find_missing(Variable const& variable, std::size_t component, Column const& column, double const* entries, Places& places) const;
    void report_missing(Variable const& variable, Places& places);
    void report_conflicts(Variable const& variable, Conflicts const& conflicts);
    bool check_observed();
    void note_confusable_columns();

    bool is_output(std::size_t v) const { return bam::is_output(layout_, v); }
    bool may_be_missing(std::size_t v) const {
        return layout_.variables[v].may_be_missing || (options_.outputs_may_be_absent && is_output(v));
    }
    bool is_in_table(ColumnExpr const& expression) const {
        auto const names = columns_of(expression);
        return std::all_of(names.begin(), names.end(), [&](std::string const& name) { return table_.find_column(name).has_value(); });
    }
    std::size_t entry_of(Extent extent, std::size_t row) const;
    std::string describe(std::size_t row) const { return describe_cell(layout_, bound_, where_[row].sequence, where_[row].step); }
    /// Where the expression's first column stands in a row.
    Span place(ColumnExpr const& expression, std::size_t row) const {
        auto const names = columns_of(expression);
        return table_.span(row, names.empty() ? 0 : table_.find_column(names.front()).value());
    }
    std::string declaration(Variable const& variable, bool with_cells) const;

    Layout const& layout_;
    Table const& table_;
    BindOptions const& options_;
    Diagnostics& diagnostics_;
    Bound bound_;
    std::vector<Where> where_;  ///< [row]
    RowsBefore before_;         ///< [row]; empty until rows have their places
};

void Binder::place_rows() {
    where_.resize(table_.rows());
    before_.assign(table_.rows(), no_row);
    for (std::size_t step = 0; step < bound_.grid.steps; ++step)
        for (std::size_t sequence = 0; sequence < bound_.grid.lanes(step); ++sequence) {
            std::size_t const row = bound_.rows[bound_.grid.cell(sequence, step)];
            where_[row] = {sequence, step};
            if (step > 0) before_[row] = bound_.rows[bound_.grid.cell(sequence, step - 1)];
        }
}

std::size_t Binder::entry_of(Extent extent, std::size_t row) const {
    switch (extent) {
        case Extent::One: return 0;
        case Extent::Sequence: return where_[row].sequence;
        case Extent::Time: return where_[row].step;
        case Extent::Cell: return bound_.grid.cell(where_[row].sequence, where_[row].step);
    }
    return 0;
}

void Binder::read(std::size_t v, bool is_arranged) {
    Variable const& variable = layout_.variables[v];
    std::size_t const size = is_arranged ? bound_.grid.size(variable.extent) : 0;
    bound_.data[v].assign(variable.components * size, nan);
    bound_.learnt[v].resize(variable.components);
    Places missing;
    Conflicts conflicts;
    for (std::size_t component = 0; component < variable.components; ++component) {
        ColumnExpr const& expression = variable.columns.at(component);
        Learnt& learnt = bound_.learnt[v][component];
        if (options_.learnt != nullptr) learnt = options_.learnt->at(v).at(component);
        if (options_.outputs_may_be_absent && is_output(v) && !is_in_table(expression)) continue;
        auto const column = evaluate(expression, table_, learnt, diagnostics_, before_);
        if (!column || !is_arranged) continue;
        double* const entries = bound_.data[v].data() + component * size;
        store(variable, component, *column, entries, conflicts);
        if (!may_be_missing(v)) find_missing(variable, component, *column, entries, missing);
    }
    if (missing.count() > 0) report_missing(variable, missing);
    if (conflicts.first) report_conflicts(variable, conflicts);
}

/// Each entry has the value of those of its rows that have one; they must agree.
void Binder::store(Variable const& variable, std::size_t component, Column const& column, double* entries, Conflicts& conflicts) const {
    std::vector<std::size_t> from(bound_.grid.size(variable.extent), 0);
    for (std::size_t row = 0; row < table_.rows(); ++row) {
        double const value = column.values[row];
        if (std::isnan(value)) continue;
        std::size_t const entry = entry_of(variable.extent, row);
        if (std::isnan(entries[entry])) {
            entries[entry] = value;
            from[entry] = row;
        } else if (entries[entry] != value && conflicts.count++ == 0) {
            conflicts.first = {row, from[entry], value, entries[entry]};
            conflicts.column = &variable.columns[component];
        }
    }
}

void Binder::find_missing(Variable const& variable, std::size_t component, Column const& column, double const* entries,
                          Places& places) const {
    ColumnExpr const& expression = variable.columns[component];
    bool const has_steps = variable.extent == Extent::Cell || variable.extent == Extent::Time;
    std::vector<bool> is_found(bound_.grid.size(variable.extent), false);
    for (std::size_t row = 0; row < table_.rows(); ++row) {
        std::size_t const entry = entry_of(variable.extent, row);
        if (!std::isnan(entries[entry]) || is_found[entry] || (has_steps && where_[row].step < variable.first_step)) continue;
        is_found[entry] = true;
        std::string what;
        for (std::string const& name : columns_of(expression))
            if (what.empty() && table_.is_missing(row, table_.find_column(name).value())) what = fmt::format("`{}` of ", name);
        places.add(column.missing[row].value_or(place(expression, row)), what + describe(row));
    }
}

/// `y[seq, t, out]`, as in the model; with all dims of a cell if `with_cells`.
std::string Binder::declaration(Variable const& variable, bool with_cells) const {
    std::string dims;
    auto const add = [&](std::string const& dim) { dims += (dims.empty() ? "" : ", ") + dim; };
    auto const has = [&](std::optional<std::uint16_t> dim) {
        return dim && (with_cells || std::find(variable.dims.begin(), variable.dims.end(), *dim) != variable.dims.end());
    };
    if (has(layout_.sequence)) add(layout_.dims[*layout_.sequence].name);
    if (has(layout_.time))
        add(layout_.dims[*layout_.time].name + (variable.first_step > 0 ? fmt::format(" >= {}", variable.first_step) : ""));
    for (std::uint16_t const dim : variable.dims)
        if (layout_.dims[dim].role == DimLayout::Role::Labelled) add(layout_.dims[dim].name);
    return dims.empty() ? variable.name : fmt::format("{}[{}]", variable.name, dims);
}

void Binder::report_missing(Variable const& variable, Places& places) {
    auto const v = static_cast<std::size_t>(&variable - layout_.variables.data());
    std::vector<std::string> notes{"outputs may be missing, inputs may not; give a value or leave the row out"};
    if (is_output(v))
        notes = {fmt::format("write `{} missing`", declaration(variable, false)),
                 "cells that are missing are then predicted from the others"};
    if (variable.columns.front().op == ColumnOp::Label)
        notes = {
            "every row belongs to some label: give the cell one, such as `unknown`, which has entries of its own, or leave the row out"};
    std::size_t const count = places.count();
    places.report(441,
                  fmt::format("{} `{}` is missing{}", is_output(v) ? "output" : "input", variable.name,
                              count == 1 ? "" : fmt::format(" in {} places", count)),
                  std::move(notes), {{variable.span, "declared here"}}, diagnostics_);
}

void Binder::report_conflicts(Variable const& variable, Conflicts const& conflicts) {
    Conflict const& conflict = *conflicts.first;
    std::string scope;
    if (variable.extent == Extent::Sequence)
        scope = fmt::format(" per {}, but two in {} {}", layout_.dims[*layout_.sequence].name, layout_.dims[*layout_.sequence].name,
                            bound_.sequence_labels[where_[conflict.row].sequence]);
    else if (variable.extent == Extent::Time)
        scope = fmt::format(" per step, but two at step {}", where_[conflict.row].step);
    else
        scope = ", but two in the table";
    auto const here = [&](double value) {
        ColumnExpr const& column = *conflicts.column;
        return column.op == ColumnOp::Label ? fmt::format("`{}` here", column.args[static_cast<std::size_t>(value)].name)
                                            : fmt::format("{} here", value);
    };
    std::vector<std::string> notes{
        fmt::format("if it changes from row to row, declare it as `{}`; else correct the table", declaration(variable, true))};
    if (conflicts.count > 1)
        notes.insert(notes.begin(), fmt::format("so it is in {} more {}", conflicts.count - 1, conflicts.count == 2 ? "row" : "rows"));
    diagnostics_.push_back({448,
                            Severity::Error,
                            fmt::format("`{}` has one value{}", declaration(variable, false), scope),
                            {{place(*conflicts.column, conflict.row), here(conflict.value)},
                             {place(*conflicts.column, conflict.first_row), here(conflict.first_value)},
                             {variable.span, "declared here"}},
                            std::move(notes)});
}

/// Whether any output is observed; a note of the sequences that have none.
bool Binder::check_observed() {
    std::vector<bool> is_observed(bound_.grid.sequences, false);
    std::vector<Label> outputs;
    for (std::size_t v = 0; v < layout_.variables.size(); ++v) {
        Variable const& variable = layout_.variables[v];
        if (variable.kind != VariableKind::Data || !is_output(v)) continue;
        std::size_t const size = bound_.grid.size(variable.extent);
        for (std::size_t component = 0; component < variable.components; ++component) {
            for (std::size_t row = 0; row < table_.rows(); ++row) {
                double const value = bound_.data[v][component * size + entry_of(variable.extent, row)];
                if (!std::isnan(value)) is_observed[where_[row].sequence] = true;
            }
            for (std::string const& name : columns_of(variable.columns[component]))
                outputs.push_back({table_.header_span(table_.find_column(name).value()), "every cell is missing"});
        }
    }
    if (outputs.empty()) return true;
    std::vector<std::string> silent;
    for (std::size_t const sequence : bound_.appearance)
        if (!is_observed[sequence]) silent.push_back(bound_.sequence_labels[sequence]);
    if (silent.size() == bound_.grid.sequences) {
        if (outputs.size() > Places::shown) outputs.resize(Places::shown);
        diagnostics_.push_back({449,
                                Severity::Error,
                                "no output is observed",
                                std::move(outputs),
                                {"there is nothing to learn from; empty cells, NA, NaN, null and a lone `.` are missing"}});
        return false;
    }
    if (!silent.empty() && layout_.sequence)
        diagnostics_.push_back({450,
                                Severity::Note,
                                fmt::format("no output is observed of {} {}", layout_.dims[*layout_.sequence].name, first_few(silent)),
                                {},
                                {"what is said of them comes from the others and from their inputs"}});
    return true;
}

/// Tables have many columns that a model does not need: silence, unless one may have been meant in place of another.
void Binder::note_confusable_columns() {
    std::vector<std::string> names;
    for (Variable const& variable : layout_.variables)
        for (ColumnExpr const& expression : variable.columns) collect_columns(expression, names);
    for (auto const* key : {&layout_.sequence_column, &layout_.time_column})
        if (*key) collect_columns(**key, names);
    std::set<std::string> const used(names.begin(), names.end());
    for (std::size_t column = 0; column < table_.columns().size(); ++column) {
        std::string const& name = table_.columns()[column];
        if (name.empty() || used.contains(name)) continue;
        auto const twin = std::find_if(used.begin(), used.end(), [&](std::string const& other) {
            return table_.find_column(other) && blurred(other) == blurred(name);
        });
        if (twin == used.end()) continue;
        diagnostics_.push_back({452,
                                Severity::Note,
                                fmt::format("column `{}` is not used, and `{}` is", name, *twin),
                                {{table_.header_span(column), "not used"}, {table_.header_span(table_.find_column(*twin).value()), "used"}},
                                {}});
    }
}

}  // namespace

std::optional<Bound> bind(Layout const& layout, Table const& table, BindOptions const& options, Diagnostics& diagnostics) {
    return Binder(layout, table, options, diagnostics).run();
}

bool is_output(Layout const& layout, std::size_t v) {
    return layout.variables[v].kind == VariableKind::Data &&
           (layout.variables[v].may_be_missing ||
            std::any_of(layout.factors.begin(), layout.factors.end(),
                        [&](FactorLayout const& factor) { return factor.is_observation && factor.target == v; }));
}

}  // namespace bam
