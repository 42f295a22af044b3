// Statements to factors: the mean, the residual and the spread of every normal there is.
// Codes of this file:
//   BAM0128  a mean of another shape
//   BAM0129  a mean or a spread that changes with what its target does not change with
//   BAM0130  a spread that is no product of numbers, data and parameters
//   BAM0133  a spread of another shape or sign
//   BAM0134  a covariance
//   BAM0136  data that are their own mean
//   BAM0159  the interval of what is no prior of a mean
//   BAM0156  a spread of a size that cannot be computed with
//   BAM0160  weights that are no list of numbers, some of them above 0
//   BAM0161  a categorical parameter without a dim to choose along
//   BAM0218  an interval of a prior whose mean or spread is not known
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "local_scales.hpp"
#include "pick.hpp"
#include "workspace.hpp"

namespace bam {
namespace {

using tree::Expr;
using tree::ExprKind;
using tree::Statement;
using tree::StatementKind;

/// Whether a matrix, row by row, is symmetric with a Cholesky factor.
bool is_positive_definite(std::vector<double> matrix, std::size_t k) {
    for (std::size_t i = 0; i < k; ++i) {
        for (std::size_t j = 0; j < i; ++j) {
            double const tolerance = 1e-12 * (std::abs(matrix[i * k + j]) + std::abs(matrix[j * k + i]));
            if (std::abs(matrix[i * k + j] - matrix[j * k + i]) > tolerance) return false;
        }
    }
    for (std::size_t j = 0; j < k; ++j) {
        for (std::size_t i = j; i < k; ++i) {
            double sum = matrix[i * k + j];
            for (std::size_t m = 0; m < j; ++m) sum -= matrix[i * k + m] * matrix[j * k + m];
            if (i == j && !(sum > 0)) return false;
            matrix[i * k + j] = i == j ? std::sqrt(sum) : sum / matrix[j * k + j];
        }
    }
    return true;
}

/// Makes the factor of one statement.
class Building {
  public:
    Building(Workspace& workspace, PriorStatement const& stated, bool is_observation)
        : workspace_(workspace),
          model_(workspace.model),
          stated_(stated),
          symbol_(model_.symbols[stated.symbol]),
          is_observation_(is_observation) {
        for (DimId dim : workspace_.labelled_dims(stated.symbol)) {
            bool const is_named =
                std::any_of(stated.region.labels.begin(), stated.region.labels.end(), [&](auto const& label) { return label.dim == dim; });
            if (!is_named) rest_.push_back(dim);
        }
    }

    std::optional<Factor> run() {
        Terms& terms = model_.terms;
        Distribution const& distribution = *stated_.distribution;
        Factor factor;
        factor.target = stated_.symbol;
        factor.region = stated_.region;
        factor.is_observation = is_observation_;
        factor.span = stated_.statement->span;
        Term const target = terms.leaf(is_observation_ ? Op::Data : Op::Param, stated_.symbol, model_.axes_of(stated_.symbol));
        if (distribution.family == Distribution::Family::Flat || distribution.family == Distribution::Family::Learn) {
            factor.mean = terms.zero();
        } else if (distribution.family == Distribution::Family::Categorical) {
            factor.mean = terms.zero();
            factor.weights = read_weights(distribution);
            if (!factor.weights) return std::nullopt;
        } else {
            auto const mean = read_mean(distribution, target);
            auto const spread = read_spread(distribution);
            if (!mean || !spread) return std::nullopt;
            factor.mean = *mean;
            factor.spread = *spread;
            if (distribution.interval.is_bounded() && !is_known(distribution, factor)) return std::nullopt;
        }
        factor.interval = distribution.interval;
        factor.residual = terms.add({factor.mean, terms.negate(target)});
        return factor;
    }

  private:
    // ---- interval ----

    /// The share of a normal that lies in its interval must not change, or the conditionals of what it changes with would be of another
    /// form.
    bool is_known(Distribution const& distribution, Factor const& factor) {
        for (auto const& [terms, span, what] :
             {std::tuple(std::vector<Term>{factor.mean}, distribution.mean ? distribution.mean->span : distribution.span, "mean"),
              {values_of(factor.spread), distribution.scale_span, "spread"}}) {
            auto const culprit = find_unknown(terms);
            if (!culprit) continue;
            Symbol const& symbol = model_.symbols[*culprit];
            bool const is_data = symbol.kind == SymbolKind::Data;
            Diagnostic& d = workspace_.error(218, span, fmt::format("the interval of `{}` needs a {} that is known", symbol_.name, what),
                                             fmt::format("`{}` {}", symbol.name, is_data ? "may be missing" : "is learnt"));
            d.labels.push_back({distribution.interval_span, "how much of the normal lies in here would change with it"});
            d.notes.push_back(fmt::format("leave out `{}`", workspace_.text(distribution.interval_span)));
            if (!is_data) d.notes.push_back(fmt::format("or hold `{}` at a number: `{} fixed ...`", symbol.name, symbol.name));
            return false;
        }
        return true;
    }

    static std::vector<Term> values_of(std::vector<SpreadPart> const& parts) {
        std::vector<Term> terms;
        for (SpreadPart const& part : parts) terms.push_back(part.value);
        return terms;
    }

    /// A parameter that is not held, or an output that may be missing.
    std::optional<SymbolId> find_unknown(std::vector<Term> const& terms) const {
        for (Term const term : model_.terms.postorder(terms)) {
            Node const& node = model_.terms[term];
            if (node.op != Op::Param && node.op != Op::Data && node.op != Op::LagData) continue;
            auto const id = static_cast<SymbolId>(node.payload);
            Symbol const& symbol = model_.symbols[id];
            bool const is_known = node.op == Op::Param ? symbol.kind == SymbolKind::Fixed : !symbol.may_be_missing;
            if (!is_known) return id;
        }
        return std::nullopt;
    }

    Shape shape_of_rest() const {
        Shape shape;
        if (!rest_.empty()) shape.row = rest_[0];
        if (rest_.size() > 1) shape.column = rest_[1];
        return shape;
    }

    // ---- weights ----

    std::optional<Term> read_weights(Distribution const& distribution) {
        std::vector<DimId> const dims = workspace_.labelled_dims(stated_.symbol);
        if (dims.empty() || rest_.empty() || rest_.back() != dims.back()) {
            Diagnostic& d = workspace_.error(161, stated_.statement->lhs.span,
                                             dims.empty() ? fmt::format("`{}` has no dim along which one entry is chosen", symbol_.name)
                                                          : fmt::format("one of all `{}` is chosen, so the prior of one alone says nothing",
                                                                        model_.dims[dims.back()].name));
            d.labels.push_back({distribution.span, "1 at one entry of the last dim, 0 at the others"});
            d.notes.emplace_back(dims.empty()
                                     ? "declare it over a dim of what there is to choose from: `dims { group = 2 }` and `z[seq, group]`"
                                     : "say the weights of all: `categorical([0.9, 0.1])`");
            return std::nullopt;
        }
        if (!distribution.weights) return model_.terms.one();
        Expr const& expr = *distribution.weights;
        if (!is_list(expr)) {
            workspace_.error(160, expr.span, "weights are a list of numbers", "",
                             {fmt::format("one for each `{}`, as in `categorical([0.7, 0.3])`; without a list all weigh the same",
                                          model_.dims[dims.back()].name)});
            return std::nullopt;
        }
        auto const term = literal_of(workspace_, expr, {dims.back()});
        if (!term) return std::nullopt;
        std::vector<double> const& values = model_.literals[model_.terms[*term].payload].values;
        bool const is_good = std::all_of(values.begin(), values.end(), [](double value) { return value >= 0; });
        if (is_good && std::any_of(values.begin(), values.end(), [](double value) { return value > 0; })) return term;
        workspace_.error(160, expr.span, is_good ? "all weights are 0" : "a weight below 0", "",
                         {"weights are 0 or more; their sum need not be 1"});
        return std::nullopt;
    }

    // ---- mean ----

    std::optional<Term> read_mean(Distribution const& distribution, Term target) {
        if (distribution.mean_value) return model_.terms.constant(*distribution.mean_value);
        if (distribution.kernels) return mean_of_learnt_kernel(workspace_, stated_);
        Expr const& expr = *distribution.mean;
        if (is_list(expr)) return literal_of(workspace_, expr, rest_);
        Value const value = lower(workspace_, expr);
        if (!value.is_known) return std::nullopt;
        if (!has_shape(value, expr) || !stays_in_cell(value.term, expr.span, "mean")) return std::nullopt;
        if (model_.terms.any(value.term, [&](Node const& node) { return node == model_.terms[target]; })) {
            std::string const t = model_.time ? model_.dims[*model_.time].name : "t";
            workspace_.error(136, expr.span, fmt::format("`{}` stands in its own mean", symbol_.name), "",
                             {fmt::format("at an earlier step it may: `{}[{}-1]`", symbol_.name, t)});
            return std::nullopt;
        }
        return value.term;
    }

    /// A mean has the shape of what is left of its target. A scalar that all entries share, or a vector over one of two dims that is shared
    /// along the other, is a prior; of observations only a number is.
    bool has_shape(Value const& value, Expr const& expr) {
        Shape const wanted = shape_of_rest();
        bool const is_number = model_.terms[value.term].op == Op::Constant;
        bool const is_shared = value.shape.is_column() && std::find(rest_.begin(), rest_.end(), *value.shape.row) != rest_.end();
        if (value.shape == wanted || (value.shape.is_scalar() && is_number)) return true;
        if (!is_observation_ && (value.shape.is_scalar() || is_shared)) return true;
        Diagnostic& d = workspace_.error(128, expr.span, fmt::format("the mean of `{}` has another shape", symbol_.name),
                                         fmt::format("this is {}", workspace_.to_text(value.shape)));
        d.labels.push_back({stated_.statement->lhs.span, fmt::format("this is {}", workspace_.to_text(wanted))});
        if (Shape{value.shape.column, value.shape.row} == wanted)
            d.notes.push_back(hint(as_operand(workspace_, expr) + "'"));
        else if (value.shape.is_scalar())
            d.notes.push_back(fmt::format("each entry of {} needs a mean of its own", workspace_.list_dims(rest_)));
        return false;
    }

    bool stays_in_cell(Term term, Span span, char const* what) {
        for (Axis axis : model_.terms.axes(term)) {
            if (model_.dims[axis.dim].role == Role::Labelled || model_.is_over(stated_.symbol, axis.dim)) continue;
            std::string const& dim = model_.dims[axis.dim].name;
            Diagnostic& d =
                workspace_.error(129, span, fmt::format("this {} changes with `{}`, but `{}` does not", what, dim, symbol_.name));
            d.labels.push_back({symbol_.span, fmt::format("`{}` is not over `{}`", symbol_.name, dim)});
            d.notes.push_back(fmt::format("declare `{}` over `{}` too, or leave it out of the {}", symbol_.name, dim, what));
            return false;
        }
        return true;
    }

    // ---- spread ----

    std::optional<std::vector<SpreadPart>> read_spread(Distribution const& distribution) {
        std::vector<SpreadPart> parts;
        if (!distribution.scale) return parts;
        for (Expr const* operand : operands_of_spread(*distribution.scale)) {
            auto const value =
                distribution.spread == SpreadKind::Covariance ? covariance(*distribution.scale) : read_part(*operand, distribution.spread);
            if (!value) return std::nullopt;
            auto const learnt = learnt_in(*value);
            bool const is_twice =
                learnt && std::any_of(parts.begin(), parts.end(), [&](SpreadPart const& part) { return learnt_in(part.value) == learnt; });
            if (is_twice) {
                workspace_.error(130, operand->span, "a parameter stands twice in one spread",
                                 take_pick(model_.terms, *value)->members.empty()
                                     ? "its square has no conjugate prior"
                                     : "where both pick one entry it is a square, which has no conjugate prior");
                return std::nullopt;
            }
            parts.push_back({distribution.spread, *value});
            if (distribution.spread == SpreadKind::Covariance) break;
        }
        return parts;
    }

    /// The learnt parameter that a part of a spread is, or is picked from.
    std::optional<SymbolId> learnt_in(Term value) const {
        auto const pick = take_pick(model_.terms, value);
        if (!pick) return std::nullopt;
        Node const& node = model_.terms[pick->leaf];
        auto const symbol = static_cast<SymbolId>(node.payload);
        bool const is_learnt = node.op == Op::Param && model_.symbols[symbol].kind == SymbolKind::Scale;
        return is_learnt ? std::optional(symbol) : std::nullopt;
    }

    std::optional<Term> read_part(Expr const& expr, SpreadKind kind) {
        if (is_list(expr)) {
            auto const term = literal_of(workspace_, expr, rest_);
            return term && are_spreads(model_.literals[model_.terms[*term].payload].values, kind, expr.span) ? term : std::nullopt;
        }
        Value const value = lower(workspace_, expr);
        if (!value.is_known) return std::nullopt;
        auto const pick = take_pick(model_.terms, value.term).value_or(Pick{value.term, {}});
        Node const node = model_.terms[pick.leaf];
        if (node.op == Op::Constant) {
            return are_spreads({model_.terms.constant_value(value.term)}, kind, expr.span) ? std::optional(value.term) : std::nullopt;
        }
        if ((node.op != Op::Data && node.op != Op::Param) || node.lag > 0) {
            workspace_.error(130, expr.span, "a spread is a product of numbers, parameters and data, and nothing else that is computed", "",
                             {"a column is transformed in the table section; the prior of a parameter says its scale"});
            return std::nullopt;
        }
        auto const symbol = static_cast<SymbolId>(node.payload);
        if (!has_dims_of_target(symbol, pick, expr.span)) return std::nullopt;
        for (Term const member : pick.members) {
            if (model_.terms[member].lag > 0) {
                workspace_.error(
                    130, expr.span, "a label of steps back picks a spread", "before the first step there is none",
                    {"a spread goes by the label of its own step; what is known of the step before may be a column of the table"});
                return std::nullopt;
            }
            if (!stays_in_cell(member, expr.span, "spread")) return std::nullopt;
        }
        Symbol const& scale = model_.symbols[symbol];
        if (scale.kind == SymbolKind::Fixed && !are_spreads(model_.literals[*scale.literal].values, kind, expr.span)) return std::nullopt;
        bool const is_refused = scale.kind == SymbolKind::Block;  // its prior does not fit: settle_kinds has said so
        return is_refused ? std::nullopt : std::optional(value.term);
    }

    /// Above 0, and such that variance and precision are numbers that a double holds.
    bool are_spreads(std::vector<double> const& values, SpreadKind kind, Span span) {
        for (double const value : values) {
            if (!(value > 0)) {
                workspace_.error(133, span, "a spread must be greater than 0");
                return false;
            }
            double const squared = kind == SpreadKind::Sd ? value * value : value;
            if (std::isfinite(squared) && squared > 0 && std::isfinite(1 / squared)) continue;
            bool const is_wide = (value > 1) != (kind == SpreadKind::Precision);
            workspace_.error(156, span, fmt::format("a spread of {:.3g} is beyond what can be computed with", value),
                             kind == SpreadKind::Sd ? "its square, or one divided by it, is no number that can be held"
                                                    : "one divided by it is no number that can be held",
                             {is_wide ? "a prior as wide as that says nothing; `flat()` says so"
                                      : "what has no spread is held at its value by `fixed`"});
            return false;
        }
        return true;
    }

    bool has_dims_of_target(SymbolId scale, Pick const& pick, Span span) {
        for (DimId dim : model_.symbols[scale].dims) {
            bool const is_picked = std::any_of(pick.members.begin(), pick.members.end(),
                                               [&](Term const member) { return Terms::labels_of(model_.terms[member]).dim == dim; });
            if (is_picked || model_.is_over(stated_.symbol, dim)) continue;
            if (model_.dims[dim].role != Role::Labelled)
                return stays_in_cell(model_.terms.leaf(Op::Param, scale, model_.axes_of(scale)), span, "spread");
            Diagnostic& d = workspace_.error(
                133, span, fmt::format("`{}` has a spread for each `{}`", model_.symbols[scale].name, model_.dims[dim].name),
                fmt::format("`{}` is not over `{}`", symbol_.name, model_.dims[dim].name));
            d.labels.push_back({symbol_.span, fmt::format("`{}` is declared over {}", symbol_.name, workspace_.list_dims(symbol_.dims))});
            return false;
        }
        return true;
    }

    std::optional<Term> covariance(Expr const& expr) {
        std::vector<DimId> const dims = workspace_.labelled_dims(stated_.symbol);
        if (dims.empty() || rest_.empty() || rest_.back() != dims.back()) {
            workspace_.error(134, expr.span, "a covariance needs entries that vary together",
                             fmt::format("`{}` is a scalar here", symbol_.name), {"for a scalar: `sd = ...` or `var = ...`"});
            return std::nullopt;
        }
        if (expr.kind != ExprKind::List) {
            workspace_.error(134, expr.span, "a covariance is a list of lists of numbers", "", {"as in `cov = [[1, 0.5], [0.5, 1]]`"});
            return std::nullopt;
        }
        auto const term = literal_of(workspace_, expr, {dims.back(), dims.back()});
        if (!term) return std::nullopt;
        Literal const& literal = model_.literals[model_.terms[*term].payload];
        bool const is_square = literal.shape[0] == literal.shape[1];
        if (is_square && is_positive_definite(literal.values, literal.shape[0])) return term;
        workspace_.error(134, expr.span, "a covariance is a symmetric, positive definite matrix",
                         is_square ? "this is not" : "this is not square");
        return std::nullopt;
    }

    Workspace& workspace_;
    Model& model_;
    PriorStatement const& stated_;
    Symbol const symbol_;
    bool is_observation_;
    std::vector<DimId> rest_;  ///< labelled dims of the target that no label fixes
};

}  // namespace

void add_factors(Workspace& workspace) {
    Model& model = workspace.model;
    LocalScales local_scales(workspace);
    auto const add = [&](Factor factor, PriorStatement const& stated) {
        if (stated.distribution->local) factor.spread.push_back(local_scales.of(stated));
        if (stated.distribution->is_binary()) make_binary(model, factor);
        model.factors.push_back(std::move(factor));
    };
    for (PriorStatement const& stated : workspace.priors) {
        bool const is_scale = model.symbols[stated.symbol].kind == SymbolKind::Scale;
        if (!stated.distribution || stated.distribution->is_of_scale()) continue;
        bool const is_free = stated.distribution->family != Distribution::Family::Normal && !stated.distribution->is_of_scale();
        if (is_scale && stated.distribution->interval.is_bounded()) {
            Diagnostic& d = workspace.error(159, stated.distribution->interval_span,
                                            fmt::format("`{}` is a spread, and has no interval", model.symbols[stated.symbol].name),
                                            "only priors of other parameters have one");
            d.notes.push_back("a prior says how large it may be: `half_normal(1)` is hardly above 2");
        }
        if (is_scale && is_free) continue;
        auto const factor = Building(workspace, stated, false).run();
        if (factor && stated.is_chosen && !is_scale) add(*factor, stated);
    }
    for (PriorStatement const& stated : workspace.observations) {
        if (auto const factor = Building(workspace, stated, true).run()) add(*factor, stated);
    }
    for (std::uint32_t i = 0; i < model.factors.size(); ++i) {
        for (std::uint32_t later = i + 1; later < model.factors.size(); ++later) {
            Factor& factor = model.factors[i];
            if (factor.target == model.factors[later].target && overlap(factor.region, model.factors[later].region))
                factor.overridden_by.push_back(later);
        }
    }
}

}  // namespace bam
