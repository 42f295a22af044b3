// When chains may end: conditions on what is identified, looked at after fixed numbers of draws.
#pragma once

#include <string>
#include <vector>

#include "draws.hpp"
#include "plan.hpp"
#include "thresholds.hpp"

namespace bam {

/// The worst of the identified quantities that vary.
struct RunningCheck {
    std::size_t draws = 0;  ///< of each chain, kept
    double rhat = 0;        ///< NaN where some has none: no condition holds then
    double ess = 0;         ///< the lower one of bulk and tail; NaN where some has none
};
/// Without chains that were dropped. What can be numbered anew is looked at in aligned draws.
RunningCheck check_draws(Plan const& plan, Run const& run);

/// Conditions that do not hold, as they were given.
std::vector<std::string> find_unmet(std::vector<Threshold> const& thresholds, RunningCheck const& check);

/// Why chains ended where they did, in a sentence. `draws`: of each chain.
std::string stop_sentence(std::string const& until, bool is_met, std::size_t draws);

}  // namespace bam
