// Codes of this file:
//   BAM0330  (warning) a decay whose prior lets the state grow over the steps of the table
#include "stability.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "factors.hpp"
#include "pass_runner.hpp"
#include "truncated_normal.hpp"
#include "words.hpp"

namespace bam {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double most_growth = 1;  ///< of the log of the mean square. An sd of 1 / sqrt(T) about 1 stays below it

/// Where the growth is largest.
struct Growth {
    double log_square = 0;
    std::size_t steps = 0;
    double mean = 0;  ///< the largest in this stretch, without sign
    double sd = 0;
    std::size_t factor = 0;
};

class Stability {
  public:
    explicit Stability(Problem const& problem)
        : problem_(problem), layout_(problem.plan.layout), state_(make_state(layout_, problem.bound.grid)), factors_(problem, state_) {}

    /// Of a decay over time; nothing if its prior is not known before other parameters are.
    std::optional<Growth> growth(DecayLayout const& decay) {
        Variable const& variable = layout_.variables[decay.variable];
        if (variable.extent != Extent::Time && variable.extent != Extent::Cell) return std::nullopt;
        std::size_t const count = variable.components * problem_.bound.grid.size(variable.extent);
        mean_.assign(count, nan);
        variance_.assign(count, nan);
        said_by_.assign(count, 0);
        for (std::size_t f = 0; f < layout_.factors.size(); ++f)
            if (layout_.factors[f].target == decay.variable && !read(f)) return std::nullopt;
        Growth worst;
        std::size_t const sequences = variable.extent == Extent::Cell ? problem_.bound.grid.sequences : 1;
        for (std::size_t c = 0; c < variable.components; ++c)
            for (std::size_t s = 0; s < sequences; ++s) follow(variable, c, s, std::abs(decay.factor), worst);
        return worst;
    }

  private:
    /// What a statement says of its entries; false if that hangs on other parameters.
    bool read(std::size_t f) {
        FactorLayout const& factor = layout_.factors[f];
        Variable const& target = layout_.variables[factor.target];
        Grid const& grid = problem_.bound.grid;
        TermPlan const& residual = problem_.plan.residuals[f];
        if (!factor.is_proper() || factor.is_categorical() || factor.has_covariance() || !factors_.learnt_parts(f).empty()) return false;
        bool const is_known = std::all_of(residual.pass.registers.begin(), residual.pass.registers.end(), [&](Register const& reg) {
            if (reg.from != From::Variable || layout_.variables[reg.index].kind == VariableKind::Data) return true;
            return reg.index == factor.target && reg.lag == 0;
        });
        if (!is_known) return false;
        // All parameters are 0 here, so the residual, mean - target, is the mean.
        PassRunner runner(residual.pass, {layout_, problem_.bound, state_, factors_.weights()}, {}, true);
        runner.begin();
        runner.run(runner.chunks().front());
        std::size_t const size = grid.size(target.extent);
        grid.for_each(target.extent, [&](std::size_t i, std::size_t s, std::size_t t) {
            if (t < target.first_step) return;
            for (std::size_t c = 0; c < target.components; ++c) {
                std::size_t const entry = c * size + i;
                if (factors_.mask(f, c, i) == 0) continue;
                std::uint32_t const reg = residual.registers[c];
                double const mean = reg == no_register ? 0 : runner.at(reg)[runner.is_one(reg) ? 0 : i];
                set_moments(entry, factor, mean, factor.is_flat() ? 0 : factors_.precision(f, c, s, t));
                said_by_[entry] = f;
            }
        });
        return true;
    }

    /// Those of what the interval leaves of the normal, or of a flat density between two ends.
    void set_moments(std::size_t entry, FactorLayout const& factor, double mean, double precision) {
        mean_[entry] = mean;
        variance_[entry] = 1 / precision;
        if (!factor.interval.is_bounded()) return;
        TruncatedNormal::Moments const left = TruncatedNormal(precision, precision * mean, factor.interval).moments();
        mean_[entry] = left.mean;
        variance_[entry] = left.variance;
    }

    /// The stretch of steps over which the product of mean squares is largest. A decay at the first step has nothing to act on.
    void follow(Variable const& variable, std::size_t c, std::size_t s, double factor, Growth& worst) const {
        Grid const& grid = problem_.bound.grid;
        std::size_t const steps = variable.extent == Extent::Cell ? problem_.bound.lengths[s] : grid.steps;
        Growth now;
        for (std::size_t t = std::max<std::size_t>(1, variable.first_step); t < steps; ++t) {
            std::size_t const entry = entry_of(variable, c, grid, s, t);
            double const mean = std::abs(mean_[entry]);
            if (std::isnan(mean)) {
                now = {};
                continue;
            }
            if (!(now.log_square > 0)) now = {};
            now.log_square += std::log(factor * factor * (mean * mean + variance_[entry]));
            ++now.steps;
            now.mean = std::max(now.mean, mean * factor);
            now.sd = std::max(now.sd, std::sqrt(variance_[entry]) * factor);
            now.factor = said_by_[entry];
            if (now.log_square > worst.log_square) worst = now;
        }
    }

    Problem const& problem_;
    Layout const& layout_;
    State state_;
    Factors factors_;
    std::vector<double> mean_;  ///< [component][extent], as the others
    std::vector<double> variance_;
    std::vector<std::size_t> said_by_;
};

}  // namespace

namespace {

/// exp(x) with two digits, also where no number holds it.
std::string power_of_e(double x) {
    constexpr double most = 700;
    if (x < most) return fmt::format("{:.2g}", std::exp(x));
    double const digits = x / std::log(10.0);
    return fmt::format("{:.1f}e+{:.0f}", std::pow(10, digits - std::floor(digits)), std::floor(digits));
}

}  // namespace

void warn_unstable(Problem const& problem, Diagnostics& diagnostics) {
    Layout const& layout = problem.plan.layout;
    if (layout.decays.empty()) return;
    Stability stability(problem);
    for (DecayLayout const& decay : layout.decays) {
        auto const growth = stability.growth(decay);
        if (!growth || growth->log_square <= most_growth) continue;
        auto const steps = static_cast<double>(growth->steps);
        std::vector<std::string> notes{fmt::format(
            "a decay of mean {:.3g} and sd {:.3g} leaves mean^2 + sd^2 = {:.3g} of a square at each step; from 1 on the state explodes",
            growth->mean, growth->sd, growth->mean * growth->mean + growth->sd * growth->sd)};
        if (growth->mean > 1)
            notes.emplace_back("the mean alone lets it grow: take one of at most 1");
        else
            notes.push_back(
                fmt::format("an sd of at most 1 / sqrt({}) = {:.2g} keeps the factor below 3", growth->steps, 1 / std::sqrt(steps)));
        if (layout.factors[growth->factor].interval.is_bounded())
            notes.emplace_back("or an interval that no decay leaves above 1: `in 0..1`");
        diagnostics.push_back(
            {330,
             Severity::Warning,
             fmt::format("the prior of `{}` lets the state grow", layout.variables[decay.variable].name),
             {{layout.factors[growth->factor].span, fmt::format("over {}, the mean square of what is left grows by a factor of {}",
                                                                counted(growth->steps, "step"), power_of_e(growth->log_square))}},
             std::move(notes)});
    }
}

}  // namespace bam
