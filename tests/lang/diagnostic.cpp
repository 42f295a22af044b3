#include "bam/diagnostic.hpp"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "source.hpp"

using namespace bam;

namespace {

std::string shown(std::string const& text, Diagnostics const& diagnostics) {
    Sources sources;
    sources.add_table("bad.bam", text);
    return to_text(diagnostics, sources);
}

std::string many_lines(std::size_t count) { return std::string(count, '\n'); }

}  // namespace

TEST_SUITE_BEGIN("diagnostic");

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

TEST_CASE("diagnostic: nothing that a terminal might obey") {
    CHECK(shown("a", {{20, Severity::Error, "m\x1b[2J", {{{0, 0, 1}, "x\r"}}, {"n\x7f"}}}) ==
          "error[BAM0020]: m?[2J\n  --> bad.bam:1:1\n    1 | a\n      | ^ x?\n  = n?\n");
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
