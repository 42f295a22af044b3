#include "format.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "utf8.hpp"

namespace bam {
namespace {

using tree::Expr;
using tree::ExprKind;
using tree::Statement;
using tree::StatementKind;

constexpr std::size_t widest_line = 100;    ///< columns; what is longer is broken inside of its brackets
constexpr std::size_t widest_aligned = 32;  ///< columns of a left-hand side that others are aligned with
constexpr std::size_t least_broken = 40;    ///< columns of brackets that are worth breaking

std::size_t width(std::string_view text) { return code_points(text); }

bool has_newline(std::string_view text) { return text.find_first_of("\r\n") != std::string_view::npos; }

/// How tightly an operator binds; an operand that binds less stands in parentheses.
int strength(ExprKind kind) {
    switch (kind) {
        case ExprKind::Assign: return 0;
        case ExprKind::Range: return 1;
        case ExprKind::Equal:
        case ExprKind::NotEqual:
        case ExprKind::Less:
        case ExprKind::LessEqual:
        case ExprKind::Greater:
        case ExprKind::GreaterEqual: return 2;
        case ExprKind::Add:
        case ExprKind::Subtract: return 3;
        case ExprKind::Multiply:
        case ExprKind::ElementwiseMultiply:
        case ExprKind::Divide: return 4;
        case ExprKind::Negate: return 5;
        case ExprKind::Power: return 6;
        case ExprKind::Transpose: return 7;
        case ExprKind::Number:
        case ExprKind::Text:
        case ExprKind::Name:
        case ExprKind::Index:
        case ExprKind::Call:
        case ExprKind::List: return 8;
    }
    return 8;
}

std::string_view sign(ExprKind kind) {
    switch (kind) {
        case ExprKind::Add: return " + ";
        case ExprKind::Subtract: return " - ";
        case ExprKind::Multiply: return " * ";
        case ExprKind::ElementwiseMultiply: return " .* ";
        case ExprKind::Divide: return " / ";
        case ExprKind::Power: return "^";
        case ExprKind::Equal: return " == ";
        case ExprKind::NotEqual: return " != ";
        case ExprKind::Less: return " < ";
        case ExprKind::LessEqual: return " <= ";
        case ExprKind::Greater: return " > ";
        case ExprKind::GreaterEqual: return " >= ";
        case ExprKind::Range: return "..";
        default: return " = ";
    }
}

/// The comments of a file, in order; each is taken once.
class Comments {
  public:
    explicit Comments(Source const& source) : source_(source), is_taken_(source.comments.size()) {}

    /// Those not yet taken that begin in [begin, end).
    template <typename Take>
    void take(std::size_t begin, std::size_t end, Take&& take) {
        auto const first = std::lower_bound(source_.comments.begin(), source_.comments.end(), begin,
                                            [](Comment const& comment, std::size_t at) { return comment.span.begin < at; });
        for (auto i = static_cast<std::size_t>(first - source_.comments.begin()); i < is_taken_.size(); ++i) {
            Comment const& comment = source_.comments[i];
            if (comment.span.begin >= end) break;
            if (!is_taken_[i]) is_taken_[i] = take(comment);
        }
    }

    bool has_any(std::size_t begin, std::size_t end) {
        bool found = false;
        take(begin, end, [&](Comment const&) {
            found = true;
            return false;
        });
        return found;
    }

    /// The comment behind what ends at `end`, on the same line with nothing but signs between; empty if there is none.
    std::string take_trailing(std::size_t end) {
        std::string text;
        std::size_t const line_end = std::min(source_.text.find_first_of("\r\n", end), source_.text.size());
        std::size_t const next = std::min(source_.code.find_first_not_of(" \t;,", end), line_end);
        take(end, next, [&](Comment const& comment) {
            text = text_of(comment);
            return true;
        });
        return text;
    }

    std::string text_of(Comment const& comment) const {
        std::string_view const text = std::string_view{source_.text}.substr(comment.span.begin, comment.span.end - comment.span.begin);
        return std::string{text.substr(0, text.find_last_not_of(" \t\f\v") + 1)};
    }

  private:
    Source const& source_;
    std::vector<bool> is_taken_;
};

/// Writes expressions; takes the comments between the entries of brackets.
class Layout {
  public:
    Layout(Source const& source, Comments& comments) : source_(source), comments_(comments) {}

    /// `is_breaking`: it is too long for one line, so break the outermost brackets. Lines behind the first are indented by `indent` or
    /// more.
    std::string expression(Expr const& expr, std::size_t indent, bool is_breaking) {
        switch (expr.kind) {
            case ExprKind::Number: return std::string{text(expr.name_span.begin, expr.name_span.end)};
            case ExprKind::Text: return '"' + expr.text + '"';
            case ExprKind::Name: return expr.text;
            case ExprKind::Index: return expr.text + brackets(expr, '[', ']', indent, is_breaking);
            case ExprKind::Call: return expr.text + brackets(expr, '(', ')', indent, is_breaking);
            case ExprKind::List: return brackets(expr, '[', ']', indent, is_breaking);
            case ExprKind::Assign:
                return (is_name(expr.text) ? expr.text : '"' + expr.text + '"') + " = " + expression(expr.args[0], indent, is_breaking);
            case ExprKind::Negate: return '-' + operand(expr.args[0], 5, indent, is_breaking);
            case ExprKind::Transpose: return operand(expr.args[0], 7, indent, is_breaking) + '\'';
            case ExprKind::Power: return power(expr, indent, is_breaking);
            default: return binary(expr, sign(expr.kind), indent, is_breaking);
        }
    }

  private:
    std::string operand(Expr const& expr, int least, std::size_t indent, bool is_breaking) {
        std::string text = expression(expr, indent, is_breaking);
        return strength(expr.kind) < least ? '(' + text + ')' : text;
    }

    std::string binary(Expr const& expr, std::string_view operation, std::size_t indent, bool is_breaking) {
        int const own = strength(expr.kind);
        int const left = own <= 2 ? own + 1 : own;  // comparisons and ranges do not chain
        std::string text = operand(expr.args[0], left, indent, is_breaking);
        text += operation;
        return text + operand(expr.args[1], own + 1, indent, is_breaking);
    }

    /// The base binds as a transpose does; so does the exponent, which may have one minus.
    std::string power(Expr const& expr, std::size_t indent, bool is_breaking) {
        Expr const& exponent = expr.args[1];
        bool const is_negative = exponent.kind == ExprKind::Negate;
        std::string text = operand(expr.args[0], 7, indent, is_breaking) + (is_negative ? "^-" : "^");
        return text + operand(is_negative ? exponent.args[0] : exponent, 7, indent, is_breaking);
    }

    /// An entry; `t-1` is written tight in an index.
    std::string entry(Expr const& group, Expr const& expr, std::size_t indent, bool is_breaking) {
        bool const is_shift = group.kind == ExprKind::Index && (expr.kind == ExprKind::Add || expr.kind == ExprKind::Subtract) &&
                              expr.args[0].kind == ExprKind::Name && expr.args[1].kind == ExprKind::Number;
        if (is_shift) return binary(expr, expr.kind == ExprKind::Add ? "+" : "-", indent, is_breaking);
        return expression(expr, indent, is_breaking);
    }

    std::string brackets(Expr const& group, char open, char close, std::size_t indent, bool is_breaking) {
        if (is_broken(group)) return broken(group, open, close, indent);
        std::string text{open};
        for (Expr const& arg : group.args) text += (&arg == &group.args.front() ? "" : ", ") + entry(group, arg, indent, false);
        text += close;
        bool const is_long = is_breaking && !group.args.empty() && width(text) >= least_broken && !has_newline(text);
        return is_long ? broken(group, open, close, indent) : text;
    }

    /// The offsets of what is between the entries, first and last included: [0, args.size()].
    std::pair<std::size_t, std::size_t> gap(Expr const& group, std::size_t i) const {
        std::size_t const first = group.kind == ExprKind::List ? group.span.begin : group.name_span.end;
        return {i == 0 ? first : group.args[i - 1].span.end, i == group.args.size() ? group.span.end : group.args[i].span.begin};
    }

    /// Written over several lines: there is a newline between the entries, or in one of several entries.
    bool is_broken(Expr const& group) const {
        if (group.args.empty()) return false;
        auto const has_broken = [this](Expr const& arg) { return has_broken_brackets(arg); };
        return has_broken_gap(group) || (group.args.size() > 1 && std::any_of(group.args.begin(), group.args.end(), has_broken));
    }

    bool has_broken_brackets(Expr const& expr) const {
        bool const is_group = expr.kind == ExprKind::Index || expr.kind == ExprKind::Call || expr.kind == ExprKind::List;
        if (is_group && !expr.args.empty() && has_broken_gap(expr)) return true;
        return std::any_of(expr.args.begin(), expr.args.end(), [this](Expr const& arg) { return has_broken_brackets(arg); });
    }

    bool has_broken_gap(Expr const& group) const {
        for (std::size_t i = 0; i <= group.args.size(); ++i) {
            auto const [begin, end] = gap(group, i);
            if (has_newline(text(begin, end))) return true;
        }
        return false;
    }

    bool has_comment(Expr const& group) {
        for (std::size_t i = 0; i <= group.args.size(); ++i)
            if (comments_.has_any(gap(group, i).first, gap(group, i).second)) return true;
        return false;
    }

    /// An entry a line; numbers as many as fit.
    std::string broken(Expr const& group, char open, char close, std::size_t indent) {
        auto const is_number = [](Expr const& e) {
            return e.kind == ExprKind::Number || (e.kind == ExprKind::Negate && e.args[0].kind == ExprKind::Number);
        };
        bool const is_filled = std::all_of(group.args.begin(), group.args.end(), is_number) && !has_comment(group);
        std::string const margin = '\n' + std::string(indent + 2, ' ');
        std::string text{open};
        std::size_t column = widest_line;
        for (std::size_t i = 0; i < group.args.size(); ++i) {
            auto const [begin, end] = gap(group, i);
            comments_.take(begin, end, [&](Comment const& comment) { return text += margin + comments_.text_of(comment), true; });
            std::string line = broken_entry(group, group.args[i], indent + 2) + (i + 1 < group.args.size() ? "," : "");
            std::string const trailing = comments_.take_trailing(group.args[i].span.end);
            if (!trailing.empty()) line += "  " + trailing;
            bool const fits = is_filled && column + 1 + line.size() <= widest_line;
            text += fits ? " " : margin;
            text += line;
            column = fits ? column + 1 + line.size() : indent + 2 + line.size();
        }
        auto const [begin, end] = gap(group, group.args.size());
        comments_.take(begin, end, [&](Comment const& comment) { return text += margin + comments_.text_of(comment), true; });
        return text + '\n' + std::string(indent, ' ') + close;
    }

    std::string broken_entry(Expr const& group, Expr const& expr, std::size_t indent) {
        std::string text = entry(group, expr, indent, false);
        if (has_newline(text) || indent + width(text) <= widest_line) return text;
        return entry(group, expr, indent, true);
    }

    std::string_view text(std::size_t begin, std::size_t end) const {
        return std::string_view{source_.text}.substr(begin, end - std::min(begin, end));
    }

    Source const& source_;
    Comments& comments_;
};

/// A line to be: statements have a left side and the rest, which are aligned, and a comment behind.
struct Line {
    std::size_t indent = 0;
    std::string left;
    std::string rest;  ///< with its operator; empty if there is nothing to align
    std::string comment;
    bool has_blank_before = false;
    bool is_aligned = false;

    bool is_comment() const { return left.empty(); }
};

/// Puts the lines of a file together, in the order of the source.
class Formatter {
  public:
    Formatter(tree::File const& file, Sources const& sources)
        : file_(file), sources_(sources), source_(sources[file.source]), comments_(source_), layout_(source_, comments_) {}

    std::string run() {
        struct Item {
            Span span;
            std::string text;
            tree::Section const* section;
        };
        std::vector<Item> items;
        if (file_.version) items.push_back({file_.version_span, fmt::format("bam {}", *file_.version), nullptr});
        if (!file_.model.empty()) items.push_back({file_.model_span, "model " + file_.model, nullptr});
        for (tree::Use const& use : file_.uses) items.push_back({use.span, fmt::format("use \"{}\"", use.path), nullptr});
        for (tree::Section const& section : file_.sections) items.push_back({section.span, {}, &section});
        std::sort(items.begin(), items.end(), [](Item const& a, Item const& b) { return a.span.begin < b.span.begin; });
        for (Item const& item : items) {
            if (item.section != nullptr) {
                section(*item.section);
            } else {
                comments_before(item.span.begin);
                piece({0, item.text, {}, {}, false, false}, item.span.begin, item.span.end);
            }
        }
        comments_before(source_.text.size() + 1);
        return join();
    }

  private:
    void section(tree::Section const& section) {
        std::size_t const before = lines_.size();
        comments_before(section.span.begin);
        bool const is_commented = lines_.size() > before;
        must_separate_ = must_separate_ || (!is_commented && !lines_.empty());
        std::string heading = section.keyword;
        if (!section.name.empty()) heading += ' ' + section.name;
        if (!section.extends.empty()) heading += " extends " + section.extends;
        std::size_t const heading_end = std::max({section.keyword_span.end, section.name_span.end, section.extends_span.end});
        std::size_t const brace = source_.code.find('{', heading_end);
        piece({0, heading + " {", {}, {}, false, false}, section.span.begin, brace < section.span.end ? brace + 1 : heading_end);
        indent_ = 2;
        is_first_ = true;
        for (Statement const& each : section.statements) statement(each, section.keyword == "param" || section.keyword == "table");
        comments_before(section.span.end);
        indent_ = 0;
        is_first_ = true;  // no blank line in front of the brace
        piece({0, "}", {}, {}, false, false}, section.span.end, section.span.end);
        must_separate_ = true;
    }

    void statement(Statement const& statement, bool is_aligned) {
        Line line{indent_, statement.role.empty() ? "" : statement.role + ' ', {}, {}, false, is_aligned};
        line.left += layout_.expression(statement.lhs, indent_, false);
        if (statement.missing) line.left += " missing";
        if (!statement.label_dim.empty()) line.left += " in " + statement.label_dim;
        if (statement.kind != StatementKind::Declare) {
            std::string_view const operation = statement.kind == StatementKind::Sample   ? "~ "
                                               : statement.kind == StatementKind::Define ? "= "
                                                                                         : "fixed ";
            line.rest = std::string{operation} + layout_.expression(statement.rhs, indent_, false);
            bool const is_long = !has_newline(line.left + line.rest) && indent_ + width(line.left) + 1 + width(line.rest) > widest_line;
            if (is_long) line.rest = std::string{operation} + layout_.expression(statement.rhs, indent_, true);
            if (statement.ends) line.rest += ends(*statement.ends);
        }
        comments_before(statement.span.begin);
        comments_.take(statement.span.begin, statement.span.end, [&](Comment const& comment) {  // those that have no place inside of it
            add({indent_, {}, {}, comments_.text_of(comment), false, false}, statement.span.begin, statement.span.begin);
            return true;
        });
        piece(std::move(line), statement.span.begin, statement.span.end);
    }

    std::string ends(tree::Ends const& ends) {
        auto const text = [&](std::optional<tree::Expr> const& end) {
            std::string const inner = end ? layout_.expression(*end, indent_, false) : "";
            return end && strength(end->kind) < strength(ExprKind::Add) ? '(' + inner + ')' : inner;
        };
        return " in " + text(ends.low) + ".." + text(ends.high);
    }

    /// Comments on lines of their own.
    void comments_before(std::size_t offset) {
        comments_.take(0, offset, [&](Comment const& comment) {
            add({indent_, {}, {}, comments_.text_of(comment), false, false}, comment.span.begin, comment.span.end);
            return true;
        });
    }

    void piece(Line line, std::size_t begin, std::size_t end) {
        line.comment = comments_.take_trailing(end);
        add(std::move(line), begin, end);
    }

    void add(Line line, std::size_t begin, std::size_t end) {
        std::size_t const line_number = sources_.position(file_.source, begin).line;
        line.has_blank_before = !lines_.empty() && !is_first_ && (must_separate_ || line_number > last_line_ + 1);
        lines_.push_back(std::move(line));
        last_line_ = std::max(last_line_, sources_.position(file_.source, end).line);
        is_first_ = false;
        must_separate_ = false;
    }

    std::string join() {
        align_operators();
        std::vector<std::string> texts;
        for (Line const& line : lines_) {
            std::string text = std::string(line.indent, ' ') + line.left;
            if (!line.rest.empty()) text += (line.is_comment() ? "" : " ") + line.rest;
            texts.push_back(std::move(text));
        }
        append_comments(texts);
        std::string out;
        for (std::size_t i = 0; i < lines_.size(); ++i) out += (lines_[i].has_blank_before ? "\n" : "") + texts[i] + '\n';
        return out;
    }

    bool is_single(Line const& line) const { return !has_newline(line.left) && !has_newline(line.rest); }

    /// Pads left sides of neighbours to one width; blank lines and statements over several lines part them.
    void align_operators() {
        auto const can_align = [&](Line const& line) {
            return line.is_aligned && !line.rest.empty() && !has_newline(line.left) && width(line.left) <= widest_aligned;
        };
        for (std::size_t begin = 0; begin < lines_.size();) {
            std::size_t end = begin + 1;
            while (end < lines_.size() && !lines_[end].has_blank_before && is_single(lines_[end - 1])) ++end;
            std::size_t widest = 0;
            for (std::size_t i = begin; i < end; ++i)
                if (can_align(lines_[i])) widest = std::max(widest, width(lines_[i].left));
            for (std::size_t i = begin; i < end; ++i)
                if (can_align(lines_[i])) lines_[i].left.append(widest - width(lines_[i].left), ' ');
            begin = end;
        }
    }

    /// Puts the comments of neighbours that have one into one column.
    void append_comments(std::vector<std::string>& texts) {
        auto const has_trailing = [&](std::size_t i) { return !lines_[i].is_comment() && !lines_[i].comment.empty(); };
        for (std::size_t begin = 0; begin < lines_.size();) {
            std::size_t end = begin + 1;
            auto const is_neighbour = [&](std::size_t i) {
                return !lines_[i].has_blank_before && lines_[i].indent == lines_[begin].indent;
            };
            while (end < lines_.size() && is_neighbour(end) && has_trailing(end - 1) && has_trailing(end)) ++end;
            std::size_t widest = 0;
            for (std::size_t i = begin; i < end; ++i)
                if (is_single(lines_[i]) && width(texts[i]) <= widest_line) widest = std::max(widest, width(texts[i]));
            for (std::size_t i = begin; i < end; ++i) {
                if (lines_[i].comment.empty()) continue;
                std::size_t const own = width(texts[i]);
                std::size_t const padding = is_single(lines_[i]) && own < widest ? widest - own : 0;
                texts[i] += (lines_[i].is_comment() ? "" : std::string(padding + 2, ' ')) + lines_[i].comment;
            }
            begin = end;
        }
    }

    tree::File const& file_;
    Sources const& sources_;
    Source const& source_;
    Comments comments_;
    Layout layout_;
    std::vector<Line> lines_;
    std::size_t indent_ = 0;
    std::size_t last_line_ = 0;   ///< of the source, of what was put down last
    bool is_first_ = true;        ///< in the file or section: no blank line before it
    bool must_separate_ = false;  ///< a blank line comes next, whatever the source has
};

}  // namespace

std::string format(tree::File const& file, Sources const& sources) { return Formatter{file, sources}.run(); }

}  // namespace bam
