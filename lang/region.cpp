// What a left-hand side speaks of: `a[t > 0]`, `W_v[conc, dose]`, `y[t]`, `theta[seq = S1]`.
// Codes of this file:
//   BAM0106  an index that is no step, range or label of the variable
//   BAM0107  a label that its dim does not have
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "nearest.hpp"
#include "workspace.hpp"

namespace bam {
namespace {

using tree::Expr;
using tree::ExprKind;

constexpr double largest_step = 1e9;
constexpr std::size_t most_regions = 10000;

bool is_comparison(ExprKind kind) {
    return kind == ExprKind::Less || kind == ExprKind::LessEqual || kind == ExprKind::Greater || kind == ExprKind::GreaterEqual ||
           kind == ExprKind::Equal || kind == ExprKind::NotEqual;
}

/// A whole number from 0, that is small enough to be one of steps or entries.
bool is_count(Expr const& expr) {
    return expr.kind == ExprKind::Number && expr.value >= 0 && expr.value == std::floor(expr.value) && expr.value <= largest_step;
}

/// Reads the indices of one left-hand side.
class Regions {
  public:
    Regions(Workspace& workspace, Expr const& target, SymbolId symbol, bool labels_may_be_absent)
        : workspace_(workspace),
          model_(workspace.model),
          target_(target),
          symbol_(symbol),
          labels_may_be_absent_(labels_may_be_absent),
          dims_(model_.symbols[symbol].dims) {}

    std::optional<std::vector<Region>> run() {
        std::vector<Expr const*> slots(dims_.size(), nullptr);
        if (target_.kind == ExprKind::Index && !assign_slots(slots)) return std::nullopt;
        std::vector<Region> regions(1);
        for (std::size_t i = 0; i < dims_.size(); ++i) {
            if (slots[i] && !restrict(regions, dims_[i], *slots[i])) return std::nullopt;
        }
        return regions;
    }

  private:
    bool refuse(Expr const& index, std::string message, std::string label = {}) {
        workspace_.error(106, index.span, std::move(message), std::move(label),
                         {fmt::format("`{}` is declared over {}", target_.text, workspace_.list_dims(dims_))});
        return false;
    }

    /// The dim that an index names itself.
    std::optional<DimId> named_dim(Expr const& index) const {
        Expr const& side = is_comparison(index.kind) ? index.args[0] : index;
        bool const is_named = side.kind == ExprKind::Name || side.kind == ExprKind::Assign;
        Name const* const name = is_named ? workspace_.find(side.text) : nullptr;
        if (!name || name->kind != NameKind::Dim) return std::nullopt;
        // `conc` may be the label of one dim and the name of another: only a dim of the variable counts, but for `dim = label`.
        auto const dim = static_cast<DimId>(name->id);
        bool const is_own = std::find(dims_.begin(), dims_.end(), dim) != dims_.end();
        return is_own || index.kind != ExprKind::Name ? std::optional(dim) : std::nullopt;
    }

    /// Indices that name their dim stand for it, the others for what is left, in order.
    bool assign_slots(std::vector<Expr const*>& slots) {
        bool const is_full = target_.args.size() == dims_.size();
        std::vector<Expr const*> unnamed;
        for (std::size_t i = 0; i < target_.args.size(); ++i) {
            Expr const& index = target_.args[i];
            auto const dim = named_dim(index);
            if (!dim) {
                unnamed.push_back(&index);
                continue;
            }
            auto const at = static_cast<std::size_t>(std::find(dims_.begin(), dims_.end(), *dim) - dims_.begin());
            if (at == dims_.size()) return refuse(index, fmt::format("`{}` is not over `{}`", target_.text, model_.dims[*dim].name));
            if (slots[at]) return refuse(index, fmt::format("`{}` is indexed twice", model_.dims[*dim].name));
            if (is_full && at != i && index.kind == ExprKind::Name) return refuse(index, "the dims stand in another order");
            slots[at] = &index;
        }
        std::vector<std::size_t> free;
        for (std::size_t at = 0; at < dims_.size(); ++at) {
            bool const may_be_left_out = !is_full && model_.dims[dims_[at]].role != Role::Labelled;
            if (!slots[at] && !may_be_left_out) free.push_back(at);
        }
        if (unnamed.empty()) return true;
        if (unnamed.size() != free.size()) {
            bool const has_none = std::none_of(dims_.begin(), dims_.end(), [&](DimId d) { return model_.dims[d].role == Role::Labelled; });
            if (dims_.empty()) return refuse(*unnamed.front(), fmt::format("`{}` is one number", target_.text), "and has no index");
            if (auto const time = time_dim(); time && has_none && unnamed.size() == 1 && is_unknown(*unnamed.front()))
                return refuse(*unnamed.front(), fmt::format("there is no dim `{}`", unnamed.front()->text),
                              fmt::format("the steps of `{}` are called `{}`", target_.text, model_.dims[*time].name));
            return refuse(*unnamed.front(), fmt::format("it is not clear which dim of `{}` this is", target_.text),
                          has_none ? "it has no labelled dim" : "say the dim, as in `unit = 2`");
        }
        for (std::size_t i = 0; i < unnamed.size(); ++i) slots[free[i]] = unnamed[i];
        return true;
    }

    bool is_unknown(Expr const& index) const { return index.kind == ExprKind::Name && workspace_.find(index.text) == nullptr; }

    std::optional<DimId> time_dim() const {
        auto const it = std::find_if(dims_.begin(), dims_.end(), [&](DimId d) { return model_.dims[d].role == Role::Time; });
        return it == dims_.end() ? std::nullopt : std::optional(*it);
    }

    /// Narrows the regions in one dim; a range of labels multiplies them.
    bool restrict(std::vector<Region>& regions, DimId dim, Expr const& index) {
        if (index.kind == ExprKind::Name && index.text == model_.dims[dim].name) return true;
        if (model_.dims[dim].role == Role::Time) {
            auto const steps = read_steps(workspace_, index);
            if (!steps) return refuse(index, "this is not a range of steps", "a range is `t > 0`, `t = 0` or `t < 3`");
            std::size_t const first = std::max(steps->first_step, model_.symbols[symbol_].first_step);
            if (first > steps->last_step) return refuse(index, fmt::format("`{}` has no entries there", target_.text));
            for (Region& region : regions) {
                region.first_step = first;
                region.last_step = steps->last_step;
            }
            return true;
        }
        std::vector<Region::Labels> labels;
        if (!read_labels(dim, index, labels)) return false;
        std::vector<Region> result;
        for (Region const& region : regions) {
            for (Region::Labels const& label : labels) {
                result.push_back(region);
                result.back().labels.push_back(label);
            }
        }
        if (result.size() > most_regions) return refuse(index, "this speaks of too many entries one by one");
        regions = std::move(result);
        return true;
    }

    bool read_labels(DimId dim, Expr const& index, std::vector<Region::Labels>& labels) {
        Expr const* value = &index;
        if (index.kind == ExprKind::Assign) value = &index.args[0];
        if (index.kind == ExprKind::Equal) value = &index.args[1];
        if (value->kind == ExprKind::Range) return read_range(dim, *value, labels);
        auto const label = label_of(dim, *value);
        if (!label) return false;
        labels.push_back({dim, *label, value->span});
        return true;
    }

    bool read_range(DimId dim, Expr const& range, std::vector<Region::Labels>& labels) {
        Dim const& d = model_.dims[dim];
        auto const first = label_of(dim, range.args[0]);
        auto const last = label_of(dim, range.args[1]);
        if (!first || !last) return false;
        if (d.is_of_table && !d.size) {  // what lies between is known once there is a table
            labels.push_back({dim, *first, range.span});
            labels.push_back({dim, *last, range.span});
            return true;
        }
        if (d.labels.empty())
            return count_range(d, range, [&](std::string label) { labels.push_back({dim, std::move(label), range.span}); });
        auto const begin = std::find(d.labels.begin(), d.labels.end(), *first);
        auto const end = std::find(d.labels.begin(), d.labels.end(), *last);
        if (begin == d.labels.end() || end == d.labels.end()) {  // of a prior set: nothing is between what is not there
            labels.push_back({dim, begin == d.labels.end() ? *first : *last, range.span});
            return true;
        }
        if (begin > end) return refuse(range, fmt::format("`{}` comes after `{}`", *first, *last));
        for (auto it = begin; it != end + 1; ++it) labels.push_back({dim, *it, range.span});
        return true;
    }

    /// Entries without labels are numbered. Sequences have labels, of which only whole numbers say what lies between.
    template <typename Add>
    bool count_range(Dim const& dim, Expr const& range, Add add) {
        for (Expr const& end : range.args) {
            if (end.kind != ExprKind::Number) return refuse(range, fmt::format("the labels of `{}` are not known", dim.name));
            if (!is_count(end))
                return refuse(end, fmt::format("`{}` is no whole number", workspace_.text(end.span)), "a range counts from 0 up to 1e9");
        }
        auto const first = static_cast<std::size_t>(range.args[0].value);
        auto const last = static_cast<std::size_t>(range.args[1].value);
        if (first > last) return refuse(range, fmt::format("`{}` comes after `{}`", first, last));
        if (last - first >= most_regions) return refuse(range, "this speaks of too many entries one by one");
        for (std::size_t i = first; i <= last; ++i) add(std::to_string(i));
        return true;
    }

    /// A label as text, checked if the labels are known. Sequences may be called anything.
    std::optional<std::string> label_of(DimId dim, Expr const& value) {
        Dim const& d = model_.dims[dim];
        bool const is_word = value.kind == ExprKind::Name || value.kind == ExprKind::Text;
        if (!is_word && value.kind != ExprKind::Number) {
            Diagnostic& error = workspace_.error(106, value.span, fmt::format("this is not a label of `{}`", d.name));
            if (value.kind == ExprKind::Negate) error.notes.push_back(hint("\"" + workspace_.text(value.span) + "\""));
            error.notes.push_back("a label that is no name or number stands in quotes");
            return std::nullopt;
        }
        std::string label = is_word ? value.text : workspace_.text(value.span);
        if (d.role == Role::Sequence) return label;
        if (d.is_of_table && !d.size) return label;  // which there are is known once there is a table
        if (!d.labels.empty()) {
            bool const is_there = std::find(d.labels.begin(), d.labels.end(), label) != d.labels.end();
            if (is_there || (labels_may_be_absent_ && d.is_of_table)) return label;
            Diagnostic& error = workspace_.error(107, value.span, fmt::format("`{}` has no label `{}`", d.name, label));
            if (auto const near = nearest(label, d.labels)) error.notes.push_back(hint(*near));
            error.notes.push_back(fmt::format("its labels are {}", enumerate(d.labels)));
            return std::nullopt;
        }
        bool const is_index = !is_word && value.value >= 1 && value.value == std::floor(value.value);
        bool const is_in = is_index && (!d.size || value.value <= static_cast<double>(*d.size));
        bool const may_be_label = is_word && !d.size && !workspace_.has_table;
        if (is_in) return fmt::format("{:.0f}", value.value);
        if (may_be_label) return label;
        workspace_.error(107, value.span, fmt::format("`{}` has no entry `{}`", d.name, label), "",
                         {d.size ? fmt::format("its entries are 1 to {}", *d.size) : "its entries are numbered from 1"});
        return std::nullopt;
    }

    Workspace& workspace_;
    Model const& model_;
    Expr const& target_;
    SymbolId symbol_;
    bool labels_may_be_absent_;
    std::vector<DimId> dims_;
};

std::optional<std::size_t> step_of(Workspace& workspace, Expr const& expr) {
    if (is_count(expr)) return static_cast<std::size_t>(expr.value);
    workspace.error(106, expr.span, "a step is a whole number from 0", "steps of a sequence count from 0");
    return std::nullopt;
}

}  // namespace

bool overlap(Region const& a, Region const& b) {
    if (a.first_step > b.last_step || b.first_step > a.last_step) return false;
    return std::none_of(a.labels.begin(), a.labels.end(), [&](Region::Labels const& x) {
        return std::any_of(b.labels.begin(), b.labels.end(), [&](Region::Labels const& y) { return x.dim == y.dim && x.label != y.label; });
    });
}

std::optional<std::vector<Region>> read_regions(Workspace& workspace, Expr const& target, SymbolId symbol, bool labels_may_be_absent) {
    return Regions(workspace, target, symbol, labels_may_be_absent).run();
}

std::optional<Region> read_steps(Workspace& workspace, Expr const& index) {
    Region region;
    bool const is_range = is_comparison(index.kind) && index.kind != ExprKind::NotEqual;
    Expr const* const name = is_range ? &index.args[0] : &index;
    bool const is_named = name->kind == ExprKind::Name || name->kind == ExprKind::Assign;
    if (index.kind != ExprKind::Number && index.kind != ExprKind::Range) {
        Name const* const dim = is_named ? workspace.find(name->text) : nullptr;
        if (!dim || dim->kind != NameKind::Dim || workspace.model.time != static_cast<DimId>(dim->id)) return std::nullopt;
    }
    Expr const& value = index.kind == ExprKind::Assign ? index.args[0] : is_range ? index.args[1] : index;
    if (value.kind == ExprKind::Name && &value == &index) return region;  // `t`
    if (value.kind == ExprKind::Range) {
        auto const first = step_of(workspace, value.args[0]);
        auto const last = step_of(workspace, value.args[1]);
        if (first && last && *first > *last) workspace.error(106, value.span, "the range is empty");
        if (first && last && *first <= *last) region.first_step = *first, region.last_step = *last;
        return region;
    }
    auto const step = step_of(workspace, value);
    if (!step) return region;
    switch (index.kind) {
        case ExprKind::Greater: region.first_step = *step + 1; break;
        case ExprKind::GreaterEqual: region.first_step = *step; break;
        case ExprKind::Less:
            if (*step == 0) workspace.error(106, index.span, "there is no step before 0");
            region.last_step = *step == 0 ? SIZE_MAX : *step - 1;
            break;
        case ExprKind::LessEqual: region.last_step = *step; break;
        default: region.first_step = region.last_step = *step; break;
    }
    return region;
}

}  // namespace bam
