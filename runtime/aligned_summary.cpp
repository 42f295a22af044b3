#include "aligned_summary.hpp"

#include <nlohmann/json.hpp>

#include "align.hpp"
#include "reopen.hpp"
#include "report.hpp"

namespace bam {
namespace {

Aligned align_run(Fit::Parts const& parts) {
    auto const program = parts.program ? parts.program : program_of(parts.config);
    Diagnostics diagnostics;
    Layout const* const layout = program->compiled.layout(diagnostics);
    throw_if_error(program->sources, diagnostics);
    Plan const plan = program->compiled.plan(std::vector<bool>(layout->factors.size(), true));
    if (plan.orbits.empty() && plan.interchanges.empty()) return {};
    if (!parts.config.is_interrupted) return align(*layout, plan.orbits, plan.interchanges, parts.run);
    Run judged;  // chains that came far enough for the summary
    judged.columns = parts.run.columns;
    for (Chain const& chain : parts.run.chains)
        if (chain.log_joint.size() >= parts.verdict.draws) judged.chains.push_back(chain);
    return align(*layout, plan.orbits, plan.interchanges, judged);
}

}  // namespace

AlignedSummary aligned_summary(Fit::Parts const& parts) {
    Aligned aligned = align_run(parts);
    AlignedSummary summary{parts.rows, std::move(aligned.sentences)};
    if (aligned.run.chains.empty()) return summary;
    std::vector<SummaryRow> const rows = summarize(aligned.run);
    for (std::size_t k = 0; k < aligned.of.size(); ++k) {
        summary.rows[aligned.of[k]] = rows[k];
        summary.rows[aligned.of[k]].is_aligned = true;
        if (parts.climb && rows[k].condition == Condition::Bad) summary.rows[aligned.of[k]].condition = Condition::Good;
    }
    return summary;
}

std::string raw_table(Fit::Parts const& parts) {
    AlignedSummary const summary = aligned_summary(parts);
    std::string text = summary_table(summary.rows, true, parts.climb ? parts.climb->response : LinearResponse{});
    for (std::string const& sentence : summary.sentences)
        text += (&sentence == summary.sentences.data() ? "\naligned: " : "  ") + sentence + '\n';
    return text;
}

std::string with_aligned(Fit::Parts const& parts, std::string const& json) {
    using Json = nlohmann::ordered_json;
    AlignedSummary const summary = aligned_summary(parts);
    if (summary.sentences.empty()) return json;
    std::vector<SummaryRow> rows;
    for (SummaryRow const& row : summary.rows)
        if (row.is_aligned) rows.push_back(row);
    Json whole = Json::parse(json);
    whole["aligned"] = {{"summary", Json::parse(summary_json(rows, parts.verdict))["summary"]}, {"sentences", summary.sentences}};
    return whole.dump(2, ' ', false, Json::error_handler_t::replace) + '\n';
}

}  // namespace bam
