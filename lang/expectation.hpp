// Expectations of products of terms when every block of parameters has a Gaussian variational factor of its own: again terms, in the means
// of the parameters (which stand where the parameters stood) and in their covariances (Op::Covariance).
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "model.hpp"

namespace bam {

/// The mean of a factor is linear in each block, so the expectation of a mean is the mean at the means. The expectation of a product is
/// taken monomial by monomial: blocks are independent, so it is a product over the blocks that the two monomials share of E[θ_i θ_j] = m_i
/// m_j + V_ij. Two recurrences that share a block over time give a recurrence for the expectation of their product
/// (math.md, 12. Variational factors):
///     E[h g] = E[c d] E[h g]' + E[c v] E[h]' + E[u d] E[g]' + E[u v],    h = c h' + u,  g = d g' + v,  ' one step back.
/// For that, parameters that do not change with time are first taken out of a recurrence, which is linear in its input, and taken in again
/// where that makes its state no larger.
class Expectations {
  public:
    /// `is_random`: symbols with a variational factor. Sizes of dims that the model does not know count as 3 when costs are compared.
    Expectations(Model& model, std::function<bool(SymbolId)> is_random);

    /// E[a b]; `a` and `b` of degree one in every block.
    Term product(Term a, Term b);
    /// E[a b] - E[a] E[b]
    Term covariance(Term a, Term b);

  private:
    /// A product of leaves, recurrences and terms without parameters, summed over some axes.
    struct Monomial {
        std::vector<Term> atoms;
        Axes summed;
        std::vector<SymbolId> symbols;  ///< random ones in it, sorted
        bool is_linear = false;         ///< one random leaf and nothing else that is random
        std::optional<Term> origin;     ///< the term that it was
    };
    using Sum = std::vector<Monomial>;

    std::vector<SymbolId> const& symbols(Term term);
    Sum expand(Term term);
    Sum expand_all(Term term);
    Sum expand_scan(Node const& node);
    Monomial refreshed(Monomial const& monomial);
    Axis fresh(Axis axis);
    void finish(Monomial& monomial);

    Term term_of(Monomial const& monomial);
    Term product(Monomial const& a, Monomial const& b, bool is_central);
    Term component(std::vector<Term> const& atoms, bool is_central);
    Term scan_product(Term a, Term b);
    Term leaf_covariance(Term a, Term b);
    std::string names(std::vector<Term> const& atoms);

    Term eliminate(std::vector<Term> factors, Axes summed);
    bool push_into_scan(std::vector<Term>& factors, Axes& summed);
    double size(Axes const& axes) const;
    bool is_static(Term term) const;

    Model& model_;
    Terms& terms_;
    std::function<bool(SymbolId)> is_random_;
    std::map<Term, std::vector<SymbolId>> symbols_;
    std::map<std::pair<Term, Term>, Term> scan_products_;
    std::map<DimId, std::uint16_t> fresh_;
};

}  // namespace bam
