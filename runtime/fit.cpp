// Codes of this file:
//   BAM0506  a quantity that the run does not have
//   BAM0559  draws that a degraded run does not have
#include "fit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "aligned_summary.hpp"
#include "assignments.hpp"
#include "chains.hpp"
#include "fit_backends.hpp"
#include "fit_refusals.hpp"
#include "incidents.hpp"
#include "nearest.hpp"
#include "report.hpp"
#include "stopping.hpp"
#include "words.hpp"

namespace bam {
namespace {

constexpr int exit_usage = 64;

std::vector<RunConfig::File> files_of(Program::Parts const& program) {
    std::map<std::uint32_t, RunConfig::File> files;
    for (auto const& [name, source] : program.compiled.files()) {
        Source const& text = (*program.sources)[source];
        RunConfig::File& file = files[source];
        file.name = text.name;
        file.text = text.text;
        if (name != text.name) file.also.push_back(name);
    }
    std::vector<RunConfig::File> list;
    for (auto& [source, file] : files) list.push_back(std::move(file));
    return list;
}

RunConfig make_config(Prepared::Parts const& prepared, FitOptions const& options) {
    Program::Parts const& program = *prepared.program;
    Layout const& layout = prepared.table->problem.plan.layout;
    Bound const& bound = prepared.table->problem.bound;
    RunConfig config;
    config.version = version();
    config.model = program.name;
    config.requested = program.request.files;
    config.files = files_of(program);
    config.dims = program.request.dims;
    config.labels = program.request.labels;
    config.priors = program.request.priors;
    config.learns_hyper = program.request.learns_hyper;
    config.data_name = prepared.data_name;
    config.data_hash = prepared.data_hash;
    config.data_rows = prepared.table->rows;
    config.separator = prepared.separator;
    config.decimal_point = prepared.decimal_point;
    config.options = options;
    for (std::size_t const s : bound.appearance)
        config.sequences.push_back({bound.sequence_labels[s], bound.time_labels[bound.grid.cell(s, 0)], bound.lengths[s]});
    for (std::size_t v = 0; v < layout.variables.size(); ++v)
        if (layout.variables[v].kind == VariableKind::Data) config.learnt[layout.variables[v].name] = bound.learnt[v];
    return config;
}

/// Of one point: it has a place, and no spread.
QuantitySummary only_value(double value) {
    constexpr double none = std::numeric_limits<double>::quiet_NaN();
    return {value, value, none, none, none, none, none, none, none, none, none};
}

Quantity to_quantity(SummaryRow const& row) {
    QuantitySummary const& q = row.quantity;
    Quantity quantity{
        label_name(row.column), q.mean, q.median, q.sd, q.mad, q.q5, q.q95, q.rhat, q.ess_bulk, q.ess_tail, q.mcse_mean, q.mcse_sd,
        row.is_identified()};
    quantity.is_judged = row.is_judged();
    return quantity;
}

/// Chains that were stopped before their first draw are in no file and in no number: that is to be said. Returns how many there should be.
std::size_t note_absent(Fit::Parts& parts) {
    std::vector<std::string> absent;
    std::size_t dropped = 0;
    for (std::size_t number = 1; number <= parts.config.options.chains; ++number) {
        auto const& incidents = parts.config.incidents;
        bool const is_dropped = std::any_of(incidents.begin(), incidents.end(), [&](Incident const& incident) {
            return incident.chain == number && incident.remedy == Remedy::Drop;
        });
        bool const is_there = std::find(parts.chain_numbers.begin(), parts.chain_numbers.end(), number) != parts.chain_numbers.end();
        dropped += is_dropped ? 1 : 0;
        if (!is_dropped && !is_there) absent.push_back(std::to_string(number));
    }
    if (!absent.empty())
        parts.run.notes.push_back(fmt::format("{} {} {} stopped before the first draw, and {} in no file and no number",
                                              absent.size() == 1 ? "chain" : "chains", fmt::join(absent, ", "),
                                              absent.size() == 1 ? "was" : "were", absent.size() == 1 ? "is" : "are"));
    return parts.config.options.chains - dropped;
}

/// Chains that were stopped long before the others would leave hardly a draw to compare.
Run long_chains(Run const& run, std::vector<std::string>& notes, std::vector<std::size_t> const& numbers) {
    std::size_t longest = 0;
    for (Chain const& chain : run.chains) longest = std::max(longest, chain.log_joint.size());
    Run kept;
    kept.columns = run.columns;
    kept.exchange = run.exchange;
    for (std::size_t c = 0; c < run.chains.size(); ++c) {
        if (2 * run.chains[c].log_joint.size() >= longest)
            kept.chains.push_back(run.chains[c]);
        else
            notes.push_back(fmt::format("chain {} has {} only and is left out of the summary", numbers[c],
                                        counted(run.chains[c].log_joint.size(), "draw")));
    }
    return kept;
}

}  // namespace

PredictedCell to_cell(Prediction const& p) { return {p.row, p.sequence, p.time, p.output, p.observed, p.mean, p.sd, p.q5, p.q50, p.q95}; }

void refuse_degraded(RunConfig const& config, std::string const& name) {
    if (mark_of(config.incidents) != Mark::Degraded) return;
    std::string reason = config.incidents.back().reason;
    throw Error(Diagnostic{559,
                           Severity::Error,
                           fmt::format("{} is degraded: it has a mode in place of draws, and this is about draws", name),
                           {},
                           {fmt::format("no chain came to its end: {}", reason),
                            "`bam summary RUN` says what was met, and what may help; then fit again"}},
                exit_usage);
}

void summarize(Fit::Parts& parts) {
    FitOptions const& options = parts.config.options;
    RunLength length{options.num_warmup, options.num_samples, options.thin, !options.until.empty(), parts.config.is_until_met};
    if (options.backend == Backend::Gibbs) length.chains = note_absent(parts);
    if (parts.climb) parts.climb->starts_at_mode = options.init == Init::Map;
    auto const judge_run = [&](Run const& run) {
        parts.rows = summarize(run);
        if (parts.mode)
            for (SummaryRow& row : parts.rows) row.quantity = only_value(row.quantity.mean);
        AlignedSummary numbered{parts.rows, {}};
        if (!parts.mode && has_interchanged(run)) numbered = number_alike(parts.rows, plan_of(parts), run);
        parts.judged = std::move(numbered.rows);
        parts.numberings = std::move(numbered.sentences);
        parts.verdict = parts.mode ? judge(*parts.mode) : parts.climb ? judge(*parts.climb) : judge(parts.judged, run, length);
        if (!options.until.empty() && !parts.config.is_interrupted)
            parts.verdict.sentences.push_back(stop_sentence(options.until, parts.config.is_until_met, parts.verdict.draws));
        auto const unsaid = parts.climb ? parts.climb->held_choices : std::vector<std::string>{};
        for (std::string& sentence : say_assignments(parts.judged, unsaid)) parts.verdict.sentences.push_back(std::move(sentence));
        if (!parts.climb) return;
        parts.verdict.draws = common_draws(run);
        for (auto* const rows : {&parts.rows, &parts.judged})
            for (SummaryRow& row : *rows)
                if (row.condition == Condition::Bad)
                    row.condition = Condition::Good;  // independent draws: more of them are all that could help
    };
    parts.config.is_interrupted ? judge_run(long_chains(parts.run, parts.run.notes, parts.chain_numbers)) : judge_run(parts.run);
    add_incidents(parts.verdict, parts.config.incidents);
    for (SummaryRow const& row : parts.rows) {
        auto const k = static_cast<std::size_t>(&row - parts.rows.data());
        parts.quantities.push_back(to_quantity(row));
        if (parts.climb) {
            parts.quantities.back().linear_response_mean = parts.climb->response.mean(k);
            parts.quantities.back().linear_response_sd = parts.climb->response.sd(k);
        }
        parts.by_name.try_emplace(parts.quantities.back().name, parts.quantities.size() - 1);
    }
}

std::shared_ptr<Fit::Parts const> run_fit(Prepared::Parts const& prepared, FitOptions options, ProgressCallback const& progress,
                                          std::stop_token stop) {
    refuse_unfit(prepared, options);
    // What was left to the program is said in the record of the run.
    options.relax = -relaxation_of(prepared.table->problem, to_chain_options(options));
    options.sweeps = sweeps_of(prepared.table->problem, to_chain_options(options));
    if (!options.until.empty()) options.num_samples = options.max_draws * options.thin;
    refuse_excess(prepared, options);
    auto parts = std::make_shared<Fit::Parts>();
    parts->program = prepared.program;
    parts->config = make_config(prepared, options);
    parts->asked = options;
    run_backend(*parts, prepared, options, progress, std::move(stop));
    std::vector<Chain> chains = std::move(parts->run.chains);
    parts->run.chains.clear();
    for (std::size_t c = 0; c < chains.size(); ++c) {
        parts->config.is_interrupted = parts->config.is_interrupted || chains[c].is_interrupted;
        if (chains[c].log_joint.empty()) continue;
        parts->run.chains.push_back(std::move(chains[c]));
        std::size_t const number = parts->run.chains.back().number;
        parts->chain_numbers.push_back(number > 0 ? number : c + 1);
    }
    for (Prediction const& prediction : parts->run.predictions) parts->predictions.push_back(to_cell(prediction));
    summarize(*parts);
    return parts;
}

// ---------------------------------------------------------------- Fit

Fit::Fit(std::shared_ptr<Parts const> parts) : parts_(std::move(parts)) {}
Fit Fit::open(std::filesystem::path const& folder) { return Fit(read_run(folder)); }
std::vector<Quantity> const& Fit::summary() const { return parts_->quantities; }

Quantity const& Fit::operator[](std::string_view name) const {
    auto const found = parts_->by_name.find(std::string(name));
    if (found != parts_->by_name.end()) return parts_->quantities[found->second];
    std::vector<std::string> names;
    for (Quantity const& quantity : parts_->quantities) names.push_back(quantity.name);
    Diagnostic diagnostic{506, Severity::Error, fmt::format("the run has no quantity `{}`", name), {}, {}};
    if (auto const near = bam::nearest(name, names)) diagnostic.notes.push_back(fmt::format("did you mean `{}`?", *near));
    diagnostic.notes.push_back(fmt::format("it has {}", first_few(names)));
    throw Error(std::move(diagnostic), exit_usage);
}

std::vector<std::vector<double>> Fit::draws(std::string_view name) const {
    auto const row = static_cast<std::size_t>(&(*this)[name] - parts_->quantities.data());
    std::size_t const width = parts_->run.columns.size();
    std::vector<std::vector<double>> draws;
    for (Chain const& chain : parts_->run.chains) {
        // The last two rows of a summary are no columns.
        draws.push_back(row == width ? chain.log_joint : row == width + 1 ? chain.log_likelihood : std::vector<double>());
        if (row >= width) continue;
        for (std::size_t draw = 0; draw < chain.log_joint.size(); ++draw) draws.back().push_back(chain.values[draw * width + row]);
    }
    return draws;
}

std::vector<PredictedCell> const& Fit::predictions() const { return parts_->predictions; }
bool Fit::is_converged() const { return parts_->verdict.is_converged; }
bool Fit::is_interrupted() const { return parts_->config.is_interrupted; }
bool Fit::is_degraded() const { return mark_of(parts_->config.incidents) == Mark::Degraded; }
std::vector<Incident> const& Fit::incidents() const { return parts_->config.incidents; }
std::string Fit::recovery() const { return word(mark_of(parts_->config.incidents)); }
std::size_t Fit::num_draws() const { return parts_->verdict.draws; }
FitOptions const& Fit::options() const { return parts_->config.options; }
std::vector<std::string> const& Fit::notes() const { return parts_->run.notes; }
std::string Fit::table(bool raw) const {
    if (parts_->mode) return mode_table(parts_->rows, *parts_->mode, raw);
    return aligned_table(*parts_, raw);
}
std::string Fit::verdict() const { return to_text(parts_->verdict); }
std::string Fit::json() const {
    if (parts_->mode) return mode_json(parts_->rows, *parts_->mode, parts_->verdict);
    return with_aligned(*parts_, summary_json(parts_->rows, parts_->verdict, parts_->climb ? parts_->climb->response : LinearResponse{},
                                              parts_->run.exchange));
}

std::optional<Evidence> Fit::evidence() const {
    if (!parts_->run.exchange || !parts_->run.exchange->evidence) return std::nullopt;
    auto const& [stones, thermo] = *parts_->run.exchange->evidence;
    return Evidence{stones.value, stones.error, thermo.value, thermo.error};
}

std::string Fit::starts() const {
    if (parts_->mode) return starts_text(*parts_->mode);
    if (parts_->climb) return starts_text(*parts_->climb);
    std::string text;
    for (std::size_t c = 0; c < parts_->run.chains.size(); ++c)
        text += fmt::format("chain {}: {}\n", parts_->chain_numbers[c], parts_->run.chains[c].start);
    return text;
}

double Fit::seconds() const {
    double longest = 0;
    for (Chain const& chain : parts_->run.chains) longest = std::max(longest, chain.warmup_seconds + chain.sampling_seconds);
    return longest;
}

Report Fit::write(std::filesystem::path const& folder, bool force) const { return write_run(*parts_, folder, force); }
void Fit::check_folder(std::filesystem::path const& folder, bool force) { check_run_folder(folder, force); }

// ---------------------------------------------------------------- Predictions

Predictions::Predictions(std::shared_ptr<Parts const> parts) : parts_(std::move(parts)) {}
std::vector<PredictedCell> const& Predictions::cells() const { return parts_->cells; }
std::string Predictions::csv() const { return parts_->csv; }
std::string Predictions::json() const { return predictions_json(parts_->cells, parts_->notes, parts_->incidents); }
Report const& Predictions::report() const { return parts_->report; }
std::vector<std::string> const& Predictions::notes() const { return parts_->notes; }

}  // namespace bam
