// Labels that a prior set names and a table does not have: of groups, which are known when a model is checked, and of sequences, which
// are known when its table is bound. A set may be the posterior of another table, so they are no error.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "bam/diagnostic.hpp"

namespace bam {

class AbsentLabels {
  public:
    /// Of a chosen statement; the same label of a dim counts once.
    void add(std::string_view dim, std::string_view label, Span span);
    /// Adds BAM0337 if there are any.
    void report(Diagnostics& diagnostics) const;

  private:
    std::vector<std::string> labels_;  ///< with their dim
    Span first_;
};

}  // namespace bam
