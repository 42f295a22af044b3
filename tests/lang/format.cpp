#include "format.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "grammar.hpp"

using namespace bam;

namespace {

struct Formatted {
    std::string text;
    std::string tree;                   ///< without places
    std::vector<std::string> comments;  ///< sorted, without blanks behind
};

/// The dump of a tree without its places.
std::string without_places(std::string const& dump) {
    std::string out;
    for (std::size_t at = 0; at < dump.size();) {
        std::size_t const end = dump.find('\n', at);
        std::string line = dump.substr(at, end - at);
        std::size_t const place = line.find_last_not_of("0123456789:-");
        bool const has_place =
            place != std::string::npos && place + 1 < line.size() && place > 0 && line[place] == ' ' && line[place - 1] == ' ';
        out += (has_place ? line.substr(0, place - 1) : line) + '\n';
        at = end + 1;
    }
    return out;
}

Formatted format_of(std::string const& text) {
    Sources sources;
    Diagnostics diagnostics;
    auto const id = sources.add_model("m.bam", text, diagnostics);
    REQUIRE(id.has_value());
    tree::File const file = parse(sources, *id, diagnostics);
    CAPTURE(to_text(diagnostics, sources));
    REQUIRE(diagnostics.empty());
    Formatted formatted{format(file, sources), without_places(print(file, sources)), {}};
    for (Comment const& comment : sources[*id].comments) {
        std::string const comment_text{sources.text(comment.span)};
        formatted.comments.push_back(comment_text.substr(0, comment_text.find_last_not_of(" \t") + 1));
    }
    std::sort(formatted.comments.begin(), formatted.comments.end());
    return formatted;
}

/// What must hold of any text; gives the formatted one.
std::string check_formatted(std::string const& text) {
    Formatted const once = format_of(text);
    CAPTURE(text);
    CAPTURE(once.text);
    Formatted const twice = format_of(once.text);
    CHECK(twice.text == once.text);
    CHECK(twice.tree == once.tree);
    CHECK(twice.comments == once.comments);
    return once.text;
}

std::string state_of(std::string const& statements) {
    std::string const text = check_formatted("state {\n" + statements + "\n}\n");
    return text.substr(8, text.size() - 8 - 2);
}

/// Texts of the language, by a counter and a hash (splitmix64), the same everywhere.
class Writer {
  public:
    explicit Writer(std::uint64_t seed) : state_(seed) {}

    std::string file() {
        std::string text = pick({"", "bam 1", "bam 1\n\n"}) + rest_of_line();
        if (one_in(2)) text += "model m" + rest_of_line();
        for (std::size_t i = 0; i < 3; ++i) {
            if (one_in(3)) text += "use \"other.bam\"" + rest_of_line();
            text += pick({"param", "state", "table", "priors", "priors wide", "priors wide extends base"}) +
                    pick({" ", "", "\n", " # c\n"}) + "{" + pick({"", rest_of_line()});
            for (std::size_t j = one_in(8) ? 0 : 1 + below(4); j > 0; --j) text += statement() + (one_in(4) ? "; " : rest_of_line());
            text += "}" + rest_of_line();
        }
        return text;
    }

  private:
    std::uint64_t next() {
        std::uint64_t z = (state_ += 0x9E3779B97F4A7C15U);
        z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9U;
        z = (z ^ (z >> 27U)) * 0x94D049BB133111EBU;
        return z ^ (z >> 31U);
    }
    std::size_t below(std::size_t bound) { return static_cast<std::size_t>(next() % bound); }
    bool one_in(std::size_t bound) { return below(bound) == 0; }
    std::string pick(std::vector<std::string> const& options) { return options[below(options.size())]; }

    std::string rest_of_line() {
        return pick({"\n", "\n", "\n\n", " # a comment \n", "\n# own \xC3\xA9\n", "\n\n\n  #own\r\n\n", ";\n", "\r\n"});
    }
    /// Between tokens; newlines and comments only inside of brackets.
    std::string gap() {
        return depth_ == 0 ? pick({"", " ", "\t "}) : one_in(12) ? pick({"\n", " # in\n", "\n # own\n  "}) : pick({"", " "});
    }
    std::string name() { return pick({"a", "b_2", "W", "\xCE\xB1", "a_name_of_some_length"}); }

    std::string statement() {
        switch (below(5)) {
            case 0: return pick({"time t", "sequence seq", "x missing", "feat"});
            case 1: return target() + " fixed " + expression(3);
            case 2: return target() + gap() + "~" + gap() + "normal" + group("(", ")", 3) + (one_in(2) ? "" : ends());
            default: return target() + gap() + "=" + gap() + expression(5);
        }
    }
    std::string ends() { return gap() + "in" + pick({" ", " -"}) + wrapped(2) + gap() + ".." + gap() + pick({"", "1", "-" + wrapped(1)}); }
    std::string target() { return one_in(2) ? name() : name() + group("[", "]", 1); }

    std::string group(std::string const& open, std::string const& close, std::size_t height) {
        ++depth_;
        std::string text = open + gap();
        for (std::size_t i = 0, count = one_in(10) ? 30 : 1 + below(4); i < count; ++i) {
            if (i > 0) text += "," + gap();
            if (one_in(4)) text += pick({"sd", "\"a b\"", "one"}) + gap() + "=" + gap();
            text += expression(height) + gap();
        }
        --depth_;
        return text + close;
    }

    std::string expression(std::size_t height) {
        if (height == 0) return pick({"1", "0.10", "2e-3", name(), "\"a # b\"", name()});
        switch (below(8)) {
            case 0: return name() + group("[", "]", height - 1);
            case 1: return name() + group("(", ")", height - 1);
            case 2: return group("[", "]", height - 1);
            case 3: return wrapped(height - 1) + "'";
            case 4: return "-" + gap() + wrapped(height - 1);
            case 5: return wrapped(height - 1) + "^" + wrapped(height - 1);
            case 6: return wrapped(height - 1);
            default: {
                std::string const operation = pick({"+", "-", "*", ".*", "/", " <", ">=", "==", ".."});
                return wrapped(height - 1) + gap() + operation + gap() + wrapped(height - 1);
            }
        }
    }
    std::string wrapped(std::size_t height) {
        ++depth_;
        std::string text = "(" + gap() + expression(height) + gap() + ")";
        --depth_;
        return text;
    }

    std::uint64_t state_;
    std::size_t depth_ = 0;
};

}  // namespace

TEST_SUITE_BEGIN("format");

TEST_CASE("format: blanks and semicolons") {
    CHECK(state_of("k=W*x[ t ] ;q =-a ;  b = f( x,sd=1 )  # c") == "  k = W * x[t]\n  q = -a\n  b = f(x, sd = 1)  # c\n");
    CHECK(state_of("a=b[t - 1,t-lag,1 .. 3 ,c = 0]") == "  a = b[t-1, t - lag, 1..3, c = 0]\n");
}

TEST_CASE("format: only parentheses that are needed") {
    CHECK(state_of("a = ((b)) * (c * d) + (e * f) - (g + h)") == "  a = b * (c * d) + e * f - (g + h)\n");
    CHECK(state_of("a = (-b)^2 + -(b^2) + (b')' + (-b)' + (b^2)'") == "  a = (-b)^2 + -b^2 + b'' + (-b)' + (b^2)'\n");
    CHECK(state_of("a = b^(-c) + b^(-(-c)) + b^(c^d) + (b^c)^d") == "  a = b^-c + b^-(-c) + b^(c^d) + (b^c)^d\n");
    CHECK(state_of("a = (b < c) < d") == "  a = (b < c) < d\n");
    CHECK(state_of("a = (1..2)..(3..4)") == "  a = (1..2)..(3..4)\n");
    CHECK(state_of("a = -(-b) - -(b + c)") == "  a = --b - -(b + c)\n");
}

TEST_CASE("format: numbers and texts are as they were") {
    CHECK(state_of("a = [0.10, 1e-3, .5, \"b # c\"]") == "  a = [0.10, 1e-3, .5, \"b # c\"]\n");
    CHECK(state_of("a = [\"b c\" = 1, \"d\" = 2]") == "  a = [\"b c\" = 1, d = 2]\n");
}

TEST_CASE("format: intervals") {
    CHECK(state_of("a ~ normal( 0,1 )  in   0 ..  1 ; b~flat()in -1..") == "  a ~ normal(0, 1) in 0..1\n  b ~ flat() in -1..\n");
    CHECK(state_of("a ~ f() in .. (2)\nb ~ f() in (1..2)..(3 + 4)") == "  a ~ f() in ..2\n  b ~ f() in (1..2)..3 + 4\n");
}

TEST_CASE("format: a file") {
    CHECK(check_formatted("# head\n\n\nbam   1\nmodel m\ndims{ sequence  seq;time t\n\n\n unit=2}\nuse \"a\"\nparam\n{\na ~ "
                          "flat()\n\n\nb[t>0] fixed 1\n}\n"
                          "priors  wide   extends base{}") ==
          "# head\n"
          "\n"
          "bam 1\n"
          "model m\n"
          "\n"
          "dims {\n"
          "  sequence seq\n"
          "  time t\n"
          "\n"
          "  unit = 2\n"
          "}\n"
          "\n"
          "use \"a\"\n"
          "\n"
          "param {\n"
          "  a ~ flat()\n"
          "\n"
          "  b[t > 0] fixed 1\n"
          "}\n"
          "\n"
          "priors wide extends base {\n"
          "}\n");
    CHECK(check_formatted("") == "");
    CHECK(check_formatted("# a\n\n\n# b") == "# a\n\n# b\n");
}

TEST_CASE("format: columns of operators and comments") {
    CHECK(check_formatted("param {\na ~ flat() # one\nW[unit, feat] ~ normal(0, 1) # two\n\nbb fixed 1\nc ~ flat()\n}\n") ==
          "param {\n"
          "  a             ~ flat()        # one\n"
          "  W[unit, feat] ~ normal(0, 1)  # two\n"
          "\n"
          "  bb fixed 1\n"
          "  c  ~ flat()\n"
          "}\n");
}

TEST_CASE("format: comments stay where they are") {
    CHECK(check_formatted("param { # in\n# own\na ~ flat() # behind\n\n# last\n} # close\n# end") ==
          "param {  # in\n"
          "  # own\n"
          "  a ~ flat()  # behind\n"
          "\n"
          "  # last\n"
          "}  # close\n"
          "\n"
          "# end\n");
    CHECK(state_of("a = [ # first\none = 1, # 1\n # own\ntwo = 2 # 2\n # end\n]") ==
          "  a = [\n"
          "    # first\n"
          "    one = 1,  # 1\n"
          "    # own\n"
          "    two = 2  # 2\n"
          "    # end\n"
          "  ]\n");
}

TEST_CASE("format: a comment inside of an operation moves in front of the statement") {
    CHECK(state_of("a = (b # c\n + d) # e") == "  # c\n  a = b + d  # e\n");
}

TEST_CASE("format: long brackets have an entry a line, numbers are filled") {
    std::string const name(40, 'n');
    CHECK(state_of("a ~ normal(" + name + " + b, sd = c)") == "  a ~ normal(" + name + " + b, sd = c)\n");
    CHECK(state_of("a ~ normal(" + name + " + " + name + ", sd = " + name + ")") ==
          "  a ~ normal(\n    " + name + " + " + name + ",\n    sd = " + name + "\n  )\n");
    CHECK(state_of("a = f(b, g[\nc], d)") == "  a = f(\n    b,\n    g[\n      c\n    ],\n    d\n  )\n");
    CHECK(state_of("a = [[1, 0],\n[0, 1]]") == "  a = [\n    [1, 0],\n    [0, 1]\n  ]\n");
    std::string numbers = "1";
    for (int i = 0; i < 40; ++i) numbers += ", -1";
    std::string const filled = state_of("a = [" + numbers + "]");
    CHECK(filled.substr(0, 16) == "  a = [\n    1, -");
    CHECK(filled.find('\n', 8) < 110);
}

TEST_CASE("format: random files keep their tree and their comments") {
    for (std::uint64_t seed = 1; seed <= 100; ++seed) {
        CAPTURE(seed);
        check_formatted(Writer{seed}.file());
    }
}

TEST_SUITE_END();
