// Runs of one table beside one another: bam::compare.
//
// Codes of this file:
//   BAM0507  a comparison of nothing
//   BAM0550  runs of different tables
//   BAM0551  runs whose outputs are not the same cells
//   BAM0552  a run whose draws are not of the posterior
//   BAM0553  what no model of the comparison lets one leave out, or what is not the same in all of them
//   BAM0554  outputs whose density has no closed form, or that cannot be predicted from the steps before
//   BAM0563  one run twice
//   BAM0567  a ranking by evidence of runs that have none
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <stdexcept>

#include "comparison.hpp"
#include "density_parts.hpp"
#include "explain_trouble.hpp"
#include "fit.hpp"
#include "incidents.hpp"
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
        refuse_degraded(config, fmt::format("`{}`", one.name));
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

/// A difference to itself is 0 and would look like a finding.
void check_different(std::vector<NamedFit> const& fits) {
    for (std::size_t k = 1; k < fits.size(); ++k) {
        for (std::size_t other = 0; other < k; ++other) {
            Fit::Parts const& one = *fits[k].fit.parts();
            Fit::Parts const& before = *fits[other].fit.parts();
            bool const is_same = one.config.run_hash() == before.config.run_hash() && !one.run.chains.empty() &&
                                 !before.run.chains.empty() && one.run.chains.front().values == before.run.chains.front().values;
            if (!is_same) continue;
            if (fits[k].name == fits[other].name)
                refuse(563, fmt::format("`{}` is compared with itself", fits[k].name), {"name each run once"});
            refuse(563, fmt::format("`{}` and `{}` are the same run", fits[other].name, fits[k].name),
                   {"they have the same model, table, options and seed, and so the same draws: name one of them"});
        }
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
        notes.emplace_back(
            "models compare by the same columns of the same rows, in whatever unit there is a way back from to the column (`log(y)`, `y / "
            "10`, "
            "not `1 / y`): let both observe those");
        refuse(551, fmt::format("the outputs of `{}` and `{}` are not the same cells", candidates.front().name, candidates[k].name),
               std::move(notes));
    }
}

/// Of the observed cells in the units of the table, so that models of other transforms of an output compare.
std::optional<LogEvidence> evidence_of(Candidate const& candidate) {
    auto const& exchange = candidate.fit->run.exchange;
    if (!exchange || !exchange->evidence) return std::nullopt;
    LogEvidence evidence = *exchange->evidence;
    for (LeftOut const& cell : each_cell(candidate.problem())) {
        evidence.stepping_stones.value += cell.log_slope;
        evidence.thermodynamic.value += cell.log_slope;
    }
    return evidence;
}

void require_evidence(std::vector<NamedFit> const& fits) {
    std::vector<std::string> without;
    for (NamedFit const& one : fits) {
        auto const& exchange = one.fit.parts()->run.exchange;
        if (!exchange || !exchange->evidence) without.push_back(one.name);
    }
    if (without.empty()) return;
    refuse(567, fmt::format("{} {} no log evidence to rank by", first_few(without), without.size() == 1 ? "has" : "have"),
           {"fit again with `--evidence`, and with a proper prior on everything: under a flat one there is none",
            "or rank by what is predicted: leave out `--by evidence`"});
}

std::vector<LeftOut> left_out_of(Candidate const& candidate, CompareOptions const& options) {
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
    return list;
}

/// Cells are the same in all models by now; which of them are a sequence, and which come before which, is each model's own.
void check_same_parts(std::vector<Candidate> const& candidates, std::vector<std::vector<LeftOut>> const& lists, LeaveOut leave_out) {
    auto const is_same = [](LeftOut const& a, LeftOut const& b) { return a.key == b.key && a.step == b.step; };
    for (std::size_t k = 1; k < lists.size(); ++k) {
        if (std::equal(lists.front().begin(), lists.front().end(), lists[k].begin(), lists[k].end(), is_same)) continue;
        char const* const what = leave_out == LeaveOut::Sequence ? "sequences" : "steps";
        refuse(553, fmt::format("the {} of `{}` and `{}` are not the same rows", what, candidates.front().name, candidates[k].name),
               {fmt::format("`{}` has {} of them with outputs, `{}` has {}", candidates.front().name, lists.front().size(),
                            candidates[k].name, lists[k].size()),
                leave_out == LeaveOut::Sequence ? "bind the sequence dim to the same column in both, or leave cells out: `--by cell`"
                                                : "bind the dims of sequences and time to the same columns in both, or leave cells out: "
                                                  "`--by cell`"});
    }
}

void check_known(std::vector<LeftOut> const& steps, std::size_t known) {
    if (steps.back().step < known)
        refuse(553, fmt::format("no output is observed after step {}", known),
               {fmt::format("fewer known steps, `--from N`: the last that is observed is step {}", steps.back().step + 1)});
}

}  // namespace

Comparison compare(std::vector<NamedFit> const& fits, std::optional<Csv> const& table, CompareOptions const& options) {
    if (fits.empty()) refuse(507, "a comparison is of one run at least", {});
    check_comparable(fits);
    check_different(fits);
    if (options.by_evidence) require_evidence(fits);
    Diagnostics diagnostics;
    std::vector<Candidate> candidates;
    for (NamedFit const& one : fits) candidates.push_back(reopen(one, table, diagnostics));
    check_same_cells(candidates);
    Ranking ranking;
    ranking.leave_out = options.leave_out;
    ranking.by_evidence = options.by_evidence;
    ranking.known_steps = options.known_steps > 0 ? options.known_steps : (candidates.front().problem().bound.grid.steps + 1) / 2;
    std::vector<std::vector<LeftOut>> lists;
    for (Candidate const& candidate : candidates) lists.push_back(left_out_of(candidate, options));
    if (options.leave_out != LeaveOut::Cell) check_same_parts(candidates, lists, options.leave_out);
    if (options.leave_out == LeaveOut::Future) check_known(lists.front(), ranking.known_steps);
    for (std::size_t k = 0; k < candidates.size(); ++k) {
        Candidate const& candidate = candidates[k];
        ChainOptions chains = to_chain_options(candidate.fit->config.options);
        chains.threads = options.threads;
        RunOfProblem const of{candidate.program->compiled, candidate.problem(), candidate.fit->run, chains};
        RefitProgress progress;
        if (options.progress) progress = [&](std::size_t number, std::size_t most) { options.progress(candidate.name, number, most); };
        std::vector<LeftOut>& left_out = lists[k];
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
        ranking.runs.back().evidence = evidence_of(candidate);
        for (std::string const& note : ranking.runs.back().scores.notes)
            ranking.notes.push_back(fmt::format("{}: {}", candidate.name, note));
        for (std::string const& sentence : sentences_of(candidate.fit->config.incidents))
            ranking.notes.push_back(fmt::format("{}: {}", candidate.name, sentence));
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
                                   row.p.value, row.weight, scores.refits, scores.doubtful, row.evidence.value, row.evidence.error,
                                   row.bayes_factor.value, row.bayes_factor.error});
    }
    return comparison;
}

}  // namespace bam
