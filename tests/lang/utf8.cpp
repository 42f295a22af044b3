#include "utf8.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using bam::code_points;
using bam::decode_utf8;
using bam::find_invalid_utf8;

TEST_CASE("utf8: well-formed texts of every length have no invalid byte") {
    for (std::string const text : {"", "a", "12345678", "é", "€", "𝛼", "Größe (mm), Δt = 3 µs, 温度 25 °C 🙂 and more"}) {
        CAPTURE(text);
        CHECK_FALSE(find_invalid_utf8(text));
    }
    CHECK_FALSE(find_invalid_utf8("\xED\x9F\xBF\xEE\x80\x80\xF4\x8F\xBF\xBF"));  // both sides of the surrogates, and the last code point
    CHECK_FALSE(find_invalid_utf8(std::string(1, '\0')));
}

TEST_CASE("utf8: the offset is that of the first byte that cannot stand there") {
    struct Case {
        std::string text;
        std::size_t offset;
    };
    std::vector<Case> const cases{
        {"caf\xE9", 3},          {"caf\xE9,1", 3}, {"12345678\xFF", 8}, {"\xC0\xAF", 0},  {"a\xE0\x80\xAF", 1}, {"\xED\xA0\x80", 0},
        {"\xF4\x90\x80\x80", 0}, {"ab\x80", 2},    {"é\xC3", 2},        {"€\xE2\x82", 3}, {"\xF0\x9F\x99", 0},  {"\xF8\x88\x80\x80\x80", 0},
        {"\xF0\x80\x80\x80", 0},
    };
    for (Case const& c : cases) {
        CAPTURE(c.text);
        REQUIRE(find_invalid_utf8(c.text));
        CHECK(*find_invalid_utf8(c.text) == c.offset);
    }
}

TEST_CASE("utf8: code points are counted, not bytes") {
    CHECK(code_points("") == 0);
    CHECK(code_points("aé€𝛼") == 4);
    CHECK(bam::is_continuation('\x80'));
    CHECK(bam::is_continuation('\xBF'));
    for (char const byte : {'a', '\x7F', '\xC0', '\xFF'}) CHECK_FALSE(bam::is_continuation(byte));
}

TEST_CASE("utf8: code points are decoded and bytes that are none become U+FFFD") {
    CHECK(decode_utf8("aé€𝛼") == U"a\u00E9\u20AC\U0001D6FC");
    CHECK(decode_utf8("caf\xE9,1") == U"caf\uFFFD,1");
    CHECK(decode_utf8("").empty());
}
