#include "stopping.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "aligned_summary.hpp"
#include "summary.hpp"
#include "words.hpp"

namespace bam {

RunningCheck check_draws(Plan const& plan, Run const& run) {
    if (std::any_of(run.chains.begin(), run.chains.end(), [](Chain const& chain) { return chain.is_dropped; })) {
        Run rest;
        rest.columns = run.columns;
        for (Chain const& chain : run.chains)
            if (!chain.is_dropped) rest.chains.push_back(chain);
        return check_draws(plan, rest);
    }
    RunningCheck check{common_draws(run), 0, std::numeric_limits<double>::infinity()};
    for (SummaryRow const& row : number_alike(summarize(run), plan, run).rows) {
        if (!row.is_judged()) continue;
        double const rhat = row.quantity.rhat, ess = worst_ess(row.quantity);
        // A number that is none stays so: NaN compares with nothing.
        check.rhat = std::isnan(check.rhat) || std::isnan(rhat) ? std::nan("") : std::max(check.rhat, rhat);
        check.ess = std::isnan(check.ess) || std::isnan(ess) ? std::nan("") : std::min(check.ess, ess);
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
