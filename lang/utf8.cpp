#include "utf8.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace bam {
std::size_t sequence_length(std::string_view text, std::size_t at) {
    auto const byte = [&](std::size_t i) { return at + i < text.size() ? static_cast<unsigned char>(text[at + i]) : 0U; };
    auto const tail = [&](std::size_t i) { return (byte(i) & 0xC0U) == 0x80U; };
    unsigned const lead = byte(0);
    if (lead < 0x80) return 1;
    if (lead < 0xC2 || lead > 0xF4 || !tail(1)) return 0;
    if (lead < 0xE0) return 2;
    if (!tail(2)) return 0;
    if (lead < 0xF0) return (lead == 0xE0 && byte(1) < 0xA0) || (lead == 0xED && byte(1) > 0x9F) ? 0 : 3;
    if (!tail(3)) return 0;
    return (lead == 0xF0 && byte(1) < 0x90) || (lead == 0xF4 && byte(1) > 0x8F) ? 0 : 4;
}

bool is_name(std::string_view text) {
    auto const is_digit = [](char c) { return c >= '0' && c <= '9'; };
    auto const is_letter = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || static_cast<unsigned char>(c) >= 0x80;
    };
    return !text.empty() && is_letter(text.front()) &&
           std::all_of(text.begin(), text.end(), [&](char c) { return is_letter(c) || is_digit(c); });
}

std::size_t code_points(std::string_view text) {
    return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char byte) { return !is_continuation(byte); }));
}

std::optional<std::size_t> find_invalid_utf8(std::string_view text) {
    std::size_t offset = 0;
    while (offset < text.size()) {
        // Tables are nearly all ASCII: eight bytes at a time.
        std::uint64_t word = 0;
        while (offset + sizeof word <= text.size()) {
            std::memcpy(&word, text.data() + offset, sizeof word);
            if ((word & 0x8080808080808080U) != 0) break;
            offset += sizeof word;
        }
        if (offset == text.size()) break;
        std::size_t const length = sequence_length(text, offset);
        if (length == 0) return offset;
        offset += length;
    }
    return std::nullopt;
}

std::u32string decode_utf8(std::string_view text) {
    constexpr unsigned lead_bits[] = {0, 0x7F, 0x1F, 0x0F, 0x07};
    std::u32string points;
    points.reserve(text.size());
    for (std::size_t offset = 0; offset < text.size();) {
        std::size_t const length = sequence_length(text, offset);
        if (length == 0) {
            points.push_back(U'\uFFFD');
            ++offset;
            continue;
        }
        char32_t point = static_cast<unsigned char>(text[offset]) & lead_bits[length];
        for (std::size_t i = 1; i < length; ++i) point = (point << 6U) | (static_cast<unsigned char>(text[offset + i]) & 0x3FU);
        points.push_back(point);
        offset += length;
    }
    return points;
}

}  // namespace bam
