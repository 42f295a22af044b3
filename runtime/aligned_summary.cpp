#include "aligned_summary.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "align.hpp"
#include "reopen.hpp"
#include "report.hpp"

namespace bam {
namespace {

Aligned align_run(Fit::Parts const& parts) {
    Plan const plan = plan_of(parts);
    if (plan.orbits.empty() && plan.interchanges.empty()) return {};
    if (!parts.config.is_interrupted) return align(plan, parts.run);
    Run judged;  // chains that came far enough for the summary
    judged.columns = parts.run.columns;
    for (Chain const& chain : parts.run.chains)
        if (chain.log_joint.size() >= parts.verdict.draws) judged.chains.push_back(chain);
    return align(plan, judged);
}

/// Takes the rows of aligned draws in.
void replace_rows(std::vector<SummaryRow>& rows, Aligned const& aligned, bool only_interchanged) {
    if (aligned.run.chains.empty()) return;
    std::vector<SummaryRow> const of_aligned = summarize(aligned.run);
    for (std::size_t k = 0; k < aligned.of.size(); ++k) {
        SummaryRow& row = rows[aligned.of[k]];
        if (only_interchanged && !(row.column.is_interchanged && row.column.is_identified)) continue;
        row = of_aligned[k];
        row.is_aligned = true;
    }
}

/// As --raw shows it.
AlignedSummary align_all(Fit::Parts const& parts) {
    Aligned aligned = align_run(parts);
    AlignedSummary summary{parts.rows, std::move(aligned.sentences)};
    replace_rows(summary.rows, aligned, false);
    for (std::string& sentence : aligned.numberings) summary.sentences.push_back(std::move(sentence));
    for (SummaryRow& row : summary.rows)
        if (parts.climb && row.condition == Condition::Bad) row.condition = Condition::Good;
    return summary;
}

}  // namespace

bool has_interchanged(Run const& run) {
    return std::any_of(run.columns.begin(), run.columns.end(), [](DrawColumn const& column) { return column.is_interchanged; });
}

Plan plan_of(Fit::Parts const& parts) {
    auto const program = parts.program ? parts.program : program_of(parts.config);
    Diagnostics diagnostics;
    Layout const* const layout = program->compiled.layout(diagnostics);
    throw_if_error(program->sources, diagnostics);
    return program->compiled.plan(std::vector<bool>(layout->factors.size(), true));
}

AlignedSummary number_alike(std::vector<SummaryRow> rows, Plan const& plan, Run const& run) {
    AlignedSummary summary{std::move(rows), {}};
    if (!has_interchanged(run)) return summary;
    Aligned aligned = align(plan, run);
    replace_rows(summary.rows, aligned, true);
    summary.sentences = std::move(aligned.numberings);
    return summary;
}

std::string aligned_table(Fit::Parts const& parts, bool raw) {
    AlignedSummary const summary = raw ? align_all(parts) : AlignedSummary{parts.judged, parts.numberings};
    std::string text = summary_table(summary.rows, raw, parts.climb ? parts.climb->response : LinearResponse{});
    for (std::string const& sentence : summary.sentences)
        text += (&sentence == summary.sentences.data() ? "\naligned: " : "  ") + sentence + '\n';
    return text;
}

std::string with_aligned(Fit::Parts const& parts, std::string const& json) {
    using Json = nlohmann::ordered_json;
    AlignedSummary const summary = align_all(parts);
    if (summary.sentences.empty()) return json;
    std::vector<SummaryRow> rows;
    for (SummaryRow const& row : summary.rows)
        if (row.is_aligned) rows.push_back(row);
    Json whole = Json::parse(json);
    whole["aligned"] = {{"summary", Json::parse(summary_json(rows, parts.verdict))["summary"]}, {"sentences", summary.sentences}};
    return whole.dump(2, ' ', false, Json::error_handler_t::replace) + '\n';
}

}  // namespace bam
