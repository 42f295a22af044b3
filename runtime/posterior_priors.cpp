// Codes of this file:
//   BAM0326  (warning) weights that are not identified: the moments of their draws say little
//   BAM0519  a name that the prior set cannot have
//   BAM0517  a run without draws to have moments
#include "posterior_priors.hpp"

#include <fmt/format.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cctype>
#include <cmath>

#include "fit.hpp"
#include "plain_label.hpp"
#include "posterior_losses.hpp"
#include "posterior_moments.hpp"
#include "reopen.hpp"
#include "report.hpp"
#include "uncut.hpp"
#include "utf8.hpp"
#include "words.hpp"

namespace bam {
namespace {

constexpr double told_correlation = 0.1;    ///< inside a row, from which on the row has its covariance
constexpr std::size_t most_entries = 2000;  ///< of a parameter over sequences or steps: each has a statement of its own
constexpr int digits = 6;
constexpr int digits_of_covariances = 9;  ///< rounding must leave a matrix positive definite

std::string number(double value, int precision = digits) { return fmt::format("{:.{}g}", value, precision); }

/// Whether a text in quotes can hold it.
bool can_be_quoted(std::string const& label) {
    return std::none_of(label.begin(), label.end(), [](char c) { return c == '"' || static_cast<unsigned char>(c) < 0x20; });
}

/// A word of a command line, in quotes where a shell would take it apart.
std::string shell_word(std::string const& word) {
    bool const is_plain = !word.empty() && std::all_of(word.begin(), word.end(), [](unsigned char c) {
        return std::isalnum(c) != 0 || c >= 0x80 || std::string_view("_./-=+:,@%").find(static_cast<char>(c)) != std::string_view::npos;
    });
    if (is_plain) return word;
    std::string quoted = "'";
    for (char const c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return quoted + "'";
}

std::string quoted(std::string const& label) { return "\"" + label + "\""; }

class Writer {
  public:
    Writer(Program::Parts const& program, Layout const& layout, RunConfig const& config, Run const& run, bool has_rows)
        : program_(program), layout_(layout), config_(config), moments_(layout, run), has_rows_(has_rows), losses_(moments_, run) {}

    std::string run(std::string const& set, std::string const& verdict, Diagnostics& diagnostics) {
        for (std::uint32_t v = 0; v < layout_.variables.size(); ++v)
            if (layout_.variables[v].kind != VariableKind::Data) write(v);
        if (!unidentified_.empty()) warn(diagnostics);
        return header(set, verdict) + "priors " + set + " {\n" + body_ + "}\n";
    }

  private:
    bool is_variational() const { return config_.options.backend == Backend::Variational; }

    // ---- one parameter ----

    void write(std::uint32_t v) {
        Variable const& variable = layout_.variables[v];
        if (variable.is_local) return;  // what they make of the entries is in those
        bool is_identified = true;
        auto groups = moments_.groups_of(variable, is_identified);
        if (groups.empty()) return;
        bool const is_over_table = variable.extent != Extent::One;
        if (is_over_table && variable.kind == VariableKind::Scale) {
            comment(fmt::format("{}: left out, a spread has one prior for all sequences and steps", variable.name));
            return;
        }
        if (is_over_table && groups.size() * variable.components > most_entries) {
            comment(
                fmt::format("{}: left out, it has {} entries over sequences or steps", variable.name, groups.size() * variable.components));
            return;
        }
        if (!is_identified) {
            unidentified_.push_back(v);
            comment(variable.name + (is_variational() ? ": not identified. The factors sit at one of many points that no output tells apart"
                                                      : ": not identified. Its draws wander where no output tells them apart (signs flip, "
                                                        "numbers change): their mean is of all"));
        }
        for (Group& group : groups) {
            if (!can_be_quoted(group.sequence)) {
                comment(fmt::format("{}: left out for a label that no text in quotes can hold", variable.name));
                continue;
            }
            bool is_sound = true;
            for (Entry& entry : group.entries) {
                entry.moments = moments_.of(entry.column);
                is_sound = is_sound && std::isfinite(entry.moments.mean) && std::isfinite(entry.moments.sd);
            }
            if (!is_sound) {
                comment(fmt::format("{}: left out, it has draws that are not finite", variable.name));
                continue;
            }
            if (variable.learnt_from)
                write_learnt(variable, group);
            else if (variable.kind == VariableKind::Scale)
                write_scale(v, group);
            else
                write_block(variable, group);
        }
    }

    void comment(std::string const& text) { body_ += "  # " + text + "\n"; }
    void statement(std::string const& text) { body_ += "  " + text + "\n"; }

    /// `name[out, feat]`, with labels for the dims that have one: per dim of the variable, a label or nothing.
    std::string target(Variable const& variable, Group const& group, std::vector<std::string> const& labels = {}) const {
        std::string indices;
        std::size_t labelled = 0;
        for (std::uint16_t const d : variable.dims) {
            DimLayout const& dim = layout_.dims[d];
            indices += indices.empty() ? "" : ", ";
            if (dim.role == DimLayout::Role::Sequence)
                indices += dim.name + " = " + quoted(group.sequence);
            else if (dim.role == DimLayout::Role::Time)
                indices += dim.name + " = " + group.step;
            else {
                indices += labelled < labels.size() && !labels[labelled].empty() ? labels[labelled] : dim.name;
                ++labelled;
            }
        }
        return indices.empty() ? variable.name : variable.name + "[" + indices + "]";
    }

    std::vector<std::uint16_t> labelled_dims(Variable const& variable) const {
        std::vector<std::uint16_t> dims;
        for (std::uint16_t const d : variable.dims)
            if (layout_.dims[d].role == DimLayout::Role::Labelled) dims.push_back(d);
        return dims;
    }

    bool is_of_table(std::uint16_t d) const {
        return std::any_of(layout_.variables.begin(), layout_.variables.end(),
                           [&](Variable const& variable) { return variable.label_dim == d; });
    }

    /// A label as an index names it: an index that is the name of a dim stands for all of its entries.
    std::string index_of(std::uint16_t d, std::size_t k) const {
        std::string const& label = layout_.dims[d].labels[k];
        bool const is_dim = std::any_of(layout_.dims.begin(), layout_.dims.end(), [&](DimLayout const& dim) { return dim.name == label; });
        return is_plain_label(label) && !is_dim ? label : layout_.dims[d].name + " = " + quoted(label);
    }

    /// The labels of a component; of a row, whose last dims stay whole, that many fewer. Nothing, and a comment, where a text in quotes
    /// cannot hold one.
    std::optional<std::vector<std::string>> indices(Variable const& variable, std::size_t at, std::size_t whole = 0) {
        auto const dims = labelled_dims(variable);
        std::vector<std::string> labels(dims.size());
        for (std::size_t d = dims.size() - std::min(whole, dims.size()), rest = at; d-- > 0; rest /= variable.shape[d]) {
            std::size_t const k = rest % variable.shape[d];
            if (!can_be_quoted(layout_.dims[dims[d]].labels[k])) {
                comment(fmt::format("{}: left out at a label of `{}` that no text in quotes can hold", variable.name,
                                    layout_.dims[dims[d]].name));
                return std::nullopt;
            }
            labels[d] = index_of(dims[d], k);
        }
        return labels;
    }

    /// `1`, `[1, 2]`, `[[1, 2], [3, 4]]`.
    template <typename Of>
    std::string list(Variable const& variable, Of of) const {
        std::vector<std::string> texts;
        for (std::size_t c = 0; c < variable.components; ++c) texts.push_back(number(of(c)));
        if (variable.shape.empty()) return texts.front();
        std::size_t const last = variable.shape.back();
        std::vector<std::string> rows;
        for (std::size_t c = 0; c < texts.size(); c += last)
            rows.push_back(fmt::format("[{}]", fmt::join(texts.begin() + static_cast<std::ptrdiff_t>(c),
                                                         texts.begin() + static_cast<std::ptrdiff_t>(c + last), ", ")));
        return variable.shape.size() == 1 ? rows.front() : fmt::format("[{}]", fmt::join(rows, ", "));
    }

    void write_learnt(Variable const& variable, Group const& group) {
        statement(fmt::format("{} fixed {}", variable.name, list(variable, [&](std::size_t c) { return group.entries[c].moments.mean; })));
    }

    // ---- spreads ----

    void write_scale(std::uint32_t v, Group const& group) {
        Variable const& variable = layout_.variables[v];
        SpreadKind spread = SpreadKind::Sd;
        bool is_df = false;
        for (ScaleLayout const& scale : layout_.scales) {
            if (scale.variable != v) continue;
            spread = scale.spread;
            is_df = !scale.locals.empty();
        }
        auto const dims = labelled_dims(variable);
        for (std::size_t c = 0; c < group.entries.size(); ++c) {
            auto const labels = indices(variable, c);
            if (!labels) continue;
            Moments const& m = group.entries[c].moments;
            std::string const left = target(variable, group, *labels);
            losses_.note(group.entries[c]);
            double const relative =
                m.mean / std::max(m.sd, 1e-6 * m.mean);  // a spread that hardly moved has a large shape, and no infinite one
            double const square = relative * relative;
            if (is_df) {
                statement(fmt::format("{} ~ gamma({}, {})", left, number(square), number(square / m.mean)));
            } else if (spread == SpreadKind::Variance) {
                statement(fmt::format("{} ~ inverse_gamma({}, {})", left, number(square + 2), number(m.mean * (square + 1))));
            } else if (spread == SpreadKind::Precision) {
                statement(fmt::format("{} ~ gamma({}, {})", left, number(square), number(square / m.mean)));
            } else {
                statement(fmt::format("{} ~ half_normal({})  # was {} with sd {}: only its size is kept", left,
                                      number(std::sqrt(m.mean * m.mean + m.sd * m.sd)), number(m.mean, 3), number(m.sd, 2)));
                losses_.note_sd();
            }
        }
    }

    // ---- blocks ----

    /// The covariance of a row, rounded as it is written; empty if its entries hardly depend on one another or rounding spoils it.
    std::vector<std::string> covariance(Group const& group, std::size_t first, std::size_t count) const {
        if (!has_rows_ || count < 2 || moments_.draws() <= 2 * count) return {};
        Eigen::MatrixXd const correlations = moments_.correlation(group.entries, first, count);
        auto const n = static_cast<Eigen::Index>(count);
        double const largest = (correlations - Eigen::MatrixXd::Identity(n, n)).cwiseAbs().maxCoeff();
        if (largest < told_correlation) return {};
        std::vector<std::string> rows;
        Eigen::MatrixXd written(n, n);
        for (Eigen::Index i = 0; i < n; ++i) {
            std::vector<std::string> texts;
            for (Eigen::Index j = 0; j < n; ++j) {
                double const sds = group.entries[first + static_cast<std::size_t>(i)].moments.sd *
                                   group.entries[first + static_cast<std::size_t>(j)].moments.sd;
                // The same text on both sides of the diagonal.
                texts.push_back(number((i == j ? 1 : correlations(std::min(i, j), std::max(i, j))) * sds, digits_of_covariances));
                written(i, j) = std::stod(texts.back());
            }
            rows.push_back(fmt::format("[{}]", fmt::join(texts, ", ")));
        }
        return Eigen::LLT<Eigen::MatrixXd>(written).info() == Eigen::Success ? rows : std::vector<std::string>{};
    }

    static double floor_of_sd(Moments const& m) { return m.sd > 0 ? m.sd : 1e-6 * std::max(1.0, std::abs(m.mean)); }

    bool is_that_of(FactorLayout const& factor, Variable const& variable) const { return &layout_.variables[factor.target] == &variable; }

    bool is_truncated(Variable const& variable) const {
        return std::any_of(layout_.factors.begin(), layout_.factors.end(),
                           [&](FactorLayout const& factor) { return is_that_of(factor, variable) && factor.interval.is_bounded(); });
    }

    /// The last statement that speaks of the entry.
    FactorLayout const* prior_of(Variable const& variable, Group const& group, std::size_t component) const {
        FactorLayout const* last = nullptr;
        for (FactorLayout const& factor : layout_.factors) {
            FactorRegion const& region = factor.region;
            std::size_t const step = group.step.empty() ? region.first_step : static_cast<std::size_t>(std::stoull(group.step));
            bool const speaks = is_that_of(factor, variable) && (region.components.empty() || region.components[component]) &&
                                step >= region.first_step && step <= region.last_step &&
                                (!region.sequence || *region.sequence == group.sequence);
            if (speaks) last = &factor;
        }
        return last;
    }

    /// A statement for each entry, in the interval that it has.
    void write_entries(Variable const& variable, Group const& group) {
        auto const dims = labelled_dims(variable);
        for (std::size_t c = 0; c < group.entries.size(); ++c) {
            auto const labels = indices(variable, c);
            if (!labels) continue;
            Moments const& m = group.entries[c].moments;
            FactorLayout const* const prior = prior_of(variable, group, c);
            Interval const interval = prior ? prior->interval : Interval{};
            auto const whole = interval.is_bounded() ? uncut(m.mean, floor_of_sd(m), interval) : std::nullopt;
            losses_.note(group.entries[c]);
            statement(fmt::format("{} ~ normal({}, {}){}{}", target(variable, group, *labels), number(whole ? whole->mean : m.mean),
                                  number(whole ? whole->sd : floor_of_sd(m)), to_text(interval),
                                  !interval.is_bounded() ? ""
                                  : whole ? fmt::format("  # of which mean {} and sd {} are left", number(m.mean, 3), number(m.sd, 2))
                                          : "  # the interval cuts it once more"));
        }
    }

    /// The probabilities as weights: of n draws k, (k + 1/2) / (n + d/2) for each of d entries that may be chosen at all (Jeffreys'
    /// prior). No draw of an entry in n says that it is rare, not that it can never be, and a weight of 0 is never undone.
    void write_choice(Variable const& variable, Group const& group) {
        auto const dims = labelled_dims(variable);
        std::size_t const count = variable.shape.back();
        for (std::size_t first = 0; first < group.entries.size(); first += count) {
            auto const labels = indices(variable, first / count, 1);
            if (!labels) continue;
            std::vector<std::string> weights;
            auto const may_be = [&](std::size_t k) {
                FactorLayout const* const prior = prior_of(variable, group, first + k);
                return !prior || prior->weights[first + k] > 0;
            };
            double possible = 0;
            for (std::size_t k = 0; k < count; ++k) possible += may_be(k) ? 1 : 0;
            auto const n = static_cast<double>(moments_.draws());
            for (std::size_t k = 0; k < count; ++k)
                weights.push_back(number(may_be(k) ? (group.entries[first + k].moments.mean * n + 0.5) / (n + possible / 2) : 0));
            losses_.note_choice();
            statement(fmt::format("{} ~ categorical([{}])", target(variable, group, *labels), fmt::join(weights, ", ")));
        }
    }

    void write_block(Variable const& variable, Group const& group) {
        std::size_t const row = variable.shape.empty() ? 1 : variable.shape.back();
        auto const dims = labelled_dims(variable);
        if (is_truncated(variable)) return write_entries(variable, group);
        if (variable.is_categorical) return write_choice(variable, group);
        std::vector<std::vector<std::string>> covariances;
        for (std::size_t first = 0; first < group.entries.size(); first += row) covariances.push_back(covariance(group, first, row));
        // A block whose rows have a covariance has one for all of them: entries are then drawn a row at a time.
        bool const has_rows = std::all_of(covariances.begin(), covariances.end(), [](auto const& rows) { return !rows.empty(); });
        // Another table may have other labels, or as many of another kind: a list over them would not say whose its numbers are.
        bool const is_by_labels = std::any_of(dims.begin(), dims.end(), [&](std::uint16_t d) { return is_of_table(d); });
        if (is_by_labels && (!has_rows || is_of_table(dims.back()))) return write_entries(variable, group);
        if (!has_rows) {
            for (Entry const& entry : group.entries) losses_.note(entry);
            statement(fmt::format("{} ~ normal({}, {})", target(variable, group),
                                  list(variable, [&](std::size_t c) { return group.entries[c].moments.mean; }),
                                  list(variable, [&](std::size_t c) { return floor_of_sd(group.entries[c].moments); })));
            return;
        }
        for (std::size_t r = 0; r < covariances.size(); ++r) {
            auto const labels = indices(variable, r, 1);
            if (!labels) continue;
            std::vector<std::string> means;
            for (std::size_t k = 0; k < row; ++k) means.push_back(number(group.entries[r * row + k].moments.mean));
            losses_.note_row(group.entries, r * row, row);
            statement(fmt::format("{} ~ normal([{}], cov = [{}])", target(variable, group, *labels), fmt::join(means, ", "),
                                  fmt::join(covariances[r], ", ")));
        }
    }

    // ---- what surrounds the statements ----

    void warn(Diagnostics& diagnostics) const {
        std::vector<std::string> names;
        Diagnostic d{326, Severity::Warning, "", {}, {}};
        for (std::uint32_t const v : unidentified_) {
            names.push_back(layout_.variables[v].name);
            d.labels.push_back({layout_.variables[v].span, ""});
        }
        d.message = fmt::format("the posterior of {} says little as a prior: no output tells {} from others of the same products",
                                first_few(names), names.size() == 1 ? "it" : "them");
        std::string const symmetries = program_.compiled.symmetries();
        for (std::size_t at = 0; at < symmetries.size(); at = symmetries.find('\n', at) + 1)
            d.notes.push_back(symmetries.substr(at, symmetries.find('\n', at) - at));
        d.notes.emplace_back(
            is_variational()
                ? "the factors sit at one of many points that say the same of the outputs: as a prior they hold the weights there"
                : "their means are over all of these, signs flipped, and what the data say of their products is lost");
        d.notes.emplace_back(
            "leave these statements out, which keeps the old priors, or hold one of each pair, as in `fixed 1`, and fit again");
        diagnostics.push_back(std::move(d));
    }

    std::string header(std::string const& set, std::string const& verdict) const {
        FitOptions const& options = config_.options;
        std::string text = fmt::format("# The posterior of {} and {} (backend {}, {} draws, seed {}) as priors, written by bam {}.\n",
                                       config_.requested.back(), config_.data_name, word(options.backend), moments_.draws(), options.seed,
                                       config_.version);
        std::string flags;
        for (std::size_t k = config_.requested.size() - 1; k-- > 0;) flags += " --priors " + shell_word(config_.requested[k]);
        for (std::string const& priors : config_.priors) flags += " --priors " + priors;
        for (auto const& [dim, size] : config_.dims) flags += fmt::format(" --dim {}={}", dim, size);
        text += fmt::format("#\n#     bam fit {} --data NEW{} --priors THIS.bam --priors {}\n#\n", shell_word(config_.requested.back()),
                            flags, set);
        text +=
            "# For other data than those: the same ones would count twice. What is over sequences or steps holds for those of the same\n"
            "# label and number; new ones have the prior of the model.\n#\n# Each statement has the mean and the sd of the draws. Lost "
            "are\n#\n";
        text += losses_.text();
        if (is_variational())
            text +=
                "#\n# The draws are of independent factors: where parameters depend on one another, these sds are smaller than those of "
                "the posterior.\n";
        if (!verdict.empty()) text += "#\n# Verdict of the run: " + verdict + "\n";
        return text;
    }

    Program::Parts const& program_;
    Layout const& layout_;
    RunConfig const& config_;
    PosteriorMoments moments_;
    bool has_rows_;
    std::string body_;
    PosteriorLosses losses_;
    std::vector<std::uint32_t> unidentified_;
};

}  // namespace

std::string posterior_priors(Program::Parts const& program, RunConfig const& config, Run const& run, std::string const& set,
                             std::string const& verdict, bool has_rows, Diagnostics& diagnostics) {
    Layout const* const layout = program.compiled.layout(diagnostics);
    return Writer(program, *layout, config, run, has_rows).run(set, verdict, diagnostics);
}

PosteriorPriors Fit::as_priors(std::string const& set) const {
    constexpr int exit_usage = 64;
    auto const refuse = [](int code, std::string message, std::string note) {
        throw Error(Diagnostic{code, Severity::Error, std::move(message), {}, {std::move(note)}}, exit_usage);
    };
    if (!is_name(set))
        refuse(519, fmt::format("`{}` is no name of a prior set", set),
               "a name has letters, digits and `_`, and begins with none of the digits");
    refuse_degraded(parts_->config);
    if (parts_->mode) refuse(517, "a mode has no spread, and so no posterior to be a prior", "fit again without `--backend map`");
    auto const program = parts_->program ? parts_->program : program_of(parts_->config);
    for (PriorList::Set const& other : program->compiled.priors().sets)
        if (other.name == set) refuse(519, fmt::format("the model has a prior set `{}` already", set), "choose another name");
    std::string const verdict = doubt_of(parts_->verdict);
    Diagnostics diagnostics;
    std::string text;
    for (bool const has_rows : {true, false}) {
        diagnostics.clear();
        text = format_model("priors", posterior_priors(*program, parts_->config, parts_->run, set, verdict, has_rows, diagnostics));
        try {
            program_with(parts_->config, text, set);
            break;
        } catch (Error const&) {  // a covariance that the model has no conditional for; without rows there is none
            if (!has_rows) throw;
        }
    }
    return {std::move(text), make_report(program->sources, std::move(diagnostics))};
}

}  // namespace bam
