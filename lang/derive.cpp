// From degrees to full conditionals. A block of degree at most one in every residual has a Gaussian conditional; which entries are drawn
// together, and in what order over time, is read off the Deltas that are left in its covariates.
//
// Codes of this file:
//   BAM0201  a parameter twice in a product
//   BAM0202  a parameter that all steps of a recurrence share
//   BAM0204  a recurrence inside a recurrence
//   BAM0205  a parameter inside and outside of a recurrence
//   BAM0206  a parameter that looks back more than one step
//   BAM0207  a parameter that is learnt through a covariance
//   BAM0219  an interval of entries that are drawn together
//   BAM0220  a choice at every step that a recurrence carries on, or that the next step looks back at
//   BAM0221  choices that are not independent given the rest
// A parameter inside a function is refused before: BAM0213, value.cpp.
#include <fmt/core.h>

#include <algorithm>

#include "parting.hpp"
#include "passes.hpp"

namespace bam {
namespace {

class Deriver {
  public:
    Deriver(Model& model, Diagnostics& diagnostics) : model_(model), diagnostics_(diagnostics) {}

    std::optional<Derivation> run() {
        std::size_t const before = diagnostics_.size();
        Derivation derivation;
        for (SymbolId symbol = 0; symbol < model_.symbols.size(); ++symbol)
            if (model_.symbols[symbol].kind == SymbolKind::Block) derivation.blocks.push_back(block(symbol));
        for (Conditional& conditional : derivation.blocks) conditional.drawn_with = drawn_with(conditional, derivation.blocks);
        for (SymbolId const symbol : scales_in_order()) derivation.scales.push_back(scale(symbol));
        if (std::any_of(diagnostics_.begin() + static_cast<std::ptrdiff_t>(before), diagnostics_.end(),
                        [](Diagnostic const& d) { return d.severity == Severity::Error; })) {
            return std::nullopt;
        }
        return derivation;
    }

  private:
    /// Local scales come right after the degrees of freedom of their prior: those are drawn without them, and so they have to be drawn
    /// next.
    std::vector<SymbolId> scales_in_order() const {
        std::vector<SymbolId> order;
        for (SymbolId symbol = 0; symbol < model_.symbols.size(); ++symbol) {
            if (model_.symbols[symbol].kind != SymbolKind::Scale || is_local_with_df(symbol)) continue;
            order.push_back(symbol);
            for (ScalePrior const& prior : model_.scale_priors)
                if (prior.df == symbol) order.push_back(prior.scale);
        }
        return order;
    }

    bool is_local_with_df(SymbolId symbol) const {
        return std::any_of(model_.scale_priors.begin(), model_.scale_priors.end(),
                           [&](ScalePrior const& prior) { return prior.scale == symbol && prior.df; });
    }

    Conditional block(SymbolId symbol) {
        Conditional conditional;
        conditional.block = symbol;
        Leaf const leaf{Op::Param, symbol, 0};
        std::vector<std::uint32_t> factors;
        bool is_proved = true;
        for (std::uint32_t f = 0; f < model_.factors.size(); ++f) {
            if (!mentions(model_, model_.factors[f].residual, leaf)) continue;
            factors.push_back(f);
            is_proved = has_degree_one(symbol, f) && is_proved;
        }
        if (!is_proved) return conditional;
        bool const is_in_scan = std::any_of(factors.begin(), factors.end(), [&](auto f) { return is_over_time_in_scan(symbol, f); });
        if (is_in_scan) {
            sweep(conditional, factors);
        } else {
            joint(conditional, factors);
        }
        refuse_intervals(conditional);
        refuse_choices(conditional);
        return conditional;
    }

    /// A normal between bounds has a draw, moments and an entropy in one dimension.
    void refuse_intervals(Conditional const& conditional) {
        Symbol const& symbol = model_.symbols[conditional.block];
        auto const truncated = std::find_if(model_.factors.begin(), model_.factors.end(), [&](Factor const& factor) {
            return factor.target == conditional.block && factor.interval.is_bounded();
        });
        if (truncated == model_.factors.end()) return;
        auto const shared = std::find_if(conditional.joint.begin(), conditional.joint.end(),
                                         [&](DimId dim) { return model_.dims[dim].size.value_or(2) > 1; });
        bool const is_path = conditional.method == Method::Markov;
        if (!is_path && shared == conditional.joint.end()) return;
        Diagnostic d{
            219, Severity::Error, fmt::format("the entries of {} are drawn together, so they have no interval", symbol.name), {}, {}};
        d.labels.push_back({truncated->span, "an interval is of numbers that are drawn one at a time"});
        d.labels.push_back({symbol.span, is_path ? "each step is drawn with the one before it"
                                                 : fmt::format("entries of `{}` stand in one mean together", model_.dims[*shared].name)});
        d.notes.push_back(
            is_path ? fmt::format("leave out `{}`", to_text(truncated->interval).substr(1))
                    : fmt::format("leave out `{}`, or give each entry a parameter of its own", to_text(truncated->interval).substr(1)));
        diagnostics_.push_back(std::move(d));
    }

    /// A choice has a draw where all it can be is tried, the others held fixed.
    void refuse_choices(Conditional const& conditional) {
        auto const choice = model_.choice_of(conditional.block);
        if (!choice) return;
        Symbol const& symbol = model_.symbols[conditional.block];
        if (conditional.method != Method::Joint) {
            bool const is_path = conditional.method == Method::Markov;
            Diagnostic d{
                220, Severity::Error, fmt::format("the choices of {} at different steps depend on one another", symbol.name), {}, {}};
            d.labels.push_back(
                {symbol.span, is_path ? "a mean looks back at the step before" : "a recurrence carries it on to later steps"});
            d.notes.push_back(
                fmt::format("let it be chosen once for all steps: leave `{}` out of its dims", model_.dims[*model_.time].name));
            if (!is_path) d.notes.emplace_back("or let it stand outside of the recurrence");
            diagnostics_.push_back(std::move(d));
            return;
        }
        auto const shared = std::find_if(conditional.joint.begin(), conditional.joint.end(),
                                         [&](DimId dim) { return dim != *choice && model_.dims[dim].size.value_or(2) > 1; });
        if (shared == conditional.joint.end()) return;
        Diagnostic d{221, Severity::Error, fmt::format("the choices of {} depend on one another", symbol.name), {}, {}};
        d.labels.push_back({symbol.span, fmt::format("those of several `{}` stand in one mean together", model_.dims[*shared].name)});
        d.notes.push_back(fmt::format("give each `{}` a parameter of its own", model_.dims[*shared].name));
        diagnostics_.push_back(std::move(d));
    }

    /// The block whose prior mean alone reads a choice, if both have an entry each of the same sequences and steps.
    std::optional<SymbolId> drawn_with(Conditional const& conditional, std::vector<Conditional> const& blocks) const {
        if (!model_.choice_of(conditional.block)) return std::nullopt;
        std::optional<SymbolId> target;
        for (Contribution const& contribution : conditional.contributions) {
            if (contribution.is_prior) continue;
            Factor const& factor = model_.factors[contribution.factor];
            if (factor.is_observation || (target && *target != factor.target)) return std::nullopt;
            target = factor.target;
        }
        auto const other = std::find_if(blocks.begin(), blocks.end(), [&](Conditional const& c) { return target == c.block; });
        if (other == blocks.end() || other->method != Method::Joint) return std::nullopt;
        bool const reads_itself = std::any_of(other->contributions.begin(), other->contributions.end(), [&](Contribution const& c) {
            return !c.is_prior && model_.factors[c.factor].target == other->block;
        });
        auto const agrees_on = [&](std::optional<DimId> dim) {
            return model_.is_over(conditional.block, dim) == model_.is_over(other->block, dim);
        };
        return !reads_itself && agrees_on(model_.sequence) && agrees_on(model_.time) ? target : std::nullopt;
    }

    bool has_degree_one(SymbolId symbol, std::uint32_t f) {
        Factor const& factor = model_.factors[f];
        Degree const found = degree(model_, factor.residual, symbol);
        if (found.value <= 1) return true;
        std::string const& name = model_.symbols[symbol].name;
        std::string const& target = model_.symbols[factor.target].name;
        Diagnostic d;
        d.message = fmt::format("{} has no conjugate full conditional", name);
        d.labels.push_back(
            {span_of(found.culprit, symbol), fmt::format("the mean of {} is not linear in {}: {}", target, name, found.reason)});
        d.labels.push_back({factor.span, "the factor that needs it"});
        d.notes.push_back(fmt::format("a Gaussian block needs a mean that is linear in it, the other blocks held fixed"));
        Op const op = model_.terms[found.culprit].op;
        if (op == Op::Scan) {
            d.code = 202;
            if (model_.time) {
                std::string const& t = model_.dims[*model_.time].name;
                d.notes.push_back(
                    fmt::format("give each step its own: write `{0}[{1} > 0] ~ ...` and `{0}[{1}]` in the recurrence", name, t));
            }
            d.notes.push_back(fmt::format("or hold it at a value: write `{} fixed 0.8`", declared(symbol)));
        } else {
            d.code = 201;
            d.notes.push_back("give the two places parameters of their own");
            d.notes.push_back(fmt::format("or hold it at a value: write `{} fixed 1`", declared(symbol)));
        }
        diagnostics_.push_back(std::move(d));
        return false;
    }

    /// The left side of a statement on all entries: `a[unit, t > 0]`.
    std::string declared(SymbolId id) const {
        Symbol const& symbol = model_.symbols[id];
        std::string indices;
        for (DimId dim : symbol.dims) {
            indices += (indices.empty() ? "" : ", ") + model_.dims[dim].name;
            if (model_.dims[dim].role == Role::Time && symbol.first_step > 0) indices += fmt::format(" > {}", symbol.first_step - 1);
        }
        return indices.empty() ? symbol.name : fmt::format("{}[{}]", symbol.name, indices);
    }

    /// Where the culprit was written; if only a simplified form of it was, the first place where the block stands in a written term.
    Span span_of(Term culprit, SymbolId symbol) const {
        if (auto it = model_.uses.find(culprit); it != model_.uses.end()) return it->second;
        for (auto const& [term, span] : model_.uses) {
            if (model_.terms[term].op == Op::Param && model_.terms[term].payload == symbol) return span;
        }
        return model_.symbols[symbol].span;
    }

    bool is_over_time_in_scan(SymbolId symbol, std::uint32_t f) const {
        if (!model_.is_over(symbol, model_.time)) return false;
        return !scans_with(model_.factors[f].residual, symbol).empty();
    }

    /// The recurrences of a term in which the symbol occurs, outermost ones only.
    std::vector<Term> scans_with(Term root, SymbolId symbol) const {
        std::vector<Term> found;
        std::vector<Term> pending{root};
        while (!pending.empty()) {
            Term const term = pending.back();
            pending.pop_back();
            Node const& node = model_.terms[term];
            if (node.op == Op::Scan && mentions(model_, term, {Op::Param, symbol, 0})) {
                if (std::find(found.begin(), found.end(), term) == found.end()) found.push_back(term);
            } else {
                pending.insert(pending.end(), node.args.begin(), node.args.end());
            }
        }
        std::sort(found.begin(), found.end());
        return found;
    }

    /// The same recurrence under the plain names of its axes: inside a sum it goes by those of the sum.
    Term plain(Term scan) {
        // Twin axes keep their copies; add_state refuses them.
        for (Axis axis : Axes(model_.terms.axes(scan))) {
            if (axis.copy != 0 && !model_.terms.has_axis(scan, {axis.dim, 0})) scan = model_.terms.rename(scan, axis, {axis.dim, 0});
        }
        return scan;
    }

    // ---- blocks outside of recurrences: joint, or Markov where the previous step occurs ----

    void joint(Conditional& conditional, std::vector<std::uint32_t> const& factors) {
        SymbolId const symbol = conditional.block;
        std::uint16_t most_lag = 0;
        std::uint32_t farthest = 0;  // the factor that looks back so far
        for (std::uint32_t f : factors) {
            for (Term term : model_.terms.postorder(std::vector<Term>{model_.factors[f].residual})) {
                Node const& node = model_.terms[term];
                if (node.op != Op::Param || node.payload != symbol || node.lag <= most_lag) continue;
                most_lag = node.lag;
                farthest = f;
            }
        }
        if (most_lag > 1) {
            Diagnostic d{
                206, Severity::Error, fmt::format("{} depends on itself {} steps back", model_.symbols[symbol].name, most_lag), {}, {}};
            d.labels.push_back({model_.factors[farthest].span, "a parameter looks back one step at most"});
            std::string const& t = model_.dims[*model_.time].name;
            d.notes.push_back(
                fmt::format("let a second parameter hold the change: `{0}[{1} > 0] ~ normal({0}[{1}-1] + change[{1}], tau)`, and the "
                            "same for `change`",
                            model_.symbols[symbol].name, t));
            diagnostics_.push_back(std::move(d));
            return;
        }
        conditional.method = most_lag == 1 ? Method::Markov : Method::Joint;
        for (std::uint32_t f : factors) {
            conditional.contributions.push_back(contribution(symbol, f));
            Factor const& factor = model_.factors[f];
            if (!factor.has_covariance()) continue;
            if (conditional.contributions.back().is_prior) {
                if (!is_partial(factor)) continue;
                Diagnostic d{
                    207,
                    Severity::Error,
                    fmt::format("the rows of {} are correlated here, but not all their entries are meant", model_.symbols[symbol].name),
                    {},
                    {}};
                d.labels.push_back({factor.span, "a covariance is that of whole rows"});
                for (std::uint32_t later : factor.overridden_by)
                    d.labels.push_back({model_.factors[later].span, "takes some of their entries"});
                d.notes.push_back("say the whole row anew, with its covariance, or give each entry a spread of its own: `sd = [0.5, 1]`");
                diagnostics_.push_back(std::move(d));
                return;
            }
            Diagnostic d{
                207, Severity::Error, fmt::format("a covariance stands where {} is learnt from it", model_.symbols[symbol].name), {}, {}};
            d.labels.push_back({factor.span, fmt::format("cov = is for a prior whose mean is made of numbers; {} is in this mean",
                                                         model_.symbols[symbol].name)});
            d.notes.push_back("give each entry a spread of its own: `sd = [0.5, 1]`, or a parameter, `sd = tau`");
            diagnostics_.push_back(std::move(d));
            return;
        }
        auto const choice = model_.choice_of(symbol);
        for (DimId dim : model_.symbols[symbol].dims) {
            if (model_.dims[dim].role == Role::Time && conditional.method == Method::Markov) continue;
            bool const is_batch = model_.dims[dim].role != Role::Labelled ||
                                  (dim != choice && std::all_of(conditional.contributions.begin(), conditional.contributions.end(),
                                                                [&](Contribution const& c) { return is_parted(model_, c, dim); }));
            (is_batch ? conditional.batch : conditional.joint).push_back(dim);
        }
    }

    /// A statement on some entries of a row only, or one of which a later statement takes some.
    bool is_partial(Factor const& factor) const {
        auto names_last = [&](Factor const& other) {
            DimId const last = model_.symbols[factor.target].dims.back();
            return std::any_of(other.region.labels.begin(), other.region.labels.end(),
                               [&](Region::Labels const& label) { return label.dim == last; });
        };
        return names_last(factor) || std::any_of(factor.overridden_by.begin(), factor.overridden_by.end(),
                                                 [&](std::uint32_t later) { return names_last(model_.factors[later]); });
    }

    Contribution contribution(SymbolId symbol, std::uint32_t f) {
        Factor const& factor = model_.factors[f];
        Contribution result;
        result.factor = f;
        Term const residual = factor.residual;
        result.is_prior = factor.target == symbol && !mentions(model_, factor.mean, {Op::Param, symbol, 0});
        result.covariates = differentiate(model_, residual, {Op::Param, symbol, 0}, entry_copy);
        result.lagged = differentiate(model_, residual, {Op::Param, symbol, 1}, entry_copy);
        result.offset = without(model_, residual, {Op::Param, symbol, 0});
        return result;
    }

    // ---- blocks over time inside a recurrence ----

    void sweep(Conditional& conditional, std::vector<std::uint32_t> const& factors) {
        SymbolId const symbol = conditional.block;
        conditional.method = Method::Sweep;
        for (DimId dim : model_.symbols[symbol].dims) {
            if (model_.dims[dim].role == Role::Labelled) conditional.joint.push_back(dim);
            if (model_.dims[dim].role == Role::Sequence) conditional.batch.push_back(dim);
        }
        std::vector<Term> scans;
        for (std::uint32_t f : factors) {
            for (Term found : scans_with(model_.factors[f].residual, symbol)) {
                Term const scan = plain(found);
                if (std::find(scans.begin(), scans.end(), scan) == scans.end()) scans.push_back(scan);
            }
        }
        for (Term scan : scans) {
            if (!add_state(conditional, scan)) return;
        }
        for (std::uint32_t f : factors) {
            Contribution const own = contribution_of_prior(symbol, f);
            if (own.is_prior) {
                conditional.contributions.push_back(own);
            } else if (!add_readout(conditional, f)) {
                return;
            }
        }
    }

    Contribution contribution_of_prior(SymbolId symbol, std::uint32_t f) {
        Factor const& factor = model_.factors[f];
        if (factor.target == symbol && !mentions(model_, factor.mean, {Op::Param, symbol, 0})) return contribution(symbol, f);
        return {};
    }

    bool add_state(Conditional& conditional, Term scan) {
        Leaf const leaf{Op::Param, conditional.block, 0};
        Node const node = model_.terms[scan];
        for (Term arg : node.args) {
            if (!scans_with(arg, conditional.block).empty()) {
                return refuse(conditional, 204, "one recurrence that depends on it runs inside another",
                              "give each recurrence coefficients of its own, and hold those of the inner one at a value");
            }
        }
        Axes const& axes = model_.terms.axes(scan);
        for (std::size_t i = 1; i < axes.size(); ++i) {
            if (axes[i].dim != axes[i - 1].dim) continue;
            return refuse(conditional, 204, "the recurrence that depends on it has two axes over one dim",
                          fmt::format("declare a second dim of the same size as {} for one of the two", model_.dims[axes[i].dim].name));
        }
        auto is_lagged = [&](Node const& inner) { return inner.op == Op::Param && inner.payload == conditional.block && inner.lag > 0; };
        if (model_.terms.any(scan, is_lagged)) {
            return refuse(conditional, 204, "a recurrence takes it from the step before",
                          "take it at the step itself, and let the recurrence carry it on");
        }
        SweptState state;
        state.scan = scan;
        state.coefficient = node.args[0];
        state.input = node.args[1];
        state.coefficient_offset = without(model_, state.coefficient, leaf);
        state.coefficient_covariates = differentiate(model_, state.coefficient, leaf, entry_copy);
        state.input_offset = without(model_, state.input, leaf);
        state.input_covariates = differentiate(model_, state.input, leaf, entry_copy);
        conditional.states.push_back(state);
        return true;
    }

    bool add_readout(Conditional& conditional, std::uint32_t f) {
        // Each swept recurrence becomes a leaf, in which the residual is affine.
        Term const residual = model_.terms.substitute(model_.factors[f].residual, [&](Term term, Term& replacement) {
            if (model_.terms[term].op != Op::Scan) return false;
            for (std::size_t s = 0; s < conditional.states.size(); ++s) {
                if (conditional.states[s].scan != plain(term)) continue;
                replacement = model_.terms.leaf(Op::Previous, s, model_.terms.axes(term));
                return true;
            }
            return false;
        });
        if (mentions(model_, residual, {Op::Param, conditional.block, 0})) {
            return refuse(conditional, 205, "it stands inside a recurrence and outside of it too",
                          "give the place outside the recurrence a parameter of its own");
        }
        Readout readout;
        readout.factor = f;
        readout.offset = residual;
        for (std::size_t s = 0; s < conditional.states.size(); ++s) {
            Leaf const leaf{Op::Previous, s, 0};
            Term const read = differentiate(model_, residual, leaf, entry_copy);
            if (model_.terms.any(read, [](Node const& node) { return node.op == Op::Previous; })) {
                return refuse(conditional, 201, "two recurrences that depend on it are multiplied",
                              "give one of them coefficients of its own");
            }
            readout.states.push_back(read);
            readout.offset = without(model_, readout.offset, leaf);
        }
        if (model_.terms.any(residual, [&](Node const& node) {
                return node.op == Op::Scan && model_.terms.any(node.args[1], [](Node const& inner) { return inner.op == Op::Previous; });
            })) {
            return refuse(conditional, 204, "a recurrence that depends on it feeds another recurrence",
                          "give each recurrence coefficients of its own, and hold those of the inner one at a value");
        }
        conditional.readouts.push_back(std::move(readout));
        return true;
    }

    bool refuse(Conditional const& conditional, int code, std::string const& reason, std::string const& rewrite) {
        Symbol const& symbol = model_.symbols[conditional.block];
        Diagnostic d{
            code, Severity::Error, fmt::format("{} cannot be drawn in time linear in the length of the sequences", symbol.name), {}, {}};
        d.labels.push_back({symbol.span, reason});
        d.notes.push_back(rewrite);
        d.notes.push_back(fmt::format("or hold it at a value: write `{} fixed 1`", declared(conditional.block)));
        diagnostics_.push_back(std::move(d));
        return false;
    }

    // ---- scales ----

    ScaleConditional scale(SymbolId symbol) const {
        ScaleConditional result;
        result.scale = symbol;
        for (std::uint32_t f = 0; f < model_.factors.size(); ++f) {
            Factor const& factor = model_.factors[f];
            for (std::uint32_t part = 0; part < factor.spread.size(); ++part) {
                if (!mentions(model_, factor.spread[part].value, {Op::Param, symbol, 0})) continue;
                result.spread = factor.spread[part].kind;
                result.uses.push_back({f, part});
            }
        }
        for (std::uint32_t p = 0; p < model_.scale_priors.size(); ++p) {
            if (model_.scale_priors[p].scale != symbol) continue;
            result.priors.push_back(p);
            if (result.uses.empty()) result.spread = model_.scale_priors[p].spread;
        }
        for (ScalePrior const& prior : model_.scale_priors)
            if (prior.df == symbol) result.locals.push_back(prior.scale);
        return result;
    }

    Model& model_;
    Diagnostics& diagnostics_;
};

}  // namespace

std::optional<Derivation> derive(Model& model, Diagnostics& diagnostics) { return Deriver(model, diagnostics).run(); }

}  // namespace bam
