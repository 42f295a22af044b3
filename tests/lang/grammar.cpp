#include "grammar.hpp"

#include <doctest/doctest.h>

#include <string>
#include <string_view>
#include <vector>

#include "format.hpp"

using namespace bam;
using tree::Expr;
using tree::ExprKind;

namespace {

struct Parsed {
    Sources sources;
    Diagnostics diagnostics;
    tree::File file;

    explicit Parsed(std::string text) {
        auto const id = sources.add_model("m.bam", std::move(text), diagnostics);
        REQUIRE(id.has_value());
        file = parse(sources, *id, diagnostics);
    }
    std::string errors() const { return to_text(diagnostics, sources); }
    std::string_view text(Span span) const { return sources.text(span); }
    tree::Statement const& statement(std::size_t i = 0) const {
        REQUIRE_MESSAGE(diagnostics.empty(), errors());
        return file.sections.at(0).statements.at(i);
    }
};

Parsed statements(std::string const& text) { return Parsed("state {\n" + text + "\n}\n"); }

/// An expression with every operation in brackets of its own: (+ a (* b c)).
std::string show(Expr const& expr) {
    static std::vector<std::string> const heads{"",  "",   "",  "index ", "call ", "list", "= ", "- ", "'", "+",  "-",
                                                "*", ".*", "/", "^",      "==",    "!=",   "<",  "<=", ">", ">=", ".."};
    if (expr.kind == ExprKind::Number) return std::to_string(expr.value).substr(0, std::to_string(expr.value).find(".000000"));
    if (expr.kind == ExprKind::Text) return '"' + expr.text + '"';
    if (expr.kind == ExprKind::Name) return expr.text;
    std::string text = '(' + heads.at(static_cast<std::size_t>(expr.kind)) + (expr.kind == ExprKind::Negate ? "" : expr.text);
    for (Expr const& arg : expr.args) text += ' ' + show(arg);
    return text + ')';
}

std::string value(std::string const& text) { return show(statements("a = " + text).statement().rhs); }

struct Case {
    char const* text;
    int code;
    std::size_t line;
    std::size_t column;
    char const* says;  ///< part of the message, of a label or of a note
};

/// The one error of a text, and that it stands where it should.
void check_one(std::string const& text, Case const& expected) {
    CAPTURE(text);
    Parsed const parsed{text};
    CAPTURE(parsed.errors());
    REQUIRE(parsed.diagnostics.size() == 1);
    Diagnostic const& diagnostic = parsed.diagnostics.front();
    CHECK(diagnostic.code == expected.code);
    REQUIRE_FALSE(diagnostic.labels.empty());
    Position const place = parsed.sources.position(0, diagnostic.labels.front().span.begin);
    CHECK(place.line == expected.line);
    CHECK(place.column == expected.column);
    CHECK(parsed.errors().find(expected.says) != std::string::npos);
}

}  // namespace

TEST_SUITE_BEGIN("grammar");

TEST_CASE("grammar: a whole file") {
    Parsed const parsed(
        "bam 1  # version\n"
        "model attention\n"
        "use \"a/b.bam\"\n"
        "\n"
        "dims { sequence seq; time t; feat; unit = 2 }\n"
        "data {\n  x[seq, t, feat]\n  y[seq, t] missing\n}\n"
        "param\n{\n  a[t > 0] ~ normal(0.8, sd = 0.2)\n  c fixed [[1, 2],\n [3, 4]]\n}\n"
        "table { s = \"standard error\"; feat = [one = 1, Wt] }\n"
        "priors wide extends base {\n  a ~ flat()\n}\n"
        "priors { a ~ flat() }\n");
    REQUIRE_MESSAGE(parsed.diagnostics.empty(), parsed.errors());
    tree::File const& file = parsed.file;
    CHECK(file.version == 1);
    CHECK(parsed.text(file.version_span) == "bam 1");
    CHECK(file.model == "attention");
    REQUIRE(file.uses.size() == 1);
    CHECK(file.uses[0].path == "a/b.bam");
    CHECK(parsed.text(file.uses[0].span) == "use \"a/b.bam\"");
    CHECK(parsed.text(file.uses[0].path_span) == "\"a/b.bam\"");
    REQUIRE(file.sections.size() == 6);
    CHECK(parsed.text(file.sections[0].span) == "dims { sequence seq; time t; feat; unit = 2 }");
    auto const& dims = file.sections[0].statements;
    REQUIRE(dims.size() == 4);
    CHECK(dims[0].role == "sequence");
    CHECK(parsed.text(dims[1].role_span) == "time");
    CHECK(parsed.text(dims[1].span) == "time t");
    CHECK(dims[2].role.empty());
    CHECK(dims[2].kind == tree::StatementKind::Declare);
    CHECK(dims[3].kind == tree::StatementKind::Define);
    CHECK(file.sections[1].statements.at(1).missing);
    auto const& param = file.sections[2].statements;
    REQUIRE(param.size() == 2);
    CHECK(param[0].kind == tree::StatementKind::Sample);
    CHECK(show(param[0].lhs) == "(index a (> t 0))");
    CHECK(parsed.text(param[0].rhs.span) == "normal(0.8, sd = 0.2)");
    CHECK(parsed.text(param[0].rhs.args.at(1).name_span) == "sd");
    CHECK(param[1].kind == tree::StatementKind::Fixed);
    CHECK(show(param[1].rhs) == "(list (list 1 2) (list 3 4))");
    CHECK(parsed.text(param[1].span) == "c fixed [[1, 2],\n [3, 4]]");
    CHECK(file.sections[4].name == "wide");
    CHECK(parsed.text(file.sections[4].extends_span) == "base");
    CHECK(file.sections[5].name.empty());
}

TEST_CASE("grammar: words are keywords only in their places") {
    Parsed const parsed("dims { time; sequence; time time; model; state = 2 }\nstate { fixed fixed 1; missing = use + bam }\n");
    REQUIRE_MESSAGE(parsed.diagnostics.empty(), parsed.errors());
    auto const& dims = parsed.file.sections[0].statements;
    REQUIRE(dims.size() == 5);
    CHECK(dims[0].role.empty());
    CHECK(dims[2].role == "time");
    CHECK(parsed.file.sections[1].statements.at(0).kind == tree::StatementKind::Fixed);
}

TEST_CASE("grammar: names may have any letter") {
    Parsed const parsed = statements("\xCE\xB1_1 = \xCE\xB2[t]");
    CHECK(parsed.statement().lhs.text == "\xCE\xB1_1");
    CHECK(parsed.text(parsed.statement().rhs.span) == "\xCE\xB2[t]");
}

TEST_CASE("grammar: precedence") {
    CHECK(value("a + b * c") == "(+ a (* b c))");
    CHECK(value("a - b - c") == "(- (- a b) c)");
    CHECK(value("a * b .* c / d") == "(/ (.* (* a b) c) d)");
    CHECK(value("-a^2") == "(-  (^ a 2))");
    CHECK(value("-a * b") == "(* (-  a) b)");
    CHECK(value("a * -b'") == "(* a (-  (' b)))");
    CHECK(value("a^-b'") == "(^ a (-  (' b)))");
    CHECK(value("a'^2") == "(^ (' a) 2)");
    CHECK(value("h[t]' * q''") == "(* (' (index h t)) (' (' q)))");
    CHECK(value("a + b < c * d") == "(< (+ a b) (* c d))");
    CHECK(value("1..n + 1") == "(.. 1 (+ n 1))");
    CHECK(value("a == b .. c") == "(.. (== a b) c)");
    CHECK(value("(a + b) * c") == "(* (+ a b) c)");
    CHECK(value("f(a = 1, g())") == "(call f (= a 1) (call g))");
    CHECK(value("[one = 1, \"b c\" = x, \"d\"]") == "(list (= one 1) (= b c x) \"d\")");
    CHECK(value("a[t-1, t - lag, b = 0, c == 0]") == "(index a (- t 1) (- t lag) (= b 0) (== c 0))");
    CHECK(value("a < -b") == "(< a (-  b))");
}

TEST_CASE("grammar: numbers are read exactly") {
    CHECK(statements("a = 0.1").statement().rhs.value == 0.1);
    CHECK(statements("a = 6.02214076e+23").statement().rhs.value == 6.02214076e+23);
    CHECK(statements("a = 0.43588742912650104").statement().rhs.value == 0.43588742912650104);
    CHECK(statements("a = .5E-3").statement().rhs.value == 0.5e-3);
    CHECK(value("1.*x") == "(.* 1 x)");
    CHECK(value("1..3") == "(.. 1 3)");
    CHECK(value("1.5..x") == "(.. 1.500000 x)");
}

TEST_CASE("grammar: spans are those of the text") {
    Parsed const parsed = statements(" a = (b + c[t]) * -(d' ) ; e=f");
    Expr const& product = parsed.statement().rhs;
    CHECK(parsed.text(product.span) == "(b + c[t]) * -(d' )");
    CHECK(parsed.text(product.args[0].span) == "(b + c[t])");
    CHECK(parsed.text(product.args[0].args[1].span) == "c[t]");
    CHECK(parsed.text(product.args[0].args[1].name_span) == "c");
    CHECK(parsed.text(product.args[1].span) == "-(d' )");
    CHECK(parsed.text(product.args[1].args[0].span) == "(d' )");
    CHECK(parsed.text(parsed.statement().span) == "a = (b + c[t]) * -(d' )");
    CHECK(parsed.text(parsed.statement(1).span) == "e=f");
    Parsed const wrapped = statements("a = ((b[t])) + (f(x)) + ([1])");
    CHECK(wrapped.text(wrapped.statement().rhs.args[0].args[0].span) == "((b[t]))");
    CHECK(wrapped.text(wrapped.statement().rhs.args[0].args[1].span) == "(f(x))");
    CHECK(wrapped.text(wrapped.statement().rhs.args[1].span) == "([1])");
}

TEST_CASE("grammar: what is expected, and where") {
    for (Case const& c : std::vector<Case>{
             {"a = ", 20, 2, 4, "expected an expression, found the end of the line"},
             {"a = b +", 20, 2, 8, "expected an expression, found the end of the line"},
             {"a = ; b = 1", 20, 2, 5, "expected an expression, found `;`"},
             {"a = +", 20, 2, 5, "expected an expression, found `+`"},
             {"a = b c", 20, 2, 7, "expected an operator or the end of the statement, found `c`"},
             {"a b", 20, 2, 3, "expected `~`, `=`, `fixed` or the end of the statement, found `b`"},
             {"a missing = 1", 20, 2, 11, "expected the end of the statement, found `=`"},
             {"3 = a", 20, 2, 1, "expected a statement, found `3`"},
             {"a = f(b", 21, 2, 8, "expected `,` or `)`, found the end of the line"},
             {"a = f(b c)", 21, 2, 8, "expected `,` or `)`, found `c`"},
             {"a = (b]", 21, 2, 7, "expected `)`, found `]`"},
             {"a = [b, c)", 21, 2, 10, "expected `,` or `]`, found `)`"},
             {"a = x[", 20, 2, 7, "expected an expression, found the end of the line"},
             {"a = [1, 2; 3, 4]", 21, 2, 10, "the rows of a matrix are lists: `[[1, 2], [3, 4]]`"},
             {"a = f(b,)", 20, 2, 9, "expected an expression, found `)`"},
             {"a = b)", 21, 2, 6, "`)` closes nothing"},
             {"a = 1e999", 23, 2, 5, "a number out of range"},
             {"a = 2 x", 20, 2, 7, "a product is written with `*`"},
             {"a = f(2x)", 20, 2, 8, "a product is written with `*`"},
             {"a = f(b = 0 sd = 1)", 21, 2, 12, "expected `,` or `)`, found `sd`"},
             {"a half_cauchy(1)", 20, 2, 3, "write `~ half_cauchy`"},
             {"5a = 1", 20, 2, 1, "a name starts with a letter or `_`"},
             {"a = = 1", 20, 2, 5, "expected an expression, found `=`"},
             {"a = \"b", 24, 2, 5, "a quote that is not closed"},
         }) {
        std::string const text = std::string("state {\n") + c.text + "\nz = 1\n}\n";
        check_one(text, c);
        CHECK(Parsed(text).file.sections.at(0).statements.back().lhs.text == "z");
    }
}

TEST_CASE("grammar: habits from other languages are translated") {
    for (Case const& c : std::vector<Case>{
             {"k <- W * x", 25, 2, 3, "write `=`"},
             {"k := W * x", 25, 2, 3, "write `=`"},
             {"k = f(a := 1)", 25, 2, 9, "write `=`"},
             {"k == W * x", 25, 2, 3, "write `=`"},
             {"target += 3", 25, 2, 8, "each factor is a statement"},
             {"a = b ** 2", 29, 2, 7, "write `^`"},
             {"a = b %*% c", 29, 2, 7, "write `*`"},
             {"a = b @ c", 29, 2, 7, "write `*`"},
             {"a = b[1:3]", 29, 2, 8, "write `..`"},
             {"a = b^c^d", 28, 2, 8, "powers do not chain"},
             {"a = b < c < d", 28, 2, 11, "comparisons do not chain"},
             {"a = b = c", 20, 2, 7, "`==` compares"},
             {"a = b.c", 20, 2, 6, "names have letters, digits and `_`"},
             {"a = b[t][u]", 20, 2, 9, "indices stand in one pair"},
             {"a = (b)[t]", 20, 2, 8, "only a name has indices"},
             {"a = 'b c'", 24, 2, 5, "write `\"b c\"`"},
             {"log(y) ~ normal(0, 1)", 30, 2, 1, "transform the column in `table`"},
             {"real<lower=0> sigma", 26, 2, 1, "bam has no types"},
             {"vector[N] y", 26, 2, 1, "bam has no types"},
             {"for (i in 1:N) {\n y[i] <- dnorm(mu, tau)\n }", 27, 2, 1, "bam has no loops"},
             {"if (a > 0) { b = 1 }", 27, 2, 1, "bam has no conditionals"},
             {"a = b // c", 6, 2, 7, "write `#`"},
             {"a = b /* c */", 7, 2, 7, "a comment starts with `#`"},
         }) {
        std::string const text = std::string("state {\n") + c.text + "\nz = 1\n}\n";
        check_one(text, c);
        CHECK(Parsed(text).file.sections.at(0).statements.back().lhs.text == "z");
    }
}

TEST_CASE("grammar: sections and lines") {
    for (Case const& c : std::vector<Case>{
             {"parameters {\n a ~ flat()\n}", 11, 1, 1, "write `param`"},
             {"stat { a = 1 }", 11, 1, 1, "did you mean `state`?"},
             {"transformed data { a = 1 }", 11, 1, 1, "did you mean `table`?"},
             {"generated quantities { a = 1 }", 11, 1, 1, "did you mean `report`?"},
             {"model {\n y ~ normal(0, 1)\n}", 11, 1, 1, "priors go into `param`"},
             {"prior wide { a ~ flat() }", 11, 1, 1, "did you mean `priors`?"},
             {"whatever { a = 1 }", 11, 1, 1, "the sections are dims, data"},
             {"a = 1\nb = 2\n", 12, 1, 1, "outside of any section"},
             {"modle attention", 12, 1, 1, "write `model`"},
             {"state {\n a = 1\n", 13, 2, 7, "the section `state` is not closed"},
             {"state {\n a = 1\nparam {\n b ~ flat()\n}", 13, 2, 7, "expected `}` here"},
             {"state\n a = 1\n}", 13, 1, 6, "expected `{` here"},
             {"state { }\n}\n", 13, 2, 1, "no section is open here"},
             {"state wide { }", 15, 1, 7, "only `priors` have one"},
             {"priors extends base { }", 15, 1, 16, "priors without a name extend nothing"},
             {"priors a extends { }", 15, 1, 10, "`extends` does not belong here"},
             {"bam 2\nwhat { ever\n", 10, 1, 5, "this bam reads version 1"},
             {"dims { t }\nbam 1\n", 10, 2, 1, "the version line comes first"},
             {"bam x\n", 20, 1, 5, "expected a version number, found `x`"},
             {"model a\nmodel b\n", 14, 2, 7, "a file has one `model` line"},
             {"model\n", 20, 1, 6, "expected a name, found the end of the line"},
             {"use a\n", 20, 1, 5, "expected a text in double quotes, found `a`"},
             {"use \"a\" b\n", 20, 1, 9, "expected the end of the line, found `b`"},
         })
        check_one(c.text, c);
}

TEST_CASE("grammar: independent errors are reported in one run") {
    Parsed const parsed(
        "dims {\n feat 3\n out\n}\n"
        "param {\n a ~ normal(0, 1\n b ~ ; c ~ flat()\n d <- 2\n"
        "state {\n e = (f\n g = 1\n}\n");
    std::vector<int> codes;
    for (Diagnostic const& diagnostic : parsed.diagnostics) codes.push_back(diagnostic.code);
    CHECK(codes == std::vector<int>{20, 21, 20, 25, 13, 21});
    REQUIRE(parsed.file.sections.size() == 3);
    CHECK(parsed.file.sections[0].statements.size() == 1);
    CHECK(parsed.file.sections[1].statements.size() == 1);
    CHECK(parsed.file.sections[2].statements.size() == 1);
}

TEST_CASE("grammar: an unclosed bracket shows where it was opened") {
    CHECK(statements("a = f(b").errors() ==
          "error[BAM0021]: expected `,` or `)`, found the end of the line\n"
          "  --> m.bam:2:8\n"
          "    2 | a = f(b\n"
          "      |      - opened here\n"
          "      |        ^ `,` or `)` here\n");
}

TEST_CASE("grammar: an unknown section is read as the one that was meant") {
    Parsed const parsed("parameters {\n a ~ flat()\n b ~ \n}\n");
    CHECK(parsed.diagnostics.size() == 2);
    REQUIRE(parsed.file.sections.size() == 1);
    CHECK(parsed.file.sections[0].keyword == "param");
    CHECK(parsed.file.sections[0].statements.size() == 1);
}

TEST_CASE("grammar: deep nesting is an error and not a crash") {
    auto const repeat = [](std::string const& text, std::size_t count) {
        std::string all;
        for (std::size_t i = 0; i < count; ++i) all += text;
        return all;
    };
    constexpr std::size_t many = 100000;
    for (std::string const& text :
         std::vector<std::string>{repeat("(", many) + "x" + repeat(")", many), repeat("(", many), repeat("[", many) + repeat("]", many),
                                  repeat("-", many) + "x", "x" + repeat("'", many), "x" + repeat(" + x", many),
                                  repeat("f(", many) + repeat(")", many), repeat("f[a = ", many) + repeat("]", many)}) {
        Parsed const parsed = statements("a = " + text + "\nb = 1");
        REQUIRE(parsed.diagnostics.size() == 1);
        CHECK(parsed.diagnostics[0].code == 22);
        CHECK(parsed.file.sections.at(0).statements.size() == 1);
    }
    CHECK(statements("a = " + repeat("(", 190) + "x" + repeat(")", 190)).diagnostics.empty());
    CHECK(statements("a = x" + repeat(" + x", 900)).diagnostics.empty());
    CHECK(statements("a = [1" + repeat(", -1", many) + "]").diagnostics.empty());
}

TEST_CASE("grammar: any text ends, with errors in linear time") {
    auto const repeat = [](std::string const& text, std::size_t count) {
        std::string all;
        for (std::size_t i = 0; i < count; ++i) all += text;
        return all;
    };
    for (std::string const text :
         {"f (x {\n", "param {\n", "/*\n", "\"\n", "{\n", "}\n", "(;\n", "a a a ", "[;", "for (i in 1:N) {\n", "// x\n", "' "}) {
        CAPTURE(text);
        CHECK_FALSE(Parsed(repeat(text, 4000)).diagnostics.empty());
        CHECK_FALSE(Parsed("state {\n" + repeat(text, 4000)).diagnostics.empty());
    }
    CHECK(Parsed("").diagnostics.empty());
    CHECK(Parsed("\n\n# only a comment").diagnostics.empty());
}

TEST_CASE("print: a node a line with its place") {
    Parsed const parsed("bam 1\nstate {\n  h[t] = -a * \"b\"\n}\n");
    CHECK(print(parsed.file, parsed.sources) ==
          "file\n"
          "  version 1  1:1-1:6\n"
          "  section state  2:1-4:2\n"
          "    define  3:3-3:18\n"
          "      index h  3:3-3:7\n"
          "        name t  3:5-3:6\n"
          "      multiply  3:10-3:18\n"
          "        negate  3:10-3:12\n"
          "          name a  3:11-3:12\n"
          "        text \"b\"  3:15-3:18\n");
}

TEST_SUITE_END();
