// What people who know other languages write for a distribution.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace bam {

/// The same distribution in this language, if it is only written otherwise: `dnorm(0, 4)` is `normal(0, precision = 4)`. `arguments` as
/// they were written.
std::optional<std::string> translate(std::string_view name, std::vector<std::string> arguments);

/// What to do instead of a distribution that there is not, of the well-known ones.
std::optional<std::string> advice_on(std::string_view name);

}  // namespace bam
