// What the text of one cell means: nothing, a number, a moment.
#pragma once

#include <optional>
#include <string_view>

namespace bam {

/// The text without the blanks around it: spaces, tabs, line ends and no-break spaces.
std::string_view trim(std::string_view text);

/// True for an empty cell and for NA, na, N/A, n/a, #N/A, <NA>, NaN, nan, NAN, null, NULL, Null and a lone `.`. `text` is trimmed. Not for
/// `-`, `?` or -999, which mean other things in other tables, nor for `Na` and `None`, which are names.
bool is_missing(std::string_view text);

/// A decimal number, correctly rounded: `3`, `+3.5`, `-.5`, `1e5`; with a decimal comma `3,5`. A typographic minus (U+2212) is a minus.
/// Nothing for inf, nan, hexadecimal digits, grouped digits (`1 234`), numbers beyond the range of a double, or anything before or after
/// the number. `text` is trimmed.
std::optional<double> to_number(std::string_view text, char decimal_point = '.');

/// Days since 1970-01-01 of an ISO 8601 date, or date and time, of the Gregorian calendar: 2024-03 (its first day), 2024-03-01, 2024-03-01
/// 12:00, 2024-03-01T12:00:30.5, with Z or +01:00 at the end. Without a zone it is taken as UTC.
std::optional<double> to_date(std::string_view text);

/// How a cell writes its decimal point, for finding out how a table does.
enum class DecimalMark {
    None,              ///< not a number, or a whole one
    Point,             ///< 3.5
    Comma,             ///< 3,5
    PointOrThousands,  ///< 1.234
    CommaOrThousands,  ///< 1,234
};
DecimalMark find_decimal_mark(std::string_view text);

/// What keeps a cell from being a number: what to say of it, and what to do about it.
struct Obstacle {
    std::string_view label;
    std::string_view remedy;
    bool is_word = false;  ///< nothing like a number
};
/// `text` is trimmed, not missing, and not a number with this decimal point.
Obstacle find_obstacle(std::string_view text, char decimal_point);

}  // namespace bam
