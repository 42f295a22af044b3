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
        Swap swap;
        for (Pair const& pair : pairs) {
            swap[pair.first] = pair.second;
            swap[pair.second] = pair.first;
        }
        return are_statements_same(swap) && are_scale_priors_same(swap);
    }

    SymbolId swapped(SymbolId symbol, Swap const& swap) const {
        auto const found = swap.find(symbol);
        return found == swap.end() ? symbol : found->second;
    }

    Term swapped(Term term, Swap const& swap, std::map<Term, Term>& done) {
        if (auto const found = done.find(term); found != done.end()) return found->second;
        Term const result = model_.terms.substitute(term, [&](Term leaf, Term& other) {
            Node const node = model_.terms[leaf];
            if (node.op != Op::Param) return false;
            auto const found = swap.find(static_cast<SymbolId>(node.payload));
            if (found == swap.end()) return false;
            other = model_.terms.leaf(Op::Param, found->second, node.axes, node.lag);
            return true;
        });
        return done[term] = result;
    }

    /// Each statement becomes another one (or itself), no two the same one, and so do those that take entries from it.
    bool are_statements_same(Swap const& swap) {
        std::map<Term, Term> done;
        std::vector<std::uint32_t> image;
        for (Factor const& factor : model_.factors) {
            SymbolId const target = swapped(factor.target, swap);
            Term const residual = swapped(factor.residual, swap, done);
            std::vector<SpreadPart> spread = factor.spread;
            for (SpreadPart& part : spread) part.value = swapped(part.value, swap, done);
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
        found.push_back({dim, {std::move(symbols)}});
    }
    for (auto& places : SwapFinder(model, symmetries).run()) found.push_back({std::nullopt, std::move(places)});
    return found;
}

namespace {

/// Components of a variable per index of one of its labelled dims.
std::vector<std::vector<std::uint32_t>> slices(Layout const& layout, Variable const& variable, DimId dim) {
    std::vector<std::vector<std::uint32_t>> result(layout.dims[dim].size);
    std::size_t below = 1;  // components from one index of the dim to the next
    for (std::size_t d = variable.dims.size(); variable.dims[--d] != dim;)
        if (layout.dims[variable.dims[d]].role == DimLayout::Role::Labelled) below *= layout.dims[variable.dims[d]].size;
    for (std::uint32_t c = 0; c < variable.components; ++c) result[c / below % result.size()].push_back(c);
    return result;
}

std::vector<std::uint32_t> all_components(Variable const& variable) {
    std::vector<std::uint32_t> components(variable.components);
    std::iota(components.begin(), components.end(), 0U);
    return components;
}

}  // namespace

std::vector<InterchangePlan> plan_interchanges(std::vector<Interchange> const& interchanges, LaidOut const& laid_out) {
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
                    parts = slices(layout, variable, *interchange.dim);
                else
                    parts.push_back(all_components(variable));
                for (std::size_t i = 0; i < parts.size(); ++i) plan.places[first + i].push_back({v, std::move(parts[i])});
            }
        }
        if (plan.places.size() > 1 && !plan.places.front().empty()) plans.push_back(std::move(plan));
    }
    return plans;
}

}  // namespace bam
