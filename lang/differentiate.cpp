// The exact derivative of a term in a leaf of degree one: sums differentiate by summand, products by factor, a recurrence whose coefficient
// does not hold the leaf is linear in its input. What comes out is the tangent program (math.md, 4. The conditional), with every Delta
// already removed that can be.
#include <unordered_map>

#include "passes.hpp"

namespace bam {
namespace {

struct Differentiation {
    Model& model;
    Leaf leaf;
    std::uint16_t copy;
    std::unordered_map<Term, Term> done;

    Term of(Term term) {
        if (auto it = done.find(term); it != done.end()) return it->second;
        Term const result = compute(term);
        done.emplace(term, result);
        return result;
    }

    Term compute(Term term) {
        Terms& terms = model.terms;
        Node const node = terms[term];
        switch (node.op) {
            case Op::Constant:
            case Op::Literal:
            case Op::Member:
            case Op::Weight:
            case Op::Covariance:
            case Op::Delta: return terms.zero();
            case Op::Data:
            case Op::LagData:
            case Op::Param:
            case Op::Previous: {
                if (node.op != leaf.op || node.payload != leaf.payload || node.lag != leaf.lag) return terms.zero();
                std::vector<Term> product;
                for (Axis axis : node.axes) {
                    if (model.dims[axis.dim].role == Role::Labelled) product.push_back(terms.delta(axis, {axis.dim, copy}));
                }
                return terms.multiply(std::move(product));
            }
            case Op::Add: {
                std::vector<Term> sum;
                for (Term arg : node.args) sum.push_back(of(arg));
                return terms.add(std::move(sum));
            }
            case Op::Multiply:
            case Op::Contract: {
                std::vector<Term> sum;
                for (std::size_t i = 0; i < node.args.size(); ++i) {
                    Term const tangent = of(node.args[i]);
                    if (tangent == terms.zero()) continue;
                    std::vector<Term> product(node.args);
                    product[i] = tangent;
                    sum.push_back(terms.contract(std::move(product), node.summed));
                }
                return terms.add(std::move(sum));
            }
            case Op::Scan: return terms.scan(node.args[0], of(node.args[1]), Terms::time_of(node));
            case Op::Shift: return terms.shift(of(node.args[0]), Terms::time_of(node));
            case Op::Apply: return terms.zero();  // degree() lets only arguments of degree 0 through
        }
        return terms.zero();
    }
};

}  // namespace

Term differentiate(Model& model, Term term, Leaf leaf, std::uint16_t copy) { return Differentiation{model, leaf, copy, {}}.of(term); }

Term without(Model& model, Term term, Leaf leaf) {
    return model.terms.substitute(term, [&](Term candidate, Term& replacement) {
        Node const& node = model.terms[candidate];
        if (node.op != leaf.op || node.payload != leaf.payload) return false;
        replacement = model.terms.zero();
        return true;
    });
}

bool mentions(Model const& model, Term term, Leaf leaf) {
    return model.terms.any(term, [&](Node const& node) { return node.op == leaf.op && node.payload == leaf.payload; });
}

}  // namespace bam
