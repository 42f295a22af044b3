// Runs of one table beside one another: bam::compare.
//
// Codes of this file:
//   BAM0550  runs of different tables
//   BAM0551  runs whose outputs are not the same cells
//   BAM0552  a run whose draws are not of the posterior
//   BAM0553  what no model of the comparison lets one leave out
//   BAM0554  outputs whose density has no closed form, or that cannot be predicted from the steps before
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <stdexcept>

#include "comparison.hpp"
#include "density_parts.hpp"
#include "explain_trouble.hpp"
#include "fit.hpp"
#include "reopen.hpp"
#include "report.hpp"
#include "simulation.hpp"
#include "words.hpp"

namespace bam {
namespace {

constexpr int exit_usage = 64;
constexpr int exit_data = 65;

[[noreturn]] void refuse(int code, std::string message, std::vector<std::string> notes, int exit_code = exit_usage) {
    throw Error(Diagnostic{code, Severity::Error, std::move(message), {}, std::move(notes)}, exit_code);
}

/// A run, reopened.
struct Candidate {
    std::string name;
    std::shared_ptr<Fit::Parts const> fit;
    std::shared_ptr<Program::Parts const> program;
    FittedTable fitted;

    Problem const& problem() const { return fitted.table->problem; }
};

void check_comparable(std::vector<NamedFit> const& fits) {
    RunConfig const& first = fits.front().fit.parts()->config;
    for (NamedFit const& one : fits) {
        RunConfig const& config = one.fit.parts()->config;
        if (config.options.backend != Backend::Gibbs)
            refuse(552, fmt::format("`{}` has no draws of the posterior: it is of `--backend {}`", one.name, word(config.options.backend)),
                   {"fit again without `--backend`"});
        if (config.data_hash != first.data_hash)
            refuse(550, fmt::format("`{}` and `{}` are fits of different tables", fits.front().name, one.name),
                   {fmt::format("their tables were `{}` and `{}`, with other contents: log densities of different outputs do not compare",
                                first.data_name, config.data_name),
                    "fit the models to one table; to hold rows out, `bam score RUN --data TABLE`"});
    }
}

Candidate reopen(NamedFit const& one, std::optional<Csv> const& table, Diagnostics& diagnostics) {
    Candidate candidate{one.name, one.fit.parts(), nullptr, {}};
    candidate.program = candidate.fit->program ? candidate.fit->program : program_of(candidate.fit->config);
    candidate.fitted = bind_fitted(*candidate.program, candidate.fit->config, table, diagnostics);
    if (std::string const why = why_no_likelihood(candidate.problem()); !why.empty())
        refuse(554, fmt::format("the outputs of `{}` have no density in closed form: {}", one.name, why),
               {"fill the missing cells in, or make it a normal"}, exit_data);
    return candidate;
}

/// The probability of a 1 and the density of a number do not compare.
void check_same_kind(Candidate const& one, Candidate const& other) {
    std::map<std::string, LeftOut> cells;
    for (LeftOut& cell : each_cell(one.problem())) cells.emplace(cell.key, cell);
    auto const is_binary = [](Candidate const& candidate, LeftOut const& cell) {
        return candidate.problem().plan.layout.factors[cell.cells.front().factor].is_binary;
    };
    for (LeftOut const& cell : each_cell(other.problem())) {
        bool const is_binary_there = is_binary(other, cell);
        if (is_binary(one, cells.at(cell.key)) == is_binary_there) continue;
        refuse(551,
               fmt::format("`{}` is 0 or 1 in `{}` and a number in `{}`", cell.output, is_binary_there ? other.name : one.name,
                           is_binary_there ? one.name : other.name),
               {"the probability of a 1 and the density of a number do not compare: let both be `bernoulli_logit`, or neither"});
    }
}

/// Models of one table may still bind other columns, or speak of other cells.
void check_same_cells(std::vector<Candidate> const& candidates) {
    auto const keys_of = [](Candidate const& candidate) {
        std::map<std::string, std::string> keys;  // and outputs
        for (LeftOut const& cell : each_cell(candidate.problem())) keys[cell.key] = cell.output;
        return keys;
    };
    auto const first = keys_of(candidates.front());
    for (std::size_t k = 1; k < candidates.size(); ++k) {
        auto const other = keys_of(candidates[k]);
        std::map<std::string, std::size_t> lacking;  // outputs, and how many cells
        for (auto const& [key, output] : first)
            if (!other.contains(key)) ++lacking[fmt::format("`{}` of `{}`", output, candidates.front().name)];
        for (auto const& [key, output] : other)
            if (!first.contains(key)) ++lacking[fmt::format("`{}` of `{}`", output, candidates[k].name)];
        if (lacking.empty()) {
            check_same_kind(candidates.front(), candidates[k]);
            continue;
        }
        std::vector<std::string> notes;
        for (auto const& [output, count] : lacking)
            notes.push_back(fmt::format("{} of {} {} not in the other", counted(count, "cell"), output, count == 1 ? "is" : "are"));
        notes.emplace_back("models compare by the same columns of the same rows, in whatever unit: let both observe those");
        refuse(551, fmt::format("the outputs of `{}` and `{}` are not the same cells", candidates.front().name, candidates[k].name),
               std::move(notes));
    }
}

std::vector<LeftOut> left_out_of(Candidate const& candidate, CompareOptions const& options, std::size_t known) {
    switch (options.leave_out) {
        case LeaveOut::Cell: return each_cell(candidate.problem());
        case LeaveOut::Sequence: {
            auto list = each_sequence(candidate.problem());
            if (list.size() > 1) return list;
            refuse(553, fmt::format("`{}` has no sequences to leave out", candidate.name),
                   {list.empty() ? "an output is not over the sequence dim: `--by cell`"
                                 : "there is only one: `--by cell`, or `--by future`"});
        }
        case LeaveOut::Future: break;
    }
    auto list = each_step(candidate.problem());
    if (list.empty())
        refuse(553, fmt::format("`{}` has no future to predict: an output is not over time", candidate.name),
               {"leave out cells, `--by cell`, or sequences, `--by sequence`"});
    if (list.back().step < known)
        refuse(553, fmt::format("no output is observed after step {}", known),
               {fmt::format("fewer known steps, `--from N`: the last that is observed is step {}", list.back().step + 1)});
    return list;
}

}  // namespace

Comparison compare(std::vector<NamedFit> const& fits, std::optional<Csv> const& table, CompareOptions const& options) {
    if (fits.empty()) refuse(507, "a comparison is of one run at least", {});
    check_comparable(fits);
    Diagnostics diagnostics;
    std::vector<Candidate> candidates;
    for (NamedFit const& one : fits) candidates.push_back(reopen(one, table, diagnostics));
    check_same_cells(candidates);
    Ranking ranking;
    ranking.leave_out = options.leave_out;
    ranking.known_steps = options.known_steps > 0 ? options.known_steps : (candidates.front().problem().bound.grid.steps + 1) / 2;
    for (Candidate const& candidate : candidates) {
        ChainOptions chains = to_chain_options(candidate.fit->config.options);
        chains.threads = options.threads;
        RunOfProblem const of{candidate.program->compiled, candidate.problem(), candidate.fit->run, chains};
        RefitProgress progress;
        if (options.progress) progress = [&](std::size_t number, std::size_t most) { options.progress(candidate.name, number, most); };
        auto left_out = left_out_of(candidate, options, ranking.known_steps);
        CrossValidation scores = or_explain(candidate.program->sources, candidate.problem().plan.layout, [&] {
            if (options.leave_out != LeaveOut::Future) return leave_each_out(of, std::move(left_out), options.refits, progress);
            try {
                return leave_future_out(of, std::move(left_out), ranking.known_steps, options.refits, progress);
            } catch (std::runtime_error const& trouble) {
                refuse(554,
                       fmt::format("the first {} do not determine the parameters of `{}`: {}", counted(ranking.known_steps, "step"),
                                   candidate.name, trouble.what()),
                       {"more known steps, `--from N`, or proper priors"}, exit_data);
            }
        });
        ranking.runs.push_back({candidate.name, std::move(scores), candidate.fit->verdict.is_converged});
        for (std::string const& note : ranking.runs.back().scores.notes)
            ranking.notes.push_back(fmt::format("{}: {}", candidate.name, note));
        if (options.leave_out == LeaveOut::Cell && looks_back(candidate.problem().plan))
            ranking.notes.push_back(
                fmt::format("means of `{}` look back at outputs: a cell that is left out still stands in those of later "
                            "steps. `--by future` predicts from the past alone",
                            candidate.name));
    }
    rank(ranking);
    Comparison comparison;
    comparison.text = ranking_text(ranking);
    comparison.json = ranking_json(ranking);
    comparison.report = make_report(candidates.front().fitted.sources, std::move(diagnostics));
    for (ComparisonRow const& row : ranking.rows) {
        CrossValidation const& scores = ranking.runs[row.run].scores;
        comparison.runs.push_back({ranking.runs[row.run].name, row.elpd.value, row.elpd.se, row.difference.value, row.difference.se,
                                   row.p.value, row.weight, scores.refits, scores.doubtful});
    }
    return comparison;
}

}  // namespace bam
