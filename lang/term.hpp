// Terms: the expressions of a model as interned nodes over named axes. Equal terms have equal ids, so `==` is one compare
// and every pass is one memoised walk. A term is a tensor: a value for each cell of its free axes.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <unordered_map>
#include <vector>

namespace bam {

using SymbolId = std::uint32_t;
using DimId = std::uint16_t;

/// One axis of a tensor: a dim and which copy of it. Copy 0 is the axis as written (a cell of a factor, an entry of a value); copies 1..99
/// name other free axes over the same dim (the entries of the block that a derivative is taken in); copies from `Axis::bound` on are summed
/// inside their Contract.
struct Axis {
    static constexpr std::uint16_t bound = 128;
    DimId dim = 0;
    std::uint16_t copy = 0;
    friend auto operator<=>(Axis const&, Axis const&) = default;
};
using Axes = std::vector<Axis>;  ///< sorted, without repeats

using Term = std::uint32_t;

enum class Op : std::uint8_t {
    Constant,  ///< payload: the bits of a double
    Literal,   ///< entries of a list written in the model; payload: index into Model::literals
    Data,      ///< a column; payload: symbol; lag: steps back (0 before the first step)
    LagData,   ///< a column over a dim of lags: entry k of the last axis is the value k + 1 steps back; payload: symbol
    Member,  ///< 1 where the label that a column has, `lag` steps back, is that of an entry along the axis `first`, else 0; payload: symbol
    Param,   ///< a parameter; payload: symbol; lag as for Data
    Previous,  ///< a state one step back, while its own definition is read; payload: symbol
    Weight,    ///< sqrt(weight * precision) of the cells of a factor; payload: factor. 0 where the target is missing
    Delta,     ///< 1 where its two axes agree, else 0
    Add,
    Multiply,    ///< elementwise over the union of the axes
    Contract,    ///< product of the arguments, summed over the axes in `summed`; of 1, the number of their entries
    Scan,        ///< h[t] = c[t] h[t-1] + u[t], h[-1] = 0; args c, u; c elementwise
    Shift,       ///< its argument one step back, 0 before the first step; payload: the time axis, as for Scan
    Covariance,  ///< of two entries of a parameter, `first` and `second`, under its variational factor; payload: symbol and the lag of the
                 ///< second
    Apply,       ///< payload: Function
};

enum class Function : std::uint8_t { Exp, Log, Sqrt, Abs, Reciprocal };

struct Node {
    Op op = Op::Constant;
    std::uint16_t lag = 0;
    bool has_delta = false;  ///< a Delta stands in it, outside of any Scan
    std::uint64_t payload = 0;
    std::vector<Term> args;  ///< sorted for Add, Multiply, Contract
    Axes summed;             ///< of a Contract
    Axes first, second;      ///< of a Covariance: the axes of either entry, in the order in which its symbol has them; not sorted. Of a
                             ///< Member `first` is the axis of the labels
    Axes axes;               ///< free axes
    friend bool operator==(Node const& a, Node const& b) {
        return a.op == b.op && a.lag == b.lag && a.payload == b.payload && a.args == b.args && a.summed == b.summed && a.axes == b.axes &&
               a.first == b.first && a.second == b.second;
    }
};

/// The store of all terms of one model. The functions that make terms simplify as they build: constants fold, sums and products flatten and
/// sort, a Delta whose axis is summed disappears, factors without summed axes leave a Contract, factors that do not change with time leave
/// a Scan.
class Terms {
  public:
    Terms();

    Node const& operator[](Term term) const { return nodes_[term]; }
    std::size_t size() const { return nodes_.size(); }
    Axes const& axes(Term term) const { return nodes_[term].axes; }
    bool has_axis(Term term, Axis axis) const;

    Term constant(double value);
    Term zero() const { return zero_; }
    Term one() const { return one_; }
    bool is_constant(Term term, double value) const;
    double constant_value(Term term) const;  ///< of a Constant

    Term leaf(Op op, std::uint64_t payload, Axes axes, std::uint16_t lag = 0);
    Term delta(Axis a, Axis b);
    /// 1 where the label of column `symbol`, over the axes `cells`, is the entry along `labels`. A cell has one label: the product of two
    /// over different axes is a Delta of these times one of them.
    Term member(std::uint32_t symbol, Axes cells, Axis labels, std::uint16_t lag = 0);
    static Axis labels_of(Node const& member) { return member.first.front(); }
    Term add(std::vector<Term> terms);
    Term multiply(std::vector<Term> factors);
    /// sum over `summed` of the product of `factors`
    Term contract(std::vector<Term> factors, Axes summed);
    /// The factors of a product; anything else is its only one.
    std::vector<Term> factors_of(Term term) const;
    /// Factors without an axis, and those that have it.
    struct Split {
        std::vector<Term> outside, inside;
    };
    Split split_by(Axis axis, std::vector<Term> const& factors) const;
    /// h[t] = coefficient[t] h[t-1] + input[t] along `time`
    Term scan(Term coefficient, Term input, Axis time);
    /// `term` one step back along `time`, 0 before the first step
    Term shift(Term term, Axis time);
    /// The covariance of two entries of one symbol, which are leaves with these axes (in the symbol's order) and lags.
    Term covariance(std::uint32_t symbol, Axes first, std::uint16_t first_lag, Axes second, std::uint16_t second_lag);
    static std::uint32_t covariance_symbol(Node const& node) { return static_cast<std::uint32_t>(node.payload & 0xffffffff); }
    static std::uint16_t second_lag(Node const& node) { return static_cast<std::uint16_t>(node.payload >> 32); }
    static Axis time_of(Node const& node) {  ///< of a Scan or a Shift
        return {static_cast<DimId>(node.payload >> 16), static_cast<std::uint16_t>(node.payload & 0xffff)};
    }
    Term apply(Function function, Term argument);
    Term negate(Term term) { return multiply({constant(-1), term}); }

    /// The term with free axis `from` called `to`. `from` must not be the time axis of a Scan inside.
    Term rename(Term term, Axis from, Axis to);
    /// The term with every leaf for which `replacement` returns a term replaced by it.
    Term substitute(Term term, std::function<bool(Term, Term&)> const& replacement);

    /// Whether `predicate` holds for a node of the term.
    bool any(Term term, std::function<bool(Node const&)> const& predicate) const;
    /// All nodes of the term, arguments before users, each once.
    std::vector<Term> postorder(std::span<Term const> roots) const;

  private:
    Term intern(Node node);
    /// Two Members of one label in a product: one of them, and a Delta. False if there are none.
    bool join_members(std::vector<Term>& factors);
    Term rebuild(Term term, std::vector<Term> args);
    /// `axis` with the first copy from Axis::bound on that stands nowhere in the term.
    Axis unused_bound(Term term, Axis axis) const;
    /// A Contract with its summed axis `from` called `to`.
    Term with_summed_called(Term contract, Axis from, Axis to);

    std::vector<Node> nodes_;
    std::unordered_multimap<std::size_t, Term> index_;
    Term zero_ = 0;
    Term one_ = 0;
};

}  // namespace bam
