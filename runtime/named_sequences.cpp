// Codes of this file:
//   BAM0451  a statement speaks of a sequence that the table does not have
#include "named_sequences.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "absent_labels.hpp"
#include "nearest.hpp"
#include "words.hpp"

namespace bam {

void check_named_sequences(Layout const& layout, Bound const& bound, std::function<bool(Span statement)> const& is_of_set,
                           Diagnostics& diagnostics) {
    AbsentLabels absent;
    for (FactorLayout const& factor : layout.factors) {
        auto const& label = factor.region.sequence;
        auto const& labels = bound.sequence_labels;
        if (!label || std::find(labels.begin(), labels.end(), *label) != labels.end()) continue;
        std::string const dim = layout.sequence ? layout.dims[*layout.sequence].name : "sequence";
        if (is_of_set(factor.span)) {
            absent.add(dim, *label, factor.region.span);
            continue;
        }
        std::vector<std::string> in_table;
        for (std::size_t const sequence : bound.appearance) in_table.push_back(labels[sequence]);
        auto const near = nearest(*label, in_table);
        diagnostics.push_back({451,
                               Severity::Error,
                               fmt::format("the table has no {} `{}`", dim, *label),
                               {{factor.region.span, near ? fmt::format("did you mean `{}`?", *near) : "not in the table"}},
                               {fmt::format("the table has {}", first_few(in_table))}});
    }
    absent.report(diagnostics);
}

}  // namespace bam
