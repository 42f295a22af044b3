// Codes of this file:
//   BAM0461  a label that the dim does not have
//   BAM0462  more labels than a dim can have
#include "labels.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>
#include <unordered_map>

#include "nearest.hpp"
#include "places.hpp"
#include "transform.hpp"
#include "words.hpp"

namespace bam {
namespace {

constexpr std::size_t most_labels = 100000;  ///< as of any dim

}  // namespace

void add_labels(LabelColumns const& columns, Table const& table, std::vector<std::string>& labels, Diagnostics& diagnostics) {
    std::set<std::string, std::less<>> const known(labels.begin(), labels.end());
    std::set<std::string, std::less<>> found;
    bool are_numbers = true;
    Span place;
    for (ColumnExpr const& column : columns.columns) {
        auto const at = table.find_column(column.name);
        if (!at) {  // evaluate says so
            Learnt learnt;
            evaluate(column, table, learnt, diagnostics);
            continue;
        }
        place = column.span;
        for (std::size_t row = 0; row < table.rows(); ++row) {
            if (table.is_missing(row, *at)) continue;
            std::string_view const text = table.text(row, *at);
            if (known.contains(text) || !found.emplace(text).second) continue;
            are_numbers = are_numbers && table.number(row, *at).has_value();
        }
    }
    std::size_t const first = labels.size();
    labels.insert(labels.end(), found.begin(), found.end());
    if (are_numbers) {
        std::unordered_map<std::string, double> numbers;
        for (ColumnExpr const& column : columns.columns) {
            auto const at = table.find_column(column.name);
            for (std::size_t row = 0; at && row < table.rows(); ++row)
                if (auto const number = table.number(row, *at)) numbers.emplace(table.text(row, *at), *number);
        }
        std::stable_sort(labels.begin() + static_cast<std::ptrdiff_t>(first), labels.end(),
                         [&](std::string const& a, std::string const& b) { return numbers.at(a) < numbers.at(b); });
    }
    if (labels.size() <= most_labels) return;
    diagnostics.push_back({462,
                           Severity::Error,
                           fmt::format("`{}` has {} labels, and a dim can have {}", columns.dim, labels.size(), most_labels),
                           {{place, "each value of this column is one"}},
                           {"is it a column of numbers to compute with? declare it without `in`"}});
}

std::vector<double> label_numbers(ColumnExpr const& expression, Table const& table, std::size_t column, Diagnostics& diagnostics) {
    std::unordered_map<std::string_view, double> numbers;
    std::vector<std::string> labels;
    for (std::size_t k = 1; k < expression.args.size(); ++k) {
        numbers.emplace(expression.args[k].name, static_cast<double>(k));
        labels.push_back(expression.args[k].name);
    }
    std::vector<double> result(table.rows(), std::numeric_limits<double>::quiet_NaN());
    Places unknown;
    std::string first;
    for (std::size_t row = 0; row < table.rows(); ++row) {
        if (table.is_missing(row, column)) continue;
        auto const number = numbers.find(table.text(row, column));
        if (number != numbers.end()) {
            result[row] = number->second;
            continue;
        }
        if (unknown.count() == 0) first = table.text(row, column);
        unknown.add(table.span(row, column), "none of the labels");
    }
    if (unknown.count() == 0) return result;
    std::vector<std::string> notes;
    if (auto const near = nearest(first, labels)) notes.push_back(fmt::format("did you mean `{}`?", *near));
    if (!labels.empty()) notes.push_back(fmt::format("the labels are {}", first_few(labels)));
    unknown.report(461, fmt::format("`{}` is a label that is not known", first), std::move(notes), {{expression.span, "read here"}},
                   diagnostics);
    return result;
}

}  // namespace bam
