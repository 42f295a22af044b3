// The numbers of one chain: the values of all parameters. A value, so that it can be copied, compared and written.
#pragma once

#include <vector>

#include "bind.hpp"
#include "plan.hpp"

namespace bam {

struct State {
    /// Per variable of the layout: [component][extent]; empty for data, but for outputs whose missing cells are drawn (augment.hpp). Scales
    /// hold what the file calls them: an sd, a variance or a precision.
    std::vector<std::vector<double>> values;
    /// Auxiliary variables of half-t scales (scale_family.hpp). Per variable: [component][extent].
    std::vector<std::vector<double>> auxiliaries;
};

/// All parameters at zero, scales at one.
State make_state(Layout const& layout, Grid const& grid);

}  // namespace bam
