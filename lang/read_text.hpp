// The text of a file, or why there is none.
#pragma once

#include <functional>
#include <string>

namespace bam {

/// What came of reading a file.
struct ReadText {
    std::string text;
    std::string identity;  ///< equal for two names of one file
    std::string failure;   ///< "no such file", "permission denied", ...; empty if it was read
    std::string near;      ///< a file of nearly that name in the same folder; only with a failure
};

/// Reads a file, a pipe, or standard input if the name is "-".
ReadText read_text(std::string const& name);

/// Where texts come from: read_text, or the record of an earlier run.
using Reader = std::function<ReadText(std::string const& name)>;

}  // namespace bam
