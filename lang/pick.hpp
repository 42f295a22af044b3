// Entries that the labels of columns pick: `sigma[group]`, `theta[home]`.
#pragma once

#include <optional>
#include <vector>

#include "compile.hpp"
#include "model.hpp"

namespace bam {

/// sum over the axes of the labels of leaf * Member * ..., taken apart.
struct Pick {
    Term leaf = 0;
    std::vector<Term> members;  ///< none of a leaf that stands alone
};
/// Nothing if the term is another.
std::optional<Pick> take_pick(Terms const& terms, Term term);

/// The dims whose labels are the values of columns, each with these columns.
std::vector<LabelColumns> label_columns(Model const& model);

}  // namespace bam
