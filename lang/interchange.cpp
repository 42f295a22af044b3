#include "interchange.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <set>

#include "exchangeable.hpp"

namespace bam {
namespace {

/// Swaps that are tried, in all. Pairs are proposed only if they stand alike in every statement, so few are needed.
constexpr std::size_t most_tries = 500;

/// Stand-ins for symbols, by shape: that which is looked at, and any other.
constexpr std::uint64_t looked_at = std::uint64_t{1} << 32;
constexpr std::uint64_t any_other = std::uint64_t{1} << 33;

using Pair = std::pair<SymbolId, SymbolId>;
using Swap = std::map<SymbolId, SymbolId>;  ///< both ways

bool is_parameter(Symbol const& symbol) { return symbol.kind == SymbolKind::Block || symbol.kind == SymbolKind::Scale; }

bool have_same_region(Region const& a, Region const& b) {
    return a.first_step == b.first_step && a.last_step == b.last_step &&
           std::equal(a.labels.begin(), a.labels.end(), b.labels.begin(), b.labels.end(),
                      [](auto const& one, auto const& other) { return one.dim == other.dim && one.label == other.label; });
}

SymbolId swapped(SymbolId symbol, Swap const& swap) {
    auto const found = swap.find(symbol);
    return found == swap.end() ? symbol : found->second;
}

/// The term with all symbols of the swap at the place of their partners. `done`: terms that were swapped before, to be kept for the next.
Term swapped(Model& model, Term term, Swap const& swap, std::map<Term, Term>& done) {
    if (auto const found = done.find(term); found != done.end()) return found->second;
    Term const result = model.terms.substitute(term, [&](Term leaf, Term& other) {
        Node const node = model.terms[leaf];
        if (node.op != Op::Param) return false;
        auto const found = swap.find(static_cast<SymbolId>(node.payload));
        if (found == swap.end()) return false;
        other = model.terms.leaf(Op::Param, found->second, node.axes, node.lag);
        return true;
    });
    return done[term] = result;
}

Swap both_ways(std::vector<SymbolId> const& first, std::vector<SymbolId> const& second) {
    Swap swap;
    for (std::size_t k = 0; k < first.size(); ++k) {
        swap[first[k]] = second[k];
        swap[second[k]] = first[k];
    }
    return swap;
}

/// Blocks of different names that change places: a swap of pairs after which every statement stands where another one stood.
class SwapFinder {
  public:
    SwapFinder(Model& model, std::vector<Symmetry> const& symmetries) : model_(model) {
        for (Symmetry const& symmetry : symmetries) traded_.insert({symmetry.first, symmetry.second});
        std::map<SymbolId, Standing> standings;
        auto const standing = [&](SymbolId id) -> Standing const& {
            auto const found = standings.find(id);
            return found != standings.end() ? found->second : standings.emplace(id, standing_of(id)).first->second;
        };
        for (SymbolId a = 0; a < model.symbols.size(); ++a)
            for (SymbolId b = a + 1; b < model.symbols.size(); ++b)
                if (are_alike(a, b) && standing(a) == standing(b)) pairs_.emplace_back(a, b);
    }

    /// Places of blocks that any permutation of leaves the model as it is: the swaps of the first with each of the others.
    std::vector<std::vector<std::vector<SymbolId>>> run() {
        std::vector<std::vector<std::vector<SymbolId>>> groups;
        std::set<SymbolId> taken;
        for (std::size_t k = 0; k < pairs_.size(); ++k) {
            SymbolId const first = pairs_[k].first;
            if (taken.contains(first) || taken.contains(pairs_[k].second)) continue;
            auto const swap = find({pairs_[k]}, k + 1);
            if (!swap) continue;
            std::vector<SymbolId> own, other;
            for (Pair const& pair : *swap) {
                own.push_back(pair.first);
                other.push_back(pair.second);
            }
            auto const same = std::find_if(groups.begin(), groups.end(), [&](auto const& places) { return places.front() == own; });
            if (same == groups.end())
                groups.push_back({own, other});
            else
                same->push_back(other);
            taken.insert(other.begin(), other.end());
        }
        return groups;
    }

  private:
    /// Terms of statements in which only the one symbol is itself, and all others are known by their shapes.
    using Standing = std::vector<Term>;

    Standing standing_of(SymbolId symbol) {
        std::function<bool(Term, Term&)> const stand_in = [&](Term leaf, Term& other) {
            Node const node = model_.terms[leaf];
            if (node.op != Op::Param) return false;
            other = model_.terms.leaf(Op::Param, node.payload == symbol ? looked_at : any_other, node.axes, node.lag);
            return true;
        };
        Standing standing;
        for (Factor const& factor : model_.factors) {
            standing.push_back(model_.terms.substitute(factor.residual, stand_in));
            for (SpreadPart const& part : factor.spread) standing.push_back(model_.terms.substitute(part.value, stand_in));
        }
        std::sort(standing.begin(), standing.end());
        return standing;
    }

    /// Of blocks that trade a factor the symmetry takes care.
    bool are_alike(SymbolId a, SymbolId b) const {
        Symbol const& one = model_.symbols[a];
        Symbol const& other = model_.symbols[b];
        return is_parameter(one) && one.kind == other.kind && one.dims == other.dims && one.first_step == other.first_step &&
               one.local_of.has_value() == other.local_of.has_value() && !one.learnt_from && !other.learnt_from &&
               !traded_.contains({a, b}) && !traded_.contains({b, a});
    }

    /// The swap with the fewest further pairs, of those from `next` on, that leaves the model as it is.
    std::optional<std::vector<Pair>> find(std::vector<Pair> const& start, std::size_t next) {
        std::vector<std::pair<std::vector<Pair>, std::size_t>> level{{start, next}};
        while (!level.empty()) {
            std::vector<std::pair<std::vector<Pair>, std::size_t>> longer;
            for (auto const& [pairs, from] : level) {
                if (++tries_ > most_tries) return std::nullopt;
                if (is_invariant(pairs)) return pairs;
                for (std::size_t k = from; k < pairs_.size(); ++k) {
                    bool const is_apart = std::none_of(pairs.begin(), pairs.end(), [&](Pair const& pair) {
                        return pair.first == pairs_[k].first || pair.first == pairs_[k].second || pair.second == pairs_[k].first ||
                               pair.second == pairs_[k].second;
                    });
                    if (!is_apart) continue;
                    longer.emplace_back(pairs, k + 1);
                    longer.back().first.push_back(pairs_[k]);
                }
            }
            level = std::move(longer);
        }
        return std::nullopt;
    }

    bool is_invariant(std::vector<Pair> const& pairs) {
        std::vector<SymbolId> first, second;
        for (Pair const& pair : pairs) {
            first.push_back(pair.first);
            second.push_back(pair.second);
        }
        Swap const swap = both_ways(first, second);
        return are_statements_same(swap) && are_scale_priors_same(swap);
    }

    /// Each statement becomes another one (or itself), no two the same one, and so do those that take entries from it.
    bool are_statements_same(Swap const& swap) {
        std::map<Term, Term> done;
        std::vector<std::uint32_t> image;
        for (Factor const& factor : model_.factors) {
            SymbolId const target = swapped(factor.target, swap);
            Term const residual = swapped(model_, factor.residual, swap, done);
            std::vector<SpreadPart> spread = factor.spread;
            for (SpreadPart& part : spread) part.value = swapped(model_, part.value, swap, done);
            auto const is_it = [&](Factor const& other) {
                return other.target == target && other.residual == residual && other.is_observation == factor.is_observation &&
                       other.is_binary == factor.is_binary && other.weights == factor.weights &&
                       other.interval.low == factor.interval.low && other.interval.high == factor.interval.high &&
                       have_same_region(other.region, factor.region) &&
                       std::equal(spread.begin(), spread.end(), other.spread.begin(), other.spread.end(),
                                  [](SpreadPart const& a, SpreadPart const& b) { return a.kind == b.kind && a.value == b.value; });
            };
            std::uint32_t found = 0;
            while (found < model_.factors.size() &&
                   (!is_it(model_.factors[found]) || std::find(image.begin(), image.end(), found) != image.end()))
                ++found;
            if (found == model_.factors.size()) return false;
            image.push_back(found);
        }
        for (std::size_t f = 0; f < image.size(); ++f)
            if (!are_overridden_alike(model_.factors[f].overridden_by, model_.factors[image[f]].overridden_by, image)) return false;
        return true;
    }

    bool are_scale_priors_same(Swap const& swap) const {
        std::vector<std::uint32_t> image;
        for (ScalePrior const& prior : model_.scale_priors) {
            auto const is_it = [&](ScalePrior const& other) {
                bool const has_df = prior.df.has_value();
                return other.scale == swapped(prior.scale, swap) && other.spread == prior.spread && other.family == prior.family &&
                       other.first == prior.first && other.second == prior.second && have_same_region(other.region, prior.region) &&
                       other.df.has_value() == has_df && (!has_df || *other.df == swapped(*prior.df, swap));
            };
            std::uint32_t found = 0;
            while (found < model_.scale_priors.size() &&
                   (!is_it(model_.scale_priors[found]) || std::find(image.begin(), image.end(), found) != image.end()))
                ++found;
            if (found == model_.scale_priors.size()) return false;
            image.push_back(found);
        }
        for (std::size_t k = 0; k < image.size(); ++k)
            if (!are_overridden_alike(model_.scale_priors[k].overridden_by, model_.scale_priors[image[k]].overridden_by, image))
                return false;
        return true;
    }

    static bool are_overridden_alike(std::vector<std::uint32_t> own, std::vector<std::uint32_t> other,
                                     std::vector<std::uint32_t> const& image) {
        for (std::uint32_t& k : own) k = image[k];
        std::sort(own.begin(), own.end());
        std::sort(other.begin(), other.end());
        return own == other;
    }

    Model& model_;
    std::set<Pair> traded_;
    std::vector<Pair> pairs_;  ///< that could change places
    std::size_t tries_ = 0;
};

bool reads_any(Model const& model, Term term, std::vector<std::vector<SymbolId>> const& places) {
    return model.terms.any(term, [&](Node const& node) {
        return node.op == Op::Param && std::any_of(places.begin(), places.end(), [&](std::vector<SymbolId> const& place) {
                   return std::find(place.begin(), place.end(), static_cast<SymbolId>(node.payload)) != place.end();
               });
    });
}

/// Reports are no statements: what changes places may change them, by its numbers or otherwise.
void find_reports(Model& model, Interchange& interchange) {
    auto const& places = interchange.places;
    for (SymbolId id = 0; id < model.symbols.size(); ++id) {
        Symbol const& symbol = model.symbols[id];
        if (!symbol.is_report || !symbol.term || !reads_any(model, *symbol.term, places)) continue;
        Term const term = *symbol.term;
        if (interchange.dim) {
            auto const times = std::count(symbol.dims.begin(), symbol.dims.end(), *interchange.dim);
            if (times > 1 || are_told_apart(model, std::vector{term}, *interchange.dim))  // of a matrix both indices would change
                interchange.changed_reports.push_back(id);
            else if (times == 1)
                interchange.reports.push_back(id);
            continue;
        }
        // Swaps of the first with each of the others make up all permutations.
        bool const is_changed = std::any_of(places.begin() + 1, places.end(), [&](std::vector<SymbolId> const& place) {
            std::map<Term, Term> done;
            return swapped(model, term, both_ways(places.front(), place), done) != term;
        });
        if (is_changed) interchange.changed_reports.push_back(id);
    }
}

}  // namespace

std::vector<Interchange> interchanges(Model& model, std::vector<Symmetry> const& symmetries) {
    std::vector<Interchange> found;
    for (DimId dim = 0; dim < model.dims.size(); ++dim) {
        if (model.dims[dim].role != Role::Labelled || model.dims[dim].size == 1) continue;
        bool const is_mixed = std::any_of(symmetries.begin(), symmetries.end(),
                                          [&](Symmetry const& symmetry) { return symmetry.dim == dim && !symmetry.is_diagonal; });
        std::vector<SymbolId> symbols;
        for (SymbolId id = 0; id < model.symbols.size(); ++id)
            if (is_parameter(model.symbols[id]) && model.is_over(id, dim)) symbols.push_back(id);
        if (is_mixed || symbols.empty() || are_told_apart(model, dim)) continue;
        found.push_back({dim, {std::move(symbols)}, {}, {}});
    }
    for (auto& places : SwapFinder(model, symmetries).run()) found.push_back({std::nullopt, std::move(places), {}, {}});
    for (Interchange& interchange : found) find_reports(model, interchange);
    return found;
}

namespace {

/// Components of what is over `dims` per index of one of them, a labelled one that is there once.
std::vector<std::vector<std::uint32_t>> slices(Layout const& layout, std::vector<DimId> const& dims, DimId dim) {
    std::vector<std::vector<std::uint32_t>> result(layout.dims[dim].size);
    std::size_t below = 1;  // components from one index of the dim to the next
    std::size_t components = 1;
    for (std::size_t d = dims.size(); d-- > 0;) {
        if (dims[d] == dim) below = components;
        if (layout.dims[dims[d]].role == DimLayout::Role::Labelled) components *= layout.dims[dims[d]].size;
    }
    for (std::uint32_t c = 0; c < components; ++c) result[c / below % result.size()].push_back(c);
    return result;
}

std::vector<std::uint32_t> all_components(Variable const& variable) {
    std::vector<std::uint32_t> components(variable.components);
    std::iota(components.begin(), components.end(), 0U);
    return components;
}

/// The place of a report in Plan::reports.
std::uint32_t number_of(Model const& model, SymbolId report) {
    std::uint32_t number = 0;
    for (SymbolId id = 0; id < report; ++id) number += model.symbols[id].is_report && model.symbols[id].term ? 1U : 0U;
    return number;
}

}  // namespace

std::vector<InterchangePlan> plan_interchanges(Model const& model, std::vector<Interchange> const& interchanges, LaidOut const& laid_out) {
    Layout const& layout = laid_out.layout;
    std::vector<InterchangePlan> plans;
    for (Interchange const& interchange : interchanges) {
        InterchangePlan plan;
        if (interchange.dim) plan.dim = layout.dims[*interchange.dim].name;
        for (std::vector<SymbolId> const& symbols : interchange.places) {
            std::size_t const first = plan.places.size();
            plan.places.resize(first + (interchange.dim ? layout.dims[*interchange.dim].size : 1));
            for (SymbolId const symbol : symbols) {
                std::uint32_t const v = laid_out.variables.at(symbol);
                Variable const& variable = layout.variables[v];
                if (!variable.is_kept) continue;
                std::vector<std::vector<std::uint32_t>> parts;
                if (interchange.dim)
                    parts = slices(layout, variable.dims, *interchange.dim);
                else
                    parts.push_back(all_components(variable));
                for (std::size_t i = 0; i < parts.size(); ++i) plan.places[first + i].push_back({v, std::move(parts[i])});
            }
        }
        plan.reports.resize(plan.places.size());
        for (SymbolId const report : interchange.reports) {
            auto parts = slices(layout, model.symbols[report].dims, *interchange.dim);
            for (std::size_t i = 0; i < parts.size(); ++i) plan.reports[i].push_back({number_of(model, report), std::move(parts[i])});
        }
        for (SymbolId const report : interchange.changed_reports) plan.changed_reports.push_back(number_of(model, report));
        if (plan.places.size() > 1 && !plan.places.front().empty()) plans.push_back(std::move(plan));
    }
    return plans;
}

}  // namespace bam
