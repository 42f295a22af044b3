// The text of a file: checked UTF-8, comments set apart, and where a byte stands (line, column, caret).
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bam/diagnostic.hpp"

namespace bam {

/// A `# ...` comment, without its newline.
struct Comment {
    Span span;
};

/// One file. `code` has the bytes of `text` at the same offsets, with comments and the newlines inside `()` and `[]` as blanks,
/// so that a newline in `code` always ends a statement.
struct Source {
    std::string name;  ///< path as the user wrote it; "-" for standard input
    std::string text;
    std::string code;
    std::vector<Comment> comments;
    std::vector<std::size_t> line_starts;  ///< byte offset of each line of `text`
};

/// A place as people count it: from 1; columns in code points.
struct Position {
    std::size_t line = 1;
    std::size_t column = 1;
};

/// All texts read in one run; spans point into it. References stay valid as sources are added.
class Sources {
  public:
    /// Keeps a .bam text. Invalid UTF-8, a NUL byte or a gzip magic number is reported (BAM0001..0009) and gives no source.
    std::optional<std::uint32_t> add_model(std::string name, std::string text, Diagnostics& diagnostics);
    /// Keeps a table's text as it is (no comments, no brackets).
    std::uint32_t add_table(std::string name, std::string text);

    Source const& operator[](std::uint32_t id) const { return sources_[id]; }
    std::size_t size() const { return sources_.size(); }
    Position position(std::uint32_t source, std::size_t offset) const;
    std::string_view text(Span span) const;

  private:
    std::deque<Source> sources_;
};

/// The diagnostics as a person reads them: message, file:line:column, source lines with carets, notes. Sorted by place, each once.
std::string to_text(Diagnostics const& diagnostics, Sources const& sources, bool colour = false);
/// The same as a JSON array, for editors: code, severity, message, labels with file and line/column ranges, notes.
std::string to_json(Diagnostics const& diagnostics, Sources const& sources);

}  // namespace bam
