// Codes of this file:
//   BAM0323  (warning) priors that let the mean of an output range far wider than the output does, far less, or elsewhere
//   BAM0324  (warning) a prior of the noise that is far wider than the output ranges, or far below it
//   BAM0335  (warning) priors that make most probabilities of a binary output 0 or 1
//   BAM0325  (note) priors that cannot be tried against a table, because one of them is flat
#include "prior_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "output_unit.hpp"
#include "simulation.hpp"
#include "words.hpp"

namespace bam {
namespace {

constexpr std::size_t draws = 400;
constexpr std::size_t most_cells = 400;  ///< of an output that are looked at
constexpr std::uint64_t seed = 1;
constexpr double too_wide = 10;  ///< times the sd of the outputs
constexpr double too_narrow = 0.1;
constexpr double too_quiet = 0.01;   ///< noise: a tenth of the outputs' sd may well be all that is left
constexpr double too_far = 5;        ///< of the outputs' mean, in spreads of the prior about its own
constexpr double sure = 0.001;       ///< of a probability: its distance from 0 or 1
constexpr double too_certain = 0.5;  ///< share of probabilities that are
constexpr double share = 0.5;        ///< of the spread that goes with a block, to be named

/// Half of the central 68 %: the sd of a normal, and finite where a half-Cauchy prior has none. Sorts.
struct Bulk {
    double median = 0;
    double spread = 0;
};

Bulk bulk_of(std::vector<double>& values) {
    std::erase_if(values, [](double value) { return !std::isfinite(value); });
    if (values.empty()) return {};
    std::sort(values.begin(), values.end());
    auto const at = [&](double p) { return values[static_cast<std::size_t>(p * static_cast<double>(values.size() - 1))]; };
    return {at(0.5), (at(0.84134) - at(0.15866)) / 2};
}

/// One output: its observed cells and what they are.
struct Output {
    std::uint32_t variable = 0;
    std::size_t component = 0;
    std::vector<std::pair<std::size_t, std::size_t>> cells;  ///< factor, and [component][extent]; evenly chosen
    std::size_t factor = 0;                                  ///< the first that speaks of it
    double mean = 0;
    double sd = 0;
};

std::vector<Output> find_outputs(Problem const& problem) {
    Layout const& layout = problem.plan.layout;
    std::vector<Output> outputs;
    for (std::uint32_t v = 0; v < layout.variables.size(); ++v) {
        if (!is_output(layout, v)) continue;
        Variable const& variable = layout.variables[v];
        std::size_t const size = problem.bound.grid.size(variable.extent);
        for (std::size_t c = 0; c < variable.components; ++c) {
            Output output{v, c, {}, 0, 0, 0};
            for (std::size_t f = layout.factors.size(); f-- > 0;) {
                if (layout.factors[f].target != v || !layout.factors[f].is_observation) continue;
                for (std::size_t i = c * size; i < (c + 1) * size; ++i)
                    if (problem.masks[f].empty() || problem.masks[f][i] > 0) output.cells.emplace_back(f, i);
            }
            if (output.cells.size() < 3) continue;
            output.factor = output.cells.back().first;
            auto const n = static_cast<double>(output.cells.size());
            for (auto const& [f, i] : output.cells) output.mean += problem.bound.data[v][i] / n;
            double squares = 0;
            for (auto const& [f, i] : output.cells) squares += std::pow(problem.bound.data[v][i] - output.mean, 2);
            output.sd = std::sqrt(squares / (n - 1));
            if (!(output.sd > 0)) continue;
            std::size_t const stride = (output.cells.size() + most_cells - 1) / most_cells;
            for (std::size_t k = 0; k * stride < output.cells.size(); ++k) output.cells[k] = output.cells[k * stride];
            output.cells.resize((output.cells.size() + stride - 1) / stride);
            outputs.push_back(std::move(output));
        }
    }
    return outputs;
}

class Check {
  public:
    Check(Compiled const& compiled, Problem const& problem)
        : problem_(with_all_cells(compiled, problem)),
          list_(compiled.priors()),
          outputs_(find_outputs(problem)),
          simulation_(problem_, seed) {}

    Diagnostics run() {
        means_of_blocks_.resize(problem_.plan.blocks.size());
        auto const all = simulate(true);
        std::vector<std::vector<Bulk>> held;  // per block: what is left of the spread of every output without its own
        bool const is_any_wide = std::any_of(all.begin(), all.end(), [](auto const& one) { return one.is_wide; });
        if (is_any_wide) {
            for (std::size_t b = 0; b < problem_.plan.blocks.size(); ++b) {
                std::uint32_t const v = problem_.plan.blocks[b].variable;
                simulation_.hold(v, means_of_blocks_[b]);
                held.emplace_back();
                for (Seen const& seen : simulate(false)) held.back().push_back(seen.mean);
                simulation_.hold(v, {});
            }
        }
        for (std::size_t k = 0; k < outputs_.size(); ++k) {
            look_at_mean(k, all[k], held);
            if (is_binary(outputs_[k])) {
                look_at_certainty(outputs_[k], all[k]);
                continue;
            }
            look_at_noise(outputs_[k], all[k]);
        }
        return std::move(found_);
    }

  private:
    struct Seen {
        Bulk mean;
        Bulk noise;
        bool is_wide = false;
        double certain = 0;  ///< of a binary output: the share of probabilities that are within 0.001 of 0 or 1
    };

    bool is_binary(Output const& output) const { return problem_.plan.layout.factors[output.factor].is_binary; }

    /// Of means the spread of each cell over draws, root mean square over cells: what differs between cells but not between draws is no
    /// spread of the prior.
    std::vector<Seen> simulate(bool sums_blocks) {
        std::vector<std::vector<std::vector<double>>> means;  // [output][cell][draw]
        std::vector<std::vector<double>> noises(outputs_.size());
        for (Output const& output : outputs_) means.emplace_back(output.cells.size());
        for (std::size_t d = 0; d < draws; ++d) {
            State const& state = simulation_.draw(d);
            for (std::size_t b = 0; b < means_of_blocks_.size() && sums_blocks; ++b) {
                std::vector<double> const& values = state.values[problem_.plan.blocks[b].variable];
                means_of_blocks_[b].resize(values.size());
                for (std::size_t i = 0; i < values.size(); ++i) means_of_blocks_[b][i] += values[i] / draws;
            }
            for (std::size_t k = 0; k < outputs_.size(); ++k) {
                for (std::size_t j = 0; j < outputs_[k].cells.size(); ++j) {
                    auto const& [f, i] = outputs_[k].cells[j];
                    means[k][j].push_back(simulation_.means()[f][i]);
                    noises[k].push_back(simulation_.sds()[f][i]);
                }
            }
        }
        std::vector<Seen> seen;
        for (std::size_t k = 0; k < outputs_.size(); ++k) {
            std::vector<double> medians;
            double squares = 0;
            double certain = 0;
            for (std::vector<double>& cell : means[k]) {
                for (double const p : cell)
                    if (p < sure || p > 1 - sure) certain += 1 / static_cast<double>(cell.size() * means[k].size());
                Bulk const bulk = bulk_of(cell);
                medians.push_back(bulk.median);
                squares += bulk.spread * bulk.spread / static_cast<double>(means[k].size());
            }
            Bulk const mean{bulk_of(medians).median, std::sqrt(squares)};
            seen.push_back({mean, bulk_of(noises[k]), mean.spread > too_wide * outputs_[k].sd, certain});
        }
        return seen;
    }

    Diagnostic& warn(int code, Span span, std::string message, std::string label) {
        found_.push_back({code, Severity::Warning, std::move(message), {{span, std::move(label)}}, {}});
        return found_.back();
    }

    std::string name_of(Output const& output) const { return output_name(problem_.plan.layout, output.variable, output.component); }

    void look_at_mean(std::size_t k, Seen const& seen, std::vector<std::vector<Bulk>> const& held) {
        Output const& output = outputs_[k];
        Span const statement = problem_.plan.layout.factors[output.factor].span;
        double const ratio = seen.mean.spread / output.sd;
        std::string const sizes = fmt::format("in the units of the model: sd of the prior {}, of the observed cells {}",
                                              two_digits(seen.mean.spread), two_digits(output.sd));
        double const distance = std::abs(output.mean - seen.mean.median) / std::max(seen.mean.spread, output.sd);
        if (seen.is_wide) {
            Diagnostic& d = warn(323, statement,
                                 fmt::format("the priors let the mean of `{}` range {} times as wide as its observed cells",
                                             name_of(output), two_digits(ratio)),
                                 "");
            label_blocks(d, k, seen, held);
            d.notes.push_back(sizes);
            d.notes.emplace_back(
                "they say next to nothing about the size of what is expected: smaller sds, or columns brought to about size 1 in the table "
                "section");
        } else if (ratio < too_narrow) {
            Diagnostic& d = warn(323, statement,
                                 fmt::format("the priors hold the mean of `{}` within {} of the sd of its observed cells", name_of(output),
                                             two_digits(ratio)),
                                 "");
            d.notes.push_back(sizes);
            d.notes.emplace_back(
                "what the data say will hardly move it: larger sds, or columns brought to about size 1 in the table section");
        } else if (distance > too_far) {
            Diagnostic& d = warn(323, statement,
                                 fmt::format("the observed cells of `{}` lie where the priors do not expect them", name_of(output)), "");
            d.notes.push_back(fmt::format(
                "in the units of the model: the prior is about {:.3g} with sd {}, the observed cells have mean {:.3g} and sd {}",
                seen.mean.median, two_digits(seen.mean.spread), output.mean, two_digits(output.sd)));
            d.notes.emplace_back("give a constant a prior about their mean, or take it off in the table section, as standardize() does");
        }
    }

    /// Whether the prior mean of a block is made of other blocks: their spread goes when it is held, too.
    bool hangs_on_blocks(std::uint32_t variable) const {
        Plan const& plan = problem_.plan;
        for (std::size_t f = 0; f < plan.layout.factors.size(); ++f) {
            if (plan.layout.factors[f].target != variable) continue;
            for (Register const& reg : plan.residuals[f].pass.registers)
                if (reg.from == From::Variable && reg.index != variable && plan.layout.variables[reg.index].kind == VariableKind::Block)
                    return true;
        }
        return false;
    }

    /// Statements on the blocks without whose spread there would be half as much of it.
    void label_blocks(Diagnostic& d, std::size_t k, Seen const& seen, std::vector<std::vector<Bulk>> const& held) const {
        for (std::size_t b = 0; b < held.size(); ++b) {
            if (held[b][k].spread > share * seen.mean.spread || hangs_on_blocks(problem_.plan.blocks[b].variable)) continue;
            std::string const text = fmt::format("without its spread {} times", two_digits(held[b][k].spread / outputs_[k].sd));
            for (Span const span : statements_on(problem_.plan.blocks[b].variable)) d.labels.push_back({span, text});
        }
    }

    /// Those that some entry follows.
    std::vector<Span> statements_on(std::uint32_t variable) const {
        std::vector<Span> spans;
        for (PriorLine const& line : list_.lines)
            if (line.prior.parameter == problem_.plan.layout.variables[variable].name) spans.push_back(line.prior.span);
        std::sort(spans.begin(), spans.end(), [](Span a, Span b) { return std::tie(a.source, a.begin) < std::tie(b.source, b.begin); });
        spans.erase(std::unique(spans.begin(), spans.end()), spans.end());
        return spans;
    }

    /// Log odds that range widely are probabilities of 0 and 1.
    void look_at_certainty(Output const& output, Seen const& seen) {
        if (seen.certain < too_certain) return;
        Diagnostic& d = warn(335, problem_.plan.layout.factors[output.factor].span,
                             fmt::format("the priors are sure of `{}` before they have seen it", name_of(output)), "");
        d.notes.push_back(fmt::format("{:.0f} % of the probabilities that they allow are within 0.001 of 0 or of 1", 100 * seen.certain));
        d.notes.emplace_back(
            "the mean of a binary output is its log odds, of which 3 is a probability of 0.95 already: smaller sds, or columns brought to "
            "about size 1 in the table section");
    }

    void look_at_noise(Output const& output, Seen const& seen) {
        Layout const& layout = problem_.plan.layout;
        FactorLayout const& factor = layout.factors[output.factor];
        double const ratio = seen.noise.median / output.sd;
        bool const is_data = std::any_of(factor.spread.begin(), factor.spread.end(), [&](SpreadLayout const& part) {
            return part.variable && layout.variables[*part.variable].kind == VariableKind::Data;
        });
        if (is_data || (ratio <= too_wide && ratio >= too_quiet)) return;
        std::vector<Span> statements;
        for (SpreadLayout const& part : factor.spread)
            if (part.variable && statements.empty()) statements = statements_on(*part.variable);
        Span const span = statements.empty() ? factor.span : statements.front();
        Diagnostic& d = ratio > too_wide ? warn(324, span,
                                                fmt::format("the prior of the noise of `{}` is {} times as wide as its observed cells",
                                                            name_of(output), two_digits(ratio)),
                                                "")
                                         : warn(324, span,
                                                fmt::format("the prior of the noise of `{}` is {} of the sd of its observed cells",
                                                            name_of(output), two_digits(ratio)),
                                                "");
        d.notes.push_back(fmt::format("in the units of the model: the median sd of the noise is {}, the sd of the observed cells {}",
                                      two_digits(seen.noise.median), two_digits(output.sd)));
        d.notes.push_back(
            ratio > too_wide
                ? "noise larger than all that is observed explains nothing: a scale of about the sd of the cells is wide already"
                : "the mean would have to meet every cell all but exactly: a scale of about the sd of the cells leaves that open");
    }

    Problem problem_;
    PriorList list_;
    std::vector<Output> outputs_;
    Simulation simulation_;
    std::vector<std::vector<double>> means_of_blocks_;  ///< per block: of its draws
    Diagnostics found_;
};

}  // namespace

Diagnostics check_priors(Compiled const& compiled, Problem const& problem) {
    auto const flat = find_flat(problem);
    if (flat.empty()) return Check(compiled, problem).run();
    Diagnostic note{325, Severity::Note, "the priors cannot be tried against the table", {}, {}};
    note.notes.push_back(
        fmt::format("{} {} a flat prior, which nothing can be drawn from", first_few(flat), flat.size() == 1 ? "has" : "have"));
    for (Variable const& variable : problem.plan.layout.variables)
        if (variable.name == flat.front()) note.labels.push_back({variable.span, "declared here"});
    return {std::move(note)};
}

}  // namespace bam
