// What is used where: the last look at the whole model.
// Codes of this file:
//   BAM0131  the prior of a scale on a coefficient
//   BAM0132  a scale inside a mean
//   BAM0137  priors in a circle
//   BAM0138  a step at which a parameter has no entry
//   BAM0310  (warning) a parameter that nothing uses
#include <fmt/format.h>

#include <algorithm>

#include "fitting.hpp"
#include "workspace.hpp"

namespace bam {
namespace {

constexpr std::size_t never = SIZE_MAX;

/// From which step on a term has a value.
class Reach {
  public:
    explicit Reach(Model const& model) : model_(model) {}

    std::size_t of(Term term) {
        if (auto it = done_.find(term); it != done_.end()) return it->second;
        std::size_t const result = compute(model_.terms[term]);
        if (model_.terms[term].op == Op::Param && result > worst_) culprit = term, worst_ = result;
        done_.emplace(term, result);
        return result;
    }

    std::optional<Term> culprit;  ///< the parameter that starts last

  private:
    std::size_t compute(Node const& node) {
        if (node.op == Op::Param) {
            std::size_t const first = model_.symbols[static_cast<SymbolId>(node.payload)].first_step;
            return first == 0 ? 0 : first + node.lag;
        }
        if (node.op == Op::Scan) {
            // The coefficient of the first step multiplies what was before it, which is 0.
            Reach coefficient(model_);
            bool const is_whole = coefficient.of(node.args[0]) <= 1;
            if (!is_whole) culprit = coefficient.culprit;
            return is_whole && of(node.args[1]) == 0 ? 0 : never;
        }
        std::size_t most = 0;
        for (Term arg : node.args) most = std::max(most, of(arg));
        return most;
    }

    Model const& model_;
    std::map<Term, std::size_t> done_;
    std::size_t worst_ = 0;
};

class Uses {
  public:
    explicit Uses(Workspace& workspace) : workspace_(workspace), model_(workspace.model) {}

    void run() {
        for (Factor const& factor : model_.factors) {
            check_scales(factor);
            check_steps(factor);
        }
        for (Symbol& symbol : model_.symbols) {
            if (symbol.kind == SymbolKind::Definition && symbol.is_report && symbol.term) set_first_step(symbol);
        }
        check_circles();
        if (!has_error(workspace_.diagnostics)) warn_of_unused();
    }

  private:
    Span place_of(Term term, Span otherwise) const {
        auto const it = model_.uses.find(term);
        return it == model_.uses.end() ? otherwise : it->second;
    }

    std::vector<Term> parameters_in(Term root) const {
        std::vector<Term> found;
        Term const roots[] = {root};
        for (Term term : model_.terms.postorder(roots)) {
            if (model_.terms[term].op == Op::Param) found.push_back(term);
        }
        return found;
    }

    // ---- scales ----

    void check_scales(Factor const& factor) {
        for (Term leaf : parameters_in(factor.mean)) {
            auto const symbol = static_cast<SymbolId>(model_.terms[leaf].payload);
            if (model_.symbols[symbol].kind != SymbolKind::Scale || std::find(refused_.begin(), refused_.end(), symbol) != refused_.end())
                continue;
            refused_.push_back(symbol);
            std::string const& name = model_.symbols[symbol].name;
            Span const place = place_of(leaf, factor.span);
            auto const& uses = workspace_.spread_uses[symbol];
            if (!uses.empty()) {
                Diagnostic& d =
                    workspace_.error(132, place, fmt::format("`{}` is a spread, so it cannot stand in a mean", name), "in a mean here");
                d.labels.push_back({uses.front().span, "a spread here"});
                d.notes.push_back("give one of the two a parameter of its own");
                continue;
            }
            for (PriorStatement const& prior : workspace_.priors) {
                if (prior.symbol != symbol || !prior.is_chosen || !prior.distribution) continue;
                Diagnostic& d = workspace_.error(131, prior.statement->rhs.span,
                                                 fmt::format("`{}` is a coefficient, but its prior is one of a scale", name));
                d.labels.push_back({place, "it stands in a mean here"});
                d.notes.push_back(hint(fitting_coefficient(size_of(workspace_, *prior.distribution, SpreadKind::Sd))));
                break;
            }
        }
    }

    // ---- steps ----

    void check_steps(Factor const& factor) {
        std::vector<Term> terms{factor.mean};
        for (SpreadPart const& part : factor.spread) terms.push_back(part.value);
        for (Term term : terms) {
            Reach reach(model_);
            std::size_t const first = reach.of(term);
            if (first <= factor.region.first_step) continue;
            refuse_step(*reach.culprit, first, factor.span, factor.target);
        }
    }

    void refuse_step(Term leaf, std::size_t first, Span span, std::optional<SymbolId> target) {
        Node const& node = model_.terms[leaf];
        Symbol const& parameter = model_.symbols[static_cast<SymbolId>(node.payload)];
        std::string const& t = model_.dims[*model_.time].name;
        std::string const before = parameter.first_step == 1 ? "the first step" : fmt::format("the steps before {}", parameter.first_step);
        Diagnostic& d = workspace_.error(138, place_of(leaf, span), fmt::format("`{}` has no entry at {}", parameter.name, before),
                                         "it is needed there");
        d.labels.push_back({parameter.span, "its steps are said here"});
        if (first == never)
            d.notes.push_back(
                fmt::format("inside a recurrence it may be the coefficient, from step 1 on: `{}[{}] * h[{}-1]`", parameter.name, t, t));
        else if (target == static_cast<SymbolId>(node.payload))
            d.notes.push_back(fmt::format("give its first step a prior of its own: `{} ~ normal(0, 1)` and `{} ~ ...`",
                                          at_steps(parameter, fmt::format(" = {}", parameter.first_step)),
                                          at_steps(parameter, fmt::format(" > {}", parameter.first_step))));
        else if (target)
            d.notes.push_back(fmt::format("start later: `{}[{} >= {}] ~ ...`", model_.symbols[*target].name, t, first));
        d.notes.push_back(fmt::format("or give it a prior at every step: `{} ~ ...`", at_steps(parameter)));
    }

    /// `c[seq, t > 1]`
    std::string at_steps(Symbol const& parameter, std::string const& which = "") const {
        std::string dims;
        for (DimId const dim : parameter.dims)
            dims += (dims.empty() ? "" : ", ") + model_.dims[dim].name + (dim == model_.time ? which : "");
        return fmt::format("{}[{}]", parameter.name, dims);
    }

    void set_first_step(Symbol& symbol) {
        Reach reach(model_);
        symbol.first_step = reach.of(*symbol.term);
        if (symbol.first_step == never) refuse_step(*reach.culprit, never, symbol.span, std::nullopt);
    }

    // ---- circles ----

    /// Variables must be drawn one after another: at one step, none may be in the mean of its own mean.
    void check_circles() {
        std::map<std::pair<Op, SymbolId>, std::vector<std::pair<std::pair<Op, SymbolId>, Span>>> parents;
        for (Factor const& factor : model_.factors) {
            Op const op = factor.is_observation ? Op::Data : Op::Param;
            Term const roots[] = {factor.mean};
            for (Term term : model_.terms.postorder(roots)) {
                Node const& node = model_.terms[term];
                if ((node.op != Op::Data && node.op != Op::Param) || node.lag > 0) continue;
                parents[{op, factor.target}].push_back({{node.op, static_cast<SymbolId>(node.payload)}, factor.span});
            }
        }
        using Variable = std::pair<Op, SymbolId>;
        std::map<Variable, int> state;  // 1 on the path, 2 done
        std::vector<Variable> path;
        auto const walk = [&](auto const& self, Variable variable) -> void {
            state[variable] = 1;
            path.push_back(variable);
            for (auto const& [parent, span] : parents[variable]) {
                if (state[parent] == 0)
                    self(self, parent);
                else if (state[parent] == 1)
                    refuse_circle(path, parent, span);
            }
            path.pop_back();
            state[variable] = 2;
        };
        std::vector<Variable> targets;
        for (auto const& [target, of] : parents) targets.push_back(target);
        for (Variable const& target : targets) {
            if (state[target] == 0) walk(walk, target);
        }
    }

    void refuse_circle(std::vector<std::pair<Op, SymbolId>> const& path, std::pair<Op, SymbolId> first, Span span) {
        std::string circle;
        for (auto it = std::find(path.begin(), path.end(), first); it != path.end(); ++it)
            circle += model_.symbols[it->second].name + " -> ";
        workspace_.error(137, span, fmt::format("means in a circle: {}{}", circle, model_.symbols[first.second].name), "this closes it",
                         {"a variable may depend on itself at earlier steps only"});
    }

    // ---- unused ----

    static bool names(tree::Expr const& expr, std::string const& parameter) {
        return expr.text == parameter ||
               std::any_of(expr.args.begin(), expr.args.end(), [&](tree::Expr const& arg) { return names(arg, parameter); });
    }

    /// Whether the model has a prior that depends on it, and a set of priors has one in its place: a posterior that says what is known of
    /// both is no slip.
    bool is_taken_over(std::string const& parameter) const {
        return std::any_of(workspace_.param_statements.begin(), workspace_.param_statements.end(), [&](auto const& of) {
            bool const is_stated =
                std::any_of(of.second.begin(), of.second.end(), [&](tree::Statement const* s) { return names(s->rhs, parameter); });
            return is_stated && std::any_of(workspace_.priors.begin(), workspace_.priors.end(), [&](PriorStatement const& prior) {
                       return prior.symbol == of.first && prior.is_chosen && !prior.set.empty();
                   });
        });
    }

    void warn_of_unused() {
        for (SymbolId symbol = 0; symbol < model_.symbols.size(); ++symbol) {
            Symbol const& parameter = model_.symbols[symbol];
            bool is_used = !workspace_.spread_uses[symbol].empty() || workspace_.df_uses.contains(symbol);
            for (Factor const& factor : model_.factors) {
                is_used = is_used || (factor.target != symbol && mentions(model_, factor.mean, {Op::Param, symbol, 0}));
            }
            bool const is_drawn = parameter.kind == SymbolKind::Block || parameter.kind == SymbolKind::Scale;
            if (is_used || !is_drawn || parameter.local_of || is_taken_over(parameter.name)) continue;
            Diagnostic d{310, Severity::Warning, fmt::format("nothing depends on `{}`", parameter.name), {{parameter.span, ""}}, {}};
            d.labels[0].text = parameter.kind == SymbolKind::Scale ? "nothing is drawn with it: the data say nothing about it"
                                                                   : "it stands in no mean: the data say nothing about it";
            workspace_.diagnostics.push_back(std::move(d));
        }
    }

    Workspace& workspace_;
    Model& model_;
    std::vector<SymbolId> refused_;
};

}  // namespace

void check_uses(Workspace& workspace) { Uses(workspace).run(); }

}  // namespace bam
