#include "other_names.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>

namespace bam {
namespace {

using tree::Expr;
using tree::ExprKind;

/// What other languages call a distribution. {0}, {1} are its arguments as written.
struct Translation {
    char const* name;
    std::size_t arguments;
    char const* ours;
};

/// Distributions of other languages that are no distribution here, and how their model is said.
struct Advice {
    char const* name;
    char const* advice;
};

constexpr std::array advices{
    Advice{"multi_normal", "a row with a covariance is `normal(mean, cov = [[...], [...]])`"},
    Advice{"dmnorm", "a row with a covariance is `normal(mean, cov = [[...], [...]])`"},
    Advice{
        "poisson",
        "counts are not in the language; the root or the logarithm of large ones is nearly normal: `y = sqrt(...)` in the table section"},
    Advice{
        "dpois",
        "counts are not in the language; the root or the logarithm of large ones is nearly normal: `y = sqrt(...)` in the table section"},
    Advice{
        "neg_binomial_2",
        "counts are not in the language; the root or the logarithm of large ones is nearly normal: `y = sqrt(...)` in the table section"},
    Advice{"lkj_corr_cholesky", "a covariance is a list of numbers, `cov = [[...], [...]]`; it is not learnt"},
    Advice{"beta", "a number between two ends is `normal(mean, sd) in 0..1`"},
    Advice{"dbeta", "a number between two ends is `normal(mean, sd) in 0..1`"},
};

constexpr std::array translations{
    Translation{"dnorm", 2, "normal({0}, precision = {1})"},
    Translation{"gaussian", 2, "normal({0}, {1})"},
    Translation{"N", 2, "normal({0}, {1})"},
    Translation{"dgamma", 2, "gamma({0}, {1})"},
    Translation{"inv_gamma", 2, "inverse_gamma({0}, {1})"},
    Translation{"invgamma", 2, "inverse_gamma({0}, {1})"},
    Translation{"dunif", 2, "flat()"},
    Translation{"uniform", 2, "flat()"},
    Translation{"half_cauchy", 2, "half_cauchy({1})"},
    Translation{"double_exponential", 2, "laplace({0}, {1})"},
    Translation{"ddexp", 2, "laplace({0}, 1 / {1})"},
    Translation{"dexp", 1, "exponential({0})"},
    Translation{"half_normal", 2, "half_normal({1})"},
    Translation{"dflat", 0, "flat()"},
    Translation{"std_normal", 0, "normal(0, 1)"},
};

/// Of what is a spread or a coefficient by where it stands, which is not known here.
std::vector<std::string> by_use(std::string const& name, std::vector<std::string> const& texts, std::vector<Expr const*> const& args) {
    if (name == "cauchy")
        return {fmt::format("of a spread: `half_cauchy({})`", texts[1]),
                fmt::format("of any other parameter: `student_t(1, {}, {})`", texts[0], texts[1])};
    bool const is_known = args[0]->kind == ExprKind::Number && args[1]->kind == ExprKind::Number;
    return {is_known ? fmt::format("of a spread, as wide: `half_normal({:.3g})`", std::exp(args[0]->value + args[1]->value))
                     : "of a spread: `half_normal(S)`, S the largest likely value",
            "of any other parameter: a normal above 0, such as `normal(1, 1) in 0..`; or its exponential stands in the table section",
            "of an output: it is normal, and its logarithm is taken in the table section, `y = log(...)`"};
}

}  // namespace

std::vector<std::string> other_names(Workspace const& workspace, Expr const& call) {
    std::vector<std::string> texts;
    std::vector<Expr const*> args;
    for (Expr const& arg : call.args) {
        args.push_back(arg.kind == ExprKind::Assign ? &arg.args[0] : &arg);
        texts.push_back(workspace.text(args.back()->span));
    }
    if ((call.text == "cauchy" || call.text == "lognormal") && args.size() == 2) return by_use(call.text, texts, args);
    for (Translation const& translation : translations) {
        if (call.text != translation.name || call.args.size() != translation.arguments) continue;
        texts.resize(2);
        std::string const ours = fmt::format(fmt::runtime(translation.ours), texts[0], texts[1]);
        std::vector<std::string> notes{hint(ours)};
        if (ours == "flat()" && call.args.size() == 2)
            notes.push_back(fmt::format("a parameter that is not a spread keeps its bounds: `flat() in {}..{}`", texts[0], texts[1]));
        return notes;
    }
    return {};
}

std::optional<std::string> advice_on(std::string_view name) {
    for (Advice const& one : advices)
        if (name == one.name) return one.advice;
    return std::nullopt;
}

}  // namespace bam
