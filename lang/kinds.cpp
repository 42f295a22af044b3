// Which parameters are blocks and which are scales, by their priors and by where they are a spread.
// Codes of this file:
//   BAM0131  a prior whose family does not fit the use
//   BAM0132  a scale used in two ways
//   BAM0133  a spread of another shape or sign
//   BAM0162  a parameter that is categorical and something else
//   BAM0165  a prior of a spread for some sequences or steps
#include <fmt/format.h>

#include <algorithm>

#include "fitting.hpp"
#include "pick.hpp"
#include "workspace.hpp"

namespace bam {
namespace {

using Family = Distribution::Family;
using tree::Expr;
using tree::ExprKind;

/// What a distribution is the prior of.
SpreadKind spread_of(Distribution const& distribution) { return distribution.row ? distribution.row->of : SpreadKind::Sd; }

class Kinds {
  public:
    explicit Kinds(Workspace& workspace) : workspace_(workspace), model_(workspace.model) {}

    void run() {
        for (PriorStatement const& stated : workspace_.priors) {
            if (stated.is_chosen) note_spread(stated);
        }
        for (PriorStatement const& stated : workspace_.observations) note_spread(stated);
        for (auto const& [symbol, statements] : workspace_.param_statements) {
            if (model_.symbols[symbol].kind != SymbolKind::Fixed) settle(symbol);
        }
        for (std::uint32_t i = 0; i < model_.scale_priors.size(); ++i) {
            ScalePrior& prior = model_.scale_priors[i];
            for (std::uint32_t later = i + 1; later < model_.scale_priors.size(); ++later) {
                ScalePrior const& other = model_.scale_priors[later];
                if (other.scale == prior.scale && overlap(prior.region, other.region)) prior.overridden_by.push_back(later);
            }
        }
    }

  private:
    /// Remembers a parameter that is a spread.
    void note_spread(PriorStatement const& stated) {
        if (!stated.distribution || !stated.distribution->scale) return;
        if (stated.distribution->local && stated.distribution->local->df) {
            Expr const& df = *stated.distribution->local->df;
            workspace_.df_uses.try_emplace(workspace_.find(df.text)->id, df.span);
        }
        for (Expr const* part : operands_of_spread(*stated.distribution->scale)) note_part(stated, *part);
    }

    void note_part(PriorStatement const& stated, Expr const& scale) {
        Name const* const name = scale.kind == ExprKind::Name || scale.kind == ExprKind::Index ? workspace_.find(scale.text) : nullptr;
        if (!name || !name->is_sound) return;
        SymbolId symbol = name->id;
        if (name->kind == NameKind::State) {  // another name for a parameter
            auto const pick = take_pick(model_.terms, value_of(workspace_, symbol, scale.span).term);
            if (!pick || model_.terms[pick->leaf].op != Op::Param) return;
            Node const& node = model_.terms[pick->leaf];
            symbol = static_cast<SymbolId>(node.payload);
        } else if (name->kind != NameKind::Param) {
            return;
        }
        workspace_.spread_uses[symbol].push_back({stated.distribution->spread, scale.name_span, stated.distribution->scale_span});
    }

    void settle(SymbolId symbol) {
        std::vector<PriorStatement const*> own;
        for (PriorStatement const& prior : workspace_.priors) {
            if (prior.is_chosen && prior.symbol == symbol && prior.distribution) own.push_back(&prior);
        }
        if (own.empty()) return;
        auto const& uses = workspace_.spread_uses[symbol];
        auto const find_family = [&](auto is_it) {
            auto const it = std::find_if(own.begin(), own.end(), [&](PriorStatement const* prior) { return is_it(*prior->distribution); });
            return it == own.end() ? nullptr : *it;
        };
        PriorStatement const* const of_scale = find_family([](Distribution const& d) { return d.is_of_scale(); });
        PriorStatement const* const normal = find_family([](Distribution const& d) { return d.family == Family::Normal; });
        if (auto const df = workspace_.df_uses.find(symbol); df != workspace_.df_uses.end()) {
            settle_df(symbol, own, df->second);
            return;
        }
        PriorStatement const* const categorical = find_family([](Distribution const& d) { return d.family == Family::Categorical; });
        PriorStatement const* const other = find_family([](Distribution const& d) { return d.family != Family::Categorical; });
        if (categorical && (other || !uses.empty())) return refuse_categorical(symbol, *categorical, other, uses);
        if (of_scale && normal) return refuse_mixture(symbol, *of_scale, *normal);
        if (normal && !uses.empty()) return refuse_normal(symbol, *normal, uses.front());
        if (!of_scale && uses.empty()) return;  // a block
        SpreadKind const spread = uses.empty() ? spread_of(*of_scale->distribution) : uses.front().spread;
        model_.symbols[symbol].kind = SymbolKind::Scale;
        if (model_.symbols[symbol].learnt_from.value_or(1) <= 0) {
            workspace_.error(133, own.front()->statement->rhs.span, "a spread must be greater than 0", "it starts here",
                             {hint("learn(1)")});
            return;
        }
        for (SpreadUse const& use : uses) {
            if (use.spread != spread) return refuse_second_use(symbol, uses.front(), use);
        }
        for (PriorStatement const* prior : own) {
            if (is_of_some_cells(*prior)) return refuse_cells(*prior);
            Distribution const& d = *prior->distribution;
            if (!uses.empty() && spread_of(d) != spread && !model_.symbols[symbol].learnt_from)
                return refuse_use(symbol, *prior, uses.front());
            model_.scale_priors.push_back({symbol,
                                           prior->region,
                                           spread,
                                           d.row ? d.row->family : ScaleFamily::Flat,
                                           d.first,
                                           d.second,
                                           prior->statement->span,
                                           {},
                                           {}});
        }
    }

    /// Whether it speaks of single sequences or steps.
    bool is_of_some_cells(PriorStatement const& prior) const {
        Region const& region = prior.region;
        return region.first_step > model_.symbols[prior.symbol].first_step || region.last_step != SIZE_MAX ||
               std::any_of(region.labels.begin(), region.labels.end(),
                           [&](Region::Labels const& label) { return model_.dims[label.dim].role == Role::Sequence; });
    }

    void refuse_cells(PriorStatement const& prior) {
        Diagnostic& d = workspace_.error(165, prior.statement->lhs.span,
                                         fmt::format("`{}` is a spread, with one prior for all sequences and steps", name(prior.symbol)),
                                         "this speaks of some of them");
        if (!prior.is_own) d.notes.push_back(hint(name(prior.symbol)));
        d.notes.emplace_back("a prior for each: a spread over a labelled dim, whose labels a column may give, as in `plot[row] in plots`");
    }

    /// Degrees of freedom: one positive number, whatever its family is a prior of elsewhere.
    void settle_df(SymbolId symbol, std::vector<PriorStatement const*> const& own, Span use) {
        model_.symbols[symbol].kind = SymbolKind::Scale;
        PriorStatement const& prior = *own.front();
        auto const refuse = [&](int code, Span span, std::string const& message, std::string const& note) {
            Diagnostic& d = workspace_.error(code, span, message);
            d.labels.push_back({use, "degrees of freedom here"});
            d.notes.push_back(note);
        };
        if (!model_.symbols[symbol].dims.empty())
            return refuse(133, prior.statement->lhs.span,
                          fmt::format("degrees of freedom are one number, and `{}` has several", name(symbol)),
                          "one for all: declare it without dims");
        if (auto const& uses = workspace_.spread_uses[symbol]; !uses.empty())
            return refuse(132, uses.front().span,
                          fmt::format("`{}` is used as {} and as degrees of freedom", name(symbol), in_words(uses.front().spread)),
                          "give one of the two a parameter of its own");
        if (!prior.distribution->is_of_scale() || model_.symbols[symbol].learnt_from)
            return refuse(131, prior.statement->rhs.span,
                          fmt::format("`{}` is a number of degrees of freedom: its prior has to be one of a positive number", name(symbol)),
                          hint("gamma(2, 0.1)"));
        Distribution const& d = *prior.distribution;
        model_.scale_priors.push_back(
            {symbol, prior.region, SpreadKind::Sd, d.row->family, d.first, d.second, prior.statement->span, {}, {}});
    }

    std::string const& name(SymbolId symbol) const { return model_.symbols[symbol].name; }

    /// The hint to a prior that fits the use, as wide as the one that was written.
    std::string fitting(PriorStatement const& prior, SpreadKind use) {
        std::string const written = hint(fitting_spread(use, size_of(workspace_, *prior.distribution, use)));
        if (!prior.statement->ends) return written;
        return fmt::format("{}, without `{}`", written, workspace_.text(prior.statement->ends->span));
    }

    void refuse_mixture(SymbolId symbol, PriorStatement const& of_scale, PriorStatement const& normal) {
        model_.symbols[symbol].kind = SymbolKind::Scale;
        if (normal.is_own && !of_scale.is_own) {  // the model's own prior is taken to be right
            Diagnostic& d = workspace_.error(131, of_scale.statement->rhs.span, fmt::format("`{}` has priors of two sorts", name(symbol)),
                                             "this is for a scale");
            d.labels.push_back({normal.statement->rhs.span, "this is for a coefficient"});
            d.notes.push_back(hint(fitting_coefficient(size_of(workspace_, *of_scale.distribution, SpreadKind::Sd))));
            return;
        }
        Diagnostic& d = workspace_.error(131, normal.statement->rhs.span, fmt::format("`{}` has priors of two sorts", name(symbol)),
                                         "this is for a coefficient");
        d.labels.push_back({of_scale.statement->rhs.span, "this is for a scale"});
        if (!normal.is_own && of_scale.is_own) d.notes.push_back(fitting(normal, spread_of(*of_scale.distribution)));
    }

    void refuse_categorical(SymbolId symbol, PriorStatement const& categorical, PriorStatement const* other,
                            std::vector<SpreadUse> const& uses) {
        if (other) {
            Diagnostic& d = workspace_.error(162, other->statement->rhs.span, fmt::format("`{}` has priors of two sorts", name(symbol)),
                                             "a number of its own for each entry");
            d.labels.push_back({categorical.statement->rhs.span, "1 at one entry, 0 at the others"});
            d.notes.push_back(fmt::format("make it categorical as a whole, or not at all: `{} ~ ...`", name(symbol)));
            return;
        }
        Diagnostic& d = workspace_.error(
            162, uses.front().argument_span,
            fmt::format("`{}` is categorical, so it cannot be {}", name(symbol), in_words(uses.front().spread)), "it is 0 at most entries");
        d.labels.push_back({categorical.statement->rhs.span, "1 at one entry, 0 at the others"});
        d.notes.emplace_back("it may stand in a mean, where it picks one of several: `z' * mu`");
    }

    void refuse_normal(SymbolId symbol, PriorStatement const& normal, SpreadUse const& use) {
        std::string const& family = normal.statement->rhs.text;
        Diagnostic& d =
            workspace_.error(131, normal.statement->rhs.span,
                             fmt::format("`{}` is used as {}, so its prior cannot be {}", name(symbol), in_words(use.spread), family),
                             normal.statement->ends ? "a spread has no interval" : fmt::format("a {} may be negative", family));
        d.labels.push_back({use.span, fmt::format("used as {} here", in_words(use.spread))});
        d.notes.push_back(fitting(normal, use.spread));
    }

    /// Whether the parameter is all of the spread.
    bool is_alone(SpreadUse const& use) const { return workspace_.text(use.argument_span).find('*') == std::string::npos; }

    void refuse_use(SymbolId symbol, PriorStatement const& prior, SpreadUse const& use) {
        SpreadKind const wanted = spread_of(*prior.distribution);
        std::string const text = workspace_.text(prior.statement->rhs.span);
        std::string const message =
            fmt::format("`{}` is used as {}, but its prior is one of {}", name(symbol), in_words(use.spread), in_words(wanted));
        // The model is as it is, and other priors hold for it; or other factors of the spread would be of another kind, too: this has to
        // fit.
        if (!prior.is_own || !is_alone(use)) {
            Diagnostic& d =
                workspace_.error(131, prior.statement->rhs.span, message, fmt::format("`{}` is a prior of {}", text, in_words(wanted)));
            d.labels.push_back({use.span, fmt::format("used as {} here", in_words(use.spread))});
            d.notes.push_back(fitting(prior, use.spread));
            return;
        }
        Diagnostic& d = workspace_.error(131, use.argument_span, message);
        d.labels.push_back({prior.statement->rhs.span, fmt::format("`{}` is a prior of {}", text, in_words(wanted))});
        d.notes.push_back(hint(fmt::format("{} = {}", argument_name(wanted), workspace_.text(use.span))));
    }

    void refuse_second_use(SymbolId symbol, SpreadUse const& first, SpreadUse const& second) {
        Diagnostic& d =
            workspace_.error(132, second.argument_span,
                             fmt::format("`{}` is used as {} and as {}", name(symbol), in_words(first.spread), in_words(second.spread)),
                             fmt::format("{} here", in_words(second.spread)));
        d.labels.push_back({first.argument_span, fmt::format("{} here", in_words(first.spread))});
        d.notes.push_back(hint(fmt::format("{} = {}", argument_name(first.spread), workspace_.text(second.span))));
    }

    Workspace& workspace_;
    Model& model_;
};

}  // namespace

void settle_kinds(Workspace& workspace) { Kinds(workspace).run(); }

}  // namespace bam
