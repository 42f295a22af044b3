// What the variational backend executes: the expected square of every residual, as a pass whose derivatives are the updates.
#include <algorithm>
#include <set>

#include "expectation.hpp"
#include "layout.hpp"

namespace bam {
namespace {

class ExpectationPlanner {
  public:
    ExpectationPlanner(Model& model, Derivation const& derivation, LaidOut const& laid_out, std::vector<bool> const& drawn)
        : model_(model), numbering_{model, laid_out.variables, {}} {
        for (Conditional const& conditional : derivation.blocks) {
            Numbering::Correlation& correlation = numbering_.correlations[conditional.block];
            correlation.along_time = conditional.method == Method::Markov;
            std::vector<DimId> const dims = numbering_.labelled(conditional.block);
            std::vector<DimId> const batch = numbering_.labelled(conditional.batch);
            for (Entry const& entry : numbering_.entries(dims, 0)) {
                correlation.groups.push_back(static_cast<std::uint32_t>(numbering_.position(batch, entry, 0)));
            }
        }
        for (auto const& [symbol, variable] : laid_out.variables) {
            if (!drawn[variable]) continue;
            Numbering::Correlation& correlation = numbering_.correlations[symbol];  // missing outputs: each cell by itself
            for (std::uint32_t c = 0; c < laid_out.layout.variables[variable].components; ++c) correlation.groups.push_back(c);
        }
    }

    ExpectationPlan run() {
        Expectations expectations(model_, [&](SymbolId symbol) { return numbering_.correlations.contains(symbol); });
        ExpectationPlan plan;
        for (Factor const& factor : model_.factors) {
            plan.squares.push_back(factor.is_flat()          ? TermPlan{}
                                   : factor.has_covariance() ? row_products(factor, expectations)
                                                             : components(factor, expectations.product(factor.residual, factor.residual),
                                                                          extent_of(factor, factor.residual)));
            plan.variances.push_back(factor.is_observation ? components(factor, expectations.covariance(factor.mean, factor.mean),
                                                                        numbering_.extent(factor.target))
                                                           : TermPlan{});
        }
        return plan;
    }

  private:
    /// The extent of a factor's cells: those of its target, or of what is said of it where that is more.
    Extent extent_of(Factor const& factor, Term term) const {
        Axes axes = model_.axes_of(factor.target);
        Axes const& own = model_.terms.axes(term);
        axes.insert(axes.end(), own.begin(), own.end());
        return numbering_.extent(axes);
    }

    TermPlan components(Factor const& factor, Term term, Extent extent) const {
        PassBuilder builder(numbering_, extent);
        TermPlan plan;
        for (Entry const& entry : numbering_.entries(numbering_.labelled(factor.target), 0)) {
            plan.registers.push_back(builder.component(term, entry, extent).value_or(no_register));
        }
        plan.pass = builder.take();
        return plan;
    }

    /// E[r_i r_j] of the entries of each row: registers [component i][j of its row].
    TermPlan row_products(Factor const& factor, Expectations& expectations) const {
        DimId const last = model_.symbols[factor.target].dims.back();
        Term const other = model_.terms.rename(factor.residual, {last, 0}, {last, 1});
        Term const product = expectations.product(factor.residual, other);
        Extent const extent = extent_of(factor, factor.residual);
        PassBuilder builder(numbering_, extent);
        TermPlan plan;
        for (Entry entry : numbering_.entries(numbering_.labelled(factor.target), 0)) {
            for (std::size_t j = 0; j < numbering_.size(last); ++j) {
                entry[{last, 1}] = j;
                plan.registers.push_back(builder.component(product, entry, extent).value_or(no_register));
            }
        }
        plan.pass = builder.take();
        return plan;
    }

    Model& model_;
    Numbering numbering_;
};

}  // namespace

ExpectationPlan plan_expectations(Model& model, Derivation const& derivation, LaidOut const& laid_out, std::vector<bool> const& drawn) {
    return ExpectationPlanner(model, derivation, laid_out, drawn).run();
}

}  // namespace bam
