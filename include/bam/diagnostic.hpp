// What bam says about a model file or a table: where, what, why, and what to write instead.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace bam {

/// A half-open range of bytes in one source text. `source` indexes the `Sources` it was read into.
struct Span {
    std::uint32_t source = 0;
    std::uint32_t begin = 0;
    std::uint32_t end = 0;

    friend bool operator==(Span const&, Span const&) = default;
};

/// A marked place and what is to be said of it. The first label of a diagnostic is the primary one (`^^^`), the others `---`.
struct Label {
    Span span;
    std::string text;
};

enum class Severity : std::uint8_t { Note, Warning, Error };

/// One message. `code` is the number of a page in docs/errors.md (`BAM0204`) and is never reused.
/// Each note is printed on a line of its own after `= `; a hint that can be applied starts with "write ".
struct Diagnostic {
    int code = 0;
    Severity severity = Severity::Error;
    std::string message;
    std::vector<Label> labels;
    std::vector<std::string> notes;
};

using Diagnostics = std::vector<Diagnostic>;

/// True if any of them is an error.
bool has_error(Diagnostics const& diagnostics);

}  // namespace bam
