// Codes of this file:
//   BAM0401  no header: the text is empty, or its first line names nothing or holds numbers
//   BAM0403  a column is named twice
//   BAM0404  a quote is not closed
//   BAM0405  text after the quote that closes a cell
//   BAM0406  records with too few fields
//   BAM0407  records with too many fields
//   BAM0408  a byte is not UTF-8
//   BAM0409  no rows
//   BAM0410  the file is not text: compressed, a spreadsheet, UTF-16, a NUL byte
//   BAM0411  the file is longer than 4 GiB
#include "table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <utility>

#include "cell.hpp"
#include "csv.hpp"
#include "utf8.hpp"

namespace bam {
namespace {

constexpr std::size_t labels_shown = 5;
constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";

std::string plural(std::size_t count, std::string_view noun) { return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s"); }

std::string shown(char separator) { return separator == '\t' ? "a tab" : fmt::format("`{}`", separator); }

/// What else than a table a file starts like.
struct Signature {
    std::string_view bytes;
    std::string_view what;
    std::string_view remedy;
};

constexpr std::string_view from_utf16 = "save it as UTF-8, or `iconv -f UTF-16 -t UTF-8 old.csv > new.csv`";
constexpr std::array signatures{
    Signature{"\x1F\x8B", "gzip data, not text", "`gunzip` makes a text of it"},
    Signature{"BZh", "bzip2 data, not text", "`bunzip2` makes a text of it"},
    Signature{"\xFD\x37zXZ", "xz data, not text", "`unxz` makes a text of it"},
    Signature{"\x28\xB5\x2F\xFD", "Zstandard data, not text", "`unzstd` makes a text of it"},
    Signature{"PK\x03\x04", "a spreadsheet or a zip archive, not text",
              "in the spreadsheet, save it as CSV (UTF-8); an archive is unpacked by `unzip`"},
    Signature{"\xD0\xCF\x11\xE0", "an old spreadsheet, not text", "in the spreadsheet, save it as CSV (UTF-8)"},
    Signature{"PAR1", "a Parquet file, not text", "write it as CSV with the program that made it"},
    Signature{"\xFF\xFE", "UTF-16, not UTF-8", from_utf16},
    Signature{"\xFE\xFF", "UTF-16, not UTF-8", from_utf16},
};

/// Records with the wrong number of fields: the first few, and how many there are.
struct MisfitRecords {
    std::vector<Label> labels;
    std::size_t count = 0;

    void add(Span span, std::string text) {
        if (++count <= labels_shown) labels.push_back({span, std::move(text)});
    }
};

}  // namespace

/// Fills a table from its text.
class Table::Parser {
  public:
    Parser(Table& table, TableFormat format, Diagnostics& diagnostics)
        : table_(table), text_(table.text_), format_(format), diagnostics_(diagnostics) {}

    bool parse() {
        if (!check_text()) return false;
        std::size_t const begin = skip_preamble();
        is_separator_given_ = format_.separator.has_value();
        table_.separator_ = is_separator_given_ ? *format_.separator : csv::find_separator(text_, begin);
        csv::Reader reader(text_, table_.separator_, begin);
        if (!read_header(reader)) return false;
        read_records(reader);
        if (reader.fault()) report_fault(*reader.fault());
        report_misfits();
        if (has_failed_) return false;
        drop_empty_records_at_end();
        if (table_.rows_ == 0) {
            report(409, "the table has a header and no rows", {{table_.headers_.front(), "the header"}},
                   {"below the header, each line is one record"});
            return false;
        }
        table_.decimal_point_ = format_.decimal_point.value_or(find_decimal_point());
        return true;
    }

  private:
    Span span(std::size_t begin, std::size_t end) const {
        return {table_.source_, static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end)};
    }
    Span span(csv::Field const& field) const { return span(field.begin, field.end); }
    std::string_view raw(csv::Field const& field) const { return text_.substr(field.begin, field.end - field.begin); }

    void report(int code, std::string message, std::vector<Label> labels, std::vector<std::string> notes) {
        diagnostics_.push_back({code, Severity::Error, std::move(message), std::move(labels), std::move(notes)});
        has_failed_ = true;
    }

    bool check_text();
    std::size_t skip_preamble();
    bool read_header(csv::Reader& reader);
    bool check_names(std::vector<csv::Field> const& fields);
    void report_repeated_name(std::size_t column, std::size_t first);
    void read_records(csv::Reader& reader);
    void add_record(std::vector<csv::Field> const& fields);
    void report_fault(csv::QuoteFault const& fault);
    void report_misfits();
    void drop_empty_records_at_end();
    char find_decimal_point() const;

    Table& table_;
    std::string_view text_;
    TableFormat format_;
    Diagnostics& diagnostics_;
    bool is_separator_given_ = false;
    bool has_failed_ = false;
    std::size_t fewest_fields_ = 0;  ///< of a record: those up to the last column that has a name
    std::size_t records_ = 0;        ///< with those that do not fit
    std::size_t records_one_too_wide_ = 0;
    MisfitRecords narrow_;
    MisfitRecords wide_;
};

bool Table::Parser::check_text() {
    if (text_.size() > std::numeric_limits<std::uint32_t>::max()) {
        diagnostics_.push_back(
            {411, Severity::Error, "the table is longer than 4 GiB", {}, {"leave out columns or records that the model does not use"}});
        return false;
    }
    for (Signature const& signature : signatures) {
        if (!text_.starts_with(signature.bytes)) continue;
        report(410, fmt::format("the table is {}", signature.what), {{span(0, 0), "read from here"}}, {std::string(signature.remedy)});
        return false;
    }
    if (std::size_t const nul = text_.find('\0'); nul != std::string_view::npos) {
        report(410, "the table is not text: it has a NUL byte", {{span(nul, nul + 1), "here"}},
               {"if it is UTF-16, save it as UTF-8, or `iconv -f UTF-16LE -t UTF-8 old.csv > new.csv`"});
        return false;
    }
    if (auto const at = find_invalid_utf8(text_)) {
        report(408, fmt::format("the table is not UTF-8: byte 0x{:02X}", static_cast<unsigned char>(text_[*at])),
               {{span(*at, *at + 1), "here"}},
               {"save it as UTF-8; from Latin-1 or Windows-1252, `iconv -f WINDOWS-1252 -t UTF-8 old.csv > new.csv`"});
        return false;
    }
    return true;
}

/// Where the header begins: after a byte order mark and a line `sep=;`, by which Excel is told the separator.
std::size_t Table::Parser::skip_preamble() {
    constexpr std::string_view separators = ",;|\t";
    std::size_t const begin = text_.starts_with(byte_order_mark) ? byte_order_mark.size() : 0;
    std::string_view const rest = text_.substr(begin);
    if (!rest.starts_with("sep=") || rest.size() < 5 || separators.find(rest[4]) == std::string_view::npos) return begin;
    std::size_t const line_end = rest.find_first_not_of("\r\n", 5);
    if (line_end == 5) return begin;
    if (!format_.separator) format_.separator = rest[4];
    return line_end == std::string_view::npos ? text_.size() : begin + line_end;
}

bool Table::Parser::read_header(csv::Reader& reader) {
    std::vector<csv::Field> fields;
    bool is_read = reader.next(fields);
    while (is_read && fields.size() == 1 && fields.front().is_empty()) is_read = reader.next(fields);
    if (reader.fault()) {
        report_fault(*reader.fault());
        return false;
    }
    if (!is_read) {
        report(401, "the table is empty", {{span(text_.size(), text_.size()), "nothing before here"}},
               {"the first line names the columns, each line below is one record"});
        return false;
    }
    for (std::size_t i = 0; i < fields.size(); ++i) {
        table_.columns_.emplace_back(trim(fields[i].is_quoted ? csv::unquote(raw(fields[i])) : std::string(raw(fields[i]))));
        table_.headers_.push_back(span(fields[i]));
        if (!table_.columns_.back().empty()) fewest_fields_ = i + 1;
    }
    return check_names(fields);
}

bool Table::Parser::check_names(std::vector<csv::Field> const& fields) {
    Span const line = span(fields.front().begin, fields.back().end);
    if (fewest_fields_ == 0) {
        report(401, "the first line of the table names no column", {{line, "the header should stand here"}},
               {"the first line names the columns, each line below is one record"});
        return false;
    }
    auto const is_value = [&](csv::Field const& field) {
        if (field.is_quoted) return false;
        std::string_view const text = raw(field);
        return bam::is_missing(text) || to_number(text, '.') || to_number(text, ',') || to_date(text);
    };
    if (std::all_of(fields.begin(), fields.end(), is_value)) {
        report(401, "the table has no header: its first line holds values", {{line, "the header should stand here"}},
               {"put a line of column names above it", "if these are names, put quotes around them: `\"2019\"`"});
        return false;
    }
    std::unordered_map<std::string_view, std::size_t> seen;
    for (std::size_t i = 0; i < fields.size(); ++i) {
        if (table_.columns_[i].empty()) continue;
        auto const [first, is_new] = seen.emplace(table_.columns_[i], i);
        if (!is_new) report_repeated_name(i, first->second);
    }
    return !has_failed_;
}

void Table::Parser::report_repeated_name(std::size_t column, std::size_t first) {
    std::string const& name = table_.columns_[column];
    std::size_t number = 2;
    std::string other;
    do {
        other = fmt::format("{}_{}", name, number++);
    } while (table_.find_column(other));
    std::vector<std::string> notes;
    bool const needs_quotes = other.find_first_of("\"\r\n") != std::string::npos || other.find(table_.separator_) != std::string::npos;
    if (!needs_quotes) notes.push_back(fmt::format("write `{}`", other));
    notes.push_back("every column needs a name of its own; a column that is not used may have none");
    report(403, fmt::format("two columns are named `{}`", name),
           {{table_.headers_[column], "named again here"}, {table_.headers_[first], "named first here"}}, std::move(notes));
}

void Table::Parser::read_records(csv::Reader& reader) {
    // Every cell takes a byte of the text at least, so that this is modest whatever the text is.
    std::size_t const lines =
        static_cast<std::size_t>(std::max(std::count(text_.begin(), text_.end(), '\n'), std::count(text_.begin(), text_.end(), '\r')));
    table_.cells_.reserve(std::min(lines * table_.columns_.size(), text_.size() + 1));
    std::vector<csv::Field> fields;
    while (reader.next(fields)) {
        bool const is_blank_line = fields.size() == 1 && fields.front().is_empty();
        if (!is_blank_line || table_.columns_.size() == 1) add_record(fields);
    }
}

void Table::Parser::add_record(std::vector<csv::Field> const& fields) {
    std::size_t const columns = table_.columns_.size();
    std::size_t width = fields.size();
    while (width > columns && fields[width - 1].is_empty()) --width;
    ++records_;
    if (width < fewest_fields_) {
        narrow_.add(span(fields.front().begin, fields.back().end), plural(width, "field"));
        return;
    }
    if (width > columns) {
        if (width == columns + 1) ++records_one_too_wide_;
        wide_.add(span(fields[columns].begin, fields[width - 1].end), fmt::format("{} too many", width - columns));
        return;
    }
    for (std::size_t i = 0; i < columns; ++i) {
        csv::Field const field = i < width ? fields[i] : csv::Field{fields.back().end, fields.back().end, false};
        if (field.is_quoted && raw(field).substr(1, field.end - field.begin - 2).find('"') != std::string_view::npos)
            table_.unquoted_.emplace(table_.cells_.size(), trim(csv::unquote(raw(field))));
        table_.cells_.push_back({field.begin, field.end});
    }
    ++table_.rows_;
}

void Table::Parser::report_fault(csv::QuoteFault const& fault) {
    std::string const rule = "a quote that belongs to the text is written twice, in a cell in quotes: `\"a 5\"\" pipe\"`";
    if (fault.is_unclosed()) {
        report(404, "a quote is opened and never closed", {{span(fault.open, fault.open + 1), "all that follows is in this cell"}},
               {"close it at the end of its cell", rule});
        return;
    }
    std::string_view const rest = text_.substr(fault.close + 1, fault.end - fault.close - 1);
    std::vector<std::string> notes{rule};
    if (text_[fault.close - 1] == '\\') notes.push_back("a backslash before a quote is no escape in CSV");
    report(405, "text follows the quote that closes a cell",
           {{span(fault.close + 1, fault.close + 1 + rest.size()), "only a separator or the end of the line may follow"},
            {span(fault.open, fault.close + 1), "the cell"}},
           std::move(notes));
}

void Table::Parser::report_misfits() {
    std::size_t const columns = table_.columns_.size();
    auto const message = [&](MisfitRecords const& misfits, std::string_view many_or_few) {
        return fmt::format("{} too {} fields: the header has {}",
                           misfits.count == 1 ? "a record has" : fmt::format("{} records have", misfits.count), many_or_few,
                           plural(columns, "name"));
    };
    auto const more = [&](MisfitRecords const& misfits, std::vector<std::string>& notes) {
        if (misfits.count > labels_shown) notes.push_back(fmt::format("these are the first {}", labels_shown));
        if (!is_separator_given_) notes.push_back(fmt::format("the separator was found to be {}", shown(table_.separator_)));
        if (table_.columns_.front().starts_with('#')) notes.push_back("the first line is the header, even if it begins with `#`");
    };
    if (narrow_.count > 0) {
        std::vector<std::string> notes{"a missing value is an empty field, or NA"};
        more(narrow_, notes);
        report(406, message(narrow_, "few"), narrow_.labels, std::move(notes));
    }
    if (wide_.count > 0) {
        std::vector<std::string> notes;
        if (records_one_too_wide_ == records_)
            notes.push_back(
                fmt::format("if each record begins with its name, begin the header with `row` and {}", shown(table_.separator_)));
        if (columns == 1) notes.push_back("the first line is the header: delete the lines above it");
        notes.push_back(fmt::format("a cell with {} in it needs quotes around it", shown(table_.separator_)));
        if (table_.separator_ == ',') notes.push_back("a table with decimal commas is separated by `;` or tabs");
        more(wide_, notes);
        report(407, message(wide_, "many"), wide_.labels, std::move(notes));
    }
}

void Table::Parser::drop_empty_records_at_end() {
    auto const is_empty = [](Cell const& cell) { return cell.begin == cell.end; };
    auto const columns = static_cast<std::ptrdiff_t>(table_.columns_.size());
    while (table_.rows_ > 0 && std::all_of(table_.cells_.end() - columns, table_.cells_.end(), is_empty)) {
        table_.cells_.resize(table_.cells_.size() - table_.columns_.size());
        --table_.rows_;
    }
}

/// By the cells that can be read in one way only. `1,234` may be a thousand: in a `;` table without any other evidence it is a decimal
/// comma, since that is what `;` is for; elsewhere it stays unread, and is reported where a number is needed.
char Table::Parser::find_decimal_point() const {
    if (table_.separator_ == ',') return '.';
    std::array<std::size_t, 5> counts{};
    for (std::size_t row = 0; row < table_.rows_; ++row)
        for (std::size_t column = 0; column < table_.columns_.size(); ++column)
            ++counts[static_cast<std::size_t>(find_decimal_mark(table_.text(row, column)))];
    auto const count = [&](DecimalMark mark) { return counts[static_cast<std::size_t>(mark)]; };
    if (count(DecimalMark::Comma) > 0) return count(DecimalMark::Comma) >= count(DecimalMark::Point) ? ',' : '.';
    bool const is_only_evidence = count(DecimalMark::Point) == 0 && count(DecimalMark::PointOrThousands) == 0;
    return table_.separator_ == ';' && count(DecimalMark::CommaOrThousands) > 0 && is_only_evidence ? ',' : '.';
}

std::optional<Table> Table::parse(std::string_view text, std::uint32_t source, TableFormat format, Diagnostics& diagnostics) {
    Table table(text, source);
    if (!Parser(table, format, diagnostics).parse()) return std::nullopt;
    return table;
}

std::optional<std::size_t> Table::find_column(std::string_view name) const {
    auto const found = std::find(columns_.begin(), columns_.end(), name);
    if (found == columns_.end() || name.empty()) return std::nullopt;
    return static_cast<std::size_t>(found - columns_.begin());
}

std::string_view Table::text(std::size_t row, std::size_t column) const {
    std::size_t const index = row * columns_.size() + column;
    Cell const cell = cells_[index];
    std::string_view const raw = text_.substr(cell.begin, cell.end - cell.begin);
    if (!raw.starts_with('"')) return raw;
    if (auto const found = unquoted_.find(index); found != unquoted_.end()) return found->second;
    return trim(raw.substr(1, raw.size() - 2));
}

Span Table::span(std::size_t row, std::size_t column) const {
    Cell const cell = cells_[row * columns_.size() + column];
    return {source_, cell.begin, cell.end};
}

bool Table::is_missing(std::size_t row, std::size_t column) const { return bam::is_missing(text(row, column)); }

std::optional<double> Table::number(std::size_t row, std::size_t column) const { return to_number(text(row, column), decimal_point_); }

std::optional<double> Table::moment(std::size_t row, std::size_t column) const {
    std::string_view const cell = text(row, column);
    if (auto const value = to_number(cell, decimal_point_)) return value;
    return to_date(cell);
}

}  // namespace bam
