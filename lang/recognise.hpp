// Faster forms of a conditional, found in its terms. Each must give the numbers of the generic form.
#pragma once

#include <optional>
#include <vector>

#include "model.hpp"

namespace bam {

/// Covariates that are a product left[i] right[j, p]: the first does not know the component p of the factor's target, and entry (i, j) runs
/// over disjoint dims. Then sum over cells and p of J J' = sum over cells of (left left') (x) (sum over p of right right'), a third to a
/// half of the work.
struct KroneckerForm {
    Term left = 0;
    Term right = 0;
    std::vector<DimId> left_dims;  ///< of the block, in its order
    std::vector<DimId> right_dims;
};

/// `joint`: the dims of the block's entries. Nothing if the covariates are not such a product.
std::optional<KroneckerForm> recognise_kronecker(Model& model, Term covariates, std::vector<DimId> const& joint);

}  // namespace bam
