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
        bool const is_label = part.op == Op::Member && std::binary_search(node.summed.begin(), node.summed.end(), Terms::labels_of(part));
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

std::vector<LabelColumns> label_columns(Model const& model) {
    std::vector<LabelColumns> result;
    for (DimId dim = 0; dim < model.dims.size(); ++dim) {
        if (!model.dims[dim].is_of_table) continue;
        LabelColumns& one = result.emplace_back(LabelColumns{model.dims[dim].name, {}});
        for (Binding const& binding : model.bindings)
            if (binding.symbol && model.symbols[*binding.symbol].label_dim == dim)
                one.columns.push_back(binding.columns.front().args.front());
    }
    return result;
}

}  // namespace bam
