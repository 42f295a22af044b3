#include "labels.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <stdexcept>
#include <unordered_map>

#include "transform.hpp"

namespace bam {

void add_labels(LabelColumns const& columns, Table const& table, std::vector<std::string>& labels, Diagnostics& diagnostics) {
    std::map<std::string_view, std::optional<double>> found;
    for (ColumnExpr const& column : columns.columns) {
        auto const at = table.find_column(column.name);
        if (!at) {  // evaluate says so
            Learnt learnt;
            evaluate(column, table, learnt, diagnostics);
            continue;
        }
        for (std::size_t row = 0; row < table.rows(); ++row)
            if (!table.is_missing(row, *at)) found.try_emplace(table.text(row, *at), table.number(row, *at));
    }
    for (std::string const& label : labels) found.erase(label);
    std::vector<std::pair<std::string_view, std::optional<double>>> added(found.begin(), found.end());
    bool const are_numbers = std::all_of(added.begin(), added.end(), [](auto const& label) { return label.second.has_value(); });
    if (are_numbers) std::stable_sort(added.begin(), added.end(), [](auto const& a, auto const& b) { return *a.second < *b.second; });
    for (auto const& [text, number] : added) labels.emplace_back(text);
}

std::vector<double> label_numbers(ColumnExpr const& expression, Table const& table, std::size_t column) {
    std::unordered_map<std::string_view, double> numbers;
    for (std::size_t k = 1; k < expression.args.size(); ++k) numbers.emplace(expression.args[k].name, static_cast<double>(k));
    std::vector<double> result(table.rows(), std::numeric_limits<double>::quiet_NaN());
    for (std::size_t row = 0; row < table.rows(); ++row) {
        if (table.is_missing(row, column)) continue;
        auto const number = numbers.find(table.text(row, column));
        if (number == numbers.end()) throw std::logic_error("a label that the model was not compiled with");
        result[row] = number->second;
    }
    return result;
}

}  // namespace bam
