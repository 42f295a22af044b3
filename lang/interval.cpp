#include "interval.hpp"

#include <fmt/format.h>

namespace bam {

std::string to_text(Interval const& interval) {
    if (!interval.is_bounded()) return "";
    auto const end = [](double x) { return std::isfinite(x) ? fmt::format("{}", x) : std::string(); };
    return fmt::format(" in {}..{}", end(interval.low), end(interval.high));
}

}  // namespace bam
