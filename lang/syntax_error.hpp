// Where the parser stopped: what to say of it, and where to go on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bam/diagnostic.hpp"
#include "source.hpp"

namespace bam::syntax {

/// How far into a statement the parser had come.
enum class Stage : std::uint8_t {
    Start,    ///< nothing read
    Target,   ///< the left-hand side is read
    Value,    ///< behind `~`, `=` or `fixed`
    Missing,  ///< behind `missing`
    Line,     ///< in a line outside of the sections: `bam`, `model`, `use`
};

/// A grammar rule that failed after the point of no return.
struct Failure {
    Source const& source;
    std::uint32_t id;
    std::size_t begin;     ///< of the statement or line
    std::size_t where;     ///< of the first token that does not fit; may be the end of the line or of the text
    std::string expected;  ///< in English: "an expression", "`,` or `)`", or one of the names below
    Stage stage;
    std::optional<std::size_t> open;  ///< of the innermost open bracket
};

/// Values of `expected` that are not a thing to be written there.
inline constexpr char const* nested_too_deeply = "less nesting";
inline constexpr char const* number_in_range = "a number in range";
inline constexpr char const* end_of_statement = "the end of the statement";

/// Brackets within brackets, and operators within operators: no deeper, so that no walk of a tree can run out of stack.
inline constexpr std::size_t deepest_bracket = 200;
inline constexpr std::uint32_t highest_expression = 1000;

/// One error for one failure.
Diagnostic explain(Failure const& failure);

/// The section keywords.
std::vector<std::string> const& section_keywords();

/// True if a section starts at `at`: some words and then `{`, blanks set aside. Also words alone on a line if the first is a section
/// keyword and `or_alone`.
bool is_section_start(std::string_view code, std::size_t at, bool or_alone = false);

/// An unknown section keyword, and the word behind it if there is one; `meant` is set if it is clear which section was.
Diagnostic unknown_section(Span keyword_span, std::string const& keyword, Span name_span, std::string const& name,
                           std::optional<std::string>& meant);

/// Something outside of any section, from `begin` to `end`.
Diagnostic outside(std::string_view code, Span span);

/// Finds the end of a statement that did not parse: a newline, `;` or `}`. Braces it opens belong to it, with all that is in them.
class Recovery {
  public:
    explicit Recovery(std::string_view code) : code_(code) {}
    /// `begin` of the statement, `where` it failed.
    std::size_t find_end(std::size_t begin, std::size_t where);

  private:
    std::optional<std::size_t> scan(std::size_t begin, std::size_t where, bool is_nesting) const;

    std::string_view code_;
    bool is_unbalanced_ = false;  ///< a `{` was met that nothing closes: do not look for its end again
};

}  // namespace bam::syntax
