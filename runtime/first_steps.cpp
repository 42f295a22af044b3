// Codes of this file:
//   BAM0332  (warning) a mean that looks back beyond the first step at an output that is far from 0
#include "first_steps.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "output_cells.hpp"

namespace bam {
namespace {

constexpr double far_sds = 2;  ///< of the mean of the observed values from 0

struct Sum {
    double count = 0, values = 0, squares = 0;

    double mean() const { return values / count; }
    double sd() const { return std::sqrt(std::max(0.0, squares / count - mean() * mean())); }
    bool is_far_from_0() const { return count > 0 && std::abs(mean()) > far_sds * sd(); }
};

using Component = std::pair<std::uint32_t, std::uint32_t>;  // variable, component

/// How many steps the mean of a statement looks back at each output.
std::map<Component, std::size_t> looks_back_at(Problem const& problem, std::size_t factor) {
    std::map<Component, std::size_t> lags;
    for (Register const& reg : problem.plan.means[factor].pass.registers) {
        if (reg.from != From::Variable || reg.lag == 0 || !is_output(problem.plan.layout, reg.index)) continue;
        std::size_t& lag = lags[{reg.index, reg.component}];
        lag = std::max<std::size_t>(lag, reg.lag);
    }
    return lags;
}

}  // namespace

void warn_first_steps(Problem const& problem, Diagnostics& diagnostics) {
    Layout const& layout = problem.plan.layout;
    if (!layout.time) return;
    std::map<Component, Sum> sums;
    std::map<std::size_t, std::size_t> first_step;  // by factor: that it speaks of, of a cell that is observed
    for (OutputCell const& cell : output_cells(problem)) {
        if (!is_observed(problem, cell)) continue;
        std::uint32_t const v = layout.factors[cell.factor].target;
        double const value = problem.bound.data[v][entry_of(problem, cell)];
        Sum& sum = sums[{v, cell.component}];
        sum.count += 1;
        sum.values += value;
        sum.squares += value * value;
        auto const [at, is_new] = first_step.try_emplace(cell.factor, cell.step);
        if (!is_new) at->second = std::min(at->second, cell.step);
    }
    std::string const& t = layout.dims[*layout.time].name;
    for (auto const& [f, step] : first_step) {
        for (auto const& [component, lag] : looks_back_at(problem, f)) {
            auto const sum = sums.find(component);
            if (step >= lag || sum == sums.end() || !sum->second.is_far_from_0()) continue;
            std::string const& output = layout.variables[component.first].name;
            std::string const& target = layout.variables[layout.factors[f].target].name;
            bool const is_one = lag == 1;
            diagnostics.push_back(
                {332,
                 Severity::Warning,
                 fmt::format("`{}[{}-{}]` is 0 before the first step, and `{}` is about {:.3g}", output, t, lag, output,
                             sum->second.mean()),
                 {{layout.factors[f].span, is_one      ? "speaks of the first step, too"
                                           : step == 0 ? fmt::format("speaks of the first {} steps, too", lag)
                                                       : fmt::format("speaks of steps before step {}, too", lag)}},
                 {fmt::format("say `{0}[{1} {2}] ~ ...` of what comes first, and `{0}[{1} {3}] ~ ...` of the rest", target, t,
                              is_one ? "= 0" : fmt::format("< {}", lag), is_one ? "> 0" : fmt::format(">= {}", lag)),
                  fmt::format("or have `{}` about 0: take {:.3g} off its column in the table section", output, sum->second.mean())}});
            break;
        }
    }
}

}  // namespace bam
