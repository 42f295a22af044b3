#include "chain_format.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <vector>

namespace bam::chain_format {
namespace {

constexpr std::string_view interchanged = "-interchanged";  ///< behind the kind of a column

std::string encode(std::string_view label) {
    std::string text;
    for (char const c : label) {
        auto const byte = static_cast<unsigned char>(c);
        bool const is_special = byte < 0x20 || byte == 0x7f || std::string_view("%|=\"#").find(c) != std::string_view::npos;
        text += is_special ? fmt::format("%{:02X}", byte) : std::string(1, c);
    }
    return text;
}

std::optional<std::string> decode(std::string_view text) {
    std::string label;
    for (std::size_t at = 0; at < text.size(); ++at) {
        if (text[at] != '%') {
            label += text[at];
            continue;
        }
        unsigned byte = 0;
        std::string_view const digits = text.substr(at + 1, 2);
        bool const is_whole = std::from_chars(digits.data(), digits.data() + digits.size(), byte, 16).ptr == digits.data() + 2;
        if (digits.size() < 2 || !is_whole) return std::nullopt;
        label += static_cast<char>(byte);
        at += 2;
    }
    return label;
}

/// The text up to the next blank, which is taken off.
std::string_view take_word(std::string_view& text) {
    std::string_view const word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(word.size() + 1, text.size()));
    return word;
}

}  // namespace

bool is_default(DrawColumn const& column) {
    if (!column.is_identified || column.is_interchanged || !column.is_shown || column.choice > 0 ||
        column.labels.size() != column.index.size())
        return false;
    for (std::size_t i = 0; i < column.index.size(); ++i)
        if (column.labels[i] != std::to_string(column.index[i])) return false;
    return true;
}

std::string describe(DrawColumn const& column) {
    std::string const kind = (column.choice > 0      ? fmt::format("choice{}", column.choice)
                              : column.is_identified ? "identified"
                                                     : "unidentified") +
                             std::string(column.is_interchanged ? interchanged : "");
    std::string text = fmt::format("{}{} {} {}", column_comment, csv_name(column), kind, column.is_shown ? "shown" : "hidden");
    for (std::size_t i = 0; i < column.labels.size(); ++i) text += (i == 0 ? ' ' : '|') + encode(column.labels[i]);
    return text;
}

bool read_description(std::string_view line, DrawColumn& column) {
    if (!line.starts_with(column_comment)) return false;
    line.remove_prefix(column_comment.size());
    if (take_word(line) != csv_name(column)) return false;
    std::string_view identified = take_word(line);
    column.is_interchanged = identified.ends_with(interchanged);
    if (column.is_interchanged) identified.remove_suffix(interchanged.size());
    bool const has_labels = line.find(' ') != std::string_view::npos;
    std::string_view const shown = take_word(line);
    std::size_t choice = 0;
    if (identified.starts_with("choice")) {
        std::string_view const digits = identified.substr(6);
        bool const is_whole = std::from_chars(digits.data(), digits.data() + digits.size(), choice).ptr == digits.data() + digits.size();
        if (!is_whole || choice == 0 || choice > column.index.size()) return false;
    }
    if ((identified != "identified" && identified != "unidentified" && choice == 0) || (shown != "shown" && shown != "hidden"))
        return false;
    column.is_identified = identified != "unidentified";
    column.choice = choice;
    column.is_shown = shown == "shown";
    column.labels.clear();
    while (has_labels) {
        std::size_t const bar = line.find('|');
        auto const label = decode(line.substr(0, bar));
        if (!label) return false;
        column.labels.push_back(*label);
        if (bar == std::string_view::npos) break;
        line.remove_prefix(bar + 1);
    }
    return true;
}

}  // namespace bam::chain_format
