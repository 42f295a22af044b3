#include "source.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace bam;

namespace {

std::string code_of(std::string const& text) {
    Sources sources;
    Diagnostics diagnostics;
    auto const id = sources.add_model("m.bam", text, diagnostics);
    REQUIRE(id.has_value());
    CHECK(sources[*id].code.size() == sources[*id].text.size());
    return sources[*id].code;
}

/// The code of the one diagnostic that reading `text` gives, 0 if there is none.
int refusal(std::string const& text) {
    Sources sources;
    Diagnostics diagnostics;
    bool const is_kept = sources.add_model("m.bam", text, diagnostics).has_value();
    REQUIRE(diagnostics.size() <= 1);
    if (diagnostics.empty()) return 0;
    CHECK(is_kept == (diagnostics.front().code >= 5));
    return diagnostics.front().code;
}

}  // namespace

TEST_SUITE_BEGIN("source");

TEST_CASE("source: comments are blanked and kept") {
    Sources sources;
    Diagnostics diagnostics;
    auto const id = sources.add_model("m.bam", "a # \xC3\xA9 (\r\nb = \"x # y\" # z", diagnostics);
    REQUIRE(id.has_value());
    CHECK(diagnostics.empty());
    CHECK(sources[*id].code == "a        \nb = \"x # y\"    ");
    REQUIRE(sources[*id].comments.size() == 2);
    CHECK(sources.text(sources[*id].comments[0].span) == "# \xC3\xA9 (");
    CHECK(sources.text(sources[*id].comments[1].span) == "# z");
}

TEST_CASE("source: newlines in brackets are blanked") {
    CHECK(code_of("a(\n[1,\n2])\nb") == "a( [1, 2])\nb");
    CHECK(code_of("a(\"(\",\n2)\nb") == "a(\"(\", 2)\nb");
    CHECK(code_of("a(\rb)\rc") == "a( b)\nc");
}

TEST_CASE("source: an unclosed bracket swallows nothing") {
    std::string const unclosed = "s {\n a = (b\n c = d\n}\np {\n e = f)\n}";
    CHECK(code_of(unclosed) == unclosed);
    CHECK(code_of("s {\n a = (f(b,\n c)\n d\n}") == "s {\n a = (f(b,  c)\n d\n}");
    CHECK(code_of("a = (b]\nc = (d\n)") == "a = (b]\nc = (d )");
    CHECK(code_of("a = [(b\n]\nc") == "a = [(b ]\nc");
}

TEST_CASE("source: comments of other languages are reported and blanked") {
    Sources sources;
    Diagnostics diagnostics;
    auto const id = sources.add_model("m.bam", "a // b\nc /* d\ne */ f\n/* g\nh", diagnostics);
    REQUIRE(id.has_value());
    CHECK(sources[*id].code == "a     \nc     \n     f\n    \nh");
    REQUIRE(diagnostics.size() == 3);
    CHECK(diagnostics[0].code == 6);
    CHECK(diagnostics[1].code == 7);
    CHECK(diagnostics[2].code == 7);
}

TEST_CASE("source: what is not text is refused") {
    CHECK(refusal("a = 1\n") == 0);
    CHECK(refusal("") == 0);
    CHECK(refusal("\x1f\x8b\x08 something") == 1);
    CHECK(refusal(std::string("a\0b", 3)) == 2);
    CHECK(refusal(std::string("\xff\xfe"
                              "a\0",
                              4)) == 2);
    CHECK(refusal("\xEF\xBB\xBF"
                  "a = 1") == 0);
}

TEST_CASE("source: utf-8 is checked as rfc 3629 has it") {
    for (std::string const good :
         {"\xC2\x80", "\xDF\xBF", "\xE0\xA0\x80", "\xED\x9F\xBF", "\xEE\x80\x80", "\xF0\x90\x80\x80", "\xF4\x8F\xBF\xBF"}) {
        CAPTURE(good);
        CHECK(refusal("# " + good) == 0);
    }
    for (std::string const bad : {"\x80", "\xC0\xAF", "\xC1\xBF", "\xC3", "\xC3(", "\xE0\x9F\xBF", "\xED\xA0\x80", "\xE2\x82",
                                  "\xF0\x8F\xBF\xBF", "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xFF"}) {
        CAPTURE(bad);
        CHECK(refusal("# " + bad) == 3);
        CHECK(refusal("# " + bad + "\nnext") == 3);
    }
}

TEST_CASE("source: a refusal says where the byte is") {
    Sources sources;
    Diagnostics diagnostics;
    CHECK_FALSE(sources.add_model("m.bam", "a = \xC3\xA9\n \xC3\xA9\xE9", diagnostics));
    CHECK(to_text(diagnostics, sources) ==
          "error[BAM0003]: `m.bam` is not UTF-8: byte 0xE9 at line 2, column 3\n"
          "  = the file may be in Latin-1 or Windows-1252: save it as UTF-8\n");
}

TEST_CASE("source: look-alikes of ascii are named and read as meant") {
    Sources sources;
    Diagnostics diagnostics;
    auto const id = sources.add_model("m.bam",
                                      "a \xE2\x88\x92 b\xE2\x80\x99\nc = \xE2\x80\x9C"
                                      "d e\xE2\x80\x9D\xC2\xA0# f",
                                      diagnostics);
    REQUIRE(id.has_value());
    CHECK(sources[*id].code == "a   - b  '\nc =   \"d e\"       ");
    REQUIRE(diagnostics.size() == 4);
    CHECK(diagnostics[0].notes == std::vector<std::string>{"write `-`"});
    CHECK(diagnostics[2].notes == std::vector<std::string>{"write `\"d e\"`"});
    CHECK(sources.text(diagnostics[2].labels[0].span) ==
          "\xE2\x80\x9C"
          "d e\xE2\x80\x9D");
}

TEST_CASE("source: positions count code points and any line end") {
    Sources sources;
    auto const id = sources.add_table("t.csv",
                                      "\xC3\xA9"
                                      "a\r\nb\rc\n");
    auto const at = [&](std::size_t offset) {
        auto const [line, column] = sources.position(id, offset);
        return std::pair{line, column};
    };
    CHECK(at(0) == std::pair<std::size_t, std::size_t>{1, 1});
    CHECK(at(2) == std::pair<std::size_t, std::size_t>{1, 2});
    CHECK(at(5) == std::pair<std::size_t, std::size_t>{2, 1});
    CHECK(at(7) == std::pair<std::size_t, std::size_t>{3, 1});
    CHECK(at(9) == std::pair<std::size_t, std::size_t>{4, 1});
    CHECK(at(999) == std::pair<std::size_t, std::size_t>{4, 1});
}

TEST_SUITE_END();
