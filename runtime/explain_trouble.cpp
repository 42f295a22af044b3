// Codes of this file:
//   BAM0454  numbers that outgrow what can be computed with
//   BAM0455  residuals that are rounding and nothing else
//   BAM0456  a spread that is learnt to be 0
//   BAM0457  a prior that rounding hides
//   BAM0482  numbers that cannot be drawn: the data and the priors do not determine them
//   BAM0489  outputs that are fitted exactly: their spread goes to 0
//   BAM0490  a posterior without a mode: its density grows without bound
//   BAM0508  a run that needs more memory than there is
//   BAM0515  a model of which the variational backend has no expectations
#include "explain_trouble.hpp"

#include <fmt/format.h>

#include <new>
#include <stdexcept>
#include <utility>

#include "block_sampler.hpp"
#include "compile.hpp"
#include "exact_fit.hpp"
#include "maximise.hpp"
#include "report.hpp"
#include "trouble.hpp"

namespace bam {
namespace {

constexpr int exit_usage = 64;
constexpr int exit_data = 65;

constexpr char const* size_hint = "bring columns to about size 1 in the table section, such as `income = (income - 30000) / 10000`";

/// A number that a user might hold a scale at.
std::string round_number(double value) { return fmt::format("{:.2g}", value); }

/// `sigma`, `sigma[seq, out]`, as a file declares it.
std::string declared(Variable const& variable, Layout const& layout) {
    std::vector<std::string> dims;
    for (std::uint16_t const d : variable.dims) dims.push_back(layout.dims[d].name);
    return dims.empty() ? variable.name : fmt::format("{}[{}]", variable.name, fmt::join(dims, ", "));
}

/// What grows without bound, and what to do about it.
Diagnostic no_mode(Layout const& layout, NoModeFound const& found) {
    NoMode const& what = found.without_mode;
    Variable const& variable = layout.variables[what.variable];
    std::string const draw = found.is_start ? "or leave out `--init map`: other starts need no mode"
                                            : "or draw from the posterior, which need not have a mode: `--backend gibbs`";
    Diagnostic diagnostic{490, Severity::Error, "the posterior has no mode: its density grows without bound", {}, {}};
    if (what.traded) {
        std::string const& other = layout.variables[*what.traded].name;
        diagnostic.labels = {{variable.span, fmt::format("this and {} occur as a product only, and one of them has a flat prior", other)}};
        diagnostic.notes = {"the one can shrink to 0 while the other grows, and no output sees it: give both a proper prior", draw};
        return diagnostic;
    }
    bool is_noise = false;
    for (FactorLayout const& factor : layout.factors)
        for (SpreadLayout const& part : factor.spread) is_noise = is_noise || (factor.is_observation && part.variable == what.variable);
    diagnostic.labels = {{variable.span, is_noise ? "it goes to 0: the mean can meet every output that it is of"
                                                  : "it goes to 0: what it is the spread of can meet its mean"}};
    if (what.entry != variable.name) diagnostic.message += fmt::format(" where `{}` goes to 0", what.entry);
    diagnostic.notes = {fmt::format("hold it at a value: write `{} fixed {}`", declared(variable, layout), round_number(what.start)),
                        "or give it a prior that keeps away from 0, such as inverse_gamma on a variance", draw};
    return diagnostic;
}

Diagnostic exact_fit(Layout const& layout, ExactFit const& fit) {
    Variable const& variable = layout.variables[fit.variable];
    bool const is_one = fit.entry == variable.name;
    return {489,
            Severity::Error,
            fmt::format("`{}` goes to 0: {} are fitted exactly", fit.entry, is_one ? "the outputs" : "its outputs"),
            {{variable.span, "its posterior has no finite integral"}},
            {fmt::format("are {} constant, or computed from the inputs?", is_one ? "the outputs" : "those outputs"),
             is_one ? fmt::format("if that is what they are, say how exact they are, such as `{} fixed 0.01`", variable.name)
                    : "if that is what they are, let all share one spread, or give it a prior that keeps away from 0, such as "
                      "inverse_gamma on a variance"}};
}

Diagnostic undetermined(std::string message) {
    return {482,
            Severity::Error,
            std::move(message),
            {},
            {"give it a proper prior, or leave out what says the same",
             fmt::format("columns of very different sizes have that effect, too: {}", size_hint)}};
}

Diagnostic too_large(std::string const& what) {
    return {454,
            Severity::Error,
            what,
            {},
            {size_hint, "and let priors be about as wide as what they are of: decays above 1, too, grow with every step"}};
}

Diagnostic lost_digits(Layout const& layout, std::uint32_t output) {
    Variable const& variable = layout.variables[output];
    return {455,
            Severity::Error,
            fmt::format("rounding leaves nothing of the residuals of `{}`", variable.name),
            {{variable.span, "it, or what adds up to its mean, is far larger than what is left between the two"}},
            {size_hint, "a constant among the inputs takes up what is the same in all rows"}};
}

Diagnostic hidden_prior(Layout const& layout, std::uint32_t block) {
    Variable const& variable = layout.variables[block];
    return {
        457,
        Severity::Error,
        fmt::format("rounding hides the prior of `{}`", variable.name),
        {{variable.span, "the data say so much of some directions of it that the prior, which decides others, is beyond the last digit"}},
        {size_hint, "or leave out columns that say the same as others"}};
}

Diagnostic learnt_to_zero(Layout const& layout, std::uint32_t scale) {
    Variable const& variable = layout.variables[scale];
    return {456,
            Severity::Error,
            fmt::format("`{}` is learnt to be 0", variable.name),
            {{variable.span, "what it is the spread of differs by no more than the rest explains"}},
            {"leave out what it is the spread of",
             fmt::format("or average over it: a prior in the place of `learn({:.3g})`", variable.learnt_from.value_or(1))}};
}

}  // namespace

std::optional<std::string> reason_of_start(std::exception const& failure) {
    auto const* const trouble = dynamic_cast<NumericalTrouble const*>(&failure);
    bool const is_of_numbers = trouble != nullptr && (trouble->is_of_numbers || !trouble->block);
    if (is_of_numbers || dynamic_cast<TooLarge const*>(&failure) != nullptr || dynamic_cast<HiddenPrior const*>(&failure) != nullptr)
        return failure.what();
    if (dynamic_cast<std::domain_error const*>(&failure) != nullptr) return fmt::format("a scale cannot be drawn: {}", failure.what());
    return std::nullopt;
}

std::optional<Error> explain_trouble(std::exception const& failure, std::shared_ptr<Sources const> const& sources, Layout const& layout) {
    auto const of_model = [&](Diagnostic diagnostic) { return Error(make_report(sources, {std::move(diagnostic)}), exit_data); };
    if (dynamic_cast<NumericalTrouble const*>(&failure) != nullptr) return of_model(undetermined(failure.what()));
    if (dynamic_cast<std::domain_error const*>(&failure) != nullptr)
        return of_model(undetermined(fmt::format("a scale cannot be drawn: {}", failure.what())));
    if (auto const* const found = dynamic_cast<NoModeFound const*>(&failure)) return of_model(no_mode(layout, *found));
    if (auto const* const fit = dynamic_cast<ExactFit const*>(&failure)) return of_model(exact_fit(layout, *fit));
    if (dynamic_cast<TooLarge const*>(&failure) != nullptr) return of_model(too_large(failure.what()));
    if (auto const* const lost = dynamic_cast<LostDigits const*>(&failure)) return of_model(lost_digits(layout, lost->output));
    if (auto const* const hidden = dynamic_cast<HiddenPrior const*>(&failure)) return of_model(hidden_prior(layout, hidden->block));
    if (auto const* const learnt = dynamic_cast<LearntToZero const*>(&failure)) return of_model(learnt_to_zero(layout, learnt->variable));
    if (dynamic_cast<NoClosedForm const*>(&failure) != nullptr)
        return of_model({515,
                         Severity::Error,
                         fmt::format("the variational backend has no closed form for a product of {}", failure.what()),
                         {},
                         {"draw from the posterior: `--backend gibbs`"}});
    if (dynamic_cast<std::bad_alloc const*>(&failure) != nullptr)
        return Error(Diagnostic{508,
                                Severity::Error,
                                "the run needs more memory than it can have",
                                {},
                                {"make dims smaller, or have fewer draws, tables or steps"}},
                     exit_usage);
    return std::nullopt;
}

}  // namespace bam
