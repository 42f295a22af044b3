// A fault that a table has many times: its first places, and how many there are.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "bam/diagnostic.hpp"

namespace bam {

/// Collects the places of one fault and reports them as one diagnostic that shows the first five.
class Places {
  public:
    static constexpr std::size_t shown = 5;

    void add(Span span, std::string text) {
        if (++count_ <= shown) labels_.push_back({span, std::move(text)});
    }
    std::size_t count() const { return count_; }

    /// An error at the places; `more` are places that belong to it besides. "and N more" is the first note if not all are shown.
    void report(int code, std::string message, std::vector<std::string> notes, std::vector<Label> more, Diagnostics& diagnostics) {
        if (count_ > shown) notes.insert(notes.begin(), "and " + std::to_string(count_ - shown) + " more");
        labels_.insert(labels_.end(), more.begin(), more.end());
        diagnostics.push_back({code, Severity::Error, std::move(message), std::move(labels_), std::move(notes)});
    }

  private:
    std::vector<Label> labels_;
    std::size_t count_ = 0;
};

}  // namespace bam
