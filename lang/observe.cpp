// The observe sections: which data are outputs, and how they are distributed.
// Codes of this file:
//   BAM0123  an observation of something that is not data
//   BAM0124  two observations of the same cells
//   BAM0135  missing cells that nothing predicts
//   BAM0155  an observation of a label
//   BAM0159  the interval of what is no prior of a mean
#include <fmt/format.h>

#include <algorithm>

#include "workspace.hpp"

namespace bam {
namespace {

using tree::Expr;
using tree::ExprKind;
using tree::Statement;
using tree::StatementKind;

class Observing {
  public:
    explicit Observing(Workspace& workspace) : workspace_(workspace), model_(workspace.model) {}

    void run() {
        workspace_.each_statement("observe", [&](Statement const& s) { add(s); });
        for (SymbolId symbol = 0; symbol < model_.symbols.size(); ++symbol) {
            Symbol const& data = model_.symbols[symbol];
            bool const is_seen = std::find(seen_.begin(), seen_.end(), symbol) != seen_.end();
            if (data.kind != SymbolKind::Data || !data.may_be_missing || is_seen || has_failed_) continue;
            workspace_.error(135, data.span, fmt::format("cells of `{}` may be missing, but nothing predicts them", data.name), "",
                             {fmt::format("say in observe how it is distributed, or leave out `missing` if it is complete")});
        }
    }

  private:
    void add(Statement const& s) {
        if (s.kind != StatementKind::Sample) {
            Diagnostic& d = workspace_.error(103, s.span, "the observe section says how data are distributed");
            if (s.kind == StatementKind::Define)
                d.notes.push_back(hint(fmt::format("{} ~ normal({}, 1)", workspace_.text(s.lhs.span), workspace_.text(s.rhs.span))));
            has_failed_ = true;
            return;
        }
        Name const* const name = workspace_.find(s.lhs.text);
        if (!name)
            workspace_.unknown_name(s.lhs.text, s.lhs.name_span, "data", {NameKind::Data});
        else if (name->is_sound && name->kind != NameKind::Data)
            refuse(s, *name);
        bool const is_data = name && name->is_sound && name->kind == NameKind::Data;
        if (is_data) seen_.push_back(name->id);
        auto const distribution = read_distribution(workspace_, s);
        has_failed_ = has_failed_ || !is_data;
        if (!is_data || !distribution) return;
        bool const is_horseshoe = !distribution->mean && distribution->local;
        if (distribution->family != Distribution::Family::Normal || is_horseshoe || distribution->kernels) {
            workspace_.error(120, s.rhs.span, "an observation is normal, student_t, laplace or bernoulli_logit",
                             "its mean is what the model says",
                             {"the outputs of a model are normal, student_t or laplace, in the units of the table section, or 0 and 1 and "
                              "bernoulli_logit"});
            return;
        }
        if (model_.symbols[name->id].label_dim) {
            workspace_.error(155, s.lhs.span, fmt::format("`{}` is a label, and no output of the model", s.lhs.text), "",
                             {"outputs are numbers, or 0 and 1: `ill = (state == \"ill\")` in the table section"});
            return;
        }
        if (distribution->interval.is_bounded()) {
            workspace_.error(159, distribution->interval_span, "an observation has no interval", "only priors of parameters have one",
                             {"a table may hold transformed outputs: `conc = log(Conc)` has no bound at 0"});
            return;
        }
        auto const regions = read_regions(workspace_, s.lhs, name->id);
        for (Region const& region : regions.value_or(std::vector<Region>{})) {
            PriorStatement const added{&s, name->id, region, distribution, false, true};
            if (refuse_overlap(added)) return;
            workspace_.observations.push_back(added);
        }
    }

    void refuse(Statement const& s, Name const& name) {
        std::string message;
        std::string note;
        switch (name.kind) {
            case NameKind::State:
            case NameKind::Report:
                message = fmt::format("`{}` is computed, so it cannot be observed", s.lhs.text);
                note = "observe data: put what is computed into their mean, as in `y[t] ~ normal(" + s.lhs.text + ", sigma)`";
                break;
            case NameKind::Param:
                message = fmt::format("`{}` is a parameter, so it cannot be observed", s.lhs.text);
                note = "its prior stands in the param section or in priors";
                break;
            case NameKind::Dim:
            case NameKind::Data: message = fmt::format("`{}` is a dim, so it cannot be observed", s.lhs.text); break;
        }
        Diagnostic& d = workspace_.error(123, s.lhs.name_span, message);
        d.labels.push_back({name.span, "declared here"});
        if (!note.empty()) d.notes.push_back(note);
    }

    bool refuse_overlap(PriorStatement const& added) {
        for (PriorStatement const& other : workspace_.observations) {
            if (other.symbol != added.symbol || other.statement == added.statement || !overlap(other.region, added.region)) continue;
            Diagnostic& d = workspace_.error(124, added.statement->lhs.span,
                                             fmt::format("`{}` is observed twice", model_.symbols[added.symbol].name), "the second");
            d.labels.push_back({other.statement->lhs.span, "the first speaks of the same cells"});
            return true;
        }
        return false;
    }

    Workspace& workspace_;
    Model& model_;
    std::vector<SymbolId> seen_;
    bool has_failed_ = false;
};

}  // namespace

void collect_observations(Workspace& workspace) { Observing(workspace).run(); }

}  // namespace bam
