// Codes of this file:
//   BAM0122  degrees of freedom that are held at a number which is not positive
#include "local_scales.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace bam {

SpreadPart LocalScales::of(PriorStatement const& stated) {
    Distribution::Local const& local = *stated.distribution->local;
    auto const [known, is_new] = made_.try_emplace(stated.statement, static_cast<SymbolId>(model_.symbols.size()));
    if (is_new) {
        Symbol const target = model_.symbols[stated.symbol];
        Symbol scale;
        scale.kind = SymbolKind::Scale;
        scale.name = workspace_.free_name(target.name + "_local");
        scale.span = stated.distribution->span;
        scale.dims = target.dims;
        scale.first_step = target.first_step;
        scale.local_of = stated.symbol;
        model_.symbols.push_back(scale);
        Region whole;
        whole.first_step = target.first_step;
        model_.scale_priors.push_back(
            {known->second, whole, local.kind, local.family, local.first, local.second, stated.distribution->span, {}, {}});
        if (local.df) set_df(model_.scale_priors.back(), *local.df);
    }
    return {local.kind, model_.terms.leaf(Op::Param, known->second, model_.axes_of(known->second))};
}

void LocalScales::set_df(ScalePrior& prior, tree::Expr const& df) {
    SymbolId const id = workspace_.find(df.text)->id;
    Symbol const& symbol = model_.symbols[id];
    if (symbol.kind != SymbolKind::Fixed) {
        prior.df = id;
        return;
    }
    std::vector<double> const& values = model_.literals[*symbol.literal].values;
    if (values.size() != 1)
        workspace_.error(122, df.span, "degrees of freedom are one number for all entries");
    else if (!(values.front() > 0))
        workspace_.error(122, df.span, "an argument of student_t must be greater than 0");
    else
        prior.first = prior.second = values.front() / 2;
}

/// What is normal about the mean is (y - 1/2) / w, w the cell's local scale, which is its precision (math.md, 7b).
void make_binary(Model& model, Factor& factor) {
    Terms& terms = model.terms;
    Term const y = terms.leaf(Op::Data, factor.target, model.axes_of(factor.target));
    Term const working =
        terms.multiply({terms.add({y, terms.constant(-0.5)}), terms.apply(Function::Reciprocal, factor.spread.front().value)});
    factor.is_binary = true;
    factor.residual = terms.add({factor.mean, terms.negate(working)});
}

}  // namespace bam
