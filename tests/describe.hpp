// Diagnostics as plain lines for comparison: what is said and where it points, without the layout that people see.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

#include "bam/diagnostic.hpp"
#include "source.hpp"

namespace bam {

/// Per diagnostic: `BAM0403 message`, then a line `line:column [text of the span] label` for each label, then a line `= note` for each
/// note.
inline std::string describe(Diagnostics const& diagnostics, Sources const& sources) {
    std::string lines;
    for (Diagnostic const& diagnostic : diagnostics) {
        lines += fmt::format("BAM{:04} {}\n", diagnostic.code, diagnostic.message);
        for (Label const& label : diagnostic.labels) {
            Position const place = sources.position(label.span.source, label.span.begin);
            lines += fmt::format("{}:{} [{}] {}\n", place.line, place.column, sources.text(label.span), label.text);
        }
        for (std::string const& note : diagnostic.notes) lines += fmt::format("= {}\n", note);
    }
    return lines;
}

/// The text of the source after the first hint "write `...`" of a diagnostic is followed at its primary label; unchanged if it has none.
inline std::string follow_hint(Diagnostic const& diagnostic, Sources const& sources) {
    constexpr std::string_view start = "write `";
    Span const span = diagnostic.labels.front().span;
    std::string text = sources[span.source].text;
    for (std::string const& note : diagnostic.notes) {
        if (!note.starts_with(start)) continue;
        std::string const replacement = note.substr(start.size(), note.rfind('`') - start.size());
        return text.replace(span.begin, span.end - span.begin, replacement);
    }
    return text;
}

}  // namespace bam
