#include "pick.hpp"

#include <algorithm>

namespace bam {

std::optional<Pick> take_pick(Terms const& terms, Term term) {
    Node const& node = terms[term];
    if (node.args.empty()) return Pick{term, {}};
    if (node.op != Op::Contract) return std::nullopt;
    Pick pick;
    std::size_t leaves = 0;
    for (Term const arg : node.args) {
        Node const& part = terms[arg];
        bool const is_label =
            part.op == Op::Member && std::binary_search(node.summed.begin(), node.summed.end(), Terms::labels_of(part));
        if (is_label) {
            pick.members.push_back(arg);
            continue;
        }
        pick.leaf = arg;
        ++leaves;
        if (!part.args.empty()) return std::nullopt;
    }
    bool const is_one = leaves == 1 && pick.members.size() == node.summed.size();
    return is_one ? std::optional(pick) : std::nullopt;
}

}  // namespace bam
