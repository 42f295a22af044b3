// Codes of this file:
//   BAM0420  the table has no such column
//   BAM0421  cells of a column are text where a number is needed
//   BAM0422  a column is all text, or all dates, where numbers are needed
//   BAM0423..0426  a result that is no number (operation.cpp)
//   BAM0427  standardize of values that are all the same
//   BAM0428  standardize of nothing: every value is missing
#include "transform.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "cell.hpp"
#include "labels.hpp"
#include "nearest.hpp"
#include "operation.hpp"

namespace bam {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr std::size_t labels_shown = 5;
constexpr std::size_t names_shown = 12;

bool is_binary(ColumnExpr const& expression) { return expression.args.size() == 2; }

/// `Sex == "F"`: the column and the text of a comparison with a text; nothing if it is none.
struct TextComparison {
    ColumnExpr const* column = nullptr;
    ColumnExpr const* text = nullptr;
};
std::optional<TextComparison> find_text_comparison(ColumnExpr const& expression) {
    if (expression.op != ColumnOp::Equal && expression.op != ColumnOp::NotEqual) return std::nullopt;
    ColumnExpr const& left = expression.args[0];
    ColumnExpr const& right = expression.args[1];
    if (right.op == ColumnOp::Text) return TextComparison{&left, &right};
    if (left.op == ColumnOp::Text) return TextComparison{&right, &left};
    return std::nullopt;
}

ColumnExpr const* find_first_column(ColumnExpr const& expression) {
    if (expression.op == ColumnOp::Column) return &expression;
    for (ColumnExpr const& arg : expression.args)
        if (ColumnExpr const* const found = find_first_column(arg)) return found;
    return nullptr;
}

/// Whether the language has a way to write the text in quotes.
bool is_quotable(std::string_view text) { return text.find_first_of("\"\\`\r\n") == std::string_view::npos; }

/// A column's name as a table binding writes it: in quotes unless it is an identifier; "" if it cannot be written.
std::string as_written(std::string_view name) {
    auto const is_digit = [](char c) { return '0' <= c && c <= '9'; };
    auto const is_letter = [](char c) {
        return ('a' <= c && c <= 'z') || ('A' <= c && c <= 'Z') || c == '_' || static_cast<unsigned char>(c) >= 0x80;
    };
    bool const is_identifier = !name.empty() && !is_digit(name.front()) &&
                               std::all_of(name.begin(), name.end(), [&](char c) { return is_letter(c) || is_digit(c); });
    if (is_identifier) return std::string(name);
    return !name.empty() && is_quotable(name) ? fmt::format("\"{}\"", name) : "";
}

class Evaluator {
  public:
    Evaluator(Table const& table, Learnt& learnt, Diagnostics& diagnostics, RowsBefore const& before)
        : table_(table),
          learnt_(learnt),
          diagnostics_(diagnostics),
          before_(before),
          is_learning_(learnt.constants.empty()),
          missing_(table.rows()) {}

    std::optional<Column> run(ColumnExpr const& expression) {
        root_ = &expression;
        check_columns(expression);
        if (has_failed_) return std::nullopt;
        std::vector<double> result = values(expression);
        if (!has_failed_) return Column{std::move(result), std::move(missing_)};
        if (is_learning_) learnt_.constants.clear();
        return std::nullopt;
    }

  private:
    using Values = std::vector<double>;

    void report(int code, std::string message, std::vector<Label> labels, std::vector<std::string> notes) {
        diagnostics_.push_back({code, Severity::Error, std::move(message), std::move(labels), std::move(notes)});
        has_failed_ = true;
    }
    bool is_first_mention(std::string const& name) {
        if (std::find(mentioned_.begin(), mentioned_.end(), name) != mentioned_.end()) return false;
        mentioned_.push_back(name);
        return true;
    }
    void note_missing(std::size_t row, std::size_t column) {
        if (!missing_[row]) missing_[row] = table_.span(row, column);
    }

    void check_columns(ColumnExpr const& expression);
    Values values(ColumnExpr const& expression);
    Values numbers(ColumnExpr const& leaf);
    void report_text(ColumnExpr const& leaf, std::size_t column, std::vector<std::size_t> const& rows);
    void report_text_column(ColumnExpr const& leaf, std::size_t column, std::size_t row);
    Values compare_text(ColumnExpr const& expression, TextComparison const& comparison);
    Values labels(ColumnExpr const& expression);
    Values combine(ColumnExpr const& expression);
    void report_faults(ColumnExpr const& expression, Values const& left, Values const& right, std::vector<std::size_t> const& rows);
    Values difference(ColumnExpr const& expression);
    std::optional<Values> dates(ColumnExpr const& leaf);
    Values standardize(ColumnExpr const& expression);
    bool learn(ColumnExpr const& expression, Values const& of);
    void report_constant(ColumnExpr const& expression, double value, std::size_t count);

    Table const& table_;
    Learnt& learnt_;
    Diagnostics& diagnostics_;
    RowsBefore const& before_;
    bool is_learning_;
    std::size_t constants_used_ = 0;
    std::vector<std::optional<Span>> missing_;
    std::vector<std::string> mentioned_;  ///< columns that were found wanting
    ColumnExpr const* root_ = nullptr;
    bool has_failed_ = false;
};

void Evaluator::check_columns(ColumnExpr const& expression) {
    for (ColumnExpr const& arg : expression.args) check_columns(arg);
    if (expression.op != ColumnOp::Column || table_.find_column(expression.name) || !is_first_mention(expression.name)) return;
    std::vector<Label> labels{{expression.span, "not in the table"}};
    std::vector<std::string> notes;
    if (auto const name = nearest(expression.name, table_.columns()); name && !as_written(*name).empty()) {
        labels.push_back({table_.header_span(table_.find_column(*name).value()), "is it this?"});
        notes.push_back(fmt::format("write `{}`", as_written(*name)));
    }
    std::string names;
    std::size_t shown = 0;
    std::size_t named = 0;
    for (std::string const& name : table_.columns()) {
        if (name.empty() || ++named > names_shown) continue;
        names += fmt::format("{}`{}`", shown++ == 0 ? "" : ", ", name);
    }
    if (named > shown) names += fmt::format(" and {} more", named - shown);
    notes.push_back(fmt::format("its columns are {}", names));
    report(420, fmt::format("the table has no column `{}`", expression.name), std::move(labels), std::move(notes));
}

Evaluator::Values Evaluator::values(ColumnExpr const& expression) {
    switch (expression.op) {
        case ColumnOp::Number: return Values(table_.rows(), expression.value);
        case ColumnOp::Column: return numbers(expression);
        case ColumnOp::Standardize: return standardize(expression);
        case ColumnOp::Difference: return difference(expression);
        case ColumnOp::Label: return labels(expression);
        default: break;
    }
    if (auto const comparison = find_text_comparison(expression)) return compare_text(expression, *comparison);
    return combine(expression);
}

Evaluator::Values Evaluator::numbers(ColumnExpr const& leaf) {
    std::size_t const column = table_.find_column(leaf.name).value();
    Values result(table_.rows(), nan);
    std::vector<std::size_t> text_rows;
    for (std::size_t row = 0; row < table_.rows(); ++row) {
        if (table_.is_missing(row, column)) {
            note_missing(row, column);
        } else if (auto const value = table_.number(row, column)) {
            result[row] = *value;
        } else {
            text_rows.push_back(row);
        }
    }
    if (!text_rows.empty() && is_first_mention(leaf.name)) report_text(leaf, column, text_rows);
    return result;
}

void Evaluator::report_text(ColumnExpr const& leaf, std::size_t column, std::vector<std::size_t> const& rows) {
    std::size_t present = 0;
    for (std::size_t row = 0; row < table_.rows(); ++row) present += table_.is_missing(row, column) ? 0U : 1U;
    bool const is_one_kind = std::all_of(rows.begin(), rows.end(), [&](std::size_t row) {
        std::string_view const text = table_.text(row, column);
        return to_date(text) || find_obstacle(text, '.').is_word;
    });
    if (rows.size() == present && is_one_kind) return report_text_column(leaf, column, rows.front());

    std::vector<Label> labels;
    std::vector<std::string> notes;
    for (std::size_t i = 0; i < std::min(rows.size(), labels_shown); ++i) {
        auto const [label, remedy, is_word] = find_obstacle(table_.text(rows[i], column), table_.format().decimal_point.value_or('.'));
        labels.push_back({table_.span(rows[i], column), std::string(label)});
        if (std::find(notes.begin(), notes.end(), remedy) == notes.end()) notes.emplace_back(remedy);
    }
    labels.push_back({leaf.span, "a number is needed here"});
    if (rows.size() > labels_shown)
        notes.push_back(fmt::format("there are {} such cells; these are the first {}", rows.size(), labels_shown));
    std::string const what = rows.size() == 1 ? "has a cell of text" : fmt::format("has {} cells of text", rows.size());
    report(421, fmt::format("column `{}` {} where numbers are needed", leaf.name, what), std::move(labels), std::move(notes));
}

void Evaluator::report_text_column(ColumnExpr const& leaf, std::size_t column, std::size_t row) {
    std::string_view const text = table_.text(row, column);
    bool const is_date = to_date(text).has_value();
    std::vector<std::string> notes;
    if (is_date) {
        notes.emplace_back(find_obstacle(text, '.').remedy);
    } else if (std::string const name = as_written(leaf.name); !name.empty() && is_quotable(text)) {
        std::string const comparison = fmt::format("{} == \"{}\"", name, text);
        notes.push_back(&leaf == root_ ? fmt::format("write `{}`", comparison) : fmt::format("write `({})`", comparison));
        notes.emplace_back("a comparison is 1 where it holds, else 0");
    }
    report(422, fmt::format("column `{}` holds {} where numbers are needed", leaf.name, is_date ? "dates" : "text"),
           {{leaf.span, "a number is needed here"}, {table_.span(row, column), is_date ? "a date" : "not a number"}}, std::move(notes));
}

Evaluator::Values Evaluator::compare_text(ColumnExpr const& expression, TextComparison const& comparison) {
    std::size_t const column = table_.find_column(comparison.column->name).value();
    Values result(table_.rows(), nan);
    for (std::size_t row = 0; row < table_.rows(); ++row) {
        bool const is_equal = table_.text(row, column) == comparison.text->name;
        if (!is_equal && table_.is_missing(row, column)) {
            note_missing(row, column);
        } else {
            result[row] = is_equal == (expression.op == ColumnOp::Equal) ? 1 : 0;
        }
    }
    return result;
}

Evaluator::Values Evaluator::labels(ColumnExpr const& expression) {
    std::size_t const column = table_.find_column(expression.args.front().name).value();
    Values result = label_numbers(expression, table_, column);
    for (std::size_t row = 0; row < table_.rows(); ++row)
        if (table_.is_missing(row, column)) note_missing(row, column);
    return result;
}

Evaluator::Values Evaluator::combine(ColumnExpr const& expression) {
    Values const left = values(expression.args[0]);
    Values const right = is_binary(expression) ? values(expression.args[1]) : left;
    Values result(table_.rows());
    std::vector<std::size_t> fault_rows;
    for (std::size_t row = 0; row < table_.rows(); ++row) {
        bool const is_present = !std::isnan(left[row]) && !std::isnan(right[row]);
        result[row] = is_present ? apply(expression.op, left[row], right[row]) : nan;
        if (!is_present || std::isfinite(result[row])) continue;
        fault_rows.push_back(row);
        result[row] = nan;  // so that what is built on it does not complain again
    }
    if (!fault_rows.empty()) report_faults(expression, left, right, fault_rows);
    return result;
}

void Evaluator::report_faults(ColumnExpr const& expression, Values const& left, Values const& right, std::vector<std::size_t> const& rows) {
    OperationFault const fault = find_fault(expression.op, left[rows.front()], right[rows.front()]);
    // The operand to blame, where the operation names one.
    bool const is_right = expression.op == ColumnOp::Divide && fault.code == 425;
    ColumnExpr const* column = find_first_column(is_right ? expression.args[1] : expression);
    std::vector<Label> labels;
    std::vector<std::string> notes;
    if (column != nullptr) {
        notes.emplace_back(fault.remedy);
        for (std::size_t i = 0; i < std::min(rows.size(), labels_shown); ++i) {
            std::string const value = is_binary(expression) ? fmt::format("here {} and {}", left[rows[i]], right[rows[i]])
                                                            : fmt::format("here {}", left[rows[i]]);
            labels.push_back({table_.span(rows[i], table_.find_column(column->name).value()), value});
        }
        if (rows.size() > labels_shown)
            notes.push_back(fmt::format("there are {} such records; these are the first {}", rows.size(), labels_shown));
    }
    labels.push_back({expression.span, "by this"});
    report(fault.code, std::string(fault.message), std::move(labels), std::move(notes));
}

/// A missing cell leaves two differences without a value.
Evaluator::Values Evaluator::difference(ColumnExpr const& expression) {
    auto const days = dates(expression.args[0]);
    Values const of = days ? *days : values(expression.args[0]);
    Values result(of.size(), nan);
    std::vector<std::size_t> fault_rows;
    for (std::size_t row = 0; row < of.size(); ++row) {
        std::size_t const before = before_.empty() ? no_row : before_[row];
        double const last = before == no_row ? of[row] : of[before];
        if (std::isnan(of[row])) continue;
        if (std::isnan(last)) {
            if (!missing_[row]) missing_[row] = missing_[before];
            continue;
        }
        result[row] = of[row] - last;
        if (std::isfinite(result[row])) continue;
        fault_rows.push_back(row);
        result[row] = nan;
    }
    if (!fault_rows.empty()) report_faults(expression, of, of, fault_rows);
    return result;
}

/// The days of a column that holds dates and nothing else; nothing if it is another.
std::optional<Evaluator::Values> Evaluator::dates(ColumnExpr const& leaf) {
    if (leaf.op != ColumnOp::Column) return std::nullopt;
    std::size_t const column = table_.find_column(leaf.name).value();
    Values result(table_.rows(), nan);
    for (std::size_t row = 0; row < table_.rows(); ++row) {
        if (table_.is_missing(row, column)) {
            note_missing(row, column);
            continue;
        }
        auto const day = to_date(table_.text(row, column));
        if (!day || table_.number(row, column)) return std::nullopt;
        result[row] = *day;
    }
    return result;
}

Evaluator::Values Evaluator::standardize(ColumnExpr const& expression) {
    Values const before = values(expression.args[0]);
    if (is_learning_ && !learn(expression, before)) return before;
    if (constants_used_ + 2 > learnt_.constants.size()) throw std::logic_error("a transform was learnt from another expression");
    double const mean = learnt_.constants[constants_used_++];
    double const sd = learnt_.constants[constants_used_++];
    Values result(before.size());
    std::vector<std::size_t> fault_rows;
    for (std::size_t row = 0; row < before.size(); ++row) {
        result[row] = (before[row] - mean) / sd;
        if (!std::isnan(before[row]) && !std::isfinite(result[row])) fault_rows.push_back(row);
    }
    if (!fault_rows.empty()) report_faults(expression, before, before, fault_rows);
    return result;
}

/// Appends mean and sd of the values that are there; false if there is no spread. In two passes, about the first value and in units of the
/// largest deviation, so that neither cancels nor underflows.
bool Evaluator::learn(ColumnExpr const& expression, Values const& of) {
    if (has_failed_) return false;
    Values present;
    std::copy_if(of.begin(), of.end(), std::back_inserter(present), [](double value) { return !std::isnan(value); });
    if (present.empty()) {
        report(428, "there is nothing to standardize: every value is missing", {{expression.span, "needs at least two values"}},
               {"leave this column out"});
        return false;
    }
    auto const [least, most] = std::minmax_element(present.begin(), present.end());
    if (*least == *most) {
        report_constant(expression, *least, present.size());
        return false;
    }
    auto const count = static_cast<double>(present.size());
    double sum = 0;
    for (double const value : present) sum += value - present.front();
    double const mean = present.front() + sum / count;
    double const largest = std::max(*most - mean, mean - *least);
    double squares = 0;
    for (double const value : present) squares += std::pow((value - mean) / largest, 2);
    learnt_.constants.push_back(mean);
    learnt_.constants.push_back(largest * std::sqrt(squares / (count - 1)));
    return true;
}

void Evaluator::report_constant(ColumnExpr const& expression, double value, std::size_t count) {
    ColumnExpr const& arg = expression.args[0];
    std::vector<std::string> notes;
    if (arg.op == ColumnOp::Column && !as_written(arg.name).empty()) notes.push_back(fmt::format("write `{}`", as_written(arg.name)));
    notes.emplace_back("standardize divides by the standard deviation, which is 0 here");
    report(427, "the values to standardize are all the same",
           {{expression.span,
             count == 1 ? fmt::format("the one value is {}", value) : fmt::format("each of the {} values is {}", count, value)}},
           std::move(notes));
}

}  // namespace

std::optional<Column> evaluate(ColumnExpr const& expression, Table const& table, Learnt& learnt, Diagnostics& diagnostics,
                               RowsBefore const& before) {
    return Evaluator(table, learnt, diagnostics, before).run(expression);
}

}  // namespace bam
