// Takes the body of a state apart into the coefficient of its own previous step and the rest.
// Codes of this file:
//   BAM0210  a coefficient that mixes entries
//   BAM0211  a body that is not linear in the previous step
//   BAM0212  a state that is 0 at every step
#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "workspace.hpp"

namespace bam {
namespace {

constexpr std::uint16_t entry = 64;  ///< copies from here on name an entry of the previous step

Axis entry_of(Axis axis) { return {axis.dim, static_cast<std::uint16_t>(axis.copy + entry)}; }

/// d body / d previous step: a tensor over the entries of both. Nothing where the body is not linear in it.
class Derivative {
  public:
    Derivative(Terms& terms, SymbolId state, Axes const& own) : terms_(terms), state_(state), own_(own) {}

    std::optional<Term> of(Term term) {
        if (auto it = done_.find(term); it != done_.end()) return it->second;
        std::optional<Term> const result = compute(term);
        if (!result && !culprit) culprit = term;
        done_.emplace(term, result);
        return result;
    }

    std::optional<Term> culprit;  ///< the innermost term that is not linear

  private:
    bool is_free(Term term) const {
        return !terms_.any(term, [&](Node const& node) { return node.op == Op::Previous && node.payload == state_; });
    }

    std::optional<Term> compute(Term term) {
        if (is_free(term)) return terms_.zero();
        Node const node = terms_[term];
        if (node.op == Op::Previous) return entries(node);
        if (node.op == Op::Add) {
            std::vector<Term> sum;
            for (Term arg : node.args) {
                auto const part = of(arg);
                if (!part) return std::nullopt;
                sum.push_back(*part);
            }
            return terms_.add(std::move(sum));
        }
        if (node.op != Op::Multiply && node.op != Op::Contract) return std::nullopt;
        auto const depends = [&](Term arg) { return !is_free(arg); };
        if (std::count_if(node.args.begin(), node.args.end(), depends) > 1) return std::nullopt;
        auto const at = std::find_if(node.args.begin(), node.args.end(), depends);
        auto const part = of(*at);
        if (!part) return std::nullopt;
        std::vector<Term> product(node.args);
        product[static_cast<std::size_t>(at - node.args.begin())] = *part;
        return terms_.contract(std::move(product), node.summed);
    }

    /// 1 where the leaf's axes, under whatever names, agree with those of the entry. Of two axes over one dim the leaf does not say which
    /// is which, so they must have the names they were made with.
    Term entries(Node const& leaf) {
        std::vector<Term> product;
        for (Axis axis : own_) {
            for (Axis called : leaf.axes) {
                bool const is_it = called.dim == axis.dim && (called == axis || !has_twin(axis));
                if (is_it) product.push_back(terms_.delta(called, entry_of(axis)));
            }
        }
        return terms_.multiply(std::move(product));
    }

    bool has_twin(Axis axis) const {
        return std::count_if(own_.begin(), own_.end(), [&](Axis other) { return other.dim == axis.dim; }) > 1;
    }

    Terms& terms_;
    SymbolId state_;
    Axes const& own_;
    std::unordered_map<Term, std::optional<Term>> done_;
};

/// Whether every summand pairs each axis with that of the entry.
bool is_elementwise(Terms const& terms, Term derivative, Axes const& own) {
    Node const& node = terms[derivative];
    if (node.op == Op::Add) {
        return std::all_of(node.args.begin(), node.args.end(), [&](Term arg) { return is_elementwise(terms, arg, own); });
    }
    return std::all_of(own.begin(), own.end(), [&](Axis axis) {
        auto const pairs = [&](Term factor) { return terms[factor].op == Op::Delta && terms[factor].axes == Axes{axis, entry_of(axis)}; };
        return pairs(derivative) || (node.op == Op::Multiply && std::any_of(node.args.begin(), node.args.end(), pairs));
    });
}

}  // namespace

std::optional<Recurrence> take_apart(Workspace& workspace, Term body, SymbolId state, Shape const& shape, tree::Expr const& rhs) {
    Model& model = workspace.model;
    std::string const& name = model.symbols[state].name;
    std::string const& t = model.dims[*model.time].name;
    Axes const own = shape.axes();
    Derivative derivative(model.terms, state, own);
    std::optional<Term> coefficient = derivative.of(body);
    if (!coefficient) {
        auto const written = model.uses.find(*derivative.culprit);
        workspace.error(211, written == model.uses.end() ? rhs.span : written->second,
                        fmt::format("`{}` is not linear in `{}[{}-1]`", name, name, t),
                        fmt::format("a recurrence is `{0}[{1}] = a * {0}[{1}-1] + ...`, and `...` does not hold `{0}`", name, t));
        return std::nullopt;
    }
    if (!is_elementwise(model.terms, *coefficient, own)) {
        workspace.error(
            210, rhs.span, fmt::format("the recurrence of `{}` mixes its entries", name), "",
            {fmt::format("bam has only elementwise coefficients: `a[{0}] * {1}[{0}-1]`, or `diag(a[{0}]) * {1}[{0}-1]` for one per row", t,
                         name)});
        return std::nullopt;
    }
    for (Axis axis : own) coefficient = model.terms.rename(*coefficient, entry_of(axis), axis);
    Term const input = without(model, body, {Op::Previous, state, 0});
    if (input == model.terms.zero()) {
        workspace.error(212, rhs.span, fmt::format("`{}` is 0 at every step", name), "nothing is ever added to it",
                        {fmt::format("`{}` before the first step is 0: add what drives it", name)});
        return std::nullopt;
    }
    return Recurrence{*coefficient, input};
}

}  // namespace bam
