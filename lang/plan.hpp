// A plan: what a backend executes, as plain data. All that lang and runtime both see.
//
// Arrays are stored one component after another; a component is one entry of a variable's labelled dims (last dim fastest) and holds one
// number (Extent::One), one per sequence, one per step, or one per cell (a step of a sequence). A pass is a straight program over such
// components: it is run over all cells at once, chunk by chunk along time; only Scan walks.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "bam/diagnostic.hpp"
#include "column.hpp"
#include "families.hpp"
#include "interval.hpp"

namespace bam {

enum class Extent : std::uint8_t { One, Sequence, Time, Cell };

// ---------------------------------------------------------------- layout

struct DimLayout {
    enum class Role : std::uint8_t { Labelled, Sequence, Time };
    std::string name;
    Role role = Role::Labelled;
    std::size_t size = 0;             ///< of a labelled dim
    std::vector<std::string> labels;  ///< of a labelled dim; 1, 2, ... where the model gives none
};

enum class VariableKind : std::uint8_t { Data, Block, Scale };

/// A column or a parameter. Fixed parameters are constants in the passes.
struct Variable {
    VariableKind kind = VariableKind::Data;
    std::string name;
    Extent extent = Extent::One;
    std::vector<std::uint16_t> dims;  ///< as declared, of DimLayout
    std::vector<std::size_t> shape;   ///< of the labelled dims, in declared order
    std::size_t components = 1;
    std::optional<std::uint16_t> label_dim;  ///< of Data whose values are the numbers of labels, from 1: of which dim
    std::size_t first_step = 0;              ///< entries before it do not exist
    bool may_be_missing = false;             ///< of Data
    std::optional<double> learnt_from;       ///< of a parameter that is learnt as one number, by expectation maximisation
    bool is_categorical = false;             ///< of a Block: 1 at one entry along its last labelled dim, 0 at the others
    bool is_local = false;                   ///< of a Scale: it makes a distribution out of normals, one number for each of their cells
    bool is_kept = true;                     ///< in the draws; local scales of outputs are not: new outputs have new ones
    std::vector<ColumnExpr> columns;         ///< of Data: one per component
    Span span;
};

/// Entries of a factor's target that a statement speaks of.
struct FactorRegion {
    std::size_t first_step = 0;
    std::size_t last_step = std::numeric_limits<std::size_t>::max();
    std::vector<bool> components;         ///< empty: all
    std::optional<std::string> sequence;  ///< only this sequence
    Span span;
};

/// One number that the spread of a normal is made of: learnt, read from the table, or known.
struct SpreadLayout {
    SpreadKind kind = SpreadKind::Sd;
    std::optional<std::uint32_t> variable;  ///< a Scale or Data
    std::vector<std::uint32_t> component;   ///< with a variable: per component of the target, the variable's
    std::vector<double> constant;           ///< without: per component of the target; of a Covariance the matrix, row by row
    std::vector<std::uint32_t> by;          ///< variables with labels that pick one of several: then the lists above have an entry for each
                                            ///< label of the first, for each of the second, ..., for each component of the target
};

/// One normal statement. `weighted`: its cells differ in weight or precision, so that passes multiply by Source::Weight.
struct FactorLayout {
    std::uint32_t target = 0;  ///< variable
    FactorRegion region;
    std::vector<std::uint32_t> overridden_by;
    bool is_observation = false;
    bool is_binary = false;  ///< its target is 0 or 1, and 1 with probability 1 / (1 + exp(-mean)); its one spread is a local scale
    std::vector<SpreadLayout> spread;  ///< the precision of a cell is the product of theirs. None: flat. A Covariance stands alone
    Interval interval;                 ///< of a prior: where its entries lie. Then its mean and its spread are known
    std::vector<double> weights;       ///< of a categorical prior: per component of the target, the share of that entry; else empty
    Span span;

    bool is_flat() const { return spread.empty(); }
    /// It has an integral.
    bool is_categorical() const { return !weights.empty(); }
    bool is_proper() const { return !is_flat() || is_categorical() || interval.is_finite(); }
    bool has_covariance() const { return !spread.empty() && spread.front().kind == SpreadKind::Covariance; }
};

struct ScalePriorLayout {
    std::vector<bool> components;  ///< of the scale; empty: all
    ScaleFamily family = ScaleFamily::Flat;
    double first = 0;
    double second = 0;
    std::optional<std::uint32_t> df;  ///< variable, one number: both are half of it. Of local scales, whose prior is that of all entries
};

/// A factor, and which part of its spread a scale is.
struct ScaleUse {
    std::uint32_t factor = 0;
    std::uint32_t part = 0;
};

struct ScaleLayout {
    std::uint32_t variable = 0;
    SpreadKind spread = SpreadKind::Sd;
    std::vector<ScaleUse> uses;
    std::vector<ScalePriorLayout> priors;  ///< later ones win
    std::vector<std::uint32_t> locals;     ///< of degrees of freedom: the scales, of Layout::scales, whose prior has them; they come next
};

/// A block that is the coefficient of a recurrence: h[t] = factor * variable * h[t-1] + ...
struct DecayLayout {
    std::uint32_t variable = 0;
    double factor = 1;  ///< what it is multiplied with, if that is known: the largest of its entries, without sign
};

/// Everything that does not depend on which factors are weighted: enough to bind a table.
struct Layout {
    std::string model;
    std::vector<DimLayout> dims;
    std::optional<std::uint16_t> sequence;
    std::optional<std::uint16_t> time;
    std::optional<ColumnExpr> sequence_column;
    std::optional<ColumnExpr> time_column;
    std::vector<Variable> variables;
    std::vector<FactorLayout> factors;
    std::vector<ScaleLayout> scales;
    std::vector<DecayLayout> decays;
};

// ---------------------------------------------------------------- passes

/// Where the numbers of a register come from.
enum class From : std::uint8_t {
    Scratch,     ///< computed by the pass
    Constant,    ///< value
    Variable,    ///< data or parameter `index`, `component`, `lag` steps back (0 before the first step)
    Weight,      ///< of factor `index`, `component` of its target: sqrt(weight * precision)
    Covariance,  ///< of two entries of parameter `index`: `component`, `lag` steps back, and `second`, `second_lag` steps back
};

struct Register {
    Extent extent = Extent::One;
    From from = From::Scratch;
    std::uint32_t index = 0;
    std::uint32_t component = 0;
    std::uint16_t lag = 0;
    double value = 0;
    std::uint32_t second = 0;
    std::uint16_t second_lag = 0;
};

enum class Code : std::uint8_t {
    Copy,         ///< out = a, spread to out's extent
    Add,          ///< out = a + b
    Multiply,     ///< out = a * b
    MultiplyAdd,  ///< out += a * b
    Scan,         ///< out[t] = a[t] out[t-1] + b[t]
    Shift,        ///< out[t] = a[t-1], 0 at the first step
    Exp,
    Log,
    Sqrt,
    Abs,
    Reciprocal,  ///< out = f(a)
    Equal,       ///< out = 1 where a is b, else 0; b is One
};

/// Operands have out's extent or are One; `a` of a Scan may also be Time.
struct Instruction {
    Code code = Code::Copy;
    std::uint32_t out = 0;
    std::uint32_t a = 0;
    std::uint32_t b = 0;
};

struct Pass {
    Extent domain = Extent::One;
    std::vector<Register> registers;
    std::vector<Instruction> instructions;  ///< arguments before users
};

inline constexpr std::uint32_t no_register = std::numeric_limits<std::uint32_t>::max();  ///< structurally zero

/// What one component of a factor's target says about one group of a block: residual = covariates · θ (+ lagged · θ one step back) +
/// offset, all times Weight.
struct EquationRow {
    std::uint32_t component = 0;            ///< of the target
    std::vector<std::uint32_t> covariates;  ///< register per entry of the group
    std::vector<std::uint32_t> lagged;      ///< likewise; empty if none
    std::uint32_t offset = no_register;
};

/// Covariates of one group as left[i] right[p][j], p over the components of the factor's target: their products are products of sums.
struct KroneckerPlan {
    std::vector<std::uint32_t> left;                ///< register per left entry
    std::vector<std::vector<std::uint32_t>> right;  ///< per component, register per right entry; weighted
    std::vector<std::uint32_t> offsets;             ///< per component; weighted
    std::vector<std::uint32_t> position;            ///< of entry (i, j) in the group: [left, right]
};

/// A factor's share of a block's normal equations: rows of covariates, or their Kronecker form.
struct Equations {
    std::uint32_t factor = 0;
    Pass pass;
    std::vector<std::vector<EquationRow>> groups;  ///< per group of the block; empty with a Kronecker form
    std::optional<KroneckerPlan> kronecker;        ///< of the one group
};

/// A factor whose target the block is: precision on the diagonal (or a full matrix), and the mean.
struct PriorPlan {
    std::uint32_t factor = 0;
    Pass pass;                         ///< domain: the extent of the block
    std::vector<std::uint32_t> means;  ///< register per component of the block
};

enum class PlanMethod : std::uint8_t { Joint, Sweep, Markov };

/// One recurrence entry that a swept block drives: h[t] = coefficient h[t-1] + input, both affine in the block's entries at t.
struct StateEntry {
    std::uint32_t coefficient = no_register;
    std::uint32_t input = no_register;
    std::uint32_t coefficient_offset = no_register;  ///< coefficient = this + covariates · (the block's entries); likewise input
    std::uint32_t input_offset = no_register;
    std::vector<std::uint32_t> coefficient_covariates;  ///< per entry of the block
    std::vector<std::uint32_t> input_covariates;
};

/// How one component of a factor reads the recurrences: residual = sum readout * h + offset, times Weight.
struct ReadoutRow {
    std::vector<std::uint32_t> states;  ///< register per state entry
    std::uint32_t offset = no_register;
};

struct ReadoutPlan {
    std::uint32_t factor = 0;
    std::vector<ReadoutRow> rows;
};

struct SweepPlan {
    Pass pass;
    std::vector<StateEntry> states;
    std::vector<ReadoutPlan> readouts;
};

struct BlockPlan {
    std::uint32_t variable = 0;
    PlanMethod method = PlanMethod::Joint;
    std::vector<std::vector<std::uint32_t>>
        groups;  ///< components drawn together; one system per group and per sequence or step of the extent
    std::vector<PriorPlan> priors;
    std::vector<Equations> equations;
    SweepPlan sweep;
    std::vector<std::uint32_t> choices;  ///< variables: choices that its prior mean alone reads, drawn with it
    bool is_drawn_with_block = false;    ///< such a choice
};

/// A pass whose registers hold a term's components: residuals of a factor, its mean, or a report.
struct TermPlan {
    Pass pass;
    std::vector<std::uint32_t> registers;  ///< per component
};

struct ReportPlan {
    std::string name;
    std::vector<std::uint16_t> dims;
    std::vector<std::size_t> shape;  ///< of the labelled dims
    std::size_t first_step = 0;      ///< it has no value before
    bool is_identified = true;       ///< no symmetry of the likelihood changes it
    bool is_linear = false;          ///< in every block, the others held fixed, and free of scales: its expectation is itself at the means
    TermPlan term;
};

/// first -> G first, second -> inv(G)' second along `dim` of both; without `dim` only c and 1/c.
struct OrbitPlan {
    std::uint32_t first = 0;  ///< variables
    std::uint32_t second = 0;
    bool has_dim = false;
    bool is_diagonal = false;
    bool is_moved = true;  ///< false where a move would leave the interval of a prior: then it only says what is not identified
    std::vector<std::vector<std::uint32_t>> first_slices;  ///< per index of the dim: components of `first`
    std::vector<std::vector<std::uint32_t>> second_slices;
};

/// Components of a variable.
struct SlicePlan {
    std::uint32_t variable = 0;
    std::vector<std::uint32_t> components;
};

/// What can change places, and neither the likelihood nor a prior sees it: all slices of one place with those of another. Slices of
/// different places correspond in their order.
struct InterchangePlan {
    std::string dim;  ///< whose indices the places are; empty: they are blocks of different names
    std::vector<std::vector<SlicePlan>> places;
    std::vector<std::vector<SlicePlan>> reports;  ///< per place, what goes with it; `variable` is an index of Plan::reports
    std::vector<std::uint32_t> changed_reports;   ///< indices of Plan::reports that it changes otherwise
};

/// How a factor's residual depends on an output some steps back: registers [component of the factor's target][component of the output].
struct LagEffect {
    std::uint32_t factor = 0;
    std::uint16_t lag = 0;
    TermPlan derivative;
};

/// An output whose earlier steps stand in means: its missing cells are unknowns, each drawn given the others.
struct LaggedOutput {
    std::uint32_t variable = 0;
    bool must_be_complete =
        false;  ///< some mean is not linear in its earlier values, or a recurrence holds them: no missing cell can be drawn
    std::vector<LagEffect> effects;
};

struct Plan {
    Layout layout;
    std::vector<BlockPlan> blocks;
    std::vector<TermPlan> residuals;  ///< per factor, not weighted
    std::vector<TermPlan> means;      ///< per factor; empty pass where the target is a parameter
    std::vector<ReportPlan> reports;
    std::vector<OrbitPlan> orbits;
    std::vector<InterchangePlan> interchanges;
    std::vector<LaggedOutput> lagged_outputs;
    bool is_multilinear = false;  ///< some mean multiplies two blocks, or something is chosen: there may be several modes
};

// ---------------------------------------------------------------- expectations

/// What the variational backend reads besides: terms in the means of the parameters and in covariances of entries of one group
/// (From::Covariance). Of an expected square, the derivative in a covariance of a block is the expectation of what Gibbs adds to its
/// precision.
struct ExpectationPlan {
    std::vector<TermPlan> squares;    ///< per factor: E[residual^2], of a Covariance E[residual (precision residual)]; empty if Flat
    std::vector<TermPlan> variances;  ///< per factor: variance of its mean; empty where the target is a parameter
};

}  // namespace bam
