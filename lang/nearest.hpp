// "Did you mean": the name that a mistyped one was meant for.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace bam {

/// The candidate that `name` is most likely a slip for: the same but for case, else the one with the fewest insertions, deletions,
/// replacements and exchanges of neighbouring code points (optimal string alignment; Damerau 1964), case set aside, the first of equals.
/// Nothing if that takes more than about a third of the longer name; a name of one letter is near to nothing but its other case.
/// O(length^2) per candidate; above 256 code points only case may differ.
std::optional<std::string> nearest(std::string_view name, std::vector<std::string> const& candidates);

}  // namespace bam
