// What stands on the right of `~`.
// Codes of this file:
//   BAM0120  an unknown distribution, or none at all
//   BAM0121  its arguments
//   BAM0122  a number that must be positive
//   BAM0158  an interval without an end, or of fewer than two numbers
//   BAM0159  an interval behind what has none
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "nearest.hpp"
#include "other_names.hpp"
#include "workspace.hpp"

namespace bam {
namespace {

using tree::Expr;
using tree::ExprKind;
using Family = Distribution::Family;

struct SpreadName {
    char const* name;
    SpreadKind spread;
    std::vector<std::string> others;  ///< what else it is called
};

std::vector<SpreadName> const& spread_names() {
    static std::vector<SpreadName> const names{{"sd", SpreadKind::Sd, {"sigma", "std", "scale", "stddev"}},
                                               {"var", SpreadKind::Variance, {"variance", "sigma2"}},
                                               {"precision", SpreadKind::Precision, {"tau", "prec", "inverse_variance"}},
                                               {"cov", SpreadKind::Covariance, {"covariance", "Sigma"}}};
    return names;
}

class Reading {
  public:
    Reading(Workspace& workspace, Expr const& call) : workspace_(workspace), call_(call) {}

    std::optional<Distribution> run() {
        if (call_.kind != ExprKind::Call) return refuse_value();
        if (auto notes = other_names(workspace_, call_); !notes.empty()) {
            workspace_.error(120, call_.span, fmt::format("`{}` is written otherwise here", workspace_.text(call_.span)), "",
                             std::move(notes));
            return std::nullopt;
        }
        if (call_.text == "normal") return normal();
        if (call_.text == "student_t") return student_t();
        if (call_.text == "laplace") return laplace();
        if (call_.text == "horseshoe") return horseshoe();
        if (call_.text == "bernoulli_logit") return bernoulli_logit();
        if (call_.text == "laplace_position") return laplace_position();
        if (call_.text == "uniform_position") return uniform_position();
        if (call_.text == "categorical") return categorical();
        if (call_.text == "ggd_position" || call_.text == "power_position") return learnt_kernel();
        if (call_.text == "learn") return learn();
        for (ScaleFamilyRow const& row : scale_families()) {
            if (call_.text == row.name) return of_scale(row);
        }
        return refuse_name();
    }

  private:
    std::optional<Distribution> refuse_value() {
        Diagnostic& d = workspace_.error(120, call_.span, "a distribution is expected behind `~`");
        if (call_.kind == ExprKind::Number || call_.kind == ExprKind::List)
            d.notes.push_back("to hold a parameter at a number: `fixed` in the place of `~`");
        else if (call_.kind == ExprKind::Name && is_known(call_.text))
            d.notes.push_back(fmt::format("its arguments stand in parentheses: `{}(...)`", call_.text));
        else
            d.notes.push_back("what is computed is defined with `=` in the state section");
        return std::nullopt;
    }

    static std::vector<std::string> known_names() {
        std::vector<std::string> names{"normal", "student_t", "laplace", "horseshoe", "bernoulli_logit"};
        for (ScaleFamilyRow const& row : scale_families()) names.emplace_back(row.name);
        names.emplace_back("laplace_position");
        names.emplace_back("uniform_position");
        names.emplace_back("ggd_position");
        names.emplace_back("power_position");
        names.emplace_back("categorical");
        names.emplace_back("learn");
        return names;
    }

    static bool is_known(std::string const& name) {
        auto const names = known_names();
        return std::find(names.begin(), names.end(), name) != names.end();
    }

    std::optional<Distribution> refuse_name() {
        Diagnostic& d = workspace_.error(120, call_.name_span, fmt::format("there is no distribution `{}`", call_.text));
        bool const is_binary = call_.text.find("bern") != std::string::npos || call_.text.find("binom") != std::string::npos ||
                               call_.text.find("logi") != std::string::npos;
        bool const is_bank = call_.text.starts_with("ggd") || call_.text.starts_with("power");
        auto const near = nearest(call_.text, known_names());
        if (auto const advice = advice_on(call_.text))
            d.notes.push_back(*advice);
        else if (is_bank)
            d.notes.push_back(
                "a kernel that is no single decay is a bank of them: `b[bank] fixed ggd_decays(...)` and "
                "`w[bank] ~ normal(ggd_weights(...), ...)`");
        else if (is_binary)
            d.notes.push_back("an output that is 0 or 1 has the log odds of a 1 as its mean: `y[t] ~ bernoulli_logit(...)`");
        else if (near)
            d.notes.push_back(hint(*near));
        d.notes.push_back("there are " + enumerate(known_names()));
        return std::nullopt;
    }

    // ---- normal ----

    std::optional<Distribution> normal() {
        Distribution result;
        result.span = call_.span;
        std::size_t position = 0;
        for (Expr const& arg : call_.args) {
            if (arg.kind == ExprKind::Assign) {
                if (!named_argument(result, arg)) return std::nullopt;
                continue;
            }
            bool const is_good = position == 0   ? set_mean(result, arg, arg)
                                 : position == 1 ? set_spread(result, SpreadKind::Sd, arg, arg)
                                                 : false;
            if (position > 1)
                workspace_.error(121, call_.span, "normal takes a mean and a spread", fmt::format("{} arguments", call_.args.size()));
            if (!is_good) return std::nullopt;
            ++position;
        }
        if (result.mean && result.scale) return result;
        std::string const mean = result.mean ? workspace_.text(result.mean->span) : "0";
        std::string const scale = result.scale ? workspace_.text(result.scale_span) : "1";
        workspace_.error(121, call_.span, fmt::format("normal without {}", result.mean ? "a spread" : "a mean"), "",
                         {hint(fmt::format("normal({}, {})", mean, scale))});
        return std::nullopt;
    }

    bool named_argument(Distribution& result, Expr const& arg) {
        if (arg.text == "mean") return set_mean(result, arg.args[0], arg);
        std::vector<std::string> names{"mean"};
        for (SpreadName const& row : spread_names()) {
            if (arg.text == row.name) return set_spread(result, row.spread, arg.args[0], arg);
            names.emplace_back(row.name);
        }
        Diagnostic& d = workspace_.error(121, arg.name_span, fmt::format("normal has no argument `{}`", arg.text));
        for (SpreadName const& row : spread_names()) {
            if (std::find(row.others.begin(), row.others.end(), arg.text) != row.others.end()) d.notes.push_back(hint(row.name));
        }
        if (d.notes.empty()) d.notes.push_back("there are " + enumerate(names));
        return false;
    }

    bool set_mean(Distribution& result, Expr const& mean, Expr const& arg) {
        if (result.mean) workspace_.error(121, arg.span, "a second mean").labels.push_back({result.mean->span, "the first"});
        bool const is_first = !result.mean;
        result.mean = &mean;
        return is_first;
    }

    bool set_spread(Distribution& result, SpreadKind spread, Expr const& scale, Expr const& arg) {
        if (result.scale) workspace_.error(121, arg.span, "a second spread").labels.push_back({result.scale_span, "the first"});
        bool const is_first = !result.scale;
        result.spread = spread;
        result.scale = &scale;
        result.scale_span = arg.span;
        return is_first;
    }

    // ---- the others ----

    /// The arguments in the order of `names`, whether by place or by name.
    std::optional<std::vector<Expr const*>> arguments(std::vector<std::string> const& names) {
        std::vector<Expr const*> found(names.size(), nullptr);
        std::size_t position = 0;
        bool is_good = call_.args.size() == names.size();
        for (Expr const& arg : call_.args) {
            std::size_t at = position;
            if (arg.kind == ExprKind::Assign) {
                at = static_cast<std::size_t>(std::find(names.begin(), names.end(), arg.text) - names.begin());
            } else {
                ++position;
            }
            if (at >= names.size() || found[at])
                is_good = false;
            else
                found[at] = arg.kind == ExprKind::Assign ? &arg.args[0] : &arg;
        }
        if (is_good) return found;
        std::string list;
        for (std::string const& name : names) list += (list.empty() ? "" : ", ") + name;
        workspace_.error(121, call_.span, fmt::format("the arguments of {} are ({})", call_.text, list));
        return std::nullopt;
    }

    std::optional<double> positive(Expr const& arg) {
        auto const number = number_of(workspace_, arg, fmt::format("an argument of {}", call_.text));
        if (!number || *number > 0) return number;
        workspace_.error(122, arg.span, fmt::format("an argument of {} must be greater than 0", call_.text));
        return std::nullopt;
    }

    std::optional<Distribution> of_scale(ScaleFamilyRow const& row) {
        auto const args = arguments(row.arguments);
        if (!args) return std::nullopt;
        Distribution result;
        result.family = row.family == ScaleFamily::Flat ? Family::Flat : Family::Scale;
        result.row = &row;
        result.span = call_.span;
        std::vector<double> numbers;
        if (row.first > 0) numbers.push_back(row.first);
        bool is_good = true;
        for (Expr const* arg : *args) {
            auto const number = positive(*arg);
            is_good = is_good && number.has_value();
            numbers.push_back(number.value_or(1));
        }
        numbers.resize(2, 0);
        result.first = numbers[0];
        result.second = numbers[1];
        return is_good ? std::optional(result) : std::nullopt;
    }

    // ---- normals whose spread has a part of its own for each entry (math.md, 7. Scales) ----

    Distribution local_normal(Expr const& scale, Distribution::Local local) const {
        Distribution result;
        result.span = call_.span;
        result.scale = &scale;
        result.scale_span = scale.span;
        result.local = local;
        return result;
    }

    /// normal(mean, scale / sqrt(w)), w ~ gamma(df / 2, df / 2).
    std::optional<Distribution> student_t() {
        auto const args = arguments({"df", "mean", "scale"});
        if (!args) return std::nullopt;
        Expr const& df = *(*args)[0];
        Distribution::Local local{SpreadKind::Precision, ScaleFamily::Gamma, 0, 0, nullptr};
        Name const* const name = df.kind == ExprKind::Name ? workspace_.find(df.text) : nullptr;
        if (name && name->kind == NameKind::Param) {
            local.df = &df;
        } else {
            auto const number = positive(df);
            if (!number) return std::nullopt;
            local.first = local.second = *number / 2;
        }
        Distribution result = local_normal(*(*args)[2], local);
        result.mean = (*args)[1];
        return result;
    }

    /// normal(mean, scale * sqrt(v)), v ~ exponential(1 / 2) (Andrews and Mallows 1974).
    std::optional<Distribution> laplace() {
        auto const args = arguments({"mean", "scale"});
        if (!args) return std::nullopt;
        Distribution result = local_normal(*(*args)[1], {SpreadKind::Variance, ScaleFamily::Exponential, 0.5, 0, nullptr});
        result.mean = (*args)[0];
        return result;
    }

    /// normal(0, scale * s), s ~ half_cauchy(1) (Carvalho, Polson and Scott 2010).
    std::optional<Distribution> horseshoe() {
        auto const args = arguments({"scale"});
        if (!args) return std::nullopt;
        Distribution result = local_normal(*(*args)[0], {SpreadKind::Sd, ScaleFamily::HalfStudentT, 1, 1, nullptr});
        result.mean_value = 0;
        return result;
    }

    /// One entry of the last dim is 1, the others are 0.
    std::optional<Distribution> categorical() {
        Distribution result;
        result.family = Family::Categorical;
        result.span = call_.span;
        if (call_.args.empty()) return result;
        auto const args = arguments({"weights"});
        if (!args) return std::nullopt;
        result.weights = (*args)[0];
        return result;
    }

    /// 1 with probability 1 / (1 + exp(-mean)), else 0: given a precision w of its own, (y - 1/2) / w ~ normal(mean, precision = w)
    /// (Polson, Scott and Windle 2013). It has no spread.
    std::optional<Distribution> bernoulli_logit() {
        auto const args = arguments({"mean"});
        if (!args) return std::nullopt;
        Distribution result;
        result.span = call_.span;
        result.mean = (*args)[0];
        result.local = Distribution::Local{SpreadKind::Precision, ScaleFamily::PolyaGamma, 0, 0, nullptr};
        return result;
    }

    /// A number of the priors that --learn-hyper learns, and that is held otherwise.
    std::optional<Distribution> learn() {
        auto const args = arguments({"start"});
        if (!args) return std::nullopt;
        auto const start = number_of(workspace_, *(*args)[0], "an argument of learn");
        if (!start) return std::nullopt;
        Distribution result;
        result.family = Family::Learn;
        result.span = call_.span;
        result.first = *start;
        return result;
    }

    /// A decay centred where influence falls by a factor e in `scale` steps.
    std::optional<Distribution> laplace_position() {
        auto const args = arguments({"scale", "sd"});
        if (!args) return std::nullopt;
        auto const scale = positive(*(*args)[0]);
        if (!scale) return std::nullopt;
        return centred_at(std::exp(-1 / *scale), *(*args)[1]);
    }

    /// Weights of a bank about those of a kernel of which only is known which it may be.
    std::optional<Distribution> learnt_kernel() {
        auto const prior = kernel_prior_of(workspace_, call_);
        if (!prior) return std::nullopt;
        Distribution result;
        result.span = call_.span;
        result.kernels = prior->request;
        result.scale = prior->sd;
        result.scale_span = prior->sd->span;
        return result;
    }

    /// A decay centred where nothing is forgotten.
    std::optional<Distribution> uniform_position() {
        auto const args = arguments({"sd"});
        if (!args) return std::nullopt;
        return centred_at(1, *(*args)[0]);
    }

    Distribution centred_at(double mean, Expr const& sd) const {
        Distribution result;
        result.span = call_.span;
        result.mean_value = mean;
        result.scale = &sd;
        result.scale_span = sd.span;
        return result;
    }

    Workspace& workspace_;
    Expr const& call_;
};

}  // namespace

std::vector<Expr const*> operands_of_spread(Expr const& expr) {
    if (expr.kind != ExprKind::Multiply && expr.kind != ExprKind::ElementwiseMultiply) return {&expr};
    std::vector<Expr const*> operands = operands_of_spread(expr.args[0]);
    std::vector<Expr const*> const right = operands_of_spread(expr.args[1]);
    operands.insert(operands.end(), right.begin(), right.end());
    return operands;
}

namespace {

/// Why a distribution cannot be truncated, as a sentence; empty if it can be.
std::string refusal(Distribution const& distribution, std::string const& name) {
    if (distribution.is_of_scale()) return "a scale is above 0 as it is, and drawn from all that is there";
    if (distribution.family == Family::Learn) return "learn() is a number, not a distribution";
    if (distribution.family == Family::Categorical) return "categorical chooses between 0 and 1 as it is";
    if (distribution.kernels) return fmt::format("the mean of {} is learnt", name);
    if (distribution.is_binary()) return "an output that is 0 or 1 has no other values";
    if (distribution.local) return fmt::format("{} is made of normals of many widths, whose shares in an interval would not cancel", name);
    if (distribution.family == Family::Normal && distribution.spread == SpreadKind::Covariance)
        return "entries with a covariance are drawn together";
    return {};
}

std::optional<Interval> read_interval(Workspace& workspace, tree::Ends const& ends) {
    Interval interval;
    bool is_good = true;
    for (auto const& [end, value] : {std::pair(&ends.low, &interval.low), {&ends.high, &interval.high}}) {
        if (!*end) continue;
        auto const number = number_of(workspace, **end, "an end of an interval");
        is_good = is_good && number.has_value();
        *value = number.value_or(0);
    }
    if (!is_good) return std::nullopt;
    if (!interval.is_bounded()) {
        workspace.error(158, ends.span, "an interval without an end", "", {"leave it out, or say an end: `in 0..` or `in ..1`"});
        return std::nullopt;
    }
    if (interval.low < interval.high) return interval;
    if (interval.low == interval.high) {
        workspace.error(158, ends.span, "an interval of one number", "", {"to hold a parameter at a number: `fixed` in the place of `~`"});
        return std::nullopt;
    }
    workspace.error(158, ends.span, "an interval without a number in it", "its low end comes first",
                    {hint(fmt::format("in {}..{}", workspace.text(ends.high->span), workspace.text(ends.low->span)))});
    return std::nullopt;
}

}  // namespace

std::optional<Distribution> read_distribution(Workspace& workspace, tree::Statement const& statement) {
    auto distribution = Reading(workspace, statement.rhs).run();
    if (!distribution || !statement.ends) return distribution;
    if (std::string const reason = refusal(*distribution, statement.rhs.text); !reason.empty()) {
        Diagnostic& d = workspace.error(159, statement.ends->span, "only normal(mean, sd) and flat() have an interval", reason);
        d.labels.push_back({statement.rhs.span, "this is neither"});
        d.notes.push_back("leave out `" + workspace.text(statement.ends->span) + "`, or take normal(mean, sd)");
        return std::nullopt;
    }
    auto const interval = read_interval(workspace, *statement.ends);
    if (!interval) return std::nullopt;
    distribution->interval = *interval;
    distribution->interval_span = statement.ends->span;
    return distribution;
}

}  // namespace bam
