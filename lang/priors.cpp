// Which statements on parameters hold: those of the param sections, then priors without a name, then the sets that are asked for. Later
// ones win. Codes of this file:
//   BAM0123  a statement about something that is not a parameter
//   BAM0124  two statements on the same entries in one section
//   BAM0125  entries without a prior
//   BAM0126  fixed and drawn at once
//   BAM0127  prior sets: twice, in a circle, or extending what is not there
//   BAM0147  learn() of what is no number of the priors
//   BAM0170  a parameter that is 0 or 1
//   BAM0511  --priors with an unknown name
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "absent_labels.hpp"
#include "nearest.hpp"
#include "workspace.hpp"

namespace bam {
namespace {

using tree::Expr;
using tree::ExprKind;
using tree::Section;
using tree::Statement;
using tree::StatementKind;

/// Whether every entry of `inner` is one of `outer`.
bool covers(Region const& outer, Region const& inner) {
    if (outer.first_step > inner.first_step || outer.last_step < inner.last_step) return false;
    return std::all_of(outer.labels.begin(), outer.labels.end(), [&](Region::Labels const& a) {
        return std::any_of(inner.labels.begin(), inner.labels.end(),
                           [&](Region::Labels const& b) { return a.dim == b.dim && a.label == b.label; });
    });
}

class Priors {
  public:
    explicit Priors(Workspace& workspace) : workspace_(workspace), model_(workspace.model) {}

    void run() {
        for (auto const& [symbol, statements] : workspace_.param_statements) {
            for (Statement const* s : statements) {
                if (s->kind != StatementKind::Declare) add(*s, symbol, true, true, "");
            }
        }
        refuse_overlaps();
        // Those of the user's own file come last, so that they win over what it uses.
        for (auto file = workspace_.files.rbegin(); file != workspace_.files.rend(); ++file) {
            for (Section const& section : file->sections) {
                if (section.keyword == "priors") (section.name.empty() ? add_section(section, true) : add_set(section));
            }
        }
        for (std::string const& name : workspace_.choices.priors) choose(name);
        for (std::string const& name : chosen_) add_section(*sets_.at(name), true);
        for (auto const& [name, section] : sets_) {
            check_extends(*section);
            if (!is_chosen(name)) add_section(*section, false);
        }
        for (PriorStatement const& prior : workspace_.priors) model_.stated.push_back(as_written(workspace_, prior));
        for (auto const& [name, section] : sets_)
            model_.prior_sets.push_back({name, section->extends, is_chosen(name), section->name_span});
        drop_absent();
        drop_covered();
        for (auto const& [symbol, statements] : workspace_.param_statements) settle(symbol, *statements.front());
    }

  private:
    // ---- sections ----

    void add_set(Section const& section) {
        auto const [it, is_new] = sets_.emplace(section.name, &section);
        if (is_new) return;
        Diagnostic& d = workspace_.error(127, section.name_span, fmt::format("priors `{}` twice", section.name), "here");
        d.labels.push_back({it->second->name_span, "and here"});
    }

    void choose(std::string const& name) {
        std::vector<std::string> names;
        for (auto const& [set, section] : sets_) names.push_back(set);
        if (!sets_.contains(name)) {
            Diagnostic d{511, Severity::Error, fmt::format("--priors {}: the model has no such set", name), {}, {}};
            if (auto const near = nearest(name, names)) d.notes.push_back(fmt::format("did you mean `{}`?", *near));
            d.notes.push_back(names.empty() ? "it has no prior sets at all" : "its prior sets are " + enumerate(names));
            d.notes.emplace_back("the name of a file of priors ends in .bam, or has a / in it");
            workspace_.diagnostics.push_back(std::move(d));
            return;
        }
        std::vector<std::string> path;
        add_base(name, path);
        chosen_.erase(std::remove(chosen_.begin(), chosen_.end(), name), chosen_.end());  // what is named again moves to the end
        chosen_.push_back(name);
    }

    bool is_chosen(std::string const& name) const { return std::find(chosen_.begin(), chosen_.end(), name) != chosen_.end(); }

    /// The base of a set comes before it, unless it is there already. `path`: the sets that led here, which may be a circle.
    void add_base(std::string const& name, std::vector<std::string>& path) {
        std::string const& base = sets_.at(name)->extends;
        path.push_back(name);
        bool const is_circle = std::find(path.begin(), path.end(), base) != path.end();
        if (!sets_.contains(base) || is_chosen(base) || is_circle) return;
        add_base(base, path);
        chosen_.push_back(base);
    }

    void check_extends(Section const& section) {
        std::vector<std::string> path{section.name};
        for (Section const* at = &section; !at->extends.empty();) {
            auto const base = sets_.find(at->extends);
            if (base == sets_.end()) {
                if (at != &section) return;  // reported at that set
                std::vector<std::string> names;
                for (auto const& [set, other] : sets_) {
                    if (set != section.name) names.push_back(set);
                }
                Diagnostic& d = workspace_.error(127, at->extends_span, fmt::format("there are no priors `{}`", at->extends));
                if (auto const near = nearest(at->extends, names))
                    d.notes.push_back(hint(*near));
                else if (!names.empty())
                    d.notes.push_back("there are " + enumerate(names));
                return;
            }
            at = base->second;
            bool const is_circle = std::find(path.begin(), path.end(), at->name) != path.end();
            path.push_back(at->name);
            if (!is_circle) continue;
            bool const is_first = *std::min_element(path.begin(), path.end()) == section.name;
            if (at != &section || !is_first) return;  // reported at another member of the circle
            std::string circle;
            for (std::string const& name : path) circle += (circle.empty() ? "" : " -> ") + name;
            workspace_.error(127, section.extends_span, "prior sets in a circle: " + circle);
            return;
        }
    }

    void add_section(Section const& section, bool is_chosen) {
        for (Statement const& s : section.statements) {
            if (s.kind == StatementKind::Declare || s.kind == StatementKind::Define || !s.role.empty()) {
                std::vector<std::string> notes;
                if (s.kind == StatementKind::Define) {
                    notes.push_back(hint(workspace_.text(s.lhs.span) + (s.rhs.kind == ExprKind::Number ? " fixed " : " ~ ") +
                                         workspace_.text(s.rhs.span)));
                }
                workspace_.error(103, s.span, "a prior is `name ~ distribution` or `name fixed number`", "", std::move(notes));
                continue;
            }
            if (auto const symbol = find_param(s.lhs)) add(s, *symbol, false, is_chosen, section.name);
        }
    }

    std::optional<SymbolId> find_param(Expr const& lhs) {
        Name const* const name = workspace_.find(lhs.text);
        if (!name) {
            workspace_.unknown_name(lhs.text, lhs.name_span, "parameter", {NameKind::Param});
            return std::nullopt;
        }
        if (!name->is_sound) return std::nullopt;
        if (name->kind == NameKind::Param) return name->id;
        static constexpr char const* kinds[] = {"a dim", "data", "a parameter", "computed", "a report"};
        Diagnostic& d =
            workspace_.error(123, lhs.name_span,
                             fmt::format("`{}` is {}: only parameters have priors", lhs.text, kinds[static_cast<std::size_t>(name->kind)]));
        d.labels.push_back({name->span, "declared here"});
        if (name->kind == NameKind::Data) d.notes.push_back("what is observed of it is said in the observe section");
        return std::nullopt;
    }

    void add(Statement const& s, SymbolId symbol, bool is_own, bool is_chosen, std::string const& set) {
        auto const regions = read_regions(workspace_, s.lhs, symbol, !set.empty());
        std::optional<Distribution> distribution;
        if (s.kind == StatementKind::Sample) distribution = read_distribution(workspace_, s);
        if (distribution && distribution->is_binary()) {
            workspace_.error(170, s.rhs.span, "a parameter cannot be 0 or 1", "bernoulli_logit is a distribution of outputs",
                             {hint("normal(0, 1)")});
            distribution.reset();
        }
        if (!regions || (s.kind == StatementKind::Sample && !distribution)) {
            refused_.push_back(symbol);
            return;
        }
        for (Region region : *regions) {
            region.first_step = std::max(region.first_step, model_.symbols[symbol].first_step);
            auto absent = find_absent(region);
            workspace_.priors.push_back({&s, symbol, std::move(region), distribution, is_own, is_chosen, set, std::move(absent)});
        }
    }

    /// A label that a dim of the table should have, and has not.
    std::optional<Region::Labels> find_absent(Region const& region) const {
        for (Region::Labels const& label : region.labels) {
            Dim const& dim = model_.dims[label.dim];
            bool const is_known = dim.is_of_table && dim.size;
            if (is_known && std::find(dim.labels.begin(), dim.labels.end(), label.label) == dim.labels.end()) return label;
        }
        return std::nullopt;
    }

    // ---- which statements hold ----

    /// Whether both name labels of the same dims, or none does. What names more of them says an exception to what names fewer.
    static bool are_as_special(Region const& a, Region const& b) {
        auto const names = [](Region const& region, DimId dim) {
            return std::any_of(region.labels.begin(), region.labels.end(), [&](Region::Labels const& label) { return label.dim == dim; });
        };
        return a.labels.size() == b.labels.size() &&
               std::all_of(a.labels.begin(), a.labels.end(), [&](Region::Labels const& label) { return names(b, label.dim); });
    }

    void refuse_overlaps() {
        auto const& priors = workspace_.priors;
        std::set<std::pair<Statement const*, Statement const*>> said;  // a range of labels is several
        for (std::size_t i = 0; i < priors.size(); ++i) {
            for (std::size_t j = 0; j < i; ++j) {
                PriorStatement const& a = priors[j];
                PriorStatement const& b = priors[i];
                if (a.symbol != b.symbol || a.statement == b.statement || !are_as_special(a.region, b.region)) continue;
                if (!overlap(a.region, b.region) || !said.emplace(a.statement, b.statement).second) continue;
                Symbol const& symbol = model_.symbols[a.symbol];
                Diagnostic& d = workspace_.error(124, b.statement->lhs.span, fmt::format("two priors for `{}`", symbol.name), "the second");
                d.labels.push_back({a.statement->lhs.span, "the first speaks of the same entries"});
                d.notes.push_back("what overrides a prior stands in a priors section");
                if (model_.is_over(a.symbol, model_.time)) d.notes.push_back("or give each a range of its own: `[t = 0]` and `[t > 0]`");
            }
        }
    }

    /// Statements of sets about labels that the table does not have. Those of the model itself were refused.
    void drop_absent() {
        auto& priors = workspace_.priors;
        AbsentLabels absent;
        for (PriorStatement const& prior : priors)
            if (prior.absent && prior.is_chosen) absent.add(model_.dims[prior.absent->dim].name, prior.absent->label, prior.absent->span);
        absent.report(workspace_.diagnostics);
        priors.erase(std::remove_if(priors.begin(), priors.end(), [](PriorStatement const& prior) { return prior.absent.has_value(); }),
                     priors.end());
    }

    void drop_covered() {
        auto& priors = workspace_.priors;
        std::vector<PriorStatement> kept;
        for (std::size_t i = 0; i < priors.size(); ++i) {
            bool const is_covered =
                priors[i].is_chosen &&
                std::any_of(priors.begin() + static_cast<std::ptrdiff_t>(i) + 1, priors.end(), [&](PriorStatement const& later) {
                    return later.is_chosen && later.symbol == priors[i].symbol && later.statement != priors[i].statement &&
                           covers(later.region, priors[i].region);
                });
            if (!is_covered) kept.push_back(std::move(priors[i]));
        }
        priors = std::move(kept);
    }

    /// A parameter is fixed or drawn, and every entry has its prior.
    void settle(SymbolId symbol, Statement const& first) {
        std::vector<PriorStatement const*> own;
        for (PriorStatement const& prior : workspace_.priors) {
            if (prior.is_chosen && prior.symbol == symbol) own.push_back(&prior);
        }
        if (std::find(refused_.begin(), refused_.end(), symbol) != refused_.end()) return;
        Symbol& parameter = model_.symbols[symbol];
        if (own.empty()) {
            workspace_.error(125, first.span, fmt::format("`{}` has no prior", parameter.name), "",
                             {hint(workspace_.text(first.lhs.span) + " ~ normal(0, 1)")});
            return;
        }
        auto const is_fixed = [](PriorStatement const* prior) { return !prior->distribution; };
        auto const fixed = std::find_if(own.begin(), own.end(), is_fixed);
        if (fixed != own.end()) {
            fix(symbol, **fixed, own);
            return;
        }
        auto const learnt = std::find_if(
            own.begin(), own.end(), [](PriorStatement const* prior) { return prior->distribution->family == Distribution::Family::Learn; });
        if (learnt != own.end()) {
            learn(symbol, **learnt, own);
            return;
        }
        if (auto const gap = find_gap(symbol, own)) {
            std::string const where = model_.time ? model_.dims[*model_.time].name + " = " + std::to_string(*gap) : "";
            bool const has_whole =
                std::any_of(own.begin(), own.end(), [](PriorStatement const* prior) { return prior->region.labels.empty(); });
            Diagnostic& d =
                workspace_.error(125, own.front()->statement->lhs.span, fmt::format("some entries of `{}` have no prior", parameter.name));
            d.labels[0].text = has_whole ? "none at " + where : "only the entries that are named have one";
        }
    }

    /// A number of the priors: held where its search would start, or free and without a prior of its own.
    void learn(SymbolId symbol, PriorStatement const& learnt, std::vector<PriorStatement const*> const& own) {
        Symbol& parameter = model_.symbols[symbol];
        double const start = learnt.distribution->first;
        parameter.kind = SymbolKind::Fixed;  // unless it is free
        parameter.literal = static_cast<std::uint32_t>(model_.literals.size());
        model_.literals.push_back({{}, {}, {start}});
        bool const is_over_cells =
            std::any_of(parameter.dims.begin(), parameter.dims.end(), [&](DimId dim) { return model_.dims[dim].role != Role::Labelled; });
        if (is_over_cells) {
            workspace_.error(147, learnt.statement->rhs.span, fmt::format("`{}` has a number for every sequence or step", parameter.name),
                             "learn() is for numbers that priors are made of",
                             {hint(workspace_.text(learnt.statement->lhs.span) + " ~ normal(0, 1)")});
            return;
        }
        if (own.size() > 1 || !learnt.region.labels.empty()) {
            Diagnostic& d =
                workspace_.error(126, learnt.statement->span, fmt::format("only a part of `{}` is learnt as a number", parameter.name),
                                 "a parameter is learnt as a whole or drawn");
            for (PriorStatement const* other : own) {
                if (other != &learnt) d.labels.push_back({other->statement->span, "this speaks of the rest"});
            }
            workspace_.names.find(parameter.name)->second.is_sound = false;
            return;
        }
        for (PriorStatement& prior : workspace_.priors) {
            if (&prior != &learnt) continue;
            if (workspace_.choices.learns_hyper) {
                prior.distribution->family = Distribution::Family::Flat;
                parameter.kind = SymbolKind::Block;
                parameter.literal.reset();
                parameter.learnt_from = start;
            } else {
                prior.distribution.reset();
            }
        }
    }

    void fix(SymbolId symbol, PriorStatement const& fixed, std::vector<PriorStatement const*> const& own) {
        Symbol& parameter = model_.symbols[symbol];
        parameter.kind = SymbolKind::Fixed;
        auto const other = std::find_if(own.begin(), own.end(), [&](PriorStatement const* prior) { return prior != &fixed; });
        bool const is_whole =
            fixed.region.labels.empty() && fixed.region.last_step == SIZE_MAX && fixed.region.first_step == parameter.first_step;
        if (other != own.end() || !is_whole) {
            Diagnostic& d = workspace_.error(126, fixed.statement->span, fmt::format("only a part of `{}` is fixed", parameter.name),
                                             "a parameter is fixed as a whole or drawn");
            if (other != own.end()) d.labels.push_back({(*other)->statement->span, "this speaks of the rest"});
            d.notes.emplace_back("an entry that is known is drawn close to its value: give it a prior with a small sd");
            workspace_.names.find(parameter.name)->second.is_sound = false;  // it has no value
            return;
        }
        Expr const& value = fixed.statement->rhs;
        std::uint32_t literal = 0;
        if (is_list(value)) {
            if (literal_of(workspace_, value, workspace_.labelled_dims(symbol), &literal)) parameter.literal = literal;
        } else if (auto const number = number_of(workspace_, value, "the value of a fixed parameter")) {
            parameter.literal = static_cast<std::uint32_t>(model_.literals.size());
            model_.literals.push_back({{}, {}, {*number}});
        }
        if (!parameter.literal) workspace_.names.find(parameter.name)->second.is_sound = false;
    }

    /// The first step at which some entry has no statement. Statements on single labels count only if there is no other.
    std::optional<std::size_t> find_gap(SymbolId symbol, std::vector<PriorStatement const*> const& own) const {
        std::size_t next = model_.symbols[symbol].first_step;
        for (bool again = true; again;) {
            again = false;
            for (PriorStatement const* prior : own) {
                Region const& region = prior->region;
                if (!region.labels.empty() || region.first_step > next || region.last_step < next) continue;
                if (region.last_step == SIZE_MAX) return std::nullopt;
                next = region.last_step + 1;
                again = true;
            }
        }
        return are_all_named(symbol, own) ? std::nullopt : std::optional(next);
    }

    /// Whether statements on single labels, over all steps, name every entry of a vector.
    bool are_all_named(SymbolId symbol, std::vector<PriorStatement const*> const& own) const {
        std::vector<DimId> const dims = workspace_.labelled_dims(symbol);
        if (dims.size() != 1 || !model_.dims[dims[0]].size) return false;
        std::vector<std::string> named;
        for (PriorStatement const* prior : own) {
            bool const is_always = prior->region.last_step == SIZE_MAX && prior->region.first_step <= model_.symbols[symbol].first_step;
            if (is_always && prior->region.labels.size() == 1) named.push_back(prior->region.labels[0].label);
        }
        std::sort(named.begin(), named.end());
        named.erase(std::unique(named.begin(), named.end()), named.end());
        return named.size() == *model_.dims[dims[0]].size;
    }

    Workspace& workspace_;
    Model& model_;
    std::map<std::string, Section const*> sets_;
    std::vector<std::string> chosen_;  ///< in the order in which they apply
    std::vector<SymbolId> refused_;    ///< parameters of whose statements one was not understood
};

}  // namespace

void collect_priors(Workspace& workspace) { Priors(workspace).run(); }

}  // namespace bam
