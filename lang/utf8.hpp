// UTF-8: whether a text is well formed, and its code points.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace bam {

/// Whether a byte goes on with a sequence that another began.
inline bool is_continuation(char byte) { return (static_cast<unsigned char>(byte) & 0xC0U) == 0x80U; }

/// Length in bytes of the well-formed UTF-8 sequence at `at` (RFC 3629: shortest form, no surrogates, at most U+10FFFF); 0 if there is
/// none.
std::size_t sequence_length(std::string_view text, std::size_t at);

/// The offset of the first byte that is not part of a well-formed sequence, if there is one.
std::optional<std::size_t> find_invalid_utf8(std::string_view text);

/// Whether a well-formed text is a name of the language: letters of any alphabet, digits and `_`, and no digit first.
bool is_name(std::string_view text);

/// The number of code points of a well-formed text.
std::size_t code_points(std::string_view text);

/// The code points of a text; a byte that is not UTF-8 becomes U+FFFD.
std::u32string decode_utf8(std::string_view text);

}  // namespace bam
