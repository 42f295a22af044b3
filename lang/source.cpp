// Codes of this file:
//   BAM0001  the file is gzip data (a genomics BAM, or a compressed model)
//   BAM0002  the file is not text: a NUL byte, or UTF-16
//   BAM0003  a byte is not UTF-8
//   BAM0004  the file is longer than any model
//   BAM0005  a typographic look-alike of an ASCII character
//   BAM0006  a `//` comment
//   BAM0007  a `/* */` comment
#include "source.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <utility>

#include "utf8.hpp"

namespace bam {

namespace {

/// A span holds 32-bit offsets, and no model is a hundredth of this.
constexpr std::size_t longest_model = std::size_t{64} << 20;

Diagnostic error_at(int code, std::string message, Span span, std::string label) {
    return {code, Severity::Error, std::move(message), {{span, std::move(label)}}, {}};
}

std::vector<std::size_t> find_line_starts(std::string_view text) {
    std::vector<std::size_t> starts{0};
    for (std::size_t i = 0; i < text.size(); ++i) {
        bool const is_lone_return = text[i] == '\r' && (i + 1 == text.size() || text[i + 1] != '\n');
        if (text[i] == '\n' || is_lone_return) starts.push_back(i + 1);
    }
    return starts;
}

/// What makes a file no bam text at all; the caller keeps no source then, so the place is in the message.
std::optional<Diagnostic> find_unreadable(std::string const& name, std::string_view text) {
    auto const refuse = [](int code, std::string message, std::vector<std::string> notes) {
        return Diagnostic{code, Severity::Error, std::move(message), {}, std::move(notes)};
    };
    if (text.starts_with("\x1f\x8b"))
        return refuse(1, fmt::format("`{}` is gzip data, not a bam model", name),
                      {"genomics has a BAM format too (aligned reads): `samtools view` reads those",
                       "a model that was compressed is read after `gunzip`"});
    if (text.starts_with("\xff\xfe") || text.starts_with("\xfe\xff"))
        return refuse(2, fmt::format("`{}` is UTF-16 text", name), {"a model is UTF-8: save it with that encoding"});
    if (text.size() > longest_model)
        return refuse(4, fmt::format("`{}` has {} bytes; a model has at most {}", name, text.size(), longest_model),
                      {"data belong in a table, given with --data"});
    std::size_t line = 1;
    std::size_t line_start = 0;
    for (std::size_t at = 0; at < text.size();) {
        std::size_t const length = sequence_length(text, at);
        auto const place = [&] {
            return fmt::format("line {}, column {}", line, code_points(text.substr(line_start, at - line_start)) + 1);
        };
        if (text[at] == '\0')
            return refuse(2, fmt::format("`{}` is not text: it has a NUL byte at {}", name, place()), {"a model is UTF-8 text"});
        if (length == 0)
            return refuse(3, fmt::format("`{}` is not UTF-8: byte 0x{:02X} at {}", name, static_cast<unsigned char>(text[at]), place()),
                          {"the file may be in Latin-1 or Windows-1252: save it as UTF-8"});
        if (text[at] == '\n') {
            ++line;
            line_start = at + 1;
        }
        at += length;
    }
    return std::nullopt;
}

struct LookAlike {
    std::string_view bytes;
    std::string_view name;
    std::string_view plain;
};

/// What word processors, papers and web pages put in the place of ASCII. All are three bytes long but the first two.
constexpr std::array look_alikes{
    LookAlike{"\xC2\xA0", "a no-break space (U+00A0)", " "},
    LookAlike{"\xC3\x97", "a multiplication sign (U+00D7)", "*"},
    LookAlike{"\xE2\x80\x83", "an em space (U+2003)", " "},
    LookAlike{"\xE2\x80\x89", "a thin space (U+2009)", " "},
    LookAlike{"\xE2\x80\x8B", "a zero-width space (U+200B)", " "},
    LookAlike{"\xE2\x80\x93", "an en dash (U+2013)", "-"},
    LookAlike{"\xE2\x80\x94", "an em dash (U+2014)", "-"},
    LookAlike{"\xE2\x80\x98", "a left quotation mark (U+2018)", "'"},
    LookAlike{"\xE2\x80\x99", "an apostrophe (U+2019)", "'"},
    LookAlike{"\xE2\x80\x9C", "a left double quotation mark (U+201C)", "\""},
    LookAlike{"\xE2\x80\x9D", "a right double quotation mark (U+201D)", "\""},
    LookAlike{"\xE2\x80\xA8", "a line separator (U+2028)", "\n"},
    LookAlike{"\xE2\x80\xB2", "a prime (U+2032)", "'"},
    LookAlike{"\xE2\x88\x92", "a minus sign (U+2212)", "-"},
    LookAlike{"\xE2\x88\xBC", "a tilde operator (U+223C)", "~"},
    LookAlike{"\xE2\x8B\x85", "a dot operator (U+22C5)", "*"},
    LookAlike{"\xEF\xBB\xBF", "a byte order mark (U+FEFF)", " "},
};

/// Fills `code`, `comments`, `line_starts` of a source whose name and text are there.
class Blanker {
  public:
    Blanker(Source& source, std::uint32_t id, Diagnostics& diagnostics)
        : source_(source), code_(source.code), id_(id), diagnostics_(diagnostics) {}

    void run() {
        code_ = source_.text;
        source_.line_starts = find_line_starts(source_.text);
        while (at_ < code_.size()) step();
        blank_bracketed_newlines();
    }

  private:
    struct Bracket {
        char kind;
        std::size_t at;
    };

    void step() {
        char const c = code_[at_];
        std::string_view const rest = std::string_view{code_}.substr(at_);
        if (c == '#') {
            source_.comments.push_back({span(at_, end_of_line(at_))});
            blank_to(end_of_line(at_));
        } else if (c == '"') {
            text_literal();
        } else if (rest.starts_with("//")) {
            auto diagnostic = error_at(6, "`//` does not start a comment", span(at_, at_ + 2), "a comment starts with `#`");
            diagnostic.notes = {"write `#`"};
            diagnostics_.push_back(std::move(diagnostic));
            blank_to(end_of_line(at_));
        } else if (rest.starts_with("/*")) {
            block_comment(is_block_open_ ? std::string_view::npos : rest.find("*/", 2));
        } else if (static_cast<unsigned char>(c) >= 0x80) {
            look_alike(rest);
        } else {
            if (c == '\r') code_[at_] = at_ + 1 < code_.size() && code_[at_ + 1] == '\n' ? ' ' : '\n';
            if (c == '\f' || c == '\v') code_[at_] = ' ';
            bracket(c);
            ++at_;
        }
    }

    /// Nothing in quotes is a comment or a bracket; an unclosed quote ends with its line, and the grammar reports it.
    void text_literal() {
        std::size_t const end = end_of_line(at_);
        std::size_t const close = code_.find('"', at_ + 1);
        at_ = close < end ? close + 1 : end;
        if (close >= end) close_all();
    }

    void block_comment(std::size_t close) {
        bool const is_closed = close != std::string_view::npos;
        is_block_open_ = !is_closed;
        auto diagnostic =
            error_at(7, "`/*` does not start a comment", span(at_, at_ + 2), "a comment starts with `#` and ends with its line");
        diagnostic.notes = {"put a `#` in front of each line of it"};
        diagnostics_.push_back(std::move(diagnostic));
        blank_to(is_closed ? at_ + close + 2 : end_of_line(at_));
    }

    void look_alike(std::string_view rest) {
        auto const* const found = std::find_if(look_alikes.begin(), look_alikes.end(),
                                               [&](LookAlike const& candidate) { return rest.starts_with(candidate.bytes); });
        if (found == look_alikes.end()) {
            ++at_;
            return;
        }
        std::size_t const end = at_ + found->bytes.size();
        if (found->plain == "\"" && curly_text(end)) return;
        bool const is_printable = found->plain != "\n" && found->plain != " ";
        std::string const plain = is_printable          ? fmt::format("`{}`", found->plain)
                                  : found->plain == " " ? "a plain blank"
                                                        : "a plain newline";
        auto diagnostic = error_at(5, fmt::format("{} stands where {} is meant", found->name, plain), span(at_, end), {});
        diagnostic.notes = {is_printable ? "write " + plain : fmt::format("put {} in its place", plain)};
        diagnostics_.push_back(std::move(diagnostic));
        blank_to(end);
        code_[end - 1] = found->plain.front();
    }

    /// A text in typographic quotes: read as if it had plain ones.
    bool curly_text(std::size_t begin) {
        std::size_t const close = code_.find("\xE2\x80\x9D", begin);
        if (close >= end_of_line(begin)) return false;
        auto diagnostic = error_at(5, "a text stands in typographic quotation marks", span(at_, close + 3), {});
        diagnostic.notes = {fmt::format("write `\"{}\"`", code_.substr(begin, close - begin))};
        diagnostics_.push_back(std::move(diagnostic));
        blank_to(begin);
        code_[begin - 1] = '"';
        code_.replace(close, 3, "\"  ");
        at_ = close + 1;
        return true;
    }

    void bracket(char c) {
        if (c == '(' || c == '[') {
            ++open_[c == '('];
            stack_.push_back({c, at_});
        } else if (c == '{' || c == '}') {  // no bracket reaches over a section
            close_all();
        } else if ((c == ')' || c == ']') && open_[c == ')'] > 0) {
            char const opener = c == ')' ? '(' : '[';
            while (stack_.back().kind != opener) pop();
            pairs_.emplace_back(stack_.back().at, at_);
            pop();
        }
    }

    void close_all() {
        stack_.clear();
        open_ = {};
    }

    void pop() {
        --open_[stack_.back().kind == '('];
        stack_.pop_back();
    }

    /// Only inside brackets that are closed: one that is not must not make the next statements part of its own.
    void blank_bracketed_newlines() {
        std::sort(pairs_.begin(), pairs_.end());
        std::size_t done = 0;
        for (auto const& [open, close] : pairs_) {
            for (std::size_t i = std::max(open, done); i < close; ++i)
                if (code_[i] == '\n') code_[i] = ' ';
            done = std::max(done, close);
        }
    }

    void blank_to(std::size_t end) {
        for (; at_ < end; ++at_)
            if (code_[at_] != '\n') code_[at_] = ' ';
    }

    std::size_t end_of_line(std::size_t from) const { return std::min(code_.find_first_of("\r\n", from), code_.size()); }
    Span span(std::size_t begin, std::size_t end) const {
        return {id_, static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end)};
    }

    Source& source_;
    std::string& code_;
    std::uint32_t id_;
    Diagnostics& diagnostics_;
    std::size_t at_ = 0;
    bool is_block_open_ = false;  ///< an unclosed `/*` was met: no use in looking for `*/` again
    std::vector<Bracket> stack_;
    std::array<std::size_t, 2> open_{};  ///< how many `[` and how many `(` are on the stack
    std::vector<std::pair<std::size_t, std::size_t>> pairs_;
};

}  // namespace

std::optional<std::uint32_t> Sources::add_model(std::string name, std::string text, Diagnostics& diagnostics) {
    if (text.starts_with("\xEF\xBB\xBF")) text.erase(0, 3);
    if (auto unreadable = find_unreadable(name, text)) {
        diagnostics.push_back(*std::move(unreadable));
        return std::nullopt;
    }
    auto const id = static_cast<std::uint32_t>(sources_.size());
    Source& source = sources_.emplace_back();
    source.name = std::move(name);
    source.text = std::move(text);
    Blanker{source, id, diagnostics}.run();
    return id;
}

std::uint32_t Sources::add_table(std::string name, std::string text) {
    auto const id = static_cast<std::uint32_t>(sources_.size());
    Source& source = sources_.emplace_back();
    source.name = std::move(name);
    source.text = std::move(text);
    source.line_starts = find_line_starts(source.text);
    return id;
}

Position Sources::position(std::uint32_t source, std::size_t offset) const {
    auto const& [name, text, code, comments, line_starts] = sources_[source];
    offset = std::min(offset, text.size());
    auto const after = std::upper_bound(line_starts.begin(), line_starts.end(), offset);
    std::size_t const start = *std::prev(after);
    std::string_view const before = std::string_view{text}.substr(start, offset - start);
    return {static_cast<std::size_t>(after - line_starts.begin()), code_points(before) + 1};
}

std::string_view Sources::text(Span span) const {
    std::string_view const text = sources_[span.source].text;
    std::size_t const begin = std::min<std::size_t>(span.begin, text.size());
    return text.substr(begin, std::max(span.begin, span.end) - span.begin);
}

}  // namespace bam
