// Components of terms as straight-line programs: the last step from algebra to arithmetic.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <vector>

#include "model.hpp"
#include "plan.hpp"

namespace bam {

/// Which entry of each labelled axis is meant.
using Entry = std::map<Axis, std::size_t>;

/// What the terms' symbols are called in a plan, and the sizes of the labelled dims.
struct Numbering {
    Model const& model;
    std::map<SymbolId, std::uint32_t> variables;
    /// Of symbols with a variational factor: per component the group that it is correlated with, and whether steps are correlated too.
    struct Correlation {
        std::vector<std::uint32_t> groups;
        bool along_time = false;
    };
    std::map<SymbolId, Correlation> correlations;

    std::size_t size(DimId dim) const { return model.dims[dim].size.value_or(0); }
    /// Labelled dims of a symbol, in declared order.
    std::vector<DimId> labelled(SymbolId symbol) const;
    std::vector<DimId> labelled(std::vector<DimId> const& dims) const;
    /// All entries over these dims, last fastest; the axes get `copy`.
    std::vector<Entry> entries(std::vector<DimId> const& dims, std::uint16_t copy) const;
    /// Position of an entry among entries(dims, copy).
    std::size_t position(std::vector<DimId> const& dims, Entry const& entry, std::uint16_t copy) const;
    Extent extent(Axes const& axes) const;
    Extent extent(SymbolId symbol) const { return extent(model.axes_of(symbol)); }
};

/// Builds one pass. Equal components share a register; what is zero by structure costs nothing.
class PassBuilder {
  public:
    PassBuilder(Numbering const& numbering, Extent domain) : numbering_(numbering) { pass_.domain = domain; }

    /// The register of one component of a term; nothing where it is zero whatever the numbers are.
    std::optional<std::uint32_t> component(Term term, Entry const& entry);
    /// The same, spread to the extent.
    std::optional<std::uint32_t> component(Term term, Entry const& entry, Extent extent);
    /// The same in a scratch register of its own with the pass's domain, which no other call returns; `no_register` where it is zero.
    std::uint32_t column(Term term, Entry const& entry);

    Pass take() { return std::move(pass_); }

  private:
    std::optional<std::uint32_t> compute(Term term, Entry const& entry);
    std::optional<std::uint32_t> variable(Node const& node, Entry const& entry);
    std::optional<std::uint32_t> covariance(Node const& node, Entry const& entry);
    std::optional<std::uint32_t> contract(Node const& node, Entry const& entry);
    std::optional<std::uint32_t> product(std::vector<Term> factors, Entry const& entry);
    std::uint32_t sum(std::vector<std::pair<std::uint32_t, std::uint32_t>> const& products);

    std::uint32_t add_register(Register reg);
    std::uint32_t member(Node const& node, Entry const& entry);
    std::uint32_t input(Register const& reg);
    std::uint32_t constant(double value);
    std::uint32_t emit(Code code, std::uint32_t a, std::uint32_t b);
    std::uint32_t spread(std::uint32_t reg, Extent extent);
    bool is_constant(std::uint32_t reg, double value) const;

    Numbering const& numbering_;
    Pass pass_;
    std::map<std::pair<Term, std::vector<std::size_t>>, std::optional<std::uint32_t>> components_;
    std::map<std::tuple<Code, std::uint32_t, std::uint32_t>, std::uint32_t> computed_;
    std::map<std::tuple<From, std::uint32_t, std::uint32_t, std::uint16_t, std::uint32_t, std::uint16_t>, std::uint32_t> inputs_;
    std::map<double, std::uint32_t> constants_;
    std::set<std::uint32_t> columns_;
};

}  // namespace bam
