// Codes of this file:
//   BAM0337  (note) statements of a prior set about labels that the table does not have
#include "absent_labels.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace bam {

void AbsentLabels::add(std::string_view dim, std::string_view label, Span span) {
    std::string text = fmt::format("{} `{}`", dim, label);
    if (labels_.empty()) first_ = span;
    if (std::find(labels_.begin(), labels_.end(), text) == labels_.end()) labels_.push_back(std::move(text));
}

void AbsentLabels::report(Diagnostics& diagnostics) const {
    if (labels_.empty()) return;
    constexpr std::size_t most = 5;
    std::size_t const shown = std::min(most, labels_.size());
    std::string const more = labels_.size() > shown ? fmt::format(" and {} more", labels_.size() - shown) : "";
    diagnostics.push_back({337,
                           Severity::Note,
                           fmt::format("a prior set speaks of labels that the table does not have: {}{}",
                                       fmt::join(labels_.begin(), labels_.begin() + static_cast<std::ptrdiff_t>(shown), ", "), more),
                           {{first_, "no entry follows"}},
                           {}});
}

}  // namespace bam
