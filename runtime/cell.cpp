#include "cell.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <string>
#include <system_error>

namespace bam {
namespace {

constexpr std::string_view no_break_space = "\xC2\xA0";
constexpr std::string_view typographic_minus = "\xE2\x88\x92";
constexpr std::string_view digits = "0123456789";

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
bool is_digit(char c) { return '0' <= c && c <= '9'; }

/// Takes `prefix` off the front if it is there.
bool skip(std::string_view& text, std::string_view prefix) {
    if (!text.starts_with(prefix)) return false;
    text.remove_prefix(prefix.size());
    return true;
}

/// Whether a positive decimal number that is out of the range of a double is so for being near 0.
bool is_near_zero(std::string_view number) {
    std::size_t const mantissa = std::min(number.find_first_of("eE"), number.size());
    std::string_view exponent_text = number.substr(std::min(mantissa + 1, number.size()));
    skip(exponent_text, "+");
    long exponent = 0;
    auto const [end, error] = std::from_chars(exponent_text.data(), exponent_text.data() + exponent_text.size(), exponent);
    if (error == std::errc::result_out_of_range) return exponent_text.starts_with('-');
    std::size_t const point = std::min(number.find('.'), mantissa);
    std::size_t const first = number.find_first_of("123456789");
    double const magnitude = static_cast<double>(point) - static_cast<double>(first) + static_cast<double>(exponent);
    return magnitude < 0;
}

/// A positive number with a decimal point.
std::optional<double> to_magnitude(std::string_view text) {
    double value = 0;
    auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (end != text.data() + text.size()) return std::nullopt;
    if (error == std::errc()) return value;
    if (error == std::errc::result_out_of_range && is_near_zero(text)) return 0.0;
    return std::nullopt;
}

/// Exactly `width` digits off the front.
std::optional<unsigned> take_digits(std::string_view& text, std::size_t width) {
    if (text.size() < width) return std::nullopt;
    unsigned value = 0;
    for (char const c : text.substr(0, width)) {
        if (!is_digit(c)) return std::nullopt;
        value = 10 * value + static_cast<unsigned>(c - '0');
    }
    text.remove_prefix(width);
    return value;
}

/// `12:00`, `12:00:30`, `12:00:30.5` off the front, in seconds.
std::optional<double> take_clock(std::string_view& text) {
    auto const hours = take_digits(text, 2);
    if (!hours || *hours > 23 || !skip(text, ":")) return std::nullopt;
    auto const minutes = take_digits(text, 2);
    if (!minutes || *minutes > 59) return std::nullopt;
    double seconds = 3600.0 * *hours + 60.0 * *minutes;
    if (!skip(text, ":")) return seconds;
    auto const whole = take_digits(text, 2);
    if (!whole || *whole > 59) return std::nullopt;
    seconds += *whole;
    if (!skip(text, ".") && !skip(text, ",")) return seconds;
    std::size_t const length = std::min(text.find_first_not_of(digits), text.size());
    if (length == 0) return std::nullopt;
    seconds += to_magnitude("0." + std::string(text.substr(0, length))).value_or(0);
    text.remove_prefix(length);
    return seconds;
}

/// `Z`, `+01:00`, `+0100`, `+01` or nothing off the front: seconds ahead of UTC.
std::optional<double> take_zone(std::string_view& text) {
    if (text.empty() || skip(text, "Z") || skip(text, "z")) return 0.0;
    double sign = 1;
    if (skip(text, "-") || skip(text, typographic_minus)) {
        sign = -1;
    } else if (!skip(text, "+")) {
        return std::nullopt;
    }
    auto const hours = take_digits(text, 2);
    if (!hours || *hours > 23) return std::nullopt;
    if (text.empty()) return sign * 3600 * *hours;
    skip(text, ":");
    auto const minutes = take_digits(text, 2);
    if (!minutes || *minutes > 59) return std::nullopt;
    return sign * (3600.0 * *hours + 60.0 * *minutes);
}

}  // namespace

std::string_view trim(std::string_view text) {
    while (!text.empty()) {
        if (is_blank(text.front())) {
            text.remove_prefix(1);
        } else if (!skip(text, no_break_space)) {
            break;
        }
    }
    while (!text.empty()) {
        if (is_blank(text.back())) {
            text.remove_suffix(1);
        } else if (text.ends_with(no_break_space)) {
            text.remove_suffix(no_break_space.size());
        } else {
            break;
        }
    }
    return text;
}

bool is_missing(std::string_view text) {
    constexpr std::array<std::string_view, 14> spellings{"",    ".",   "NA",  "na",   "N/A",  "n/a",  "#N/A",
                                                         "NaN", "nan", "NAN", "null", "NULL", "Null", "<NA>"};
    return text.size() <= 4 && std::find(spellings.begin(), spellings.end(), text) != spellings.end();
}

std::optional<double> to_number(std::string_view text, char decimal_point) {
    bool const is_negative = skip(text, "-") || skip(text, typographic_minus);
    if (!is_negative) skip(text, "+");
    // from_chars would read a second sign, inf and nan.
    if (text.empty() || (!is_digit(text.front()) && text.front() != decimal_point)) return std::nullopt;
    std::optional<double> magnitude;
    if (decimal_point == '.') {
        magnitude = to_magnitude(text);
    } else if (std::size_t const comma = text.find(decimal_point); comma == std::string_view::npos) {
        magnitude = text.find('.') == std::string_view::npos ? to_magnitude(text) : std::nullopt;
    } else if (text.find('.') == std::string_view::npos) {
        std::string copy(text);
        copy[comma] = '.';
        magnitude = to_magnitude(copy);
    }
    if (!magnitude) return std::nullopt;
    return is_negative ? -*magnitude : *magnitude;
}

std::optional<double> to_date(std::string_view text) {
    using namespace std::chrono;
    auto const year_number = take_digits(text, 4);
    if (!year_number || !skip(text, "-")) return std::nullopt;
    auto const month_number = take_digits(text, 2);
    if (!month_number) return std::nullopt;
    bool const has_day = skip(text, "-");
    auto const day_number = has_day ? take_digits(text, 2) : 1U;
    if (!day_number) return std::nullopt;
    year_month_day const date{year(static_cast<int>(*year_number)), month(*month_number), day(*day_number)};
    if (!date.ok()) return std::nullopt;
    double const days = static_cast<double>(sys_days(date).time_since_epoch().count());
    if (text.empty()) return days;
    if (!has_day || (!skip(text, "T") && !skip(text, "t") && !skip(text, " "))) return std::nullopt;
    auto const clock = take_clock(text);
    if (!clock) return std::nullopt;
    auto const ahead = take_zone(text);
    if (!ahead || !text.empty()) return std::nullopt;
    return days + (*clock - *ahead) / 86400;
}

DecimalMark find_decimal_mark(std::string_view text) {
    std::size_t const mark = text.find_first_of(".,");
    if (mark == std::string_view::npos) return DecimalMark::None;
    bool const is_comma = text[mark] == ',';
    std::string_view whole = text.substr(0, mark);
    std::string_view const rest = text.substr(mark + 1);
    if (!skip(whole, "-") && !skip(whole, typographic_minus)) skip(whole, "+");
    // Every cell of a table may come here: read as a number only what has an exponent.
    auto const is_digits = [](std::string_view part) { return std::all_of(part.begin(), part.end(), is_digit); };
    bool const is_plain = is_digits(whole) && is_digits(rest) && whole.size() + rest.size() > 0;
    if (!is_plain && !to_number(text, text[mark])) return DecimalMark::None;
    bool const may_be_thousands = is_plain && 1 <= whole.size() && whole.size() <= 3 && whole.front() != '0' && rest.size() == 3;
    if (is_comma) return may_be_thousands ? DecimalMark::CommaOrThousands : DecimalMark::Comma;
    return may_be_thousands ? DecimalMark::PointOrThousands : DecimalMark::Point;
}

Obstacle find_obstacle(std::string_view text, char decimal_point) {
    if (to_date(text))
        return {"a date, not a number", "for a number, count days in a column of its own; dates can order the rows of a sequence"};
    if (to_number(text, decimal_point == '.' ? ',' : '.')) {
        if (decimal_point == '.')
            return {"a decimal comma, or thousands",
                    "if `,` is the decimal point of this table, say so; numbers have no separators of thousands"};
        return {"a decimal point", "the decimal point of this table was taken to be `,`: use one throughout, or say that it is `.`"};
    }
    constexpr std::array<std::string_view, 4> bounds{"<", ">", "\u2264", "\u2265"};
    if (std::any_of(bounds.begin(), bounds.end(), [&](std::string_view bound) { return text.starts_with(bound); }))
        return {"a bound, not a number", "a bound is not a value: give a number, or leave the cell empty"};
    std::string_view rest = text;
    if (!skip(rest, "-") && !skip(rest, typographic_minus)) skip(rest, "+");
    if (rest.empty() || !is_digit(rest.front())) return {"not a number", "a cell without a value is empty, or NA", true};
    if (rest.find_first_not_of("0123456789.,eE+- ") != std::string_view::npos)
        return {"not only a number", "leave units and marks out of the cell"};
    double value = 0;
    auto const [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
    if (end == rest.data() + rest.size() && error == std::errc::result_out_of_range)
        return {"beyond the range of a double", "change the unit of the column"};
    return {"not a number", "a number has one decimal point, no blanks and no separators of thousands"};
}

}  // namespace bam
