#include "plain_label.hpp"

#include <algorithm>

#include "utf8.hpp"

namespace bam {

bool is_plain_label(std::string_view text) {
    auto const is_digit = [](char c) { return c >= '0' && c <= '9'; };
    bool const is_ascii = std::all_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; });
    return !text.empty() && is_ascii && (is_name(text) || std::all_of(text.begin(), text.end(), is_digit));
}

}  // namespace bam
