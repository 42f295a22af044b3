// What derive leaves: for every block the proof of its full conditional as terms. Gibbs, the variational backend, explain and verify all
// read this.
#pragma once

#include <string>
#include <vector>

#include "model.hpp"

namespace bam {

/// Copies of axes that name an entry of the block in a derivative.
inline constexpr std::uint16_t entry_copy = 64;
inline constexpr std::uint16_t second_entry_copy = 65;

/// How a Gaussian block is drawn.
enum class Method : std::uint8_t {
    Joint,   ///< all entries of the dims in `joint` at once, from their normal equations
    Sweep,   ///< entries over time inside a recurrence: one step after another, backward information then forward draws
    Markov,  ///< entries over time coupled to the previous step only: block tridiagonal precision
};

/// What one factor says about the block. With e = residual of the factor (mean - target), which is affine in the block θ:
/// e = covariates θ + offset, so the factor adds covariates' W covariates to the precision and -covariates' W offset to precision times
/// mean.
struct Contribution {
    std::uint32_t factor = 0;
    Term covariates = 0;    ///< d e / d θ[entry]; axes of the factor's cells and of the entry (copy `entry_copy`)
    Term lagged = 0;        ///< Markov: d e / d θ[entry one step back]; zero if none
    Term offset = 0;        ///< e at θ = 0
    bool is_prior = false;  ///< the block is the target and does not occur in the mean: covariates are -1 on the diagonal
};

/// A recurrence h[t] = c[t] h[t-1] + u[t] through which a block over time reaches the factors (Method::Sweep).
struct SweptState {
    Term scan = 0;
    Term coefficient = 0;             ///< c as it is
    Term input = 0;                   ///< u as it is
    Term coefficient_offset = 0;      ///< c at θ = 0
    Term coefficient_covariates = 0;  ///< d c / d θ[entry]
    Term input_offset = 0;            ///< u at θ = 0
    Term input_covariates = 0;        ///< d u / d θ[entry]
};

/// How a factor reads the swept states: residual = sum over states of readout * h + offset.
struct Readout {
    std::uint32_t factor = 0;
    std::vector<Term> states;  ///< per swept state: d residual / d h[entry of the state], copy `entry_copy`
    Term offset = 0;           ///< residual with those states at 0
};

struct Conditional {
    SymbolId block = 0;
    Method method = Method::Joint;
    std::vector<DimId> joint;                 ///< dims of the block drawn together
    std::vector<DimId> batch;                 ///< dims along which the entries are conditionally independent
    std::vector<Contribution> contributions;  ///< of Sweep: the priors only
    std::vector<SweptState> states;           ///< of Sweep
    std::vector<Readout> readouts;            ///< of Sweep
    std::optional<SymbolId> drawn_with;       ///< of a choice that only the prior mean of another block reads: that block, which is
                                              ///< integrated out when the choice is drawn, and drawn next
};

/// variance | rest of a scale: the factors of whose spread it is a part.
struct ScaleConditional {
    /// A factor, and which part of its spread the scale is.
    struct Use {
        std::uint32_t factor = 0;
        std::uint32_t part = 0;
    };
    SymbolId scale = 0;
    SpreadKind spread = SpreadKind::Sd;
    std::vector<Use> uses;
    std::vector<SymbolId> locals;       ///< of degrees of freedom: the local scales whose prior has them
    std::vector<std::uint32_t> priors;  ///< indices into Model::scale_priors
};

struct Derivation {
    std::vector<Conditional> blocks;  ///< in the order in which the file declares them: the order of a sweep
    std::vector<ScaleConditional> scales;
};

/// A change of two blocks that no factor but their own priors can see.
struct Symmetry {
    SymbolId first = 0;
    SymbolId second = 0;
    /// The dim that both are contracted over: first -> G first, second -> inv(G)' second. None: only first -> c first, second -> second /
    /// c.
    std::optional<DimId> dim;
    /// The rest of the mean depends on `dim` as well: G is diagonal.
    bool is_diagonal = false;
};

/// What can change places, and neither the likelihood nor a prior sees it.
struct Interchange {
    std::optional<DimId> dim;                   ///< its indices, in all symbols of the one place that there then is
    std::vector<std::vector<SymbolId>> places;  ///< without a dim: the symbols of each place, in corresponding order
    std::vector<SymbolId> reports;              ///< over the dim, whose entries change places with those of the symbols
    std::vector<SymbolId> changed_reports;      ///< that change otherwise, as those that tell the entries of the dim apart
};

}  // namespace bam
