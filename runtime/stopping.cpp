#include "stopping.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "summary.hpp"
#include "words.hpp"

namespace bam {

RunningCheck check_draws(Run const& run) {
    if (std::any_of(run.chains.begin(), run.chains.end(), [](Chain const& chain) { return chain.is_dropped; })) {
        Run rest;
        rest.columns = run.columns;
        for (Chain const& chain : run.chains)
            if (!chain.is_dropped) rest.chains.push_back(chain);
        return check_draws(rest);
    }
    RunningCheck check{common_draws(run), 0, std::numeric_limits<double>::infinity()};
    for (SummaryRow const& row : summarize(run)) {
        if (row.condition == Condition::Fixed || !row.column.is_identified) continue;
        double const ess = std::min(row.quantity.ess_bulk, row.quantity.ess_tail);
        check.rhat = std::isnan(row.quantity.rhat) ? std::numeric_limits<double>::infinity() : std::max(check.rhat, row.quantity.rhat);
        check.ess = std::isnan(ess) ? 0 : std::min(check.ess, ess);
    }
    return check;
}

std::vector<std::string> find_unmet(std::vector<Threshold> const& thresholds, RunningCheck const& check) {
    std::vector<std::string> unmet;
    for (Threshold const& threshold : thresholds)
        if (!threshold.holds(threshold.name == "rhat" ? check.rhat : check.ess)) unmet.push_back(threshold.text);
    return unmet;
}

std::string stop_sentence(std::string const& until, bool is_met, std::size_t draws) {
    if (is_met) return fmt::format("Stopped after {} of each chain: {} holds.", counted(draws, "draw"), until);
    return fmt::format("Stopped after {} of each chain, as `--max-draws` says: {} does not hold.", counted(draws, "draw"), until);
}

}  // namespace bam
