// How a diagnostic is shown: to people as text with excerpts, to editors as JSON.
#include "bam/diagnostic.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <span>
#include <tuple>
#include <utility>

#include "source.hpp"
#include "utf8.hpp"

namespace bam {

bool has_error(Diagnostics const& diagnostics) {
    return std::any_of(diagnostics.begin(), diagnostics.end(),
                       [](Diagnostic const& diagnostic) { return diagnostic.severity == Severity::Error; });
}

namespace {

constexpr std::size_t widest_excerpt = 120;  ///< code points of a source line that are shown; lines of tables can be very long

char const* word(Severity severity) {
    switch (severity) {
        case Severity::Note: return "note";
        case Severity::Warning: return "warning";
        case Severity::Error: return "error";
    }
    return "";
}

/// By place (those without one first), each once.
std::vector<Diagnostic const*> in_order(Diagnostics const& diagnostics) {
    auto const key = [](Diagnostic const& d) {
        Span const place = d.labels.empty() ? Span{} : d.labels.front().span;
        return std::tuple{!d.labels.empty(), place.source, place.begin, place.end, d.code, std::string_view{d.message}};
    };
    std::vector<Diagnostic const*> order;
    for (Diagnostic const& diagnostic : diagnostics) order.push_back(&diagnostic);
    std::stable_sort(order.begin(), order.end(), [&](auto const* a, auto const* b) { return key(*a) < key(*b); });
    order.erase(std::unique(order.begin(), order.end(), [&](auto const* a, auto const* b) { return key(*a) == key(*b); }), order.end());
    return order;
}

/// A text without anything a terminal might obey, in UTF-8: what else there is becomes `?`.
std::string printable(std::string_view text) {
    std::string shown{text};
    for (std::size_t at = 0; at < shown.size();) {
        std::size_t const length = sequence_length(shown, at);
        char& c = shown[at];
        bool const is_control = (static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == '\x7f';
        if (length == 0 || is_control) c = '?';
        at += std::max<std::size_t>(length, 1);
    }
    return shown;
}

/// Writes one diagnostic with its excerpts.
class Writer {
  public:
    Writer(std::string& out, Sources const& sources, bool colour) : out_(out), sources_(sources), colour_(colour) {}

    void write(Diagnostic const& diagnostic) {
        mark_ = diagnostic.severity == Severity::Error     ? "\x1b[1;31m"
                : diagnostic.severity == Severity::Warning ? "\x1b[1;33m"
                                                           : "\x1b[1;36m";
        put(mark_, fmt::format("{}[BAM{:04}]", word(diagnostic.severity), diagnostic.code));
        put("\x1b[1m", ": " + printable(diagnostic.message));
        out_ += '\n';
        excerpts(diagnostic.labels);
        for (std::string const& note : diagnostic.notes) {
            put(gutter_, "  = ");
            out_ += printable(note) + '\n';
        }
    }

  private:
    struct Mark {
        Label const* label;
        bool is_primary;
        std::size_t line;  ///< from 0
    };

    /// The lines of the primary label's file first, then those of each other file; in a file by line and column.
    void excerpts(std::vector<Label> const& labels) {
        std::vector<Mark> marks;
        for (Label const& label : labels)
            if (label.span.source < sources_.size())
                marks.push_back({&label, &label == &labels.front(), sources_.position(label.span.source, label.span.begin).line - 1});
        while (!marks.empty()) {
            std::uint32_t const source = marks.front().label->span.source;
            auto const others =
                std::stable_partition(marks.begin(), marks.end(), [&](Mark const& m) { return m.label->span.source == source; });
            Position const place = sources_.position(source, marks.front().label->span.begin);
            put(gutter_, marks.front().is_primary ? "  --> " : "  ::: ");
            out_ += fmt::format("{}:{}:{}\n", sources_[source].name, place.line, place.column);
            std::stable_sort(marks.begin(), others, [](Mark const& a, Mark const& b) { return a.label->span.begin < b.label->span.begin; });
            for (auto mark = marks.begin(); mark != others;) {
                auto const next = std::find_if(mark, others, [&](Mark const& m) { return m.line != mark->line; });
                line({mark, next}, sources_[source]);
                mark = next;
            }
            marks.erase(marks.begin(), others);
        }
    }

    void line(std::span<Mark const> marks, Source const& source) {
        std::size_t const number = marks.front().line;
        std::string_view text = source.text;
        text = text.substr(source.line_starts[number]);
        text = text.substr(0, text.find_first_of("\r\n"));
        auto const column = [&](std::size_t offset) {  // in code points from 0; where the line ends if the offset is past it
            return code_points(text.substr(0, offset - std::min(offset, source.line_starts[number])));
        };
        std::size_t const first = crop(column(marks.front().label->span.begin), code_points(text));
        std::string const shown = window(text, first);
        put(gutter_, fmt::format("{:5} |", number + 1));
        out_ += shown.empty() ? "\n" : " " + shown + '\n';
        for (Mark const& mark : marks) {
            std::size_t const begin = column(mark.label->span.begin);
            std::size_t const end = std::max(column(mark.label->span.end), begin + 1);
            put(gutter_, fmt::format("{:>7}", "|"));
            underline(shown, begin - std::min(begin, first), end - std::min(end, first), mark);
        }
    }

    /// The first code point to show of a line: 0 unless the line is long and what is marked stands far to the right.
    static std::size_t crop(std::size_t marked, std::size_t length) {
        if (length <= widest_excerpt || marked < widest_excerpt / 2) return 0;
        return std::min(marked - widest_excerpt / 2, length - widest_excerpt);
    }

    /// The code points of a line that are shown.
    static std::string window(std::string_view text, std::size_t first) {
        std::string shown;
        std::size_t count = 0;
        for (char const c : text) {
            if (!is_continuation(c)) ++count;
            if (count <= first || count > first + widest_excerpt) continue;
            shown += c;
        }
        return printable(shown);
    }

    /// Blanks (and the line's own tabs) up to `begin`, then carets up to `end`; columns in code points of `shown`.
    void underline(std::string_view shown, std::size_t begin, std::size_t end, Mark const& mark) {
        end = std::min(end, std::max(begin + 1, code_points(shown)));
        std::string indent = " ";
        std::string carets;
        std::size_t column = 0;
        auto const put_column = [&](bool is_tab) {
            if (column >= end) return;
            if (column < begin) indent += is_tab ? '\t' : ' ';
            if (column >= begin) carets += is_tab && column + 1 < end ? '\t' : mark.is_primary ? '^' : '-';
            ++column;
        };
        for (char const c : shown)
            if (!is_continuation(c)) put_column(c == '\t');
        while (column < end) put_column(false);
        out_ += indent;
        put(mark.is_primary ? mark_ : gutter_, mark.label->text.empty() ? carets : carets + ' ' + printable(mark.label->text));
        out_ += '\n';
    }

    void put(std::string_view style, std::string_view text) {
        out_ += colour_ ? fmt::format("{}{}\x1b[0m", style, text) : std::string{text};
    }

    static constexpr std::string_view gutter_ = "\x1b[1;34m";
    std::string& out_;
    Sources const& sources_;
    bool colour_;
    std::string_view mark_;
};

nlohmann::json to_json(Label const& label, Sources const& sources) {
    auto const place = [&](std::size_t offset) {
        Position const position = sources.position(label.span.source, offset);
        return nlohmann::json{{"line", position.line}, {"column", position.column}};
    };
    return {{"file", sources[label.span.source].name},
            {"start", place(label.span.begin)},
            {"end", place(label.span.end)},
            {"text", label.text}};
}

}  // namespace

std::string to_text(Diagnostics const& diagnostics, Sources const& sources, bool colour) {
    std::string out;
    Writer writer{out, sources, colour};
    for (Diagnostic const* diagnostic : in_order(diagnostics)) writer.write(*diagnostic);
    return out;
}

std::string to_json(Diagnostics const& diagnostics, Sources const& sources) {
    auto array = nlohmann::json::array();
    for (Diagnostic const* diagnostic : in_order(diagnostics)) {
        auto labels = nlohmann::json::array();
        for (Label const& label : diagnostic->labels)
            if (label.span.source < sources.size()) labels.push_back(to_json(label, sources));
        array.push_back({{"code", fmt::format("BAM{:04}", diagnostic->code)},
                         {"severity", word(diagnostic->severity)},
                         {"message", diagnostic->message},
                         {"labels", std::move(labels)},
                         {"notes", diagnostic->notes}});
    }
    return array.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + '\n';
}

}  // namespace bam
