// The priors of a model as text with places, for those who know no terms.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "bam/diagnostic.hpp"

namespace bam {

/// One statement, on the entries that `target` names.
struct WrittenPrior {
    std::string parameter;  ///< its name
    std::string target;     ///< `W_v[conc, feat]`, `a[t > 0]`
    std::string text;       ///< `~ normal(0, 1)`, `fixed 1`
    std::string set;        ///< the named set that it stands in; empty: none
    Span span;
};

/// Entries that have one prior.
struct PriorLine {
    WrittenPrior prior;
    bool is_rest = false;                  ///< those sequences, or labels, that no other line names
    std::vector<WrittenPrior> overridden;  ///< what would hold without it, the last first
};

struct PriorList {
    struct Unused {
        WrittenPrior prior;
        std::vector<Span> taken_by;  ///< the statements that have its entries
    };
    struct Set {
        std::string name;
        std::string extends;  ///< empty: none
        bool is_chosen = false;
        Span span;
    };
    std::vector<PriorLine> lines;  ///< in the order in which parameters are declared
    std::vector<Unused> unused;
    std::vector<Set> sets;
};

}  // namespace bam
