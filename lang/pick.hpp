// A leaf of which the labels of columns pick an entry: `sigma[group]`, `theta[home]`.
#pragma once

#include <optional>
#include <vector>

#include "term.hpp"

namespace bam {

/// sum over the axes of the labels of leaf * Member * ..., taken apart.
struct Pick {
    Term leaf = 0;
    std::vector<Term> members;  ///< none of a leaf that stands alone
};
/// Nothing if the term is another.
std::optional<Pick> take_pick(Terms const& terms, Term term);

}  // namespace bam
