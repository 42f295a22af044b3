// How messages call one entry of a variable.
#pragma once

#include <string>
#include <vector>

#include "bind.hpp"
#include "plan.hpp"

namespace bam {

/// The labels of an entry along the variable's dims, as draws have them; of time the step.
std::vector<std::string> labels_of(Variable const& variable, std::size_t component, std::size_t sequence, std::size_t step,
                                   Layout const& layout, Bound const& bound);

/// `b[conc,dose]`, `sigma[S 1]`, `a[S 1,3]`: the labels of the entry's dims, of time the step; the name alone where it has none. `index`:
/// of the variable's extent.
std::string entry_name(Variable const& variable, std::size_t component, std::size_t index, Layout const& layout, Bound const& bound);
/// The same of [component][extent].
std::string entry_name(Variable const& variable, std::size_t entry, Layout const& layout, Bound const& bound);

}  // namespace bam
