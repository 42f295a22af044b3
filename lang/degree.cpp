// Degree of a term in a block: 0 for what does not mention it, the maximum over sums, the sum over products (math.md, 3. What is proved).
#include <algorithm>
#include <unordered_map>

#include "passes.hpp"

namespace bam {
namespace {

struct Walk {
    Model const& model;
    SymbolId block;
    std::unordered_map<Term, int> degrees;
    Degree worst;

    int note(Term term, int value, char const* reason) {
        if (value > 1 && worst.value <= 1) worst = {value, term, reason};
        return std::min(value, Degree::unbounded);
    }

    int of(Term term) {
        if (auto it = degrees.find(term); it != degrees.end()) return it->second;
        int const value = compute(term);
        degrees.emplace(term, value);
        return value;
    }

    int compute(Term term) {
        Node const& node = model.terms[term];
        switch (node.op) {
            case Op::Param: return node.payload == block ? 1 : 0;
            case Op::Constant:
            case Op::Literal:
            case Op::Data:
            case Op::LagData:
            case Op::Member:
            case Op::Previous:
            case Op::Weight:
            case Op::Covariance:
            case Op::Delta: return 0;
            case Op::Shift: return of(node.args[0]);
            case Op::Add: {
                int most = 0;
                for (Term arg : node.args) most = std::max(most, of(arg));
                return most;
            }
            case Op::Multiply:
            case Op::Contract: {
                int sum = 0;
                for (Term arg : node.args) sum += of(arg);
                return note(term, sum, "it is multiplied by itself");
            }
            case Op::Apply:
                return of(node.args[0]) > 0 ? note(term, Degree::unbounded, "it goes through a function that is not linear") : 0;
            case Op::Scan: return of_scan(term, node);
        }
        return 0;
    }

    /// h[t] = c[t] h[t-1] + u[t]. Every path from u[s] to h[t] multiplies c[s+1] ... c[t], each once: a block over time inside c has degree
    /// one in each of its entries, a block that all steps share has the power t - s.
    int of_scan(Term term, Node const& node) {
        int const coefficient = of(node.args[0]);
        int const input = of(node.args[1]);
        if (coefficient == 0) return input;
        if (!model.is_over(block, model.time))
            return note(term, Degree::unbounded, "all steps share it inside a recurrence, so step t holds its power t");
        auto is_lagged = [&](Node const& inner) { return inner.op == Op::Param && inner.payload == block && inner.lag > 0; };
        if (model.terms.any(term, is_lagged)) return note(term, Degree::unbounded, "a recurrence multiplies one step of it by the next");
        return std::max(coefficient, input);
    }
};

}  // namespace

Degree degree(Model const& model, Term term, SymbolId block) {
    Walk walk{model, block, {}, {}};
    int const value = walk.of(term);
    if (value > 1) return walk.worst;
    return {value, term, {}};
}

}  // namespace bam
