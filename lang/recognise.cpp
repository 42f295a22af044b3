#include "recognise.hpp"

#include <algorithm>

#include "conditional.hpp"

namespace bam {

std::optional<KroneckerForm> recognise_kronecker(Model& model, Term covariates, std::vector<DimId> const& joint) {
    Node const node = model.terms[covariates];
    if (node.op != Op::Multiply || node.has_delta) return std::nullopt;
    std::vector<Term> left, right;
    for (Term factor : node.args) {
        Axes const& axes = model.terms.axes(factor);
        bool const knows_target = std::any_of(
            axes.begin(), axes.end(), [&](Axis axis) { return axis.copy != entry_copy && model.dims[axis.dim].role == Role::Labelled; });
        bool const is_entry = std::any_of(axes.begin(), axes.end(), [](Axis axis) { return axis.copy == entry_copy; });
        (is_entry && !knows_target ? left : right).push_back(factor);
    }
    // With nothing on the right that knows the target, any split will do: the first entry factor stays left.
    auto is_entry = [&](Term factor) {
        Axes const& axes = model.terms.axes(factor);
        return std::any_of(axes.begin(), axes.end(), [](Axis axis) { return axis.copy == entry_copy; });
    };
    if (std::none_of(right.begin(), right.end(), is_entry) && left.size() > 1) {
        right.insert(right.end(), left.begin() + 1, left.end());
        left.resize(1);
    }
    if (left.empty() || right.empty()) return std::nullopt;

    KroneckerForm form;
    form.left = model.terms.multiply(left);
    form.right = model.terms.multiply(right);
    for (DimId dim : joint) {
        bool const in_left = model.terms.has_axis(form.left, {dim, entry_copy});
        bool const in_right = model.terms.has_axis(form.right, {dim, entry_copy});
        if (in_left == in_right) return std::nullopt;
        (in_left ? form.left_dims : form.right_dims).push_back(dim);
    }
    if (form.left_dims.empty() || form.right_dims.empty()) return std::nullopt;
    return form;
}

}  // namespace bam
