#include "cell.hpp"

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

using namespace bam;

namespace {

struct Case {
    std::string text;
    double value;
};

}  // namespace

TEST_CASE("cell: blanks around a text are not part of it") {
    CHECK(trim("") == "");
    CHECK(trim(" \t\r\n") == "");
    CHECK(trim("  a b\t") == "a b");
    CHECK(trim("\xC2\xA0 3,5 \xC2\xA0") == "3,5");
    CHECK(trim("é") == "é");
}

TEST_CASE("cell: what is missing and what is not") {
    for (std::string const text : {"", ".", "NA", "na", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "NAN", "null", "NULL", "Null"}) {
        CAPTURE(text);
        CHECK(is_missing(text));
        CHECK_FALSE(to_number(text));
        CHECK_FALSE(to_date(text));
    }
    for (std::string const text : {"0", "-", "--", "?", "Na", "None", "none", "-999", "NA ", "nil", "N", "..", "inf", "missing"}) {
        CAPTURE(text);
        CHECK_FALSE(is_missing(text));
    }
}

TEST_CASE("cell: numbers") {
    std::vector<Case> const cases{
        {"0", 0},
        {"3", 3},
        {"+3.5", 3.5},
        {"-3.5", -3.5},
        {".5", .5},
        {"-.5", -.5},
        {"5.", 5},
        {"1e5", 1e5},
        {"1E+5", 1e5},
        {"1e-5", 1e-5},
        {"007", 7},
        {"0.102971811805368", 0.102971811805368},
        {"\u22123", -3},
        {"4.9e-324", 4.9e-324},
        {"1.7976931348623157e308", 1.7976931348623157e308},
        {"9007199254740993", 9007199254740992.0},
    };
    for (Case const& c : cases) {
        CAPTURE(c.text);
        REQUIRE(to_number(c.text));
        CHECK(*to_number(c.text) == c.value);
    }
}

TEST_CASE("cell: what is no number") {
    for (std::string const text :
         {"inf", "-inf",  "Infinity",   "+inf",  "1e",  "1e+",   "e5",    "-",  "+",    ".",     "+-1",    "--1",
          "-+1", "0x1F",  "1 234",      "1,234", "3,5", "1.2.3", "12 mg", "5%", "<0.5", "1e400", "-1e400", "1e99999999999999999999",
          "abc", "1_000", "2024-03-01", "1f",    "٣"}) {
        CAPTURE(text);
        CHECK_FALSE(to_number(text));
    }
    CHECK_FALSE(to_number(std::string(400, '9')));
    CHECK_FALSE(to_number("1" + std::string(400, '0') + "e-5"));
}

TEST_CASE("cell: a number too near to 0 is 0") {
    for (std::string const text : {"1e-400", "2e-324", "0.1e-99999999999999999999", "1e-99999999999999999999"}) {
        CAPTURE(text);
        REQUIRE(to_number(text));
        CHECK(*to_number(text) == 0);
        CHECK(std::signbit(to_number("-" + text).value()));
    }
    CHECK(to_number("0." + std::string(400, '0') + "1").value() == 0);
    CHECK(to_number("1" + std::string(400, '0') + "e-400").value() == 1);
}

TEST_CASE("cell: decimal commas") {
    CHECK(to_number("3,5", ',').value() == 3.5);
    CHECK(to_number("-,5", ',').value() == -.5);
    CHECK(to_number("+1,5e3", ',').value() == 1500);
    CHECK(to_number("12", ',').value() == 12);
    CHECK(to_number("1e-400", ',').value() == 0);
    for (std::string const text : {"3.5", "1.234,5", "1,234,5", "1,2.3", ".", ".5", ","}) {
        CAPTURE(text);
        CHECK_FALSE(to_number(text, ','));
    }
}

TEST_CASE("cell: property: a number is rounded as strtod rounds it") {
    std::mt19937_64 random(20240607);
    for (int round = 0; round < 20000; ++round) {
        double const value = std::bit_cast<double>(random());
        if (!std::isfinite(value)) continue;
        char text[64];
        std::snprintf(text, sizeof text, "%.*g", static_cast<int>(1 + random() % 19), value);
        double const expected = std::strtod(text, nullptr);
        CAPTURE(text);
        auto const number = to_number(text);
        REQUIRE(number.has_value() == std::isfinite(expected));
        if (number) CHECK(std::bit_cast<std::uint64_t>(*number) == std::bit_cast<std::uint64_t>(expected));
    }
}

TEST_CASE("cell: dates are days since 1970") {
    std::vector<Case> const cases{
        {"1970-01-01", 0},
        {"1969-12-31", -1},
        {"1970-02", 31},
        {"2000-03-01", 11017},
        {"2024-02-29", 19782},
        {"1970-01-02T12:00", 1.5},
        {"1970-01-02 12:00", 1.5},
        {"1970-01-02t18:00:00z", 1.75},
        {"1970-01-01T00:00:43.2", 0.0005},
        {"1970-01-01T00:00:43,2", 0.0005},
        {"1970-01-02T12:00+12:00", 1},
        {"1970-01-02T12:00:00+1200", 1},
        {"1970-01-02T12:00:00-12", 2},
        {"1970-01-02T12:00:00\u221212:00", 2},
        {"1970-01-01T12:00Z", 0.5},
    };
    for (Case const& c : cases) {
        CAPTURE(c.text);
        REQUIRE(to_date(c.text));
        CHECK(*to_date(c.text) == c.value);
    }
}

TEST_CASE("cell: what is no date") {
    for (std::string const text : {"2024",
                                   "2024-",
                                   "2024-1-1",
                                   "2024-13-01",
                                   "2024-00-01",
                                   "2024-02-30",
                                   "2023-02-29",
                                   "24-02-01",
                                   "01/02/2024",
                                   "2024/02/01",
                                   "2024-02-01T",
                                   "2024-02-01 ",
                                   "2024-02-01 12",
                                   "2024-02-01 24:00",
                                   "2024-02-01 12:60",
                                   "2024-02-01 12:00:60",
                                   "2024-02-01 12:00:00.",
                                   "2024-02-01 12:00 CET",
                                   "2024-02 12:00",
                                   "2024-02-01T12:00+1",
                                   "2024-02-01T12:00+24:00",
                                   "2024-02-01T12:00+01:60",
                                   "2024-02-01T12:00Zx",
                                   "2024-02-01x",
                                   "-2024-02-01",
                                   "12:00",
                                   "2024-W05"}) {
        CAPTURE(text);
        CHECK_FALSE(to_date(text));
    }
}

TEST_CASE("cell: property: dates and times order as they follow each other") {
    auto const text_of = [](int year, int month, int day, int minute) {
        char text[64];
        std::snprintf(text, sizeof text, "%04d-%02d-%02dT%02d:%02d", year, month, day, minute / 60, minute % 60);
        return std::string(text);
    };
    double last = to_date("1899-12-31T23:00").value();
    int days = 0;
    for (int year = 1900; year < 2101; ++year)
        for (int month = 1; month <= 12; ++month)
            for (int day = 1; day <= 31; ++day) {
                auto const date = to_date(text_of(year, month, day, (day * 37) % 1440));
                if (!date) continue;
                CHECK(*date > last);
                last = *date;
                ++days;
            }
    CHECK(days == 73414);  // 201 years with 49 leap days: 1900 and 2100 have none
}

TEST_CASE("cell: how a cell writes its decimal point") {
    CHECK(find_decimal_mark("12") == DecimalMark::None);
    CHECK(find_decimal_mark("a,b") == DecimalMark::None);
    CHECK(find_decimal_mark("1.234,5") == DecimalMark::None);
    CHECK(find_decimal_mark("3,5") == DecimalMark::Comma);
    CHECK(find_decimal_mark("-1234,567") == DecimalMark::Comma);
    CHECK(find_decimal_mark("0,123") == DecimalMark::Comma);
    CHECK(find_decimal_mark("1,234e3") == DecimalMark::Comma);
    CHECK(find_decimal_mark(",5") == DecimalMark::Comma);
    CHECK(find_decimal_mark("1,234") == DecimalMark::CommaOrThousands);
    CHECK(find_decimal_mark("+999,000") == DecimalMark::CommaOrThousands);
    CHECK(find_decimal_mark("3.5") == DecimalMark::Point);
    CHECK(find_decimal_mark("-1.234") == DecimalMark::PointOrThousands);
}

TEST_CASE("cell: why a cell is no number") {
    auto const label = [](std::string_view text, char decimal_point = '.') {
        return std::string(find_obstacle(text, decimal_point).label);
    };
    CHECK(label("2024-03-01") == "a date, not a number");
    CHECK(label("3,5") == "a decimal comma, or thousands");
    CHECK(label("1,234") == "a decimal comma, or thousands");
    CHECK(label("3.5", ',') == "a decimal point");
    CHECK(label("<0.5") == "a bound, not a number");
    CHECK(label("\u22653") == "a bound, not a number");
    CHECK(label("1 234") == "not a number");
    CHECK(label("1e999") == "beyond the range of a double");
    CHECK(label("12 mg") == "not only a number");
    CHECK(label("5%") == "not only a number");
    CHECK(label("control") == "not a number");
    CHECK(label("?") == "not a number");
}
