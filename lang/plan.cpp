// Conditionals to passes: each covariate, offset and readout becomes registers of a straight-line program.
#include "plan.hpp"

#include <algorithm>
#include <set>

#include "layout.hpp"
#include "passes.hpp"
#include "recognise.hpp"

namespace bam {
namespace {

Entry merged(Entry entry, Entry const& other) {
    entry.insert(other.begin(), other.end());
    return entry;
}

class Planner {
  public:
    Planner(Model& model, LaidOut const& laid_out, std::vector<bool> const& weighted, Recognition recognition)
        : model_(model), numbering_{model, laid_out.variables, {}}, weighted_(weighted), recognition_(recognition) {}

    BlockPlan block(Conditional const& conditional) {
        BlockPlan plan;
        plan.variable = numbering_.variables.at(conditional.block);
        std::vector<DimId> const dims = numbering_.labelled(conditional.block);
        std::vector<DimId> const batch = numbering_.labelled(conditional.batch);
        std::vector<DimId> const joint = numbering_.labelled(conditional.joint);
        std::vector<std::vector<Entry>> groups;
        for (Entry const& outer : numbering_.entries(batch, entry_copy)) {
            groups.emplace_back();
            plan.groups.emplace_back();
            for (Entry const& inner : numbering_.entries(joint, entry_copy)) {
                groups.back().push_back(merged(inner, outer));
                plan.groups.back().push_back(static_cast<std::uint32_t>(numbering_.position(dims, groups.back().back(), entry_copy)));
            }
        }
        for (Contribution const& contribution : conditional.contributions) {
            if (contribution.is_prior) {
                plan.priors.push_back(prior(conditional.block, contribution.factor));
            } else {
                auto kronecker =
                    conditional.method == Method::Joint && numbering_.extent(conditional.block) == Extent::One && groups.size() == 1
                        ? kronecker_equations(contribution, joint)
                        : std::nullopt;
                plan.equations.push_back(kronecker ? std::move(*kronecker) : equations(contribution, groups));
            }
        }
        switch (conditional.method) {
            case Method::Joint: plan.method = PlanMethod::Joint; break;
            case Method::Markov: plan.method = PlanMethod::Markov; break;
            case Method::Sweep:
                plan.method = PlanMethod::Sweep;
                plan.sweep = sweep(conditional, groups.front());
                break;
        }
        return plan;
    }

    TermPlan term(Term term, std::vector<DimId> const& dims, Extent extent) {
        PassBuilder builder(numbering_, extent);
        TermPlan plan;
        for (Entry const& entry : numbering_.entries(numbering_.labelled(dims), 0)) {
            plan.registers.push_back(builder.component(term, entry, extent).value_or(no_register));
        }
        plan.pass = builder.take();
        return plan;
    }

    TermPlan residual(std::uint32_t f) {
        Factor const& factor = model_.factors[f];
        return term(factor.residual, model_.symbols[factor.target].dims, domain(f));
    }

    TermPlan mean(std::uint32_t f) {
        Factor const& factor = model_.factors[f];
        return term(factor.mean, model_.symbols[factor.target].dims, numbering_.extent(factor.target));
    }

    ReportPlan report(Symbol const& symbol) {
        ReportPlan plan;
        plan.name = symbol.name;
        plan.dims = symbol.dims;
        plan.first_step = symbol.first_step;
        for (DimId dim : numbering_.labelled(symbol.dims)) plan.shape.push_back(numbering_.size(dim));
        Extent const extent = numbering_.extent(model_.terms.axes(*symbol.term));
        PassBuilder builder(numbering_, extent);
        for (Entry const& entry : report_entries(symbol))
            plan.term.registers.push_back(builder.component(*symbol.term, entry, extent).value_or(no_register));
        plan.term.pass = builder.take();
        return plan;
    }

    /// Linear in every block; of a swept block at the present step only, so that a step can be updated on its own.
    bool is_linear(Term term, Derivation const& derivation) const {
        auto mentions_lag = [&](SymbolId block) {
            return model_.terms.any(term, [&](Node const& node) { return node.op == Op::Param && node.payload == block && node.lag > 0; });
        };
        bool const is_linear_in_blocks =
            std::all_of(derivation.blocks.begin(), derivation.blocks.end(), [&](Conditional const& conditional) {
                bool const looks_back = conditional.method == Method::Sweep && mentions_lag(conditional.block);
                return !looks_back && degree(model_, term, conditional.block).value <= 1;
            });
        bool const has_scale = std::any_of(derivation.scales.begin(), derivation.scales.end(), [&](ScaleConditional const& scale) {
            return mentions(model_, term, {Op::Param, scale.scale, 0});
        });
        bool const has_output = model_.terms.any(term, [&](Node const& node) {
            bool const is_data = node.op == Op::Data || node.op == Op::LagData;
            return is_data && model_.symbols[static_cast<SymbolId>(node.payload)].may_be_missing;
        });
        return is_linear_in_blocks && !has_scale && !has_output;
    }

    OrbitPlan orbit(Symmetry const& symmetry) {
        OrbitPlan plan;
        plan.first = numbering_.variables.at(symmetry.first);
        plan.second = numbering_.variables.at(symmetry.second);
        plan.has_dim = symmetry.dim.has_value();
        plan.is_diagonal = symmetry.is_diagonal;
        if (symmetry.dim) {
            plan.first_slices = slices(symmetry.first, *symmetry.dim);
            plan.second_slices = slices(symmetry.second, *symmetry.dim);
        }
        return plan;
    }

    LaggedOutput lagged_output(SymbolId output) {
        LaggedOutput result;
        result.variable = numbering_.variables.at(output);
        for (std::uint32_t f = 0; f < model_.factors.size(); ++f) {
            Term const residual = model_.factors[f].residual;
            result.must_be_complete = result.must_be_complete || lag_degree(residual, output) > 1 || is_binary_in(f, output);
            if (result.must_be_complete) return result;
            std::set<std::uint16_t> lags;
            for (Term term : model_.terms.postorder(std::vector<Term>{residual})) {
                Node const& node = model_.terms[term];
                if (node.op == Op::Data && is_lag_of(node, output)) lags.insert(node.lag);
            }
            for (std::uint16_t lag : lags) {
                result.effects.push_back(
                    {f, lag, derivative(f, output, differentiate(model_, residual, {Op::Data, output, lag}, entry_copy), {})});
            }
            Term const over_lags = differentiate(model_, residual, {Op::LagData, output, 0}, entry_copy);
            for (Axis axis : Axes(model_.terms.axes(over_lags))) {
                if (axis.copy != entry_copy || model_.is_over(output, axis.dim)) continue;
                for (std::size_t k = 0; k < numbering_.size(axis.dim); ++k) {
                    result.effects.push_back({f, static_cast<std::uint16_t>(k + 1), derivative(f, output, over_lags, {{axis, k}})});
                }
            }
        }
        return result;
    }

    /// Whether an output is binary, or says something of one: what is missing of it has no normal conditional.
    bool is_binary_in(std::uint32_t f, SymbolId output) const {
        Factor const& factor = model_.factors[f];
        return factor.is_binary && (factor.target == output || lag_degree(factor.residual, output) > 0);
    }

    static bool is_lag_of(Node const& node, SymbolId output) {
        return node.payload == output && (node.op == Op::LagData || (node.op == Op::Data && node.lag > 0));
    }

  private:
    /// Degree of a term in the earlier values of an output; a recurrence, which carries them to the end, and a function count as more than
    /// one.
    int lag_degree(Term term, SymbolId output) const {
        Node const& node = model_.terms[term];
        if (is_lag_of(node, output)) return 1;
        int most = 0;
        int sum = 0;
        for (Term arg : node.args) {
            int const degree = lag_degree(arg, output);
            most = std::max(most, degree);
            sum += degree;
        }
        if (node.op == Op::Scan || node.op == Op::Apply) return 2 * sum;
        return node.op == Op::Add ? most : sum;
    }

    TermPlan derivative(std::uint32_t f, SymbolId output, Term term, Entry const& lag) {
        PassBuilder builder(numbering_, domain(f));
        TermPlan plan;
        for (Entry const& cell : numbering_.entries(numbering_.labelled(model_.factors[f].target), 0)) {
            for (Entry const& entry : numbering_.entries(numbering_.labelled(output), entry_copy)) {
                plan.registers.push_back(builder.component(term, merged(merged(cell, entry), lag), domain(f)).value_or(no_register));
            }
        }
        plan.pass = builder.take();
        return plan;
    }

    Extent domain(std::uint32_t f) const {
        Factor const& factor = model_.factors[f];
        Axes axes = model_.axes_of(factor.target);
        Axes const& residual_axes = model_.terms.axes(factor.residual);
        axes.insert(axes.end(), residual_axes.begin(), residual_axes.end());
        return numbering_.extent(axes);
    }

    Term weighted(std::uint32_t f, Term term) {
        if (!weighted_[f]) return term;
        Factor const& factor = model_.factors[f];
        return model_.terms.multiply({model_.terms.leaf(Op::Weight, f, model_.axes_of(factor.target)), term});
    }

    PriorPlan prior(SymbolId block, std::uint32_t f) {
        PriorPlan plan;
        plan.factor = f;
        Extent const extent = numbering_.extent(block);
        PassBuilder builder(numbering_, extent);
        for (Entry const& entry : numbering_.entries(numbering_.labelled(block), 0)) {
            plan.means.push_back(builder.component(model_.factors[f].mean, entry, extent).value_or(no_register));
        }
        plan.pass = builder.take();
        return plan;
    }

    Equations equations(Contribution const& contribution, std::vector<std::vector<Entry>> const& groups) {
        Equations result;
        result.factor = contribution.factor;
        PassBuilder builder(numbering_, domain(contribution.factor));
        Term const covariates = weighted(contribution.factor, contribution.covariates);
        Term const lagged = weighted(contribution.factor, contribution.lagged);
        Term const offset = weighted(contribution.factor, contribution.offset);
        auto const cells = numbering_.entries(numbering_.labelled(model_.factors[contribution.factor].target), 0);
        for (auto const& group : groups) {
            result.groups.emplace_back();
            for (std::uint32_t c = 0; c < cells.size(); ++c) {
                EquationRow row;
                row.component = c;
                auto columns = [&](Term term, std::vector<std::uint32_t>& out) {
                    for (Entry const& entry : group) out.push_back(builder.column(term, merged(cells[c], entry)));
                    return std::any_of(out.begin(), out.end(), [](std::uint32_t reg) { return reg != no_register; });
                };
                bool const has_covariates = columns(covariates, row.covariates);
                bool const has_lagged = lagged != model_.terms.zero() && columns(lagged, row.lagged);
                if (!has_covariates && !has_lagged) continue;
                row.offset = builder.column(offset, cells[c]);
                result.groups.back().push_back(std::move(row));
            }
        }
        result.pass = builder.take();
        return result;
    }

    /// The Kronecker form, if there is one, nothing in it is zero by structure, and it costs less than the rows.
    std::optional<Equations> kronecker_equations(Contribution const& contribution, std::vector<DimId> const& joint) {
        if (recognition_ == Recognition::Off) return std::nullopt;
        auto const form = recognise_kronecker(model_, contribution.covariates, joint);
        if (!form) return std::nullopt;
        Extent const extent = domain(contribution.factor);
        auto const cells = numbering_.entries(numbering_.labelled(model_.factors[contribution.factor].target), 0);
        auto const lefts = numbering_.entries(form->left_dims, entry_copy);
        auto const rights = numbering_.entries(form->right_dims, entry_copy);
        auto const pairs = [](std::size_t n) { return n * (n + 1) / 2; };
        std::size_t const d = lefts.size() * rights.size();
        std::size_t const split =
            pairs(lefts.size()) * (1 + pairs(rights.size())) + cells.size() * (pairs(rights.size()) + rights.size()) + d;
        if (split >= cells.size() * (pairs(d) + 2 * d)) return std::nullopt;

        Equations result;
        result.factor = contribution.factor;
        result.kronecker.emplace();
        PassBuilder builder(numbering_, extent);
        bool is_full = true;
        auto reg = [&](Term term, Entry const& entry) {
            auto const found = builder.component(term, entry, extent);
            is_full = is_full && found;
            return found.value_or(no_register);
        };
        for (Entry const& left : lefts) result.kronecker->left.push_back(reg(form->left, left));
        Term const right_term = weighted(contribution.factor, form->right);
        Term const offset_term = weighted(contribution.factor, contribution.offset);
        for (Entry const& cell : cells) {
            result.kronecker->right.emplace_back();
            for (Entry const& right : rights) result.kronecker->right.back().push_back(reg(right_term, merged(cell, right)));
            result.kronecker->offsets.push_back(builder.component(offset_term, cell, extent).value_or(no_register));
        }
        for (Entry const& left : lefts) {
            for (Entry const& right : rights) {
                result.kronecker->position.push_back(
                    static_cast<std::uint32_t>(numbering_.position(joint, merged(left, right), entry_copy)));
            }
        }
        result.pass = builder.take();
        return is_full ? std::optional(std::move(result)) : std::nullopt;
    }

    SweepPlan sweep(Conditional const& conditional, std::vector<Entry> const& entries) {
        SweepPlan plan;
        PassBuilder builder(numbering_, Extent::Cell);
        auto cell = [&](Term term, Entry const& entry) { return builder.component(term, entry, Extent::Cell).value_or(no_register); };
        std::vector<std::pair<std::size_t, Entry>> states;  // (swept state, its entry)
        for (std::size_t s = 0; s < conditional.states.size(); ++s) {
            SweptState const& state = conditional.states[s];
            for (Entry const& own : numbering_.entries(labelled_dims(model_.terms.axes(state.scan)), 0)) {
                StateEntry entry;
                entry.coefficient = cell(state.coefficient, own);
                entry.input = cell(state.input, own);
                entry.coefficient_offset = cell(state.coefficient_offset, own);
                entry.input_offset = cell(state.input_offset, own);
                for (Entry const& block : entries) {
                    entry.coefficient_covariates.push_back(cell(state.coefficient_covariates, merged(own, block)));
                    entry.input_covariates.push_back(cell(state.input_covariates, merged(own, block)));
                }
                plan.states.push_back(std::move(entry));
                states.emplace_back(s, own);
            }
        }
        for (Readout const& readout : conditional.readouts) {
            ReadoutPlan result;
            result.factor = readout.factor;
            Term const offset = weighted(readout.factor, readout.offset);
            for (Entry const& own : numbering_.entries(numbering_.labelled(model_.factors[readout.factor].target), 0)) {
                ReadoutRow row;
                for (auto const& [s, entry] : states) {
                    Entry as_entry;
                    for (auto const& [axis, index] : entry) as_entry[{axis.dim, entry_copy}] = index;
                    row.states.push_back(cell(weighted(readout.factor, readout.states[s]), merged(own, as_entry)));
                }
                row.offset = cell(offset, own);
                result.rows.push_back(std::move(row));
            }
            plan.readouts.push_back(std::move(result));
        }
        plan.pass = builder.take();
        return plan;
    }

    std::vector<DimId> labelled_dims(Axes const& axes) const {
        std::vector<DimId> dims;
        for (Axis axis : axes) {
            if (model_.dims[axis.dim].role == Role::Labelled) dims.push_back(axis.dim);
        }
        return dims;
    }

    /// Entries of a report: its dims in declared order, the second of two equal dims being copy 1.
    std::vector<Entry> report_entries(Symbol const& symbol) const {
        std::vector<Entry> result{{}};
        std::map<DimId, std::uint16_t> used;
        for (DimId dim : numbering_.labelled(symbol.dims)) {
            std::uint16_t const copy = used[dim]++;
            std::vector<Entry> longer;
            for (Entry const& entry : result) {
                for (std::size_t i = 0; i < numbering_.size(dim); ++i) {
                    longer.push_back(entry);
                    longer.back()[{dim, copy}] = i;
                }
            }
            result = std::move(longer);
        }
        return result;
    }

    std::vector<std::vector<std::uint32_t>> slices(SymbolId symbol, DimId dim) const {
        std::vector<DimId> const dims = numbering_.labelled(symbol);
        std::vector<std::vector<std::uint32_t>> result(numbering_.size(dim));
        for (Entry const& entry : numbering_.entries(dims, 0)) {
            result[entry.at({dim, 0})].push_back(static_cast<std::uint32_t>(numbering_.position(dims, entry, 0)));
        }
        return result;
    }

    Model& model_;
    Numbering numbering_;
    std::vector<bool> const& weighted_;
    Recognition recognition_;
};

/// Whether the mean of some factor multiplies entries of two blocks.
bool multiplies_blocks(Model& model, Derivation const& derivation) {
    for (Conditional const& conditional : derivation.blocks) {
        if (conditional.method == Method::Sweep) return true;
        for (Contribution const& contribution : conditional.contributions) {
            if (model.terms.any(contribution.covariates, [&](Node const& node) {
                    return node.op == Op::Param && model.symbols[static_cast<SymbolId>(node.payload)].kind == SymbolKind::Block;
                })) {
                return true;
            }
        }
    }
    return false;
}

}  // namespace

Plan make_plan(Model& model, Derivation const& derivation, std::vector<Symmetry> const& symmetries, LaidOut const& laid_out,
               std::vector<bool> const& weighted, Recognition recognition) {
    Planner planner(model, laid_out, weighted, recognition);
    Plan plan;
    plan.layout = laid_out.layout;
    for (Conditional const& conditional : derivation.blocks) plan.blocks.push_back(planner.block(conditional));
    for (std::size_t b = 0; b < plan.blocks.size(); ++b) {
        if (!derivation.blocks[b].drawn_with) continue;
        plan.blocks[b].is_drawn_with_block = true;
        for (std::size_t other = 0; other < plan.blocks.size(); ++other)
            if (derivation.blocks[other].block == *derivation.blocks[b].drawn_with)
                plan.blocks[other].choices.push_back(plan.blocks[b].variable);
    }
    for (std::uint32_t f = 0; f < model.factors.size(); ++f) {
        plan.residuals.push_back(planner.residual(f));
        plan.means.push_back(model.factors[f].is_observation ? planner.mean(f) : TermPlan{});
    }
    for (Symbol const& symbol : model.symbols) {
        if (!symbol.is_report || !symbol.term) continue;
        plan.reports.push_back(planner.report(symbol));
        plan.reports.back().is_linear = planner.is_linear(*symbol.term, derivation);
        plan.reports.back().is_identified =
            std::all_of(symmetries.begin(), symmetries.end(), [&](Symmetry const& s) { return is_invariant(model, *symbol.term, s); });
    }
    for (SymbolId symbol = 0; symbol < model.symbols.size(); ++symbol) {
        if (model.symbols[symbol].kind != SymbolKind::Data || !model.symbols[symbol].may_be_missing) continue;
        bool const is_lagged = std::any_of(model.factors.begin(), model.factors.end(), [&](Factor const& factor) {
            return model.terms.any(factor.residual, [&](Node const& node) { return Planner::is_lag_of(node, symbol); });
        });
        if (is_lagged) plan.lagged_outputs.push_back(planner.lagged_output(symbol));
    }
    for (Symmetry const& symmetry : symmetries) {
        plan.orbits.push_back(planner.orbit(symmetry));
        plan.orbits.back().is_moved = std::none_of(model.factors.begin(), model.factors.end(), [&](Factor const& factor) {
            return factor.interval.is_bounded() && (factor.target == symmetry.first || factor.target == symmetry.second);
        });
    }
    bool const has_choices = std::any_of(derivation.blocks.begin(), derivation.blocks.end(),
                                         [&](Conditional const& conditional) { return model.choice_of(conditional.block).has_value(); });
    plan.is_multilinear = multiplies_blocks(model, derivation) || has_choices;  // other choices are other modes
    return plan;
}

}  // namespace bam
