#include "nearest.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>

#include "utf8.hpp"

namespace bam {
namespace {

constexpr std::size_t longest_compared = 256;

/// Lower case of Latin, Greek and Cyrillic letters; anything else as it is. By hand, since towlower depends on the locale.
char32_t to_lower(char32_t c) {
    auto const within = [c](char32_t first, char32_t last) { return first <= c && c <= last; };
    if (within(U'A', U'Z') || (within(0xC0, 0xDE) && c != 0xD7) || within(0x391, 0x3A9) || within(0x410, 0x42F)) return c + 32;
    if (within(0x100, 0x137) || within(0x14A, 0x177)) return c | 1U;        // Latin Extended-A: upper case is even
    if (within(0x139, 0x148) || within(0x179, 0x17E)) return c + (c & 1U);  // here it is odd
    if (within(0x400, 0x40F)) return c + 80;
    if (c == 0x178) return 0xFF;
    if (c == 0x3C2) return 0x3C3;  // final sigma
    return c;
}

std::u32string fold_case(std::string_view name) {
    std::u32string points = decode_utf8(name);
    std::transform(points.begin(), points.end(), points.begin(), to_lower);
    return points;
}

/// Optimal string alignment distance: each row of the usual table from the two before it.
std::size_t distance(std::u32string const& a, std::u32string const& b) {
    std::vector<std::size_t> before(b.size() + 1);
    std::vector<std::size_t> last(b.size() + 1);
    std::vector<std::size_t> row(b.size() + 1);
    for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
    for (std::size_t i = 1; i <= a.size(); ++i) {
        row[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            std::size_t const replaced = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
            row[j] = std::min({replaced, last[j] + 1, row[j - 1] + 1});
            bool const exchanged = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
            if (exchanged) row[j] = std::min(row[j], before[j - 2] + 1);
        }
        std::swap(before, last);
        std::swap(last, row);
    }
    return last[b.size()];
}

}  // namespace

std::optional<std::string> nearest(std::string_view name, std::vector<std::string> const& candidates) {
    std::u32string const folded = fold_case(name);
    std::optional<std::string> best;
    std::size_t best_distance = std::numeric_limits<std::size_t>::max();
    for (std::string const& candidate : candidates) {
        if (candidate == name) return candidate;
        std::u32string const other = fold_case(candidate);
        std::size_t const longer = std::max(folded.size(), other.size());
        std::size_t const allowed = longer > longest_compared ? 0 : (longer + 1) / 3;
        if (longer - std::min(folded.size(), other.size()) > allowed) continue;
        std::size_t const steps = allowed == 0 ? (folded == other ? 0 : 1) : distance(folded, other);
        if (steps <= allowed && steps < best_distance) {
            best = candidate;
            best_distance = steps;
        }
    }
    return best;
}

}  // namespace bam
