// What the draws of a run say of another table.
//
// Codes of this file:
//   BAM0484  (warning) a sequence that begins at another time than in the table that was fitted
#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "carry.hpp"
#include "each_chain.hpp"
#include "explain_trouble.hpp"
#include "fit.hpp"
#include "predict.hpp"
#include "reopen.hpp"
#include "report.hpp"
#include "write.hpp"

namespace bam {
namespace {

/// Steps count from the first row: a sequence that is there from its middle only would be taken for another.
void warn_of_shifted_sequences(RunConfig const& config, Layout const& layout, Bound const& bound, Diagnostics& diagnostics) {
    if (!layout.time_column) return;
    std::unordered_map<std::string, std::string> first_times;
    for (RunConfig::Sequence const& sequence : config.sequences) first_times[sequence.label] = sequence.first_time;
    std::vector<std::string> shifted;
    for (std::size_t const s : bound.appearance) {
        std::string const& label = bound.sequence_labels[s];
        std::string const& first = bound.time_labels[bound.grid.cell(s, 0)];
        auto const known = first_times.find(label);
        if (known != first_times.end() && known->second != first)
            shifted.push_back(fmt::format("{} begins at {}, and began at {}", label, first, known->second));
    }
    if (shifted.empty()) return;
    Diagnostic diagnostic{484, Severity::Warning, "a sequence begins at another time than in the table that was fitted", {}, {}};
    if (shifted.size() > 1)
        diagnostic.message = fmt::format("{} sequences begin at other times than in the table that was fitted", shifted.size());
    for (std::size_t i = 0; i < std::min<std::size_t>(shifted.size(), 5); ++i) diagnostic.notes.push_back(shifted[i]);
    diagnostic.notes.emplace_back("steps count from the first row of a sequence: give it from its beginning, outputs may be empty");
    diagnostics.push_back(std::move(diagnostic));
}

/// Each chain has its own state and its own room in the predictor.
void predict_chains(Problem const& problem, CarryMap const& map, Run const& run, Predictor& predictor, std::uint64_t seed) {
    each_chain(run.chains.size(), 0, [&](std::size_t chain, std::stop_token const& failed) {
        Carrier carrier(problem, map, seed, chain + 1);
        PredictionRecorder recorder(predictor, problem, carrier.inputs(), chain);
        for (std::size_t draw = 0; draw < run.chains[chain].log_joint.size() && !failed.stop_requested(); ++draw) {
            carrier.set(draw, run.chains[chain].values.data() + draw * run.columns.size());
            recorder.record(draw, carrier.factors());
        }
    });
}

/// The one point of a mode as often as draws of what is new are wanted: those come from their priors given the point.
Run repeated(Run const& mode) {
    constexpr std::size_t copies = 4000;
    Run run;
    run.columns = mode.columns;
    Chain const& point = mode.chains.front();
    Chain chain;
    for (std::size_t i = 0; i < copies; ++i) chain.values.insert(chain.values.end(), point.values.begin(), point.values.end());
    chain.log_joint.assign(copies, point.log_joint.front());
    chain.log_likelihood.assign(copies, point.log_likelihood.front());
    run.chains.push_back(std::move(chain));
    return run;
}

}  // namespace

Predictions Fit::predict(Csv const& table, std::optional<std::uint64_t> seed) const {
    auto const program = parts_->program ? parts_->program : program_of(parts_->config);
    Diagnostics diagnostics;
    auto bound = bind_new(program, parts_->config, table, diagnostics);  // no structured binding: clang 14 has none in a lambda
    std::shared_ptr<Sources>& sources = bound.sources;
    Problem const& problem = bound.table->problem;
    warn_of_shifted_sequences(parts_->config, problem.plan.layout, problem.bound, diagnostics);
    CarryMap const map(problem, parts_->run.columns, diagnostics);
    throw_if_error(sources, diagnostics);

    std::uint64_t const used_seed = seed.value_or(parts_->config.options.seed);
    auto parts = std::make_shared<Predictions::Parts>();
    parts->incidents = parts_->config.incidents;
    auto const finish = [&](std::vector<Prediction> const& predictions) {
        parts->csv = predictions_csv(problem.plan.layout, predictions, mark_of(parts_->config.incidents));
        for (Prediction const& prediction : predictions) parts->cells.push_back(to_cell(prediction));
        for (std::string& sentence : sentences_of(parts->incidents)) parts->notes.push_back(std::move(sentence));
        parts->report = make_report(std::move(sources), std::move(diagnostics));
        return Predictions(std::move(parts));
    };
    if (parts_->mode && !map.draws_anything(problem)) {
        Carrier carrier(problem, map, used_seed, 1);
        carrier.set(0, parts_->run.chains.front().values.data());
        return finish(Predictor(problem, 1, 0, used_seed).at_point(carrier.inputs(), carrier.factors()));
    }
    Run const run = parts_->mode ? repeated(parts_->run) : parts_->run;

    std::size_t draws = 0;
    for (Chain const& chain : run.chains) draws = std::max(draws, chain.log_joint.size());
    Predictor predictor(problem, run.chains.size(), draws, used_seed);
    or_explain(program->sources, problem.plan.layout, [&] { predict_chains(problem, map, run, predictor, used_seed); });
    return finish(predictor.summarize(parts->notes));
}

}  // namespace bam
