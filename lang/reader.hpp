// What the rules of the grammar share while one file is read, and what they do besides parsing. No Spirit here.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bam/diagnostic.hpp"
#include "source.hpp"
#include "syntax_error.hpp"
#include "tree.hpp"

namespace bam::syntax {

/// A name, a number or a text, without quotes.
struct Token {
    std::string text;
    Span span;
};

/// Places are pointers into `code` of the source, as the parser has them.
class Reader {
  public:
    Reader(Source const& source, std::uint32_t id, Diagnostics& diagnostics);

    tree::File file;
    std::vector<std::size_t> open;   ///< offsets of the open brackets
    std::vector<std::size_t> minus;  ///< offsets of the unary minuses around the place; they nest as brackets do
    Stage stage = Stage::Start;
    bool has_failed = false;  ///< the statement or line
    bool is_other_version = false;

    char const* base() const { return source_.code.data(); }
    std::size_t offset(char const* at) const { return static_cast<std::size_t>(at - base()); }
    Span span(std::size_t begin, std::size_t end) const {
        return {file.source, static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end)};
    }
    bool is_full() const { return open.size() + minus.size() >= deepest_bracket; }
    bool is_section_start(char const* at, bool or_alone) const { return syntax::is_section_start(source_.code, offset(at), or_alone); }

    /// A statement or a line begins at the first token from `at`.
    void start(char const* at, Stage at_stage);
    /// From where it began to the last token before `at`.
    Span started(char const* at) const { return span(begin_, last_end(offset(at))); }
    /// Extends a span to the last token before `at`.
    void close(Span& open_span, char const* at) const { open_span.end = static_cast<std::uint32_t>(last_end(offset(at))); }

    /// Reports what made a statement or line fail.
    void fail(char const* where, std::string expected);
    /// The same, and gives the place to go on.
    char const* fail_statement(char const* where, std::string expected);
    /// Reports the first of what is outside of any section, and gives the place to go on.
    char const* skip_outside(char const* where);

    void extra_word(Token const& token);
    /// The keyword must be known; only priors have a name. Whatever it is, what is inside the braces is read.
    void check_heading(tree::Section& section);
    void open_section(char const* brace) { brace_ = offset(brace); }
    void miss_open(char const* at);
    void close_section(tree::Section& section, char const* end) const;
    void miss_close(tree::Section& section, char const* at);
    void stray_close(char const* brace);
    void add(tree::Section&& section);

    void set_version(Token const& token);
    void set_model(Token const& token);
    void add_use(Token const& token);

  private:
    /// The end of the last token before `at`.
    std::size_t last_end(std::size_t at) const;
    void report(int code, Span where, std::string message, std::string label, std::vector<std::string> notes = {});

    Source const& source_;
    Diagnostics& diagnostics_;
    Recovery recovery_;
    std::size_t begin_ = 0;             ///< of the statement or line
    std::optional<std::size_t> brace_;  ///< of the open section, if it has one
    bool is_outside_ = false;           ///< the last thing was outside of any section: one report is enough
};

}  // namespace bam::syntax
