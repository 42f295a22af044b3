// Lists and counts in sentences.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace bam {

/// "`a`, `b` and `c`": the first five, "and 4 more" after them.
std::string first_few(std::vector<std::string> const& names);

/// "1 draw", "2 draws", "2 passes".
std::string counted(std::size_t count, std::string_view noun);

/// Of a run of several starts, some of which came to nothing.
std::string failed_starts(std::size_t failed, std::size_t starts);

/// Two digits of a number above 0, without an exponent from 0.001 on to a million: "0.056", "7.5", "750".
std::string two_digits(double value);

}  // namespace bam
