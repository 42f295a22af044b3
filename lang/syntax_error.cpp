// Codes of this file:
//   BAM0011  an unknown section
//   BAM0012  something outside of any section
//   BAM0020  something else was expected
//   BAM0021  an unclosed bracket, or one that was never opened
//   BAM0022  nested too deeply
//   BAM0023  a number out of range
//   BAM0024  quotes: unclosed, or single ones around a text
//   BAM0025  an assignment sign of another language
//   BAM0026  a declaration with a type
//   BAM0027  a loop or a conditional
//   BAM0028  a chain of comparisons or of powers
//   BAM0029  an operator of another language
//   BAM0030  a left-hand side that is not a name
#include "syntax_error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "nearest.hpp"

namespace bam::syntax {
namespace {

bool is_name_start(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || static_cast<unsigned char>(c) >= 0x80; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_name_char(char c) { return is_name_start(c) || is_digit(c); }
bool is_blank(char c) { return c == ' ' || c == '\t'; }

bool is_one_of(std::string_view word, std::initializer_list<std::string_view> words) {
    return std::find(words.begin(), words.end(), word) != words.end();
}

std::size_t skip_blanks(std::string_view code, std::size_t at) {
    while (at < code.size() && is_blank(code[at])) ++at;
    return at;
}

std::string_view word_at(std::string_view code, std::size_t at) {
    std::size_t end = at;
    if (end < code.size() && is_name_start(code[end]))
        while (end < code.size() && is_name_char(code[end])) ++end;
    return code.substr(at, end - at);
}

std::string_view token_at(std::string_view code, std::size_t at) {
    if (at >= code.size() || code[at] == '\n') return {};
    if (is_name_char(code[at])) {
        std::size_t end = at;
        while (end < code.size() && is_name_char(code[end])) ++end;
        return code.substr(at, end - at);
    }
    if (code[at] == '"') {
        std::size_t const end = std::min(code.find_first_of("\"\n", at + 1), code.size());
        return code.substr(at, end - at + (end < code.size() && code[end] == '"' ? 1 : 0));
    }
    for (std::string_view const token : {"%*%", "<-", ":=", "==", "!=", "<=", ">=", "..", ".*", "**", "+=", "&&", "||"})
        if (code.substr(at).starts_with(token)) return code.substr(at, token.size());
    return code.substr(at, 1);
}

/// What there is to know of the place of a failure.
struct Place {
    Failure const& failure;
    std::string_view code = failure.source.code;
    std::string_view token = token_at(code, failure.where);  ///< empty at the end of the line
    std::string_view first = word_at(code, failure.begin);   ///< word of the statement
    std::size_t last_end = end_of_last_token();
    std::size_t token_end = failure.where + token.size();

    char previous() const { return last_end > failure.begin ? code[last_end - 1] : '\0'; }
    bool is_in_expression() const { return failure.open.has_value() || failure.stage == Stage::Value; }
    Span span(std::size_t begin, std::size_t end) const {
        return {failure.id, static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end)};
    }
    Span token_span() const { return token.empty() ? span(last_end, last_end) : span(failure.where, token_end); }
    std::string found() const {
        if (failure.where >= code.size()) return "the end of the file";
        return token.empty() ? "the end of the line" : fmt::format("`{}`", token);
    }

  private:
    std::size_t end_of_last_token() const {
        std::size_t end = std::min(failure.where, code.size());
        while (end > failure.begin && is_blank(code[end - 1])) --end;
        return end;
    }
};

Diagnostic error(int code, Span span, std::string message, std::string label, std::vector<std::string> notes = {}) {
    return {code, Severity::Error, std::move(message), {{span, std::move(label)}}, std::move(notes)};
}

using Explanation = std::optional<Diagnostic>;

Explanation limits(Place const& place) {
    if (place.failure.expected == nested_too_deeply)
        return error(22, place.token_span(), "nested too deeply", "",
                     {fmt::format("brackets nest up to {} deep, operators up to {}", deepest_bracket, highest_expression),
                      "give a part of it a name of its own in `state`"});
    if (place.failure.expected == number_in_range) {
        std::size_t const end = std::min(place.code.find_first_not_of("0123456789.eE+-", place.failure.where), place.code.size());
        return error(23, place.span(place.failure.where, end), "a number out of range",
                     "a number is a double: 0, or between 5e-324 and 1.7e308 in size");
    }
    return std::nullopt;
}

Explanation quotes(Place const& place) {
    std::size_t const where = place.failure.where;
    if (place.token.starts_with('"') && (place.token.size() == 1 || !place.token.ends_with('"')))
        return error(24, place.span(where, where + 1), "a quote that is not closed", "a text ends with `\"` on the same line");
    if (!place.token.starts_with('\'')) return std::nullopt;
    std::size_t const close = place.code.find_first_of("'\n", where + 1);
    if (close >= place.code.size() || place.code[close] == '\n') return std::nullopt;
    return error(24, place.span(where, close + 1), "a text in single quotes", "`'` is the transpose",
                 {fmt::format("write `\"{}\"`", place.code.substr(where + 1, close - where - 1))});
}

Explanation blocks(Place const& place) {
    Span const word = place.span(place.failure.begin, place.failure.begin + place.first.size());
    if (place.failure.stage != Stage::Target) return std::nullopt;
    if (is_one_of(place.first, {"for", "while"}) && place.token == "(")
        return error(27, word, fmt::format("`{}`: bam has no loops", place.first), "",
                     {"a statement holds for every index of its left side: `y[t] ~ normal(mu[t], sigma)`"});
    if (is_one_of(place.first, {"if", "else"}) && (place.token == "(" || place.token == "{"))
        return error(27, word, fmt::format("`{}`: bam has no conditionals", place.first), "",
                     {"a range on the left side says where a statement holds: `a[t > 0] ~ normal(0, 1)`"});
    if (is_one_of(place.first,
                  {"int", "real", "vector", "row_vector", "matrix", "array", "simplex", "ordered", "cov_matrix", "corr_matrix"}))
        return error(26, word, fmt::format("`{}`: bam has no types", place.first), "a shape is given by dims, as in `x[seq, t, feat]`",
                     {"a parameter is declared by its prior, `sigma ~ half_cauchy(1)`; a column in `data`, `x[seq, t, feat]`"});
    return std::nullopt;
}

Explanation assignments(Place const& place) {
    std::size_t const where = place.failure.where;
    auto const assignment = [&](std::size_t begin, std::size_t end) {
        return error(25, place.span(begin, end), fmt::format("`{}` does not define a name", place.code.substr(begin, end - begin)), "",
                     {"write `=`"});
    };
    bool const is_target = place.failure.stage == Stage::Target;
    if ((is_target && place.token == "<-") || place.token == ":=") return assignment(where, place.token_end);
    if (place.failure.stage == Stage::Value && where > place.failure.begin && place.code.substr(where - 1).starts_with("==") &&
        !place.failure.open)
        return assignment(where - 1, where + 1);
    if (is_target && place.token == "+=")
        return error(25, place.token_span(), "`+=`: nothing is added to a density", "",
                     {"each factor is a statement: `y[t] ~ normal(mu, sigma)` in `observe`"});
    if (is_target && place.token == "(")
        return error(30, place.span(place.failure.begin, place.token_end - 1), "a function on the left side",
                     "only a name, with or without indices, is defined or observed",
                     {"transform the column in `table`: `conc = log(Conc)`"});
    if (place.is_in_expression() && place.token == "=" && place.failure.expected != "an expression")
        return error(20, place.token_span(), fmt::format("expected {}, found `=`", place.failure.expected), "",
                     {"`==` compares; `name = value` is for a named argument, label or index"});
    return std::nullopt;
}

Explanation operators(Place const& place) {
    if (!place.is_in_expression()) return std::nullopt;
    std::size_t const where = place.failure.where;
    auto const foreign = [&](std::size_t begin, std::size_t end, std::string_view plain, std::string_view meaning) {
        return error(29, place.span(begin, end), fmt::format("`{}` is not an operator", place.code.substr(begin, end - begin)),
                     std::string{meaning}, {fmt::format("write `{}`", plain)});
    };
    if (place.token == "*" && place.code[where - 1] == '*') return foreign(where - 1, where + 1, "^", "a power is written `^`");
    if (place.token == "**") return foreign(where, where + 2, "^", "a power is written `^`");
    if (place.token == "%*%" || place.token == "@") return foreign(where, place.token_end, "*", "`*` is the matrix product");
    if (place.token == ":") return foreign(where, where + 1, "..", "a range is written `..`");
    if (is_one_of(place.token, {"<", "<=", ">", ">=", "==", "!="}) && place.failure.expected != "an expression")
        return error(28, place.token_span(), "comparisons do not chain", "a second comparison",
                     {"a comparison gives 0 or 1, so both hold where the product is 1: `(0 < dose) * (dose < 5)`"});
    if (place.token == "^")
        return error(28, place.token_span(), "powers do not chain", "a second power", {"put one of them in parentheses"});
    if (place.token == "[" && place.previous() == ']')
        return error(20, place.token_span(), "a second pair of brackets", "indices stand in one pair: `x[t, feat]`");
    if (place.token == "[" && place.failure.expected != "an expression")
        return error(20, place.token_span(), "only a name has indices", "this follows something else",
                     {"give it a name of its own in `state`"});
    if (place.token == "." && is_name_char(place.previous()))
        return error(20, place.token_span(), "a name with a dot", "names have letters, digits and `_`");
    bool const is_product = !place.token.empty() && is_name_start(place.token.front()) && is_digit(place.previous());
    if (is_product && place.failure.expected != "an expression" && (!place.failure.open || place.last_end == where))
        return error(20, place.token_span(), fmt::format("expected an operator, found `{}`", place.token), "",
                     {"a product is written with `*`"});
    return std::nullopt;
}

Explanation brackets(Place const& place) {
    if (is_one_of(place.token, {")", "]"}) && !place.failure.open && place.failure.expected != "an expression")
        return error(21, place.token_span(), fmt::format("`{}` closes nothing", place.token), "");
    if (!place.failure.open || !place.failure.expected.starts_with('`')) return std::nullopt;
    std::size_t const open = *place.failure.open;
    auto diagnostic =
        error(21, place.span(place.last_end, place.last_end), fmt::format("expected {}, found {}", place.failure.expected, place.found()),
              fmt::format("{} here", place.failure.expected));
    diagnostic.labels.push_back({place.span(open, open + 1), "opened here"});
    if (place.token == ";" && place.code[open] == '[') diagnostic.notes = {"the rows of a matrix are lists: `[[1, 2], [3, 4]]`"};
    bool const are_names =
        !place.token.empty() && is_name_start(place.token.front()) && is_name_char(place.previous()) && !is_digit(place.previous());
    if (are_names) diagnostic.notes = {"a product is written with `*`"};
    return diagnostic;
}

Diagnostic expected(Place const& place) {
    std::string what = place.failure.expected;
    bool const is_end = what == end_of_statement;
    if (is_end && place.failure.stage == Stage::Target) what = "`~`, `=`, `fixed` or " + what;
    if (is_end && place.failure.stage == Stage::Value) what = "an operator or " + what;
    bool const is_delimiter = what.starts_with('`') && !is_end;
    Span const span = is_delimiter ? place.span(place.last_end, place.last_end) : place.token_span();
    auto diagnostic = error(20, span, fmt::format("expected {}, found {}", what, place.found()), place.token.empty() ? what + " here" : "");
    if (what == "`..`") diagnostic.notes = {"an interval is written `in 0..1`, `in 0..` or `in ..1`"};
    bool const is_word = !place.token.empty() && is_name_start(place.token.front());
    bool const is_call = is_word && place.code.substr(place.token_end).starts_with('(');
    bool const is_name =
        place.token.size() > 1 && is_digit(place.token.front()) && std::any_of(place.token.begin(), place.token.end(), is_name_start);
    if (is_call && place.failure.stage == Stage::Target) diagnostic.notes = {fmt::format("write `~ {}`", place.token)};
    if (is_name) diagnostic.notes = {"a name starts with a letter or `_`"};
    return diagnostic;
}

}  // namespace

Diagnostic explain(Failure const& failure) {
    Place const place{failure};
    for (auto* const explanation : {limits, quotes, blocks, assignments, operators, brackets})
        if (Explanation diagnostic = explanation(place)) return *std::move(diagnostic);
    return expected(place);
}

std::vector<std::string> const& section_keywords() {
    static std::vector<std::string> const keywords{"dims", "data", "param", "state", "observe", "report", "table", "priors"};
    return keywords;
}

bool is_section_start(std::string_view code, std::size_t at, bool or_alone) {
    auto const& keywords = section_keywords();
    at = skip_blanks(code, at);
    std::string_view const first = word_at(code, at);
    if (first.empty()) return false;
    for (std::string_view word = first; !word.empty(); word = word_at(code, at)) at = skip_blanks(code, at + word.size());
    if (or_alone && (at >= code.size() || code[at] == '\n') && std::find(keywords.begin(), keywords.end(), first) != keywords.end())
        return true;
    while (at < code.size() && (is_blank(code[at]) || code[at] == '\n')) ++at;
    return at < code.size() && code[at] == '{';
}

Diagnostic unknown_section(Span keyword_span, std::string const& keyword, Span name_span, std::string const& name,
                           std::optional<std::string>& meant) {
    struct Habit {
        std::string_view words;
        std::string_view keyword;  ///< empty if it is more than one
        std::string_view note;
    };
    static constexpr std::array habits{
        Habit{"parameters", "param", "a parameter is declared by its prior: `sigma ~ half_cauchy(1)`"},
        Habit{"model", "", "priors go into `param`, definitions into `state`, what is observed into `observe`"},
        Habit{"transformed data", "table", "columns are transformed where they are bound: `conc = log(Conc)`"},
        Habit{"transformed parameters", "state", "definitions: `mu = a * x[t]`"},
        Habit{"generated quantities", "report", "what is computed of each draw: `ratio = a / b`"},
        Habit{"functions", "", "bam has no functions of the user's; a definition in `state` has a name"},
        Habit{"inits", "", "initial values are drawn; `bam fit --init` sets them"},
        Habit{"likelihood", "observe", "what is observed: `y[t] ~ normal(mu, sigma)`"},
        Habit{"observed", "observe", "what is observed: `y[t] ~ normal(mu, sigma)`"},
        Habit{"definitions", "state", "definitions: `mu = a * x[t]`"},
        Habit{"dimensions", "dims", "the dims: `time t`"},
        Habit{"columns", "table", "which columns are what: `seq = Subject`"},
    };
    auto const find = [](std::string_view text) {
        return std::find_if(habits.begin(), habits.end(), [&](Habit const& habit) { return habit.words == text; });
    };
    std::string const both = keyword + ' ' + name;
    bool const is_pair = find(both) != habits.end();  // `transformed data`; else the second word is a name, as in `prior wide {`
    auto const* const habit = find(is_pair ? both : keyword);
    Span const span{keyword_span.source, keyword_span.begin, is_pair ? name_span.end : keyword_span.end};
    auto diagnostic = error(11, span, fmt::format("there is no section `{}`", is_pair ? both : keyword), "");
    if (habit != habits.end()) {
        if (!habit->keyword.empty()) meant = habit->keyword;
        diagnostic.notes.emplace_back(habit->note);
    } else {
        meant = nearest(keyword, section_keywords());
    }
    if (meant) {
        diagnostic.labels.front().text = fmt::format("did you mean `{}`?", *meant);
        diagnostic.notes.insert(diagnostic.notes.begin(), fmt::format("write `{}`", *meant));
    } else if (diagnostic.notes.empty()) {
        diagnostic.notes = {"the sections are dims, data, param, state, observe, report, table and priors"};
    }
    return diagnostic;
}

Diagnostic outside(std::string_view code, Span span) {
    std::string_view const first = word_at(code, span.begin);
    if (auto const meant = nearest(first, {"bam", "model", "use"}); meant && !first.empty()) {
        span.end = span.begin + static_cast<std::uint32_t>(first.size());
        return error(12, span, fmt::format("`{}` starts nothing", first), fmt::format("did you mean `{}`?", *meant),
                     {fmt::format("write `{}`", *meant)});
    }
    return error(12, span, "outside of any section", "",
                 {"a section is `param { ... }`, or dims, data, state, observe, report, table, priors"});
}

std::size_t Recovery::find_end(std::size_t begin, std::size_t where) {
    if (!is_unbalanced_) {
        if (auto const end = scan(begin, where, true)) return *end;
        is_unbalanced_ = true;
    }
    return *scan(begin, where, false);
}

/// Nothing if braces are open at the end of the text, or where a line starts a section.
std::optional<std::size_t> Recovery::scan(std::size_t begin, std::size_t where, bool is_nesting) const {
    std::size_t brackets = 0;
    std::size_t braces = 0;
    std::optional<std::size_t> semicolon;  // inside of brackets; it ends the statement if they are not closed
    std::size_t at = begin;
    for (; at < code_.size(); ++at) {
        char const c = code_[at];
        if (c == '"') {
            at = std::min(code_.find_first_of("\"\n", at + 1), code_.size());
            if (at == code_.size() || code_[at] == '"') continue;
        }
        if (c == '(' || c == '[') ++brackets;
        if ((c == ')' || c == ']') && brackets > 0) --brackets;
        if (c == '{' && is_nesting) ++braces;
        if (c == '}' && braces == 0) break;
        if (c == '}' && --braces == 0) return at + 1;
        if (code_[at] == '\n') {
            if (braces == 0) break;
            auto const& keywords = section_keywords();
            auto const word = word_at(code_, skip_blanks(code_, at + 1));
            if (std::find(keywords.begin(), keywords.end(), word) != keywords.end() && is_section_start(code_, at + 1)) return std::nullopt;
        }
        if (c == ';' && braces == 0 && at >= where) {
            if (brackets == 0) return at;
            if (!semicolon) semicolon = at;
        }
    }
    if (braces > 0) return std::nullopt;
    return brackets > 0 && semicolon ? *semicolon : std::min(at, code_.size());
}

}  // namespace bam::syntax
