#include "other_languages.hpp"

#include <fmt/format.h>

#include <array>

namespace bam {
namespace {

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
    Advice{"lognormal", "what has a normal logarithm is normal here, and its logarithm is taken in the table section: `y = log(...)`"},
    Advice{"dlnorm", "what has a normal logarithm is normal here, and its logarithm is taken in the table section: `y = log(...)`"},
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
    Translation{"cauchy", 2, "half_cauchy({1})"},
    Translation{"half_cauchy", 2, "half_cauchy({1})"},
    Translation{"double_exponential", 2, "laplace({0}, {1})"},
    Translation{"ddexp", 2, "laplace({0}, 1 / {1})"},
    Translation{"dexp", 1, "exponential({0})"},
    Translation{"half_normal", 2, "half_normal({1})"},
    Translation{"dflat", 0, "flat()"},
    Translation{"std_normal", 0, "normal(0, 1)"},
};

}  // namespace

std::optional<std::string> translate(std::string_view name, std::vector<std::string> arguments) {
    for (Translation const& translation : translations) {
        if (name != translation.name || arguments.size() != translation.arguments) continue;
        arguments.resize(2);
        return fmt::format(fmt::runtime(translation.ours), arguments[0], arguments[1]);
    }
    return std::nullopt;
}

std::optional<std::string> advice_on(std::string_view name) {
    for (Advice const& one : advices)
        if (name == one.name) return one.advice;
    return std::nullopt;
}

}  // namespace bam
