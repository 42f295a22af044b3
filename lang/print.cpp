#include <fmt/format.h>

#include <array>
#include <string_view>

#include "format.hpp"

namespace bam {
namespace {

using tree::Expr;
using tree::ExprKind;

constexpr std::array expression_words{"number",
                                      "text",
                                      "name",
                                      "index",
                                      "call",
                                      "list",
                                      "assign",
                                      "negate",
                                      "transpose",
                                      "add",
                                      "subtract",
                                      "multiply",
                                      "elementwise-multiply",
                                      "divide",
                                      "power",
                                      "equal",
                                      "not-equal",
                                      "less",
                                      "less-equal",
                                      "greater",
                                      "greater-equal",
                                      "range"};
static_assert(expression_words.size() == static_cast<std::size_t>(ExprKind::Range) + 1);

constexpr std::array statement_words{"declare", "define", "sample", "fixed"};
static_assert(statement_words.size() == static_cast<std::size_t>(tree::StatementKind::Fixed) + 1);

/// One line a node, children indented by two.
class Printer {
  public:
    explicit Printer(Sources const& sources) : sources_(sources) {}

    std::string run(tree::File const& file) {
        line(0, "file", {});
        if (file.version) line(1, fmt::format("version {}", *file.version), file.version_span);
        if (!file.model.empty()) line(1, "model " + file.model, file.model_span);
        for (tree::Use const& use : file.uses) line(1, fmt::format("use \"{}\"", use.path), use.span);
        for (tree::Section const& section : file.sections) {
            std::string text = "section " + section.keyword;
            if (!section.name.empty()) text += ' ' + section.name;
            if (!section.extends.empty()) text += " extends " + section.extends;
            line(1, text, section.span);
            for (tree::Statement const& statement : section.statements) print(statement);
        }
        return std::move(out_);
    }

  private:
    void print(tree::Statement const& statement) {
        std::string text = statement_words[static_cast<std::size_t>(statement.kind)];
        if (!statement.role.empty()) text += ' ' + statement.role;
        if (statement.missing) text += " missing";
        if (!statement.label_dim.empty()) text += " in " + statement.label_dim;
        line(2, text, statement.span);
        print(statement.lhs, 3);
        if (statement.kind != tree::StatementKind::Declare) print(statement.rhs, 3);
        if (statement.ends) print(*statement.ends);
    }

    void print(tree::Ends const& ends) {
        line(3, "In", ends.span);
        for (auto const& [word, end] : {std::pair("low", &ends.low), {"high", &ends.high}}) {
            line(4, std::string(word) + (*end ? "" : " open"), {});
            if (*end) print(**end, 5);
        }
    }

    void print(Expr const& expr, std::size_t depth) {
        std::string text = expression_words[static_cast<std::size_t>(expr.kind)];
        if (expr.kind == ExprKind::Number) text += fmt::format(" {}", expr.value);
        if (expr.kind == ExprKind::Text) text += fmt::format(" \"{}\"", expr.text);
        if (expr.kind != ExprKind::Text && !expr.text.empty()) text += ' ' + expr.text;
        line(depth, text, expr.span);
        for (Expr const& arg : expr.args) print(arg, depth + 1);
    }

    void line(std::size_t depth, std::string_view text, Span span) {
        out_.append(2 * depth, ' ') += text;
        if (span != Span{}) {
            Position const begin = sources_.position(span.source, span.begin);
            Position const end = sources_.position(span.source, span.end);
            out_ += fmt::format("  {}:{}-{}:{}", begin.line, begin.column, end.line, end.column);
        }
        out_ += '\n';
    }

    Sources const& sources_;
    std::string out_;
};

}  // namespace

std::string print(tree::File const& file, Sources const& sources) { return Printer{sources}.run(file); }

}  // namespace bam
