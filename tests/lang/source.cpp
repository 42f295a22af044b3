#include "source.hpp"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
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

std::string shown(std::string const& text, Diagnostics const& diagnostics) {
    Sources sources;
    sources.add_table("bad.bam", text);
    return to_text(diagnostics, sources);
}

std::string many_lines(std::size_t count) { return std::string(count, '\n'); }

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

TEST_CASE("diagnostic: excerpts with several labels") {
    std::string const text = many_lines(23) + "  v = exp(W_v * x[t])" + many_lines(7) + "  y[t] ~ normal(q' * h[t], sigma)\n";
    Diagnostic const diagnostic{204,
                                Severity::Error,
                                "W_v has no conjugate conditional",
                                {{{0, 29, 44}, "y's mean is not linear in W_v through exp"}, {{0, 60, 66}, "the factor that needs it"}},
                                {"rewrite 1: put the transform on the data"}};
    CHECK(shown(text, {diagnostic, diagnostic}) ==
          "error[BAM0204]: W_v has no conjugate conditional\n"
          "  --> bad.bam:24:7\n"
          "   24 |   v = exp(W_v * x[t])\n"
          "      |       ^^^^^^^^^^^^^^^ y's mean is not linear in W_v through exp\n"
          "   31 |   y[t] ~ normal(q' * h[t], sigma)\n"
          "      |          ------ the factor that needs it\n"
          "  = rewrite 1: put the transform on the data\n");
}

TEST_CASE("diagnostic: carets stand under code points and keep tabs") {
    CHECK(shown("\t\xC3\xA9\xC3\xA9\tab = 1", {{20, Severity::Warning, "m", {{{0, 6, 8}, "here"}}, {}}}) ==
          "warning[BAM0020]: m\n  --> bad.bam:1:5\n    1 | \t\xC3\xA9\xC3\xA9\tab = 1\n      | \t  \t^^ here\n");
    CHECK(shown("ab", {{20, Severity::Error, "m", {{{0, 2, 2}, {}}}, {}}}) ==
          "error[BAM0020]: m\n  --> bad.bam:1:3\n    1 | ab\n      |   ^\n");
    CHECK(shown("", {{20, Severity::Note, "m", {{{0, 0, 0}, {}}}, {}}}) == "note[BAM0020]: m\n  --> bad.bam:1:1\n    1 |\n      | ^\n");
    CHECK(shown("ab\ncd", {{20, Severity::Note, "m", {{{0, 1, 5}, {}}}, {}}}) ==
          "note[BAM0020]: m\n  --> bad.bam:1:2\n    1 | ab\n      |  ^\n");
}

TEST_CASE("diagnostic: long lines are cut around the mark and control bytes shown as ?") {
    std::string const text = std::string(500, 'a') + "B\x1b" + std::string(500, 'c');
    CHECK(shown(text, {{20, Severity::Error, "m", {{{0, 500, 501}, {}}}, {}}}) == "error[BAM0020]: m\n  --> bad.bam:1:501\n    1 | " +
                                                                                      std::string(60, 'a') + "B?" + std::string(58, 'c') +
                                                                                      "\n      | " + std::string(60, ' ') + "^\n");
}

TEST_CASE("diagnostic: labels in another file have their own place") {
    Sources sources;
    sources.add_table("a.bam", "a\n");
    sources.add_table("b.bam", "\n b\n");
    CHECK(to_text({{20, Severity::Error, "m", {{{1, 2, 3}, "first"}, {{0, 0, 1}, "second"}}, {}}}, sources) ==
          "error[BAM0020]: m\n  --> b.bam:2:2\n    2 |  b\n      |  ^ first\n  ::: a.bam:1:1\n    1 | a\n      | - second\n");
}

TEST_CASE("diagnostic: sorted by place and each once") {
    Diagnostic const late{1, Severity::Error, "late", {{{0, 2, 3}, {}}}, {}};
    Diagnostic const early{2, Severity::Note, "early", {{{0, 0, 1}, {}}}, {}};
    Diagnostic const placeless{3, Severity::Error, "placeless", {}, {}};
    CHECK(shown("a b", {late, early, placeless, late}) ==
          "error[BAM0003]: placeless\nnote[BAM0002]: early\n  --> bad.bam:1:1\n    1 | a b\n      | ^\n"
          "error[BAM0001]: late\n  --> bad.bam:1:3\n    1 | a b\n      |   ^\n");
    CHECK(has_error({late}));
    CHECK_FALSE(has_error({early}));
}

TEST_CASE("diagnostic: json") {
    Sources sources;
    sources.add_table("b.bam", "\n\xC3\xA9 b\n");
    auto const json = nlohmann::json::parse(to_json({{20, Severity::Error, "m\xFF", {{{0, 4, 5}, "x"}}, {"n"}}}, sources));
    REQUIRE(json.size() == 1);
    CHECK(json[0]["code"] == "BAM0020");
    CHECK(json[0]["severity"] == "error");
    CHECK(json[0]["labels"][0]["file"] == "b.bam");
    CHECK(json[0]["labels"][0]["start"] == nlohmann::json{{"line", 2}, {"column", 3}});
    CHECK(json[0]["labels"][0]["end"] == nlohmann::json{{"line", 2}, {"column", 4}});
    CHECK(json[0]["notes"][0] == "n");
    CHECK(to_json({}, sources) == "[]\n");
}

TEST_CASE("diagnostic: colour wraps and changes nothing else") {
    Sources sources;
    sources.add_table("b.bam", "abc");
    Diagnostics const diagnostics{{20, Severity::Error, "m", {{{0, 1, 2}, "x"}}, {"n"}}};
    std::string coloured = to_text(diagnostics, sources, true);
    CHECK(coloured.find("\x1b[1;31m^ x\x1b[0m") != std::string::npos);
    for (std::size_t at; (at = coloured.find('\x1b')) != std::string::npos;) coloured.erase(at, coloured.find('m', at) + 1 - at);
    CHECK(coloured == to_text(diagnostics, sources));
}

TEST_SUITE_END();
