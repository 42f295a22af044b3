// Records and fields of separated text (RFC 4180, and what spreadsheets make of it). Says where things stand; knows nothing of columns.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace bam::csv {

/// One field, as bytes of the text: without the blanks around it, with its quotes.
struct Field {
    std::uint32_t begin = 0;
    std::uint32_t end = 0;
    bool is_quoted = false;

    bool is_empty() const { return begin == end; }
};

/// A field whose quotes do not pair up. Its bytes run from `open` to `end`.
struct QuoteFault {
    std::uint32_t open = 0;   ///< the quote that opens it
    std::uint32_t close = 0;  ///< the quote that closes it; == end if none does
    std::uint32_t end = 0;    ///< where the next field or line begins, or the end of the text

    bool is_unclosed() const { return close == end; }
};

/// Reads records one after another. A line ends with LF, CR or CR LF; a line of blanks is a record of one empty field. O(bytes).
class Reader {
  public:
    /// Starts at byte `begin` of `text`, which is under 4 GiB and outlives the reader.
    Reader(std::string_view text, char separator, std::size_t begin) : text_(text), separator_(separator), at_(begin) {}

    /// The fields of the next record; false at the end of the text and at a fault.
    bool next(std::vector<Field>& fields);
    std::optional<QuoteFault> const& fault() const { return fault_; }

  private:
    bool read_field(Field& field);
    bool read_quoted_field(Field& field);
    std::size_t skip_blanks(std::size_t at) const;
    bool is_at_field_end(std::size_t at) const;

    std::string_view text_;
    char separator_;
    std::size_t at_;
    std::optional<QuoteFault> fault_;
};

/// What a quoted field holds: its quotes taken off, doubled ones made single.
std::string unquote(std::string_view field);

/// The separator that the text from byte `begin` on is written with: tab, `|`, `;` or `,`. Of those that split the header, the one by which
/// the largest share of the first hundred records has as many fields; of equals, the first in this order, since commas stand in names and
/// numbers more often than
/// `;`, and tabs hardly ever. If none splits the header, the one that splits most records (the table has lines above its header, then); `,`
/// if none does, and `;` if all that `,` splits is numbers with a decimal comma.
char find_separator(std::string_view text, std::size_t begin);

}  // namespace bam::csv
