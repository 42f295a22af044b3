// Every pass over a model, with one sentence on what it leaves behind.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "conditional.hpp"
#include "model.hpp"
#include "source.hpp"
#include "tree.hpp"

namespace bam {

/// What the caller chose outside the file.
struct Choices {
    std::map<std::string, std::size_t> dims;                      ///< --dim unit=3
    std::vector<std::string> priors;                              ///< --priors NAME, in order; later statements win
    bool learns_hyper = false;                                    ///< --learn-hyper: what is marked learn() is no longer held
    std::map<std::string, std::vector<std::string>> labels = {};  ///< of dims whose labels are the values of columns, once there is a table
};

/// Names are resolved once, every term has its axes, prior sets are applied, bindings are plain data. `files` are the file and what it
/// uses, the user's first.
std::optional<Model> check(std::vector<tree::File> const& files, Sources const& sources, Choices const& choices, Diagnostics& diagnostics);

/// The degree of a term in a block: how often, at most, one entry of the block is a factor of one of its summands.
struct Degree {
    static constexpr int unbounded = 1000;
    int value = 0;
    Term culprit = 0;  ///< where it first exceeds one
    std::string reason;
};
Degree degree(Model const& model, Term term, SymbolId block);

/// A leaf of the terms: a parameter, or a state while its recurrence is taken apart.
struct Leaf {
    Op op = Op::Param;
    std::uint64_t payload = 0;
    std::uint16_t lag = 0;
};

/// d term / d entry of the leaf, for a term of degree one in it. Entries keep the sequence and the step of their cell; their labelled axes
/// get `copy`.
Term differentiate(Model& model, Term term, Leaf leaf, std::uint16_t copy);
/// The term with the leaf, at every lag, at zero.
Term without(Model& model, Term term, Leaf leaf);
/// Whether the leaf occurs in the term, at any lag.
bool mentions(Model const& model, Term term, Leaf leaf);

/// Proves that every full conditional is of a known family and says what it is; reports each factor that stands in the way (BAM02xx).
std::optional<Derivation> derive(Model& model, Diagnostics& diagnostics);

/// What the likelihood cannot see: pairs of blocks that enter every factor but their own prior only through a product.
std::vector<Symmetry> symmetries(Model& model);
/// Whether the symmetry leaves the term as it is: whether the data can identify it.
bool is_invariant(Model& model, Term term, Symmetry const& symmetry);

/// The conditionals as mathematics. `block`: one of them, or all.
std::string explain(Model const& model, Derivation const& derivation, std::optional<std::string> const& block);

}  // namespace bam
