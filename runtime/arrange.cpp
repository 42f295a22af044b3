// Codes of this file:
//   BAM0442  two rows are the same step of the same sequence
//   BAM0443  a row without the label of its sequence
//   BAM0444  a row without its time
//   BAM0445  a time that is neither a number nor a date
//   BAM0446  a time column with numbers and dates
//   BAM0447  a sequence of several rows, in a model without a time dim
//   BAM0453  (note) steps that are longer than the others: rows are likely to be missing
#include "arrange.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <unordered_map>
#include <utility>

#include "places.hpp"

namespace bam {
namespace {

constexpr double regular_share = 0.9;  // of steps of the same length, from which on the others look like gaps
constexpr std::size_t fewest_steps = 10;

/// A column that tells rows apart: sequence or time.
struct Key {
    std::vector<std::string> labels;  ///< [row]: as written
    std::vector<double> moments;      ///< [row]: of a time
    std::vector<Span> spans;          ///< [row]
};

std::string rows_have(std::size_t count) { return count == 1 ? "a row has" : fmt::format("{} rows have", count); }

class Arranger {
  public:
    Arranger(Layout const& layout, Table const& table, Bound& bound, Diagnostics& diagnostics)
        : layout_(layout), table_(table), bound_(bound), diagnostics_(diagnostics) {}

    bool run() {
        bool const has_sequences = read_sequences();
        bool const has_times = read_times();
        if (!has_sequences || !has_times) return false;
        group();
        if (!(layout_.time ? sort_steps() : check_single_rows())) return false;
        lay_out();
        if (times_) note_gaps();
        return true;
    }

  private:
    bool read_sequences();
    bool read_times();
    void read_moments(std::size_t column);
    std::optional<std::size_t> find_plain_column(ColumnExpr const& expression) const;
    Key read_texts(std::size_t column) const;
    std::optional<Key> read_expression(ColumnExpr const& expression);
    void report_missing(ColumnExpr const& expression, Key const& key, int code, std::string_view dim);
    void group();
    bool check_single_rows();
    bool sort_steps();
    void report_same_steps(std::vector<std::pair<std::size_t, std::size_t>> pairs);
    void lay_out();
    void note_gaps();

    std::string const& sequence_name() const { return layout_.dims[*layout_.sequence].name; }
    std::string const& time_name() const { return layout_.dims[*layout_.time].name; }
    /// "seq s07" or, where there is one sequence only, "the table".
    std::string describe_sequence(std::size_t sequence) const {
        return layout_.sequence ? fmt::format("{} {}", sequence_name(), labels_[sequence]) : "the table";
    }

    Layout const& layout_;
    Table const& table_;
    Bound& bound_;
    Diagnostics& diagnostics_;
    std::optional<Key> sequences_;
    std::optional<Key> times_;
    std::vector<std::string> labels_;                ///< per sequence, in order of appearance
    std::vector<std::vector<std::size_t>> rows_of_;  ///< likewise: its rows, in order of time in the end
};

bool is_missing_label(std::string const& label) { return label.empty(); }

/// The column, if the expression is nothing but one that is there; else `evaluate` has something to say or to do.
std::optional<std::size_t> Arranger::find_plain_column(ColumnExpr const& expression) const {
    if (expression.op != ColumnOp::Column) return std::nullopt;
    return table_.find_column(expression.name);
}

Key Arranger::read_texts(std::size_t column) const {
    Key key;
    for (std::size_t row = 0; row < table_.rows(); ++row) {
        key.labels.emplace_back(table_.is_missing(row, column) ? "" : table_.text(row, column));
        key.spans.push_back(table_.span(row, column));
    }
    return key;
}

std::optional<Key> Arranger::read_expression(ColumnExpr const& expression) {
    Learnt learnt;
    auto const column = evaluate(expression, table_, learnt, diagnostics_);
    if (!column) return std::nullopt;
    Key key;
    key.moments = column->values;
    for (std::size_t row = 0; row < table_.rows(); ++row) {
        key.labels.push_back(std::isnan(key.moments[row]) ? "" : fmt::format("{}", key.moments[row]));
        key.spans.push_back(column->missing[row].value_or(table_.span(row, 0)));
    }
    return key;
}

void Arranger::report_missing(ColumnExpr const& expression, Key const& key, int code, std::string_view dim) {
    Places places;
    for (std::size_t row = 0; row < table_.rows(); ++row)
        if (is_missing_label(key.labels[row])) places.add(key.spans[row], "nothing here");
    if (places.count() == 0) return;
    std::size_t const count = places.count();
    places.report(code, fmt::format("{} no `{}`", rows_have(count), dim),
                  {fmt::format("a row without `{}` cannot be placed; fill it in or leave the row out", dim)},
                  {{expression.span, fmt::format("`{}` is read here", dim)}}, diagnostics_);
}

bool Arranger::read_sequences() {
    if (!layout_.sequence || !layout_.sequence_column) return true;
    ColumnExpr const& expression = *layout_.sequence_column;
    auto const column = find_plain_column(expression);
    sequences_ = column ? std::optional(read_texts(*column)) : read_expression(expression);
    if (!sequences_) return false;
    std::size_t const before = diagnostics_.size();
    report_missing(expression, *sequences_, 443, sequence_name());
    return diagnostics_.size() == before;
}

bool Arranger::read_times() {
    if (!layout_.time || !layout_.time_column) return true;
    ColumnExpr const& expression = *layout_.time_column;
    auto const column = find_plain_column(expression);
    times_ = column ? std::optional(read_texts(*column)) : read_expression(expression);
    if (!times_) return false;
    std::size_t const before = diagnostics_.size();
    report_missing(expression, *times_, 444, time_name());
    if (column) read_moments(*column);
    return diagnostics_.size() == before;
}

/// The moments of a time column. They must be of one kind, since days do not compare with numbers.
void Arranger::read_moments(std::size_t column) {
    Places unreadable;
    std::optional<std::size_t> number_row;
    std::optional<std::size_t> date_row;
    times_->moments.assign(table_.rows(), 0);
    for (std::size_t row = 0; row < table_.rows(); ++row) {
        if (is_missing_label(times_->labels[row])) continue;
        auto const moment = table_.moment(row, column);
        if (!moment) {
            unreadable.add(times_->spans[row], "neither a number nor a date");
            continue;
        }
        times_->moments[row] = *moment;
        auto& first = table_.number(row, column) ? number_row : date_row;
        if (!first) first = row;
    }
    std::vector<Label> const use{{layout_.time_column->span, fmt::format("rows are put in the order of `{}`", time_name())}};
    if (std::size_t const count = unreadable.count(); count > 0) {
        unreadable.report(445, fmt::format("{} a `{}` that has no place in time", rows_have(count), time_name()),
                          {"dates are written 2024-03-01, with the time of day 2024-03-01 12:30"}, use, diagnostics_);
        return;
    }
    if (!number_row || !date_row) return;
    Places both;
    both.add(times_->spans[*date_row], "a date");
    both.add(times_->spans[*number_row], "a number");
    both.report(446, fmt::format("`{}` is a number in some rows and a date in others", time_name()),
                {"numbers and dates have no common order; a year alone is a number, 2024-01 is a date"}, use, diagnostics_);
}

/// Rows by sequence. Without a column for sequences the table is one, but without a time dim each row is.
void Arranger::group() {
    if (!sequences_ && layout_.time) {
        labels_ = {"1"};
        rows_of_.emplace_back(table_.rows());
        std::iota(rows_of_.front().begin(), rows_of_.front().end(), std::size_t{0});
        return;
    }
    std::unordered_map<std::string, std::size_t> index;
    for (std::size_t row = 0; row < table_.rows(); ++row) {
        std::string const label = sequences_ ? sequences_->labels[row] : std::to_string(row + 1);
        auto const [at, is_new] = index.try_emplace(label, labels_.size());
        if (is_new) {
            labels_.push_back(label);
            rows_of_.emplace_back();
        }
        rows_of_[at->second].push_back(row);
    }
}

bool Arranger::check_single_rows() {
    auto const has_several = [](std::vector<std::size_t> const& rows) { return rows.size() > 1; };
    auto const first = std::find_if(rows_of_.begin(), rows_of_.end(), has_several);
    if (first == rows_of_.end()) return true;
    std::size_t const sequence = static_cast<std::size_t>(first - rows_of_.begin());
    auto const count = std::count_if(rows_of_.begin(), rows_of_.end(), has_several);
    std::vector<std::string> notes{
        "without a `time` dim, each row is a sequence of its own",
        fmt::format(
            "if the rows of a {} are steps, declare `time t` in dims and bind it in table, `t = ` and the column they are ordered by",
            sequence_name())};
    if (count > 1) notes.insert(notes.begin(), count == 2 ? "so has 1 other" : fmt::format("so have {} others", count - 1));
    diagnostics_.push_back({447,
                            Severity::Error,
                            fmt::format("{} has {} rows, and the model has no time", describe_sequence(sequence), first->size()),
                            {{sequences_->spans[(*first)[1]], "again here"}, {sequences_->spans[(*first)[0]], "first here"}},
                            std::move(notes)});
    return false;
}

/// Without a time column rows stay in the order of the table.
bool Arranger::sort_steps() {
    if (!times_) return true;
    std::vector<std::pair<std::size_t, std::size_t>> pairs;
    std::vector<double> const& moments = times_->moments;
    for (std::vector<std::size_t>& rows : rows_of_) {
        std::stable_sort(rows.begin(), rows.end(), [&](std::size_t a, std::size_t b) { return moments[a] < moments[b]; });
        for (std::size_t step = 1; step < rows.size(); ++step)
            if (moments[rows[step]] == moments[rows[step - 1]]) pairs.emplace_back(rows[step], rows[step - 1]);
    }
    if (pairs.empty()) return true;
    report_same_steps(std::move(pairs));
    return false;
}

/// `pairs`: a row, and the one before it that is the same step.
void Arranger::report_same_steps(std::vector<std::pair<std::size_t, std::size_t>> pairs) {
    std::sort(pairs.begin(), pairs.end());
    std::vector<std::string> notes{"each row is one step of a sequence; leave one of the two out, or join them"};
    if (!sequences_)
        notes.emplace_back(
            "if the table holds several sequences, declare `sequence seq` in dims and bind it in table, `seq = ` and the column that tells "
            "them apart");
    std::size_t const reported = std::min(pairs.size(), Places::shown);
    for (std::size_t i = 0; i < reported; ++i) {
        auto const [again, first] = pairs[i];
        std::string const sequence = sequences_ ? fmt::format("{} {}", sequence_name(), sequences_->labels[again]) : "the table";
        Diagnostic diagnostic{442,
                              Severity::Error,
                              fmt::format("{} has two rows at {} {}", sequence, time_name(), times_->labels[again]),
                              {{times_->spans[again], "again here"}, {times_->spans[first], "first here"}},
                              notes};
        if (i + 1 == reported && pairs.size() > reported)
            diagnostic.notes.insert(diagnostic.notes.begin(), fmt::format("and {} more such pairs", pairs.size() - reported));
        diagnostics_.push_back(std::move(diagnostic));
    }
}

void Arranger::lay_out() {
    std::vector<std::size_t> order(rows_of_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return rows_of_[a].size() > rows_of_[b].size(); });
    bound_.appearance.assign(order.size(), 0);
    for (std::size_t sequence = 0; sequence < order.size(); ++sequence) {
        bound_.appearance[order[sequence]] = sequence;
        bound_.sequence_labels.push_back(labels_[order[sequence]]);
        bound_.lengths.push_back(rows_of_[order[sequence]].size());
    }
    bound_.grid = make_grid(bound_.lengths);
    bound_.rows.assign(bound_.grid.cells(), 0);
    bound_.time_labels.assign(bound_.grid.cells(), "");
    for (std::size_t sequence = 0; sequence < order.size(); ++sequence) {
        std::vector<std::size_t> const& rows = rows_of_[order[sequence]];
        for (std::size_t step = 0; step < rows.size(); ++step) {
            std::size_t const cell = bound_.grid.cell(sequence, step);
            bound_.rows[cell] = rows[step];
            bound_.time_labels[cell] = times_ ? times_->labels[rows[step]] : std::to_string(step + 1);
        }
    }
}

/// Steps are rows, whatever time lies between them. Where nearly all are one unit long and the rest are whole multiples of it, that is
/// hardly what was meant; times that are irregular by design are left alone.
void Arranger::note_gaps() {
    std::unordered_map<double, std::size_t> counts;
    std::size_t steps = 0;
    for (double const moment : times_->moments)
        if (moment != std::floor(moment)) return;
    auto const for_each_step = [&](auto const& visit) {
        for (std::vector<std::size_t> const& rows : rows_of_)
            for (std::size_t step = 1; step < rows.size(); ++step) visit(rows[step - 1], rows[step]);
    };
    std::vector<double> const& moments = times_->moments;
    for_each_step([&](std::size_t from, std::size_t to) { ++counts[moments[to] - moments[from]], ++steps; });
    if (steps < fewest_steps || counts.size() < 2) return;
    auto const usual = std::max_element(counts.begin(), counts.end(), [](auto const& a, auto const& b) { return a.second < b.second; });
    double const unit = usual->first;
    bool const is_regular = static_cast<double>(usual->second) >= regular_share * static_cast<double>(steps);
    if (!is_regular || std::any_of(counts.begin(), counts.end(), [&](auto const& c) { return std::fmod(c.first, unit) != 0; })) return;
    std::vector<Label> labels;
    std::size_t const gaps = steps - usual->second;
    for_each_step([&](std::size_t from, std::size_t to) {
        if (moments[to] - moments[from] != unit && labels.size() < Places::shown)
            labels.push_back({times_->spans[to], fmt::format("the step before is {} {}", time_name(), times_->labels[from])});
    });
    std::vector<std::string> notes{fmt::format("rows are steps: `[{0}-1]` is the row before, however long ago", time_name()),
                                   "where a row is missing, add one with its inputs and with the outputs left empty"};
    if (gaps > labels.size()) notes.insert(notes.begin(), fmt::format("and {} more", gaps - labels.size()));
    diagnostics_.push_back({453, Severity::Note,
                            fmt::format("`{}` jumps {} where nearly all steps are of one length", time_name(),
                                        gaps == 1 ? "once" : fmt::format("{} times", gaps)),
                            std::move(labels), std::move(notes)});
}

}  // namespace

bool arrange(Layout const& layout, Table const& table, Bound& bound, Diagnostics& diagnostics) {
    return Arranger(layout, table, bound, diagnostics).run();
}

std::string describe_cell(Layout const& layout, Bound const& bound, std::size_t sequence, std::size_t step) {
    std::size_t const cell = bound.grid.cell(sequence, step);
    std::string place;
    if (layout.sequence) place = fmt::format("{} {}", layout.dims[*layout.sequence].name, bound.sequence_labels[sequence]);
    if (layout.time) place += fmt::format("{}{} {}", place.empty() ? "" : ", ", layout.dims[*layout.time].name, bound.time_labels[cell]);
    return place.empty() ? fmt::format("row {}", bound.rows[cell] + 1) : place;
}

}  // namespace bam
