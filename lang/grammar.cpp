// The grammar. How it is written, and why, in Boost.Spirit X3 (1.74):
//   - `code` of the source has no comments and a newline only where a statement may end: blanks are two characters, never `x3::space`;
//   - no two alternatives share more than a token, so nothing is parsed twice; what is behind `>` must follow, and every operand of it is a
//     rule whose name is what a user reads;
//   - only `statement` and `line` handle a failure: they report it, go to the next one and count as parsed;
//   - missing braces are put in (`eps[...]`), so that a section that is not closed does not hide the errors of the next.
// What the rules do that is no parsing is in reader.cpp, what is said of a failure in syntax_error.cpp.
#include "grammar.hpp"

#include <algorithm>
#include <boost/spirit/home/x3.hpp>
#include <charconv>
#include <functional>
#include <string>
#include <utility>

#include "reader.hpp"

namespace boost::spirit::x3 {

/// What was expected is what the user reads: a rule's name, also where an action hangs on it.
template <typename Subject, typename Action>
struct get_info<action<Subject, Action>> {
    using result_type = std::string;
    std::string operator()(action<Subject, Action> const& parser) const { return what(parser.subject); }
};

}  // namespace boost::spirit::x3

namespace bam {
namespace {

namespace x3 = boost::spirit::x3;
using syntax::Stage;
using tree::Expr;
using tree::ExprKind;
using tree::StatementKind;
using Iterator = char const*;
using syntax::Reader;
using syntax::Token;

/// An expression and the height of its tree.
struct Node {
    Expr expr;
    std::uint32_t height = 1;
};

struct ReaderTag;

template <typename Context>
Reader& reader(Context const& context) {
    return x3::get<ReaderTag>(context).get();
}

[[noreturn]] void stop(Iterator at, char const* expected) { throw x3::expectation_failure<Iterator>(at, expected); }

// ---- what the rules do -------------------------------------------------------------------------------------------------------------

/// Makes `expr` of a kind from operands; the first gives the begin of its span, the last the end.
Node node_of(ExprKind kind, std::vector<Node>&& operands, Reader const& reader) {
    Node node;
    node.expr.kind = kind;
    node.expr.span = {reader.file.source, operands.front().expr.span.begin, operands.back().expr.span.end};
    for (Node& operand : operands) {
        node.height = std::max(node.height, operand.height + 1);
        node.expr.args.push_back(std::move(operand.expr));
    }
    if (node.height > syntax::highest_expression) stop(reader.base() + node.expr.span.begin, syntax::nested_too_deeply);
    return node;
}

template <typename... Operands>
Node node_of(ExprKind kind, Reader const& reader, Operands&&... operands) {
    std::vector<Node> all;
    (all.push_back(std::forward<Operands>(operands)), ...);
    return node_of(kind, std::move(all), reader);
}

constexpr auto take = [](auto& ctx) { x3::_val(ctx) = std::move(x3::_attr(ctx)); };

/// `_val` becomes `_val OP _attr`.
constexpr auto join(ExprKind kind) {
    return [kind](auto& ctx) { x3::_val(ctx) = node_of(kind, reader(ctx), std::move(x3::_val(ctx)), std::move(x3::_attr(ctx))); };
}

constexpr auto negate = [](auto& ctx) {
    Reader& in = reader(ctx);
    x3::_val(ctx) = node_of(ExprKind::Negate, in, std::move(x3::_attr(ctx)));
    x3::_val(ctx).expr.span.begin = static_cast<std::uint32_t>(in.minus.back());
    in.minus.pop_back();
};

/// Extends the expression to the sign that was just read.
constexpr auto reach = [](auto& ctx) {
    x3::_val(ctx).expr.span.end = static_cast<std::uint32_t>(reader(ctx).offset(x3::_where(ctx).begin()));
};
constexpr auto transpose = [](auto& ctx) {
    x3::_val(ctx) = node_of(ExprKind::Transpose, reader(ctx), std::move(x3::_val(ctx)));
    reach(ctx);
};

constexpr auto set_token = [](auto& ctx, ExprKind kind) {
    Expr& expr = x3::_val(ctx).expr;
    expr.kind = kind;
    expr.text = std::move(x3::_attr(ctx).text);
    expr.name_span = x3::_attr(ctx).span;
    expr.span = expr.name_span;
};
constexpr auto set_name = [](auto& ctx) { set_token(ctx, ExprKind::Name); };
constexpr auto set_text = [](auto& ctx) { set_token(ctx, ExprKind::Text); };

constexpr auto set_number = [](auto& ctx) {
    Token const& token = x3::_attr(ctx);
    Expr& expr = x3::_val(ctx).expr;
    expr.kind = ExprKind::Number;
    expr.span = expr.name_span = token.span;
    auto const [end, problem] = std::from_chars(token.text.data(), token.text.data() + token.text.size(), expr.value);
    if (problem != std::errc{}) stop(reader(ctx).base() + token.span.begin, syntax::number_in_range);
};

constexpr auto become(ExprKind kind) {
    return [kind](auto& ctx) { x3::_val(ctx).expr.kind = kind; };
}
constexpr auto set_arguments = [](auto& ctx) {
    x3::_val(ctx).expr.args = std::move(x3::_attr(ctx).expr.args);
    x3::_val(ctx).height = x3::_attr(ctx).height;
};

constexpr auto add_argument = [](auto& ctx) {
    Node& node = x3::_val(ctx);
    node.height = std::max(node.height, x3::_attr(ctx).height + 1);
    node.expr.args.push_back(std::move(x3::_attr(ctx).expr));
    if (node.height > syntax::highest_expression) stop(reader(ctx).base() + node.expr.args.back().span.begin, syntax::nested_too_deeply);
};

constexpr auto set_assigned = [](auto& ctx) {
    x3::_val(ctx).height = x3::_attr(ctx).height + 1;
    x3::_val(ctx).expr.span.end = x3::_attr(ctx).expr.span.end;
    x3::_val(ctx).expr.args.push_back(std::move(x3::_attr(ctx).expr));
};
constexpr auto set_assign = [](auto& ctx) { set_token(ctx, ExprKind::Assign); };

constexpr auto open_bracket = [](auto& ctx) {
    Reader& in = reader(ctx);
    Iterator const at = x3::_where(ctx).begin() - 1;
    if (in.is_full()) stop(at, syntax::nested_too_deeply);
    in.open.push_back(in.offset(at));
};
constexpr auto close_named = [](auto& ctx) {
    reader(ctx).open.pop_back();
    reach(ctx);
};
constexpr auto close_bracket = [](auto& ctx) {
    Span& span = x3::_val(ctx).expr.span;
    span.source = reader(ctx).file.source;  // a list has no token that would say so
    span.begin = static_cast<std::uint32_t>(reader(ctx).open.back());
    close_named(ctx);
};
constexpr auto open_minus = [](auto& ctx) {
    Reader& in = reader(ctx);
    if (in.is_full()) stop(x3::_where(ctx).begin() - 1, syntax::nested_too_deeply);
    in.minus.push_back(in.offset(x3::_where(ctx).begin() - 1));
};

constexpr auto start_statement = [](auto& ctx) { reader(ctx).start(x3::_where(ctx).begin(), Stage::Start); };
constexpr auto start_line = [](auto& ctx) { reader(ctx).start(x3::_where(ctx).begin(), Stage::Line); };
constexpr auto set_role = [](auto& ctx) {
    x3::_val(ctx).role = std::move(x3::_attr(ctx).text);
    x3::_val(ctx).role_span = x3::_attr(ctx).span;
};
constexpr auto set_target = [](auto& ctx) {
    x3::_val(ctx).lhs = std::move(x3::_attr(ctx).expr);
    reader(ctx).stage = Stage::Target;
};
constexpr auto set_missing = [](auto& ctx) {
    x3::_val(ctx).missing = true;
    reader(ctx).stage = Stage::Missing;
};
constexpr auto start_label_dim = [](auto& ctx) {
    Reader& in = reader(ctx);
    in.stage = Stage::Missing;
    std::size_t const end = in.offset(x3::_where(ctx).begin());
    x3::_val(ctx).label_dim_span = in.span(end - 2, end);
};
constexpr auto set_label_dim = [](auto& ctx) {
    x3::_val(ctx).label_dim = std::move(x3::_attr(ctx).text);
    x3::_val(ctx).label_dim_span.end = x3::_attr(ctx).span.end;
};
constexpr auto start_value = [](auto& ctx) { reader(ctx).stage = Stage::Value; };
constexpr auto set_value(StatementKind kind) {
    return [kind](auto& ctx) {
        x3::_val(ctx).kind = kind;
        x3::_val(ctx).rhs = std::move(x3::_attr(ctx).expr);
    };
}

constexpr auto start_ends = [](auto& ctx) {
    Reader& in = reader(ctx);
    std::size_t const end = in.offset(x3::_where(ctx).begin());
    x3::_val(ctx).ends.emplace().span = in.span(end - 2, end);
};
constexpr auto set_low = [](auto& ctx) { x3::_val(ctx).ends->low = std::move(x3::_attr(ctx).expr); };
constexpr auto set_high = [](auto& ctx) { x3::_val(ctx).ends->high = std::move(x3::_attr(ctx).expr); };
constexpr auto finish_ends = [](auto& ctx) { reader(ctx).close(x3::_val(ctx).ends->span, x3::_where(ctx).begin()); };

constexpr auto finish_statement = [](auto& ctx) { x3::_val(ctx).span = reader(ctx).started(x3::_where(ctx).begin()); };

constexpr auto add_statement = [](auto& ctx) {
    if (!std::exchange(reader(ctx).has_failed, false)) x3::_val(ctx).statements.push_back(std::move(x3::_attr(ctx)));
};

/// A heading; without its `{` only if `or_alone`.
constexpr auto is_at_section(bool or_alone) {
    return [or_alone](auto& ctx) { x3::_pass(ctx) = reader(ctx).is_section_start(x3::_where(ctx).begin(), or_alone); };
}

constexpr auto set_keyword = [](auto& ctx) {
    x3::_val(ctx).keyword = std::move(x3::_attr(ctx).text);
    x3::_val(ctx).keyword_span = x3::_attr(ctx).span;
};
constexpr auto set_section_name = [](auto& ctx) {
    x3::_val(ctx).name = std::move(x3::_attr(ctx).text);
    x3::_val(ctx).name_span = x3::_attr(ctx).span;
};
constexpr auto set_extends = [](auto& ctx) {
    x3::_val(ctx).extends = std::move(x3::_attr(ctx).text);
    x3::_val(ctx).extends_span = x3::_attr(ctx).span;
};

constexpr auto extra_word = [](auto& ctx) { reader(ctx).extra_word(x3::_attr(ctx)); };
constexpr auto check_heading = [](auto& ctx) { reader(ctx).check_heading(x3::_val(ctx)); };
constexpr auto open_section = [](auto& ctx) { reader(ctx).open_section(x3::_where(ctx).begin() - 1); };
constexpr auto miss_open = [](auto& ctx) { reader(ctx).miss_open(x3::_where(ctx).begin()); };
constexpr auto close_section = [](auto& ctx) { reader(ctx).close_section(x3::_val(ctx), x3::_where(ctx).begin()); };
constexpr auto miss_close = [](auto& ctx) { reader(ctx).miss_close(x3::_val(ctx), x3::_where(ctx).begin()); };
constexpr auto stray_close = [](auto& ctx) { reader(ctx).stray_close(x3::_where(ctx).begin() - 1); };
constexpr auto add_section = [](auto& ctx) { reader(ctx).add(std::move(x3::_attr(ctx))); };

constexpr auto is_readable = [](auto& ctx) { x3::_pass(ctx) = !reader(ctx).is_other_version; };
constexpr auto set_version = [](auto& ctx) { reader(ctx).set_version(x3::_attr(ctx)); };
constexpr auto set_model = [](auto& ctx) { reader(ctx).set_model(x3::_attr(ctx)); };
constexpr auto add_use = [](auto& ctx) { reader(ctx).add_use(x3::_attr(ctx)); };

// ---- what a rule does when it has matched, and when it has failed ----------------------------------------------------------------------

struct TokenRule {
    template <typename Context>
    void on_success(Iterator const& first, Iterator const& last, Token& token, Context const& context) {
        Reader const& in = reader(context);
        token.span = in.span(in.offset(first), in.offset(last));
        bool const is_quoted = *first == '"';
        token.text = is_quoted ? std::string{first + 1, last - 1} : std::string{first, last};
    }
    template <typename Context>
    void on_success(Iterator const&, Iterator const&, x3::unused_type, Context const&) {}
};

struct StatementId {
    template <typename Context>
    x3::error_handler_result on_error(Iterator& first, Iterator const&, x3::expectation_failure<Iterator> const& failure,
                                      Context const& context) {
        first = reader(context).fail_statement(failure.where(), failure.which());
        return x3::error_handler_result::accept;
    }
};

struct LineId {
    template <typename Context>
    x3::error_handler_result on_error(Iterator& first, Iterator const& last, x3::expectation_failure<Iterator> const& failure,
                                      Context const& context) {
        reader(context).fail(failure.where(), failure.which());
        first = std::find(first, last, '\n');
        return x3::error_handler_result::accept;
    }
};

struct OutsideId {
    template <typename Context>
    x3::error_handler_result on_error(Iterator& first, Iterator const&, x3::expectation_failure<Iterator> const& failure,
                                      Context const& context) {
        first = reader(context).skip_outside(failure.where());
        return x3::error_handler_result::accept;
    }
};

// ---- the rules -------------------------------------------------------------------------------------------------------------------------

template <int>
struct TokenId : TokenRule {};
template <int>
struct NodeId;

x3::rule<TokenId<0>, Token> const name{"a name"};
x3::rule<TokenId<1>, Token> const quoted{"a text in double quotes"};
x3::rule<TokenId<2>, Token> const digits{"a version number"};
x3::rule<TokenId<3>, Token> const numeral{"a number"};
x3::rule<TokenId<4>, Token> const role{"a role"};

x3::rule<NodeId<0>, Node> const expression{"an expression"};
x3::rule<NodeId<1>, Node> const comparison{"an expression"};
x3::rule<NodeId<2>, Node> const sum{"an expression"};
x3::rule<NodeId<3>, Node> const product{"an expression"};
x3::rule<NodeId<4>, Node> const unary{"an expression"};
x3::rule<NodeId<5>, Node> const power{"an expression"};
x3::rule<NodeId<6>, Node> const exponent{"an expression"};
x3::rule<NodeId<7>, Node> const postfix{"an expression"};
x3::rule<NodeId<8>, Node> const primary{"an expression"};
x3::rule<NodeId<9>, Node> const argument{"an expression"};
x3::rule<NodeId<10>, Node> const arguments{"an expression"};
x3::rule<NodeId<11>, Node> const target{"a statement"};

x3::rule<struct CloseRoundId> const close_round{"`)`"};
x3::rule<struct CloseCallId> const close_call{"`,` or `)`"};
x3::rule<struct CloseSquareId> const close_square{"`,` or `]`"};
x3::rule<struct StatementEndId> const statement_end{syntax::end_of_statement};
x3::rule<struct DotsId> const dots{"`..`"};
x3::rule<struct LineEndId> const line_end{"the end of the line"};
x3::rule<struct NothingId> const nothing{"a section"};

x3::rule<StatementId, tree::Statement> const statement{"a statement"};
x3::rule<struct SectionId, tree::Section> const section{"a section"};
x3::rule<LineId> const line{"a line"};
x3::rule<OutsideId> const outside{"a section"};
x3::rule<struct FileId> const file{"a file"};

auto const name_start = x3::char_("a-zA-Z_\x80-\xff");
auto const name_char = x3::char_("a-zA-Z_0-9\x80-\xff");
auto const digit = x3::char_("0-9");
auto const blank = x3::char_(" \t");
auto const separator = x3::omit[x3::char_("\n;")];
auto const newlines = x3::omit[*x3::char_('\n')];
auto const word = [](char const* text) { return x3::omit[x3::lexeme[x3::lit(text) >> !name_char]]; };

auto const name_def = x3::omit[x3::lexeme[name_start >> *name_char]];
auto const quoted_def = x3::omit[x3::lexeme['"' >> *(x3::char_ - x3::char_("\"\n")) >> '"']];
auto const digits_def = x3::omit[x3::lexeme[+digit]];
auto const numeral_def =
    x3::omit[x3::lexeme[((+digit >> -('.' >> +digit)) | ('.' >> +digit)) >> -(x3::char_("eE") >> -x3::char_("+-") >> +digit)]];

auto const list_start = x3::lit('[')[open_bracket];
auto const call_start = x3::lit('(')[open_bracket];
auto const close_round_def = x3::lit(')');
auto const close_call_def = x3::lit(')');
auto const close_square_def = x3::lit(']');
auto const dots_def = x3::lit("..");

auto const expression_def = comparison[take] >> -(".." > !x3::lit('.') > comparison[join(ExprKind::Range)]);
auto const comparison_def = sum[take] >> -(("==" > sum[join(ExprKind::Equal)]) | ("!=" > sum[join(ExprKind::NotEqual)]) |
                                           ("<=" > sum[join(ExprKind::LessEqual)]) | (">=" > sum[join(ExprKind::GreaterEqual)]) |
                                           ('<' > sum[join(ExprKind::Less)]) | ('>' > sum[join(ExprKind::Greater)]));
auto const sum_def = product[take] >> *(('+' > product[join(ExprKind::Add)]) | ('-' > product[join(ExprKind::Subtract)]));
auto const product_def = unary[take] >> *((".*" > unary[join(ExprKind::ElementwiseMultiply)]) | ('*' > unary[join(ExprKind::Multiply)]) |
                                          ('/' > unary[join(ExprKind::Divide)]));
auto const unary_def = (x3::lit('-')[open_minus] > unary[negate]) | power[take];
auto const power_def = postfix[take] >> -('^' > exponent[join(ExprKind::Power)]);
auto const exponent_def = (x3::lit('-')[open_minus] > postfix[negate]) | postfix[take];
auto const postfix_def = primary[take] >> *x3::lit('\'')[transpose];
auto const indices = list_start[become(ExprKind::Index)] > arguments[set_arguments] > close_square[close_named];
auto const call = call_start[become(ExprKind::Call)] > (&x3::lit(')') | arguments[set_arguments]) > close_call[close_named];
auto const list = list_start[become(ExprKind::List)] > arguments[set_arguments] > close_square[close_bracket];
auto const primary_def = numeral[set_number] | quoted[set_text] | (name[set_name] >> -(indices | call)) |
                         (call_start > expression[take] > close_round[close_bracket]) | list;
auto const assign_start = (name | quoted) >> '=' >> !x3::lit('=');
auto const argument_def =
    ((x3::omit[&assign_start] >> (name[set_assign] | quoted[set_assign])) > '=' > expression[set_assigned]) | expression[take];
auto const arguments_def = argument[add_argument] >> *(',' > argument[add_argument]);

auto const target_def = name[set_name] >> -indices;
auto const role_def =
    x3::omit[x3::lexeme[(x3::lit("time") | "sequence") >> !name_char]] >> !word("fixed") >> !word("missing") >> x3::omit[&name];
auto const ends = word("in")[start_ends] > -sum[set_low] > dots > -sum[set_high] > x3::eps[finish_ends];
auto const tail = (x3::lit('~')[start_value] > expression[set_value(StatementKind::Sample)] > -ends) |
                  (x3::lit('=')[start_value] > expression[set_value(StatementKind::Define)]) |
                  (word("fixed")[start_value] > expression[set_value(StatementKind::Fixed)]) | word("missing")[set_missing] |
                  (word("in")[start_label_dim] > name[set_label_dim]) | x3::eps;
auto const statement_def = (x3::eps[start_statement] >> -role[set_role]) > target[set_target] > tail > statement_end[finish_statement];
auto const statement_end_def = x3::omit[&x3::char_("\n;}")] | x3::eoi;

auto const heading = name[set_keyword] >> -(!word("extends") >> name[set_section_name]) >> -(word("extends") >> name[set_extends]) >>
                     *name[extra_word];
auto const open_brace = (newlines >> x3::lit('{')[open_section]) | x3::eps[miss_open];
auto const close_brace = x3::lit('}')[close_section] | x3::eps[miss_close];
auto const body = *(separator | (!x3::lit('}') >> !x3::eoi >> !x3::eps[is_at_section(false)] >> statement[add_statement]));
auto const section_def = x3::eps[is_at_section(true)] >> heading >> x3::eps[check_heading] >> open_brace >> body >> close_brace;

auto const line_def = (x3::eps[start_line] >> ((word("bam") > digits[set_version]) | (word("model") > name[set_model]) |
                                               (word("use") > quoted[add_use]))) > line_end;
auto const line_end_def = x3::omit[&x3::char_("\n;")] | x3::eoi;
auto const nothing_def = x3::eps(false);
auto const outside_def = x3::eps > nothing;
auto const file_def =
    *(x3::eps[is_readable] >> !x3::eoi >> (separator | section[add_section] | line | x3::lit('}')[stray_close] | outside));

BOOST_SPIRIT_DEFINE(name, quoted, digits, numeral, role)
BOOST_SPIRIT_DEFINE(expression, comparison, sum, product, unary, power, exponent, postfix, primary, argument, arguments, target)
BOOST_SPIRIT_DEFINE(close_round, close_call, close_square, dots, statement_end, line_end, nothing)
BOOST_SPIRIT_DEFINE(statement, section, line, outside, file)

}  // namespace

tree::File parse(Sources const& sources, std::uint32_t source, Diagnostics& diagnostics) {
    Source const& text = sources[source];
    Reader in{text, source, diagnostics};
    Iterator first = text.code.data();
    Iterator const last = first + text.code.size();
    x3::phrase_parse(first, last, x3::with<ReaderTag>(std::ref(in))[file], blank);
    return std::move(in.file);
}

}  // namespace bam
