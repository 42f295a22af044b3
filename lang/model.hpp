// The one intermediate representation: dims, symbols, factors over interned terms, and the table binding. check.cpp makes it,
// and every later pass and tool reads it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "bam/diagnostic.hpp"
#include "column.hpp"
#include "families.hpp"
#include "interval.hpp"
#include "term.hpp"

namespace bam {

enum class Role : std::uint8_t { Labelled, Sequence, Time };

struct Dim {
    std::string name;
    Role role = Role::Labelled;
    std::optional<std::size_t> size;  ///< of a labelled dim: from the file, --dim, or the labels of its binding
    std::vector<std::string> labels;  ///< of a bound labelled dim
    Span span;
    bool is_of_table = false;  ///< of a labelled dim: its labels are the values of columns; without a table there are none
};

enum class SymbolKind : std::uint8_t {
    Data,        ///< a variable read from the table
    Block,       ///< a parameter with a Gaussian or flat prior: drawn as a block
    Scale,       ///< a parameter that is the scale of a factor: sd, variance or precision
    Fixed,       ///< a parameter held at its literal
    Definition,  ///< a name for a term: state or report
};

struct Symbol {
    SymbolKind kind = SymbolKind::Data;
    std::string name;
    Span span;
    std::vector<DimId> dims;               ///< as declared; at most once each, but in a Definition as `order` says
    bool may_be_missing = false;           ///< of Data
    std::optional<DimId> label_dim;        ///< of Data whose values are labels: the dim that has them
    std::size_t first_step = 0;            ///< of a parameter over time: entries below have no value (`a[t > 0]`)
    std::optional<std::uint32_t> literal;  ///< of Fixed
    std::optional<double> learnt_from;     ///< of a Block or a Scale that is one number, without a spread: where its search starts
    std::optional<SymbolId>
        local_of;  ///< of a Scale that makes a distribution out of normals: whose entries have one each; of a choice among kernels: whose
    std::optional<Term> term;  ///< of Definition
    Axes order;                ///< of Definition: the free axes of `term` as they are read: sequence, time, row, column. Not sorted
    bool is_report = false;
};

/// Numbers written as a list. Entries in the order of `dims`, last index fastest.
struct Literal {
    std::vector<DimId> dims;
    std::vector<std::size_t> shape;
    std::vector<double> values;
};

/// Which entries of a factor's target a statement speaks of.
struct Region {
    struct Labels {
        DimId dim;
        std::string label;  ///< a label, or a number from 1 where the dim has none
        Span span;
    };
    std::size_t first_step = 0;
    std::size_t last_step = SIZE_MAX;
    std::vector<Labels> labels;
    bool is_whole() const { return first_step == 0 && last_step == SIZE_MAX && labels.empty(); }
};

/// One number that the spread of a normal is made of.
struct SpreadPart {
    SpreadKind kind = SpreadKind::Sd;
    Term value = 0;  ///< Constant, Literal, Data or Param; of a Covariance a Literal [k, k] over the target's last dim
};

/// One `target ~ normal(mean, spread)` statement: observations and priors alike. Its residual is mean - target; of a binary output, whose
/// spread is a local scale w, mean - (target - 1/2) / w.
struct Factor {
    SymbolId target = 0;
    Region region;
    Term mean = 0;
    Term residual = 0;
    std::vector<SpreadPart> spread;  ///< the precision of a cell is the product of theirs. None: flat. A Covariance stands alone
    bool is_observation = false;
    bool is_binary = false;       ///< of an observation: 1 with probability 1 / (1 + exp(-mean)), else 0
    Interval interval;            ///< of a prior: where its entries lie
    std::optional<Term> weights;  ///< of a categorical prior, which has no spread: Literal over the last labelled dim of the target, or a
                                  ///< Constant where all entries weigh the same. One entry along that dim is 1, the others are 0
    Span span;
    std::vector<std::uint32_t> overridden_by;  ///< factors of later statements on the same target that take some of its entries

    bool is_flat() const { return spread.empty(); }
    bool has_covariance() const { return !spread.empty() && spread.front().kind == SpreadKind::Covariance; }
    bool is_categorical() const { return weights.has_value(); }
};

/// The prior of a scale: of what it is used as.
struct ScalePrior {
    SymbolId scale = 0;
    Region region;
    SpreadKind spread = SpreadKind::Sd;  ///< how the parameter is used
    ScaleFamily family = ScaleFamily::Flat;
    double first = 0;   ///< degrees of freedom, scale, shape or rate, as the family has it first
    double second = 0;  ///< scale or rate, if the family has two numbers
    Span span;
    std::vector<std::uint32_t> overridden_by;  ///< as in Factor, of scale_priors
    std::optional<SymbolId> df;                ///< of local scales: the parameter of which `first` and `second` are half
};

/// A statement on some entries of a parameter, as written: also one that no entry follows, and one of a set that was not chosen.
struct StatedPrior {
    struct Argument {
        std::string text;                  ///< `0`, `sd = 0.1`; of a list `sd = ` or nothing
        std::vector<DimId> dims;           ///< of a list, an entry for each index of these, last fastest
        std::vector<std::size_t> shape;    ///< its lengths
        std::vector<std::string> entries;  ///< its numbers as written
    };
    SymbolId symbol = 0;
    Region region;
    std::string target;  ///< `W_v[1..2, dose]`
    std::string text;    ///< `~ normal(0, 1)`, `fixed 1`
    std::string set;     ///< the named set that it stands in; empty: none
    bool is_chosen = true;
    std::string family;  ///< `normal`; empty: held at the one argument
    std::vector<Argument> arguments;
    std::string interval;  ///< ` in 0..1`, or nothing
    Span span;             ///< of the statement
    Span rhs_span;         ///< of its distribution
};

/// A named set of priors.
struct PriorSet {
    std::string name;
    std::string extends;  ///< empty: none
    bool is_chosen = false;
    Span span;  ///< of its name
};

/// What a table column, or a list of them, is bound to.
struct Binding {
    std::optional<DimId> dim;        ///< the sequence or time dim, or a labelled one with `columns` labelled
    std::optional<SymbolId> symbol;  ///< scalar data
    bool is_order = false;           ///< `order(column)`
    std::vector<ColumnExpr> columns;
    Span span;
};

/// A source line of the effective prior of a parameter, for `config.json` and messages.
struct Model {
    std::string name;
    Terms terms;
    std::vector<Dim> dims;
    std::vector<Symbol> symbols;
    std::vector<Literal> literals;
    std::vector<Factor> factors;
    std::vector<ScalePrior> scale_priors;
    std::vector<Binding> bindings;
    std::vector<StatedPrior> stated;   ///< in the order in which they apply: later ones win
    std::vector<PriorSet> prior_sets;  ///< by name
    std::map<Term, Span> uses;         ///< where a term was first written
    std::map<Term, SymbolId> names;    ///< the definition that a term is known by

    std::optional<DimId> sequence;
    std::optional<DimId> time;

    /// The dim along which one entry of a parameter with a categorical prior is 1; none for any other parameter.
    std::optional<DimId> choice_of(SymbolId symbol) const {
        for (Factor const& factor : factors) {
            if (factor.target != symbol || !factor.is_categorical()) continue;
            for (std::size_t d = symbols[symbol].dims.size(); d-- > 0;)
                if (dims[symbols[symbol].dims[d]].role == Role::Labelled) return symbols[symbol].dims[d];
        }
        return std::nullopt;
    }
    std::optional<Axis> time_axis() const { return time ? std::optional<Axis>(Axis{*time, 0}) : std::nullopt; }
    /// Free axes of a symbol as written: its dims, copy 0.
    Axes axes_of(SymbolId symbol) const {
        Axes axes;
        for (DimId dim : symbols[symbol].dims) axes.push_back({dim, 0});
        return axes;
    }
    bool is_over(SymbolId symbol, std::optional<DimId> dim) const {
        for (DimId d : symbols[symbol].dims) {
            if (dim && d == *dim) return true;
        }
        return false;
    }
};

}  // namespace bam
