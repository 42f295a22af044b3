// A table as people have it: CSV with quotes, BOM, CRLF, `;` and decimal commas, missing cells, dates.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "bam/diagnostic.hpp"

namespace bam {

/// How a CSV text is written. Unset means: find out.
struct TableFormat {
    std::optional<char> separator;      ///< ',', ';', tab or '|'
    std::optional<char> decimal_point;  ///< '.' or ','
};

/// A parsed table. It refers to the text it was read from (8 bytes a cell), so that any error can show its place; numbers are read on
/// demand.
class Table {
  public:
    /// Reads the whole text, which is source number `source` and must outlive the table, as the texts of `Sources` do. O(bytes).
    ///
    /// - The separator, if not given: csv::find_separator, or a first line `sep=;` as spreadsheets write it.
    /// - The decimal point, if not given: `.`, but `,` where something else separates and as many cells can only be read with it as with
    /// `.`.
    /// - Blank lines are skipped (in a table of one column they are missing cells), as are records of empty cells at the end.
    /// - Columns may be unnamed (row names often are); at the end of a record, empty fields beyond the header may stand and those of
    /// unnamed columns be left out.
    ///
    /// Reports BAM0401..0419 (listed in table.cpp) and gives no table if it is no text, has no header or no rows, names a column twice, or
    /// has quotes or records that do not fit.
    static std::optional<Table> parse(std::string_view text, std::uint32_t source, TableFormat format, Diagnostics& diagnostics);
    /// The table would refer to a text that is gone.
    template <std::same_as<std::string> Temporary>
    static std::optional<Table> parse(Temporary&& text, std::uint32_t source, TableFormat format, Diagnostics& diagnostics) = delete;

    std::size_t rows() const { return rows_; }
    /// The names in the header, trimmed; "" for a column without one.
    std::vector<std::string> const& columns() const { return columns_; }
    std::optional<std::size_t> find_column(std::string_view name) const;
    /// The cell without its quotes and the blanks around it.
    std::string_view text(std::size_t row, std::size_t column) const;
    /// Where the cell stands, with its quotes; nowhere wide if it is empty.
    Span span(std::size_t row, std::size_t column) const;
    Span header_span(std::size_t column) const { return headers_[column]; }
    /// True for an empty cell, NA and its kin (see cell.hpp), quoted or not.
    bool is_missing(std::size_t row, std::size_t column) const;
    /// The cell as a correctly rounded number; nothing if it is missing or not a number.
    std::optional<double> number(std::size_t row, std::size_t column) const;
    /// The cell as something that orders: a number, or an ISO date/time (2024-03-01, 2024-03-01 12:00, 2024-03-01T12:00:00Z, 2024-03) in
    /// days since 1970-01-01.
    std::optional<double> moment(std::size_t row, std::size_t column) const;
    /// How the text is written: as told or as found out; both are set.
    TableFormat format() const { return {separator_, decimal_point_}; }

  private:
    class Parser;

    struct Cell {
        std::uint32_t begin;
        std::uint32_t end;
    };

    Table(std::string_view text, std::uint32_t source) : text_(text), source_(source) {}

    std::string_view text_;
    std::uint32_t source_;
    char separator_ = ',';
    char decimal_point_ = '.';
    std::size_t rows_ = 0;
    std::vector<std::string> columns_;
    std::vector<Span> headers_;
    std::vector<Cell> cells_;                                ///< [rows, columns], of the raw text
    std::unordered_map<std::size_t, std::string> unquoted_;  ///< by index in cells_: the text of a cell with doubled quotes in it
};

}  // namespace bam
