#include "effective.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "plain_label.hpp"

namespace bam {
namespace {

constexpr std::size_t no_statement = SIZE_MAX;

/// Labels of one dim that are told apart, or ranges of steps.
struct Slice {
    std::string label;     ///< of a labelled or a sequence dim
    bool is_rest = false;  ///< every label that nobody names
    std::size_t first_step = 0;
    std::size_t last_step = SIZE_MAX;
};

/// As an index names it.
std::string written_label(Model const& model, std::string const& label) {
    bool const is_dim = std::any_of(model.dims.begin(), model.dims.end(), [&](Dim const& dim) { return dim.name == label; });
    return is_plain_label(label) && !is_dim ? label : "\"" + label + "\"";
}

/// `t > 0`, `t = 3`, `t = 1..3`, `t <= 3`, `t`.
std::string written_steps(std::string const& time, std::size_t first, std::size_t last) {
    if (first == last) return fmt::format("{} = {}", time, first);
    if (last == SIZE_MAX) return first == 0 ? time : fmt::format("{} > {}", time, first - 1);
    return first == 0 ? fmt::format("{} <= {}", time, last) : fmt::format("{} = {}..{}", time, first, last);
}

/// The entries of one parameter, cut where statements and lists tell them apart, and gathered again where they do not differ.
class Gathering {
  public:
    Gathering(Model const& model, SymbolId id) : model_(model), symbol_(model.symbols[id]) {
        for (std::size_t i = 0; i < model.stated.size(); ++i)
            if (model.stated[i].symbol == id && model.stated[i].is_chosen) own_.push_back(i);
    }

    std::vector<PriorLine> run(std::vector<bool>& is_used) {
        slice();
        std::size_t count = 1;
        for (auto const& axis : axes_) count *= axis.size();
        std::vector<bool> is_done(count, false);
        classes_.assign(count, no_statement);
        for (std::size_t atom = 0; atom < count; ++atom) classify(atom);
        std::vector<PriorLine> lines;
        for (std::size_t atom = 0; atom < count; ++atom) {
            if (is_done[atom] || classes_[atom] == no_statement) continue;
            Box const box = largest_box(atom, is_done);
            each(box, [&](std::size_t other) { return is_done[other] = true; });
            lines.push_back(line(atom, box));
            is_used[winners_[atom]] = true;
        }
        return lines;
    }

  private:
    using Box = std::vector<std::pair<std::size_t, std::size_t>>;  ///< first and last slice of every axis

    // ---- cutting ----

    void slice() {
        for (DimId const dim : symbol_.dims) axes_.push_back(model_.dims[dim].role == Role::Time ? steps() : labels(dim));
        // What nothing tells apart is one.
        bool const is_simple = own_.size() == 1 && model_.stated[own_[0]].region.labels.empty() && !has_list(model_.stated[own_[0]]);
        if (!is_simple) return;
        for (std::size_t k = 0; k < axes_.size(); ++k)
            if (model_.dims[symbol_.dims[k]].role != Role::Time) axes_[k] = {Slice{"", true}};
    }

    static bool has_list(StatedPrior const& stated) {
        return std::any_of(stated.arguments.begin(), stated.arguments.end(),
                           [](auto const& argument) { return !argument.entries.empty(); });
    }

    std::vector<Slice> steps() const {
        std::set<std::size_t> starts{symbol_.first_step};
        for (std::size_t const i : own_) {
            Region const& region = model_.stated[i].region;
            starts.insert(std::max(region.first_step, symbol_.first_step));
            if (region.last_step != SIZE_MAX) starts.insert(region.last_step + 1);
        }
        std::vector<Slice> slices;
        for (auto it = starts.begin(); it != starts.end(); ++it)
            slices.push_back({"", false, *it, std::next(it) == starts.end() ? SIZE_MAX : *std::next(it) - 1});
        return slices;
    }

    std::vector<Slice> labels(DimId id) const {
        Dim const& dim = model_.dims[id];
        std::vector<Slice> slices;
        for (std::string const& label : dim.labels) slices.push_back({label});
        if (slices.empty() && dim.role == Role::Labelled && dim.size)
            for (std::size_t k = 1; k <= *dim.size; ++k) slices.push_back({std::to_string(k)});
        if (!slices.empty()) return slices;
        for (std::size_t const i : own_) {
            for (Region::Labels const& named : model_.stated[i].region.labels) {
                bool const is_known = std::any_of(slices.begin(), slices.end(), [&](Slice const& s) { return s.label == named.label; });
                if (named.dim == id && !is_known) slices.push_back({named.label});
            }
        }
        slices.push_back({"", true});
        return slices;
    }

    // ---- which statement holds ----

    std::vector<std::size_t> at(std::size_t atom) const {
        std::vector<std::size_t> index(axes_.size());
        for (std::size_t k = axes_.size(); k-- > 0; atom /= axes_[k].size()) index[k] = atom % axes_[k].size();
        return index;
    }

    bool speaks_of(StatedPrior const& stated, std::vector<std::size_t> const& index) const {
        for (std::size_t k = 0; k < axes_.size(); ++k) {
            Slice const& slice = axes_[k][index[k]];
            if (model_.dims[symbol_.dims[k]].role == Role::Time) {
                if (slice.first_step < stated.region.first_step || slice.last_step > stated.region.last_step) return false;
                continue;
            }
            for (Region::Labels const& named : stated.region.labels)
                if (named.dim == symbol_.dims[k] && (slice.is_rest || named.label != slice.label)) return false;
        }
        return true;
    }

    bool is_unknown(DimId dim) const { return model_.dims[dim].labels.empty() && !model_.dims[dim].size; }

    /// What a list has at an entry; along a dim of which nobody knows how many entries it has, all that it has, shortened.
    std::string entry_at(StatedPrior::Argument const& argument, std::vector<std::size_t> const& index, std::size_t d,
                         std::size_t position) const {
        constexpr std::size_t most_shown = 4;
        if (d == argument.shape.size()) return position < argument.entries.size() ? argument.entries[position] : "?";
        auto const k =
            static_cast<std::size_t>(std::find(symbol_.dims.begin(), symbol_.dims.end(), argument.dims[d]) - symbol_.dims.begin());
        std::size_t const size = argument.shape[d];
        if (!is_unknown(argument.dims[d])) return entry_at(argument, index, d + 1, position * size + index[k]);
        std::vector<std::string> entries;
        for (std::size_t i = 0; i < std::min(size, most_shown); ++i)
            entries.push_back(entry_at(argument, index, d + 1, position * size + i));
        return fmt::format("[{}{}]", fmt::join(entries, ", "), size > most_shown ? fmt::format(", ... {} in all", size) : "");
    }

    /// The distribution at an entry, its lists replaced by what they have for it.
    std::string text_at(StatedPrior const& stated, std::vector<std::size_t> const& index) const {
        std::vector<std::string> arguments;
        for (StatedPrior::Argument const& argument : stated.arguments) {
            std::string text = argument.text;
            if (!argument.entries.empty())
                text += argument.dims.size() == argument.shape.size() ? entry_at(argument, index, 0, 0)
                                                                      : fmt::format("[{}]", fmt::join(argument.entries, ", "));
            arguments.push_back(std::move(text));
        }
        if (stated.family.empty()) return "fixed " + fmt::format("{}", fmt::join(arguments, ", "));
        return fmt::format("~ {}({}){}", stated.family, fmt::join(arguments, ", "), stated.interval);
    }

    void classify(std::size_t atom) {
        auto const index = at(atom);
        winners_.push_back(no_statement);
        for (std::size_t const i : own_)
            if (speaks_of(model_.stated[i], index)) winners_.back() = i;
        if (winners_.back() == no_statement) return;
        StatedPrior const& winner = model_.stated[winners_.back()];
        // Regions of one statement (a range of labels) are one.
        auto const key = std::pair(winner.span.begin + (std::uint64_t{winner.span.source} << 32), text_at(winner, index));
        classes_[atom] = numbers_.emplace(key, numbers_.size()).first->second;
    }

    // ---- gathering ----

    /// Calls `visit` on the atoms of a box until it says false.
    template <typename Visit>
    void each(Box const& box, Visit visit) const {
        std::vector<std::size_t> index;
        for (auto const& [first, last] : box) index.push_back(first);
        while (true) {
            std::size_t atom = 0;
            for (std::size_t k = 0; k < axes_.size(); ++k) atom = atom * axes_[k].size() + index[k];
            if (!visit(atom)) return;
            std::size_t k = axes_.size();
            while (k > 0 && index[k - 1] == box[k - 1].second) {
                index[k - 1] = box[k - 1].first;
                --k;
            }
            if (k == 0) return;
            ++index[k - 1];
        }
    }

    bool is_of_one_class(Box const& box, std::size_t wanted, std::vector<bool> const& is_done) const {
        bool is_one = true;
        each(box, [&](std::size_t atom) { return is_one = classes_[atom] == wanted && !is_done[atom]; });
        return is_one;
    }

    /// The most entries around the atom that axes as wholes can name, then runs of its neighbours.
    Box largest_box(std::size_t atom, std::vector<bool> const& is_done) const {
        auto const index = at(atom);
        std::size_t const subsets = std::size_t{1} << axes_.size();
        Box best;
        std::size_t most = 0;
        for (std::size_t subset = 0; subset < subsets; ++subset) {
            Box box;
            std::size_t size = 1;
            for (std::size_t k = 0; k < axes_.size(); ++k) {
                bool const is_open = (subset >> k & 1) != 0;
                box.emplace_back(is_open ? 0 : index[k], is_open ? axes_[k].size() - 1 : index[k]);
                if (is_open) size *= axes_[k].size();
            }
            if (size > most && is_of_one_class(box, classes_[atom], is_done)) {
                best = box;
                most = size;
            }
        }
        for (std::size_t k = 0; k < axes_.size(); ++k) {
            while (best[k].second + 1 < axes_[k].size() && !axes_[k][best[k].second + 1].is_rest) {
                Box longer = best;
                ++longer[k].second;
                Box slice = longer;
                slice[k].first = longer[k].second;
                if (!is_of_one_class(slice, classes_[atom], is_done)) break;
                best = longer;
            }
        }
        return best;
    }

    // ---- writing ----

    std::string target(Box const& box, bool& is_rest) const {
        std::vector<std::string> indices;
        for (std::size_t k = 0; k < axes_.size(); ++k) {
            Dim const& dim = model_.dims[symbol_.dims[k]];
            Slice const& first = axes_[k][box[k].first];
            Slice const& last = axes_[k][box[k].second];
            bool const is_whole = box[k].first == 0 && box[k].second + 1 == axes_[k].size();
            if (dim.role == Role::Time) {
                indices.push_back(written_steps(dim.name, first.first_step, last.last_step));
            } else if (is_whole || first.is_rest) {
                indices.push_back(dim.name);
                is_rest = is_rest || !is_whole;
            } else {
                std::string text = written_label(model_, first.label);
                if (box[k].first != box[k].second) text += ".." + written_label(model_, last.label);
                indices.push_back(dim.role == Role::Sequence ? dim.name + " = " + text : text);
            }
        }
        return indices.empty() ? symbol_.name : fmt::format("{}[{}]", symbol_.name, fmt::join(indices, ", "));
    }

    PriorLine line(std::size_t atom, Box const& box) const {
        PriorLine line;
        StatedPrior const& winner = model_.stated[winners_[atom]];
        line.prior = {symbol_.name, target(box, line.is_rest), text_at(winner, at(atom)), winner.set, winner.span};
        std::vector<Span> seen{winner.span};
        for (auto it = own_.rbegin(); it != own_.rend(); ++it) {
            StatedPrior const& other = model_.stated[*it];
            if (*it >= winners_[atom] || std::find(seen.begin(), seen.end(), other.span) != seen.end()) continue;
            std::set<std::string> texts;
            each(box, [&](std::size_t inside) {
                auto const index = at(inside);
                if (speaks_of(other, index)) texts.insert(text_at(other, index));
                return texts.size() < 2;
            });
            if (texts.empty()) continue;
            seen.push_back(other.span);
            line.overridden.push_back(
                {symbol_.name, line.prior.target, texts.size() == 1 ? *texts.begin() : "several", other.set, other.span});
        }
        return line;
    }

    Model const& model_;
    Symbol const& symbol_;
    std::vector<std::size_t> own_;  ///< statements that are chosen, of Model::stated
    std::vector<std::vector<Slice>> axes_;
    std::vector<std::size_t> winners_;  ///< per atom: the statement that holds
    std::vector<std::size_t> classes_;  ///< per atom: equal where statement and text are
    std::map<std::pair<std::uint64_t, std::string>, std::size_t> numbers_;
};

}  // namespace

PriorList effective_priors(Model const& model) {
    PriorList list;
    std::vector<bool> is_used(model.stated.size(), false);
    std::vector<SymbolId> parameters;
    for (StatedPrior const& stated : model.stated)
        if (std::find(parameters.begin(), parameters.end(), stated.symbol) == parameters.end()) parameters.push_back(stated.symbol);
    std::sort(parameters.begin(), parameters.end());
    for (SymbolId const parameter : parameters)
        for (PriorLine& line : Gathering(model, parameter).run(is_used)) list.lines.push_back(std::move(line));
    // A statement on a range of labels is used if one of them is.
    std::vector<Span> spans;
    for (std::size_t i = 0; i < model.stated.size(); ++i)
        if (is_used[i]) spans.push_back(model.stated[i].span);
    for (std::size_t i = 0; i < model.stated.size(); ++i) {
        StatedPrior const& stated = model.stated[i];
        if (!stated.is_chosen || std::find(spans.begin(), spans.end(), stated.span) != spans.end()) continue;
        spans.push_back(stated.span);
        PriorList::Unused unused{{model.symbols[stated.symbol].name, stated.target, stated.text, stated.set, stated.span}, {}};
        for (PriorLine const& line : list.lines) {
            bool const is_later = std::any_of(line.overridden.begin(), line.overridden.end(),
                                              [&](WrittenPrior const& other) { return other.span == stated.span; });
            if (is_later && std::find(unused.taken_by.begin(), unused.taken_by.end(), line.prior.span) == unused.taken_by.end())
                unused.taken_by.push_back(line.prior.span);
        }
        list.unused.push_back(std::move(unused));
    }
    for (PriorSet const& set : model.prior_sets) list.sets.push_back({set.name, set.extends, set.is_chosen, set.span});
    return list;
}

}  // namespace bam
