// What the parts of check share while one model is read: what names mean, what is still to be read, and how errors are said. Seen by check
// only.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "decay_bank.hpp"
#include "passes.hpp"

namespace bam {

/// The axes of a value besides those of its cell (sequence and step): a scalar has none, a column vector a row axis, a row vector a column
/// axis. A row axis is copy 0 of its dim; a column axis too, but copy 1 where the row axis is over the same dim.
struct Shape {
    std::optional<DimId> row;
    std::optional<DimId> column;

    bool is_scalar() const { return !row && !column; }
    bool is_column() const { return row && !column; }
    Axis row_axis() const { return {*row, 0}; }
    Axis column_axis() const { return {*column, static_cast<std::uint16_t>(row == column ? 1 : 0)}; }
    Axes axes() const;  ///< row, column; not sorted
    friend bool operator==(Shape const&, Shape const&) = default;
};

/// What an expression means. Not known: an error has been reported, and what is made of it is not known either.
struct Value {
    Term term = 0;
    Shape shape;
    bool is_known = false;
    bool is_open = false;  ///< its shape is that of the state that is being read, which is not known yet
};

enum class NameKind : std::uint8_t { Dim, Data, Param, State, Report };

struct Name {
    NameKind kind = NameKind::Dim;
    std::uint32_t id = 0;  ///< DimId or SymbolId
    Span span;
    bool is_sound = true;  ///< its declaration was understood
};

/// A line of a state or report section.
struct Definition {
    tree::Statement const* statement = nullptr;
    SymbolId symbol = 0;
    std::optional<Axes> declared;  ///< labelled axes on the left-hand side, in its order
    enum class Progress : std::uint8_t { Unread, Reading, Read } progress = Progress::Unread;
    Value value;
};

/// The arguments of a function that gives the decays or the weights of a position kernel.
struct BankRequest {
    using Key = std::tuple<std::vector<std::tuple<PositionKernel::Form, double, double>>, double, std::size_t>;
    std::vector<PositionKernel> kernels;  ///< one, or all that one may be: the bank is for all of them
    double tolerance = 0;                 ///< largest error, relative to the kernel; of a bank for several to what they are at lag 0
    std::size_t lags = 0;                 ///< that it holds over
    Key key() const {
        Key key{{}, tolerance, lags};
        for (PositionKernel const& kernel : kernels) std::get<0>(key).emplace_back(kernel.form, kernel.first, kernel.second);
        return key;
    }
};

/// The call on the right of `~`, its arguments sorted.
struct Distribution {
    enum class Family : std::uint8_t { Normal, Flat, Scale, Learn, Categorical };
    /// What a normal's spread is multiplied with, entry by entry, so that another distribution comes out (math.md, 7. Scales).
    struct Local {
        SpreadKind kind = SpreadKind::Precision;
        ScaleFamily family = ScaleFamily::Gamma;
        double first = 0;
        double second = 0;
        tree::Expr const* df = nullptr;  ///< a parameter: both are half of it
    };
    Family family = Family::Normal;
    tree::Expr const* mean = nullptr;     ///< of Normal, unless `mean_value`
    std::optional<double> mean_value;     ///< of laplace_position and the like
    SpreadKind spread = SpreadKind::Sd;   ///< of Normal
    tree::Expr const* scale = nullptr;    ///< of Normal; none of bernoulli_logit
    Span scale_span;                      ///< with the `sd =` before it
    std::optional<Local> local;           ///< of student_t and the like
    std::optional<BankRequest> kernels;   ///< of ggd_position and the like: the mean is the weights of one of them
    ScaleFamilyRow const* row = nullptr;  ///< of Scale
    tree::Expr const* weights = nullptr;  ///< of Categorical; none: all the same
    double first = 0;                     ///< of Scale; of Learn, where it starts
    double second = 0;
    Interval interval;   ///< of Normal and Flat
    Span interval_span;  ///< if it is bounded
    Span span;

    bool is_of_scale() const { return family == Family::Scale; }
    bool is_binary() const { return local && local->family == ScaleFamily::PolyaGamma; }
};

/// `target ~ distribution` or `target fixed value` about a parameter or, in the observe section, about data.
struct PriorStatement {
    tree::Statement const* statement = nullptr;
    SymbolId symbol = 0;
    Region region;
    std::optional<Distribution> distribution;  ///< none: fixed
    bool is_own = false;                       ///< stands in a param section
    bool is_chosen = true;                     ///< stands in no prior set, or in one that is asked for
    std::string set{};                         ///< that it stands in; empty: none
    std::optional<Region::Labels> absent{};    ///< in a set: a label that the table does not have. No entry follows
};

/// A place where a parameter is the spread of a factor.
struct SpreadUse {
    SpreadKind spread = SpreadKind::Sd;
    Span span;           ///< of the name
    Span argument_span;  ///< with `sd =`
};

struct Workspace {
    Sources const& sources;
    Choices const& choices;
    Diagnostics& diagnostics;
    std::vector<tree::File> const& files;
    Model model{};
    std::map<std::string, Name, std::less<>> names{};
    std::vector<Definition> definitions{};
    std::vector<SymbolId> reading{};  ///< definitions that are being read, each for the sake of the next
    std::map<SymbolId, std::vector<tree::Statement const*>> param_statements{};  ///< per parameter, those of the param sections
    std::vector<PriorStatement> priors{};                                        ///< later ones win
    std::vector<PriorStatement> observations{};
    std::map<SymbolId, std::vector<SpreadUse>> spread_uses{};
    std::map<SymbolId, Span> df_uses{};                                     ///< parameters that are degrees of freedom, and where
    std::set<std::string, std::less<>> unknown{};                           ///< names that were complained of already
    std::size_t depth = 0;                                                  ///< of the expression that is being read
    std::vector<std::uint32_t> heights{};                                   ///< of the terms, as far as they were asked for
    std::map<BankRequest::Key, std::optional<DecayBank>> smallest_banks{};  ///< that were fitted
    std::map<std::pair<BankRequest::Key, std::size_t>, DecayBank> banks{};  ///< likewise, of a size that was asked for
    bool has_table = false;
    bool is_trial = false;  ///< only the shape of a state is being found out: nothing is reported, nothing is remembered
    Diagnostic unsaid{};

    Diagnostic& error(int code, Span span, std::string message, std::string label = {}, std::vector<std::string> notes = {});
    /// Whether a term is so high, or has so many summands or factors, that what is made of it would have no end.
    bool is_too_large(Term term);
    Name const* find(std::string_view name) const;
    Definition* find_definition(SymbolId symbol);
    /// The name, or with the first number from 2 that makes it free.
    std::string free_name(std::string const& wanted) const;
    std::string text(Span span) const { return std::string(sources.text(span)); }
    /// The same without its comments and line breaks.
    std::string code(Span span) const { return sources[span.source].code.substr(span.begin, span.end - span.begin); }

    /// The shape of a variable as declared: its labelled dims are row, then column.
    Shape shape_of(SymbolId symbol) const;
    /// `[unit, feat]`, `[unit]`, `[feat]'` for a row vector, `a scalar`.
    std::string to_text(Shape const& shape) const;
    std::string list_dims(std::vector<DimId> const& dims) const;
    std::vector<DimId> labelled_dims(SymbolId symbol) const;
    std::vector<std::string> names_of(std::vector<NameKind> const& kinds) const;
    /// BAM0102 with near misses; each name once.
    void unknown_name(std::string_view name, Span span, std::string const& what, std::vector<std::string> const& candidates);
    void unknown_name(std::string_view name, Span span, std::string const& what, std::vector<NameKind> const& kinds) {
        unknown_name(name, span, what, names_of(kinds));
    }
    /// Calls `visit` on the statements of every section of that keyword, in order.
    template <typename Visit>
    void each_statement(std::string_view keyword, Visit visit) const {
        for (tree::File const& file : files) {
            for (tree::Section const& section : file.sections) {
                if (section.keyword != keyword) continue;
                for (tree::Statement const& statement : section.statements) visit(statement);
            }
        }
    }
};

/// The best rewrite there is, as a note: ``write `...` ``.
std::string hint(std::string const& replacement);
/// The text of an expression as an operand of `'`: in parentheses unless it is a name, a call or in them already.
std::string as_operand(Workspace const& workspace, tree::Expr const& expr);
/// `a, b and c`.
std::string enumerate(std::vector<std::string> const& words);

// ---- the parts, in the order in which check calls them ----

/// Dims, data, parameters and definitions get their names; nothing on a right-hand side is read.
void declare(Workspace& workspace);
/// The table section becomes bindings; bound dims get labels and sizes.
void bind_columns(Workspace& workspace);
/// Dims of decay banks that have no size get that of the largest bank over them, in whatever set of priors it stands.
void size_banks(Workspace& workspace);
/// Every statement on a parameter is found, later ones on the same entries win, and fixed parameters get their values.
void collect_priors(Workspace& workspace);
/// The weights of a bank of decays are of the kernels that its decays are of.
void check_banks(Workspace& workspace);
/// Every definition gets its term.
void define_all(Workspace& workspace);
/// Every statement of the observe sections is found.
void collect_observations(Workspace& workspace);
/// Parameters become blocks or scales by their priors and by where they are a spread; scales get their priors.
void settle_kinds(Workspace& workspace);
/// Observations and normal priors become factors.
void add_factors(Workspace& workspace);
/// Scales are only scales, priors are in no circle, nothing is there for nothing, and no factor reads an entry that its parameter does not
/// have.
void check_uses(Workspace& workspace);

// ---- what they call ----

/// The regions that a left-hand side speaks of; a range of labels gives one for each. Nothing if it was refused. `labels_may_be_absent`:
/// a label that the table gives need not be there.
std::optional<std::vector<Region>> read_regions(Workspace& workspace, tree::Expr const& target, SymbolId symbol,
                                                bool labels_may_be_absent = false);
/// `t > 0`, `t = 0`, `t = 1..3` on the time dim; nothing if it is none of these. Refused ranges are reported and whole.
std::optional<Region> read_steps(Workspace& workspace, tree::Expr const& index);

/// The value of a mean or a spread.
Value lower(Workspace& workspace, tree::Expr const& expr);
/// The value of the right-hand side of a definition; it may mention itself one step back, where it has that shape, or an open one.
Value lower_definition(Workspace& workspace, SymbolId definition, tree::Expr const& expr, std::optional<Shape> shape);
/// The value of a definition, read now if it was not yet.
Value const& value_of(Workspace& workspace, SymbolId definition, Span use);
/// A number, from an expression of numbers; reported otherwise.
std::optional<double> number_of(Workspace& workspace, tree::Expr const& expr, std::string const& what);
/// What a spread multiplies, in order; one expression is a product of one.
std::vector<tree::Expr const*> operands_of_spread(tree::Expr const& expr);
/// Whether the expression is a list of numbers: written out, or a call of a function that gives one.
bool is_list(tree::Expr const& expr);
std::vector<std::string> list_function_names();
/// The numbers that such a call gives over a dim; reported otherwise.
std::optional<std::vector<double>> list_of_function(Workspace& workspace, tree::Expr const& call, DimId dim);
/// A bank over a dim; reports why there is none. `call`: that asks for it.
std::optional<DecayBank> bank_of(Workspace& workspace, tree::Expr const& call, BankRequest const& request, DimId dim);
/// The arguments of `ggd_position(...)` or `power_position(...)`: what it may be, and its sd; reported otherwise.
struct KernelPrior {
    BankRequest request;
    tree::Expr const* sd = nullptr;
};
std::optional<KernelPrior> kernel_prior_of(Workspace& workspace, tree::Expr const& call);
/// The mean of the weights of a bank whose kernel is learnt: makes the choice among kernels, and what is reported of it.
std::optional<Term> mean_of_learnt_kernel(Workspace& workspace, PriorStatement const& stated);
/// A list over `dims` as a leaf, its shape checked.
std::optional<Term> literal_of(Workspace& workspace, tree::Expr const& list, std::vector<DimId> const& dims,
                               std::uint32_t* index = nullptr);

/// The algebra of values; each reports what does not fit, with `a` and `b` as written.
class Algebra {
  public:
    explicit Algebra(Workspace& workspace) : workspace_(workspace) {}

    struct Operand {
        Value value;
        tree::Expr const& expr;
    };
    Value multiply(Operand const& a, Operand const& b, Span span);
    Value multiply_elementwise(Operand const& a, Operand const& b, Span span);
    Value add(Operand const& a, Operand const& b, bool is_minus, Span span);
    Value divide(Operand const& a, Operand const& b, Span span, bool is_report);
    Value power(Operand const& a, Operand const& exponent, Span span, bool is_report);
    Value apply(Function function, Operand const& a, Span span, bool is_report);
    Value diagonal(Operand const& a, Span span);
    /// The entry along `dim`, of which the shape has one, that the label of `data` picks, `lag` steps back.
    Value pick(Value const& a, DimId dim, SymbolId data, std::uint16_t lag);
    Value transpose(Operand const& a);
    Value negate(Value a);

  private:
    void product_does_not_fit(Operand const& a, Operand const& b, Span span);
    bool may_be_nonlinear(Operand const& a, std::string const& what, bool is_report);
    std::string describe(Operand const& operand) const;

    Workspace& workspace_;
};

/// h[t] = coefficient h[t-1] + input.
struct Recurrence {
    Term coefficient = 0;
    Term input = 0;
};
/// Takes the body of a state apart that mentions its own value one step back; reports BAM0210..0212.
std::optional<Recurrence> take_apart(Workspace& workspace, Term body, SymbolId state, Shape const& shape, tree::Expr const& rhs);

/// The statement as its author wrote it, its lists taken apart.
StatedPrior as_written(Workspace const& workspace, PriorStatement const& prior);

/// Whether two regions share entries.
bool overlap(Region const& a, Region const& b);

/// The distribution on the right of `~`; nothing if it was refused.
std::optional<Distribution> read_distribution(Workspace& workspace, tree::Statement const& statement);

}  // namespace bam
