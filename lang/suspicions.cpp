// Priors that can be read, and are likely to say something else than was meant.
// Codes of this file:
//   BAM0320  (warning) a spread that is likely to be meant in another unit: a precision as an sd, or an sd as a precision
//   BAM0321  (warning) a gamma or inverse gamma whose arguments are next to 0
//   BAM0322  (warning) decays whose prior lets a state grow with the number of steps
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>

#include "effective.hpp"

namespace bam {
namespace {

constexpr double tiny_sd = 0.01;        ///< about a mean of 0: hardly what an sd is
constexpr double tiny_argument = 0.01;  ///< of a gamma: half of its draws are then below 1e-28

/// The numbers of a term that is known before there is a table: one, or an entry each.
std::vector<double> numbers(Model const& model, Term term) {
    Node const& node = model.terms[term];
    if (node.op == Op::Constant) return {model.terms.constant_value(term)};
    if (node.op == Op::Literal) return model.literals[node.payload].values;
    if (node.op != Op::Param) return {};
    Symbol const& symbol = model.symbols[static_cast<SymbolId>(node.payload)];
    return symbol.kind == SymbolKind::Fixed && symbol.literal ? model.literals[*symbol.literal].values : std::vector<double>{};
}

/// The sds of a factor, one or an entry each; empty where they are not known beforehand.
std::vector<double> known_sds(Model const& model, Factor const& factor) {
    if (factor.spread.size() != 1 || factor.has_covariance()) return {};
    SpreadPart const& part = factor.spread.front();
    std::vector<double> values = numbers(model, part.value);
    for (double& value : values) {
        if (part.kind == SpreadKind::Variance) value = std::sqrt(value);
        if (part.kind == SpreadKind::Precision) value = 1 / std::sqrt(value);
    }
    return values;
}

class Suspicions {
  public:
    Suspicions(Model const& model, std::optional<std::size_t> steps) : model_(model), steps_(steps) {}

    Diagnostics run() {
        std::set<SymbolId> decays = find_decays();
        for (PriorList::Unused const& unused : effective_priors(model_).unused) unused_.push_back(unused.prior.span);
        for (Factor const& factor : model_.factors) {
            if (factor.is_observation || is_unused(factor.span)) continue;
            look_at_unit(factor);
            if (decays.contains(factor.target)) look_at_growth(factor);
        }
        for (ScalePrior const& prior : model_.scale_priors)
            if (!is_unused(prior.span) && !model_.symbols[prior.scale].local_of) look_at_gamma(prior);
        return std::move(found_);
    }

  private:
    /// The statement that a factor was made of, if entries follow it; its distribution is what a hint replaces.
    StatedPrior const* find_stated(Span statement) const {
        for (StatedPrior const& stated : model_.stated)
            if (stated.span == statement) return &stated;
        return nullptr;
    }

    Diagnostic& warn(int code, Span statement, std::string message, std::string label) {
        StatedPrior const* const stated = find_stated(statement);
        found_.push_back(
            {code, Severity::Warning, std::move(message), {{stated != nullptr ? stated->rhs_span : statement, std::move(label)}}, {}});
        return found_.back();
    }

    bool is_unused(Span statement) const { return std::find(unused_.begin(), unused_.end(), statement) != unused_.end(); }
    bool is_said(Span statement, int code) { return !said_.insert({code, statement.source, statement.begin}).second; }

    // ---- units ----

    void look_at_unit(Factor const& factor) {
        bool const is_about_zero = factor.mean == model_.terms.zero();
        if (!is_about_zero || factor.spread.size() != 1 || model_.terms[factor.spread.front().value].op != Op::Constant) return;
        SpreadPart const& spread = factor.spread.front();
        double const written = model_.terms.constant_value(spread.value);
        auto const sds = known_sds(model_, factor);
        if (sds.empty() || sds[0] > tiny_sd || spread.kind == SpreadKind::Variance || is_said(factor.span, 320)) return;
        std::string const& name = model_.symbols[factor.target].name;
        bool const is_sd = spread.kind == SpreadKind::Sd;
        Diagnostic& d =
            warn(320, factor.span, fmt::format("the prior of `{}` holds it at all but 0", name),
                 is_sd ? fmt::format("an sd of {}", written) : fmt::format("a precision of {} is an sd of {:.3g}", written, sds[0]));
        d.notes.push_back(is_sd ? fmt::format("write `normal(0, precision = {})` if a precision was meant", written)
                                : fmt::format("write `normal(0, {})` if an sd was meant", written));
        d.notes.push_back("if it is meant: `fixed 0` says so, and leaves nothing to draw");
    }

    void look_at_gamma(ScalePrior const& prior) {
        bool const is_gamma = prior.family == ScaleFamily::Gamma;
        if ((!is_gamma && prior.family != ScaleFamily::InverseGamma) || prior.first > tiny_argument || prior.second > tiny_argument) return;
        if (is_said(prior.span, 321)) return;
        std::string const& name = model_.symbols[prior.scale].name;
        // Of gamma(shape, rate) with a small shape the median is about 2^(-1/shape) / rate.
        double const digits = std::log10(2.0) / prior.first + std::log10(prior.second);
        Diagnostic& d = warn(321, prior.span, fmt::format("the prior of `{}` is not as vague as it looks", name),
                             fmt::format("half of it is at {} {} 1e{}{:.0f}", is_gamma ? "precisions" : "variances",
                                         is_gamma ? "below" : "above", is_gamma ? "-" : "+", digits));
        d.notes.push_back(
            fmt::format("write `{}(2, 1)`, of which nine in ten sds are from 0.46 to 1.7; a {} of 100 makes them ten times as large",
                        is_gamma ? "gamma" : "inverse_gamma", is_gamma ? "rate" : "scale"));
        d.notes.push_back("or use it as an sd, with half_cauchy or half_normal, which are level next to 0");
    }

    // ---- growth ----

    /// Blocks that are the coefficient of a recurrence, as they are.
    std::set<SymbolId> find_decays() const {
        std::vector<Term> roots;
        for (Factor const& factor : model_.factors)
            if (factor.is_observation) roots.push_back(factor.residual);
        std::set<SymbolId> decays;
        for (Term const term : model_.terms.postorder(roots)) {
            Node const& node = model_.terms[term];
            if (node.op != Op::Scan) continue;
            Node const& coefficient = model_.terms[node.args[0]];
            if (coefficient.op == Op::Param && coefficient.lag == 0) decays.insert(static_cast<SymbolId>(coefficient.payload));
        }
        return decays;
    }

    /// With independent decays of mean m and sd s a step multiplies the second moment of what came before by m^2 + s^2.
    void look_at_growth(Factor const& factor) {
        auto const means = numbers(model_, factor.mean);
        auto const sds = known_sds(model_, factor);
        if (means.empty() || sds.empty()) return;
        if (factor.interval.is_bounded()) return;  // what is left of the normal has other moments: BAM0330 takes those
        double worst = 0, mean = 0, sd = 0;
        for (std::size_t i = 0; i < std::max(means.size(), sds.size()); ++i) {
            double const m = means[means.size() == 1 ? 0 : std::min(i, means.size() - 1)];
            double const s = sds[sds.size() == 1 ? 0 : std::min(i, sds.size() - 1)];
            if (m * m + s * s <= worst) continue;
            worst = m * m + s * s;
            mean = m;
            sd = s;
        }
        // About 1 nothing is to be forgotten: (1 + s^2)^T stays below e for T s^2 <= 1, and T is the table's.
        double const steps = steps_ ? static_cast<double>(*steps_) : 0;
        bool const is_level = mean == 1 && steps * sd * sd <= 1;
        if (worst < 1 || is_level || is_said(factor.span, 322)) return;
        std::string const& name = model_.symbols[factor.target].name;
        Diagnostic& d = warn(322, factor.span, fmt::format("the prior of `{}` lets the state grow with every step", name),
                             fmt::format("{:.3g}^2 + {:.3g}^2 = {:.3g}, and not below 1", mean, sd, worst));
        if (steps_) {
            double sum = 0, power = 1;
            for (std::size_t t = 0; t < *steps_ && sum < 1e200; ++t, power *= worst) sum += power;
            d.notes.push_back(
                fmt::format("after the {} steps of the table the prior sd of the state is {:.3g} times that of what one step adds", *steps_,
                            std::sqrt(sum)));
        } else {
            d.notes.emplace_back("how far it grows depends on the number of steps: --data TABLE says it");
        }
        bool const is_one = means.size() == 1 && sds.size() == 1;
        double const room = 0.9 * std::sqrt(std::max(0.0, 1 - mean * mean));
        double const digit = std::pow(10, std::floor(std::log10(std::max(room, 1e-3))));
        if (is_one && room > 0.05)
            d.notes.push_back(fmt::format("write `normal({:.6g}, {:.6g})`, which fades", mean, std::floor(room / digit) * digit));
        else if (is_one && mean == 1)
            d.notes.push_back(
                fmt::format("write `uniform_position(sd = {:.1g})`, which grows little over so many steps", 0.6 / std::sqrt(steps)));
        else if (is_one)
            d.notes.emplace_back("write `laplace_position(scale = 10, sd = 0.1)`, which fades");
        else
            d.notes.emplace_back("it fades where the square of the mean and that of the sd add up to less than 1");
    }

    Model const& model_;
    std::optional<std::size_t> steps_;
    Diagnostics found_;
    std::vector<Span> unused_;  ///< statements that no entry follows
    std::set<std::tuple<int, std::uint32_t, std::uint32_t>> said_;
};

}  // namespace

Diagnostics suspicious_priors(Model const& model, std::optional<std::size_t> steps) { return Suspicions(model, steps).run(); }

}  // namespace bam
