#include "words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace bam {

std::string first_few(std::vector<std::string> const& names) {
    constexpr std::size_t most = 5;
    std::string text;
    std::size_t const shown = std::min(names.size(), most);
    for (std::size_t i = 0; i < shown; ++i) {
        bool const is_last = i + 1 == shown && names.size() == shown;
        text += fmt::format("{}`{}`", i == 0 ? "" : is_last ? " and " : ", ", names[i]);
    }
    if (names.size() > shown) text += fmt::format(" and {} more", names.size() - shown);
    return text;
}

std::string counted(std::size_t count, std::string_view noun) {
    return fmt::format("{} {}{}", count, noun, count == 1 ? "" : noun.ends_with('s') ? "es" : "s");
}

std::string failed_starts(std::size_t failed, std::size_t starts) {
    return fmt::format("{} of {} starts failed, and {} left out.", failed, starts, failed == 1 ? "is" : "are");
}

std::string two_digits(double value) {
    if (!(value >= 10 && value < 1e6)) return fmt::format("{:.2g}", value);
    double const unit = std::pow(10, std::floor(std::log10(value)) - 1);
    return fmt::format("{:.0f}", std::round(value / unit) * unit);
}

}  // namespace bam
