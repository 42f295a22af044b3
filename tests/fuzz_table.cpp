// Any bytes as a table: it is read or refused with an error, every span lies in the text, every cell can be asked for, and every column
// can be used in a transform or is refused with an error.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "bam/diagnostic.hpp"
#include "table.hpp"
#include "transform.hpp"

namespace {

constexpr std::uint32_t source = 7;

void require(bool holds) {
    if (!holds) std::abort();
}

void check_span(bam::Span span, std::string_view text) {
    require(span.begin <= span.end && span.end <= text.size() && span.source == source);
}

void check_diagnostics(bam::Diagnostics const& diagnostics, std::string_view text) {
    for (bam::Diagnostic const& diagnostic : diagnostics) {
        require(!diagnostic.message.empty() && !diagnostic.labels.empty());
        for (bam::Label const& label : diagnostic.labels) check_span(label.span, text);
    }
}

void check_column(bam::Table const& table, std::size_t column, std::string_view text) {
    check_span(table.header_span(column), text);
    std::string const& name = table.columns()[column];
    require(name.empty() != table.find_column(name).has_value());
    for (std::size_t row = 0; row < table.rows(); ++row) {
        bam::Span const span = table.span(row, column);
        check_span(span, text);
        require(table.text(row, column).size() <= span.end - span.begin);
        auto const number = table.number(row, column);
        auto const moment = table.moment(row, column);
        require(!table.is_missing(row, column) || (!number && !moment));
        require(!number || (std::isfinite(*number) && moment == number));
        require(!moment || std::isfinite(*moment));
    }
}

void check_transform(bam::Table const& table, std::string const& name, std::string_view text) {
    bam::ColumnExpr const leaf{bam::ColumnOp::Column, 0, name, {}, {source, 0, 0}};
    bam::ColumnExpr const expression{bam::ColumnOp::Standardize, 0, "", {leaf}, {source, 0, 0}};
    bam::Learnt learnt;
    bam::Diagnostics diagnostics;
    auto const result = bam::evaluate(expression, table, learnt, diagnostics);
    require(result.has_value() == !bam::has_error(diagnostics));
    check_diagnostics(diagnostics, text);
    if (!result) return;
    for (std::size_t row = 0; row < table.rows(); ++row) {
        double const value = result->values[row];
        require(std::isfinite(value) || (std::isnan(value) && result->missing[row]));
        require(std::isnan(value) || std::isfinite(bam::invert(expression, learnt, value)));
    }
}

void check(std::string_view text, bam::TableFormat format) {
    bam::Diagnostics diagnostics;
    auto const table = bam::Table::parse(text, source, format, diagnostics);
    require(table.has_value() == !bam::has_error(diagnostics));
    check_diagnostics(diagnostics, text);
    if (!table) return;
    require(table->rows() > 0 && !table->columns().empty());
    for (std::size_t column = 0; column < table->columns().size(); ++column) {
        check_column(*table, column, text);
        if (column < 8) check_transform(*table, table->columns()[column], text);
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
    std::string_view const text(reinterpret_cast<char const*>(data), size);
    check(text, {});
    constexpr char separators[] = {',', ';', '\t', '|'};
    char const separator = separators[size % 4];
    check(text, {separator, size % 3 == 0 ? ',' : '.'});
    return 0;
}
