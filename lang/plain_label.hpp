// Labels as indices name them.
#pragma once

#include <string_view>

namespace bam {

/// Whether an index may name a label as it is, without quotes: an ASCII name or digits. Of other names some are not what they look like
/// (BAM0005).
bool is_plain_label(std::string_view text);

}  // namespace bam
