#include "align.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>
#include <set>

#include "draw_entries.hpp"
#include "gauge.hpp"
#include "matching.hpp"
#include "words.hpp"

namespace bam {
namespace {

/// Singular values count as nearly equal above this ratio, and are told of above this share of the draws.
constexpr double near_ratio = 0.9;
constexpr double rare = 0.05;

/// The first one is beside the best draw, the next ones beside the mean of the last one.
constexpr int passes = 3;

using Slices = std::vector<std::vector<std::uint32_t>>;
using ColumnTable = std::vector<std::vector<std::size_t>>;

/// Blocks of which any two trade a factor.
struct TradingSet {
    std::vector<std::uint32_t> variables;
    std::vector<GaugeGroup> groups;
    std::vector<std::string> dims;                 ///< per group; empty: of a block by itself
    std::vector<std::vector<ColumnTable>> tables;  ///< per lane and block: columns [index of the group's dim, entry]
    std::string why_not;                           ///< it cannot be aligned
    std::size_t near = 0, draws = 0;               ///< draws with singular values that are nearly equal, and all

    BlockValues gather(std::size_t lane, std::vector<double> const& row) const {
        BlockValues values;
        for (ColumnTable const& table : tables[lane]) {
            values.emplace_back(table.size(), table.front().size());
            for (std::size_t i = 0; i < table.size(); ++i)
                for (std::size_t k = 0; k < table[i].size(); ++k)
                    values.back()(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(k)) = row[table[i][k]];
        }
        return values;
    }
    void scatter(std::size_t lane, BlockValues const& values, std::vector<double>& row) const {
        for (std::size_t b = 0; b < values.size(); ++b)
            for (std::size_t i = 0; i < tables[lane][b].size(); ++i)
                for (std::size_t k = 0; k < tables[lane][b][i].size(); ++k)
                    row[tables[lane][b][i][k]] = values[b](static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(k));
    }
};

/// What changes places, in columns.
struct Places {
    InterchangePlan const* plan = nullptr;
    struct Slice {
        std::vector<std::vector<std::size_t>> lanes;  ///< columns; numbers of a lane have a sign of their own in common
        bool has_sign = true;                         ///< false in a set, whose signs mean nothing
        bool is_matched = true;                       ///< false of a report, which goes where its parameters go
    };
    std::vector<std::vector<Slice>> places;
    std::vector<std::size_t> sets;  ///< of named blocks: the sets that lie in the places
};

class Aligner {
  public:
    Aligner(Plan const& plan, Run const& run) : plan_(plan), layout_(plan.layout), run_(run) {
        find_sets(plan.orbits);
        for (TradingSet& set : sets_) arrange(set, plan.orbits);
        for (InterchangePlan const& interchange : plan.interchanges) add_places(interchange);
    }

    Aligned run() {
        Aligned aligned;
        std::set<std::size_t> const moved = moved_columns();
        aligned.of.assign(moved.begin(), moved.end());
        for (std::size_t const k : aligned.of) aligned.run.columns.push_back(run_.columns[k]);
        if (auto const reference = highest(); reference && !aligned.of.empty()) {
            set_reference(*reference);
            for (int pass = 0; pass < passes; ++pass) {
                if (pass > 0) set_mean_reference(aligned);
                aligned.run.chains.clear();
                for (Chain const& chain : run_.chains) aligned.run.chains.push_back(align_chain(chain, aligned.of));
            }
        }
        for (TradingSet const& set : sets_) aligned.sentences.push_back(sentence(set));
        for (Places const& places : places_) add_sentences(places, aligned.numberings);
        return aligned;
    }

  private:
    void find_sets(std::vector<OrbitPlan> const& orbits);
    void arrange(TradingSet& set, std::vector<OrbitPlan> const& orbits);
    void add_places(InterchangePlan const& interchange);
    std::set<std::size_t> moved_columns() const;
    std::optional<std::vector<double>> highest() const;
    void set_reference(std::vector<double> row);
    void set_mean_reference(Aligned const& aligned);
    Chain align_chain(Chain const& chain, std::vector<std::size_t> const& columns);
    void align_row(std::vector<double>& row);
    void change_places(Places const& places, std::vector<double>& row) const;
    double gain(Places const& places, std::size_t place, std::size_t from, std::vector<double> const& row) const;
    std::string sentence(TradingSet const& set) const;
    void add_sentences(Places const& places, std::vector<std::string>& list) const;
    std::string describe(TradingSet const& set) const;

    std::string name(std::uint32_t variable) const { return layout_.variables[variable].name; }
    std::string names(std::vector<std::uint32_t> const& variables) const {
        std::vector<std::string> list;
        for (std::uint32_t const v : variables) list.push_back(name(v));
        return first_few(list);
    }
    TradingSet const* set_of(std::uint32_t variable) const {
        for (TradingSet const& set : sets_)
            if (std::find(set.variables.begin(), set.variables.end(), variable) != set.variables.end()) return &set;
        return nullptr;
    }

    Plan const& plan_;
    Layout const& layout_;
    Run const& run_;
    std::vector<TradingSet> sets_;
    std::vector<Places> places_;
    std::vector<double> reference_;
    std::vector<std::vector<BlockValues>> reference_values_;  ///< per set and lane
};

void Aligner::find_sets(std::vector<OrbitPlan> const& orbits) {
    for (OrbitPlan const& orbit : orbits) {
        std::set<std::uint32_t> joined{orbit.first, orbit.second};
        std::vector<TradingSet> apart;
        for (TradingSet& set : sets_) {
            bool const is_part = std::any_of(set.variables.begin(), set.variables.end(), [&](auto v) { return joined.contains(v); });
            if (is_part)
                joined.insert(set.variables.begin(), set.variables.end());
            else
                apart.push_back(std::move(set));
        }
        sets_ = std::move(apart);
        sets_.emplace_back().variables.assign(joined.begin(), joined.end());
    }
    std::sort(sets_.begin(), sets_.end(), [](auto const& a, auto const& b) { return a.variables < b.variables; });
}

/// Groups of a set, and where their entries stand; or why there are none.
void Aligner::arrange(TradingSet& set, std::vector<OrbitPlan> const& orbits) {
    std::map<std::uint32_t, std::pair<Slices, std::size_t>> slices;  // of variables over the dim of a group: and which group
    for (OrbitPlan const& orbit : orbits) {
        if (std::find(set.variables.begin(), set.variables.end(), orbit.first) == set.variables.end()) continue;
        if (!orbit.is_moved) {
            set.why_not = "the prior of one of them is cut off, and another representative might lie beyond its ends";
            return;
        }
        if (!orbit.has_dim) continue;
        std::optional<std::size_t> group;
        for (auto const& [variable, own] : {std::pair(orbit.first, &orbit.first_slices), std::pair(orbit.second, &orbit.second_slices)}) {
            auto const known = slices.find(variable);
            if (known == slices.end()) continue;
            if (known->second.first != *own || !orbit.is_diagonal || (group && *group != known->second.second)) {
                set.why_not = fmt::format("`{}` is mixed along more than one dim", name(variable));
                return;
            }
            group = known->second.second;
        }
        if (!group) {
            group = set.groups.size();
            set.groups.push_back({{}, !orbit.is_diagonal});
            set.dims.push_back(dim_of(layout_, layout_.variables[orbit.first], orbit.first_slices));
        }
        slices[orbit.first] = {orbit.first_slices, *group};
        slices[orbit.second] = {orbit.second_slices, *group};
    }
    auto const is_over_sequences = [&](std::uint32_t v) { return layout_.variables[v].extent != Extent::One; };
    auto const over = std::count_if(set.variables.begin(), set.variables.end(), is_over_sequences);
    bool const has_lanes = over == static_cast<std::ptrdiff_t>(set.variables.size());
    if (over > 1 && !has_lanes) {
        set.why_not = "several of them, and not all, have a number for each sequence";
        return;
    }
    for (std::size_t b = 0; b < set.variables.size(); ++b) {
        std::uint32_t const v = set.variables[b];
        auto const columns = columns_of(layout_, layout_.variables[v], run_);
        if (!columns) {
            set.why_not = fmt::format("not all entries of `{}` are among the draws", name(v));
            return;
        }
        auto const known = slices.find(v);
        Slices own(1);
        if (known == slices.end()) {
            set.groups.push_back({{}, false});
            set.dims.emplace_back();
            own.front().resize(columns->size());
            std::iota(own.front().begin(), own.front().end(), 0U);
        } else {
            own = known->second.first;
        }
        set.groups[known == slices.end() ? set.groups.size() - 1 : known->second.second].blocks.push_back(b);
        set.tables.resize(has_lanes ? columns->front().size() : 1);
        for (std::size_t lane = 0; lane < set.tables.size(); ++lane) {
            ColumnTable& table = set.tables[lane].emplace_back(own.size());
            for (std::size_t i = 0; i < own.size(); ++i) {
                for (std::uint32_t const component : own[i]) {
                    auto const& of = (*columns)[component];
                    if (has_lanes)
                        table[i].push_back(of[lane]);
                    else
                        table[i].insert(table[i].end(), of.begin(), of.end());
                }
            }
        }
    }
}

void Aligner::add_places(InterchangePlan const& interchange) {
    Places places;
    places.plan = &interchange;
    for (std::size_t p = 0; p < interchange.places.size(); ++p) {
        places.places.emplace_back();
        for (SlicePlan const& slice : interchange.places[p]) {
            TradingSet const* const set = set_of(slice.variable);
            auto const columns = columns_of(layout_, layout_.variables[slice.variable], run_);
            if (!columns || (set != nullptr && !set->why_not.empty())) continue;  // they stay as they were drawn
            Places::Slice own;
            own.has_sign = set == nullptr;
            own.lanes.resize(set != nullptr && set->tables.size() > 1 ? columns->front().size() : 1);
            for (std::uint32_t const component : slice.components)
                for (std::size_t k = 0; k < (*columns)[component].size(); ++k)
                    own.lanes[own.lanes.size() > 1 ? k : 0].push_back((*columns)[component][k]);
            places.places.back().push_back(std::move(own));
            if (set == nullptr || !interchange.dim.empty()) continue;
            auto const s = static_cast<std::size_t>(set - sets_.data());
            if (std::find(places.sets.begin(), places.sets.end(), s) == places.sets.end()) places.sets.push_back(s);
        }
        if (places.places.back().empty()) return;
        for (SlicePlan const& slice : interchange.reports[p]) {
            auto const columns = columns_of(layout_, plan_.reports[slice.variable], run_);
            if (!columns || !plan_.reports[slice.variable].is_identified) continue;
            auto& lane = places.places.back().emplace_back(Places::Slice{{{}}, true, false}).lanes.front();
            for (std::uint32_t const component : slice.components)
                lane.insert(lane.end(), (*columns)[component].begin(), (*columns)[component].end());
        }
    }
    places_.push_back(std::move(places));
}

std::set<std::size_t> Aligner::moved_columns() const {
    std::set<std::size_t> moved;
    for (TradingSet const& set : sets_) {
        if (!set.why_not.empty()) continue;
        for (auto const& lane : set.tables)
            for (ColumnTable const& table : lane)
                for (auto const& of_index : table) moved.insert(of_index.begin(), of_index.end());
    }
    for (Places const& places : places_)
        for (auto const& place : places.places)
            for (Places::Slice const& slice : place)
                for (auto const& lane : slice.lanes) moved.insert(lane.begin(), lane.end());
    return moved;
}

/// The draw of the highest log joint.
std::optional<std::vector<double>> Aligner::highest() const {
    Chain const* best = nullptr;
    std::size_t at = 0;
    for (Chain const& chain : run_.chains)
        for (std::size_t d = 0; d < chain.log_joint.size(); ++d)
            if (best == nullptr || chain.log_joint[d] > best->log_joint[at]) {
                best = &chain;
                at = d;
            }
    if (best == nullptr) return std::nullopt;
    auto const begin = best->values.begin() + static_cast<std::ptrdiff_t>(at * run_.columns.size());
    return std::vector<double>(begin, begin + static_cast<std::ptrdiff_t>(run_.columns.size()));
}

void Aligner::set_reference(std::vector<double> row) {
    for (TradingSet const& set : sets_) {
        reference_values_.emplace_back();
        if (!set.why_not.empty()) continue;
        for (std::size_t lane = 0; lane < set.tables.size(); ++lane) {
            BlockValues values = set.gather(lane, row);
            to_gauge(set.groups, values);
            orient(set.groups, values);
            set.scatter(lane, values, row);
            reference_values_.back().push_back(std::move(values));
        }
    }
    reference_ = std::move(row);
}

/// The mean of what was aligned: less a matter of chance than one draw.
void Aligner::set_mean_reference(Aligned const& aligned) {
    std::vector<double> sums(aligned.of.size(), 0.0);
    double draws = 0;
    for (Chain const& chain : aligned.run.chains) {
        for (std::size_t k = 0; k < chain.values.size(); ++k) sums[k % sums.size()] += chain.values[k];
        draws += static_cast<double>(chain.log_joint.size());
    }
    for (std::size_t k = 0; k < sums.size(); ++k) reference_[aligned.of[k]] = sums[k] / draws;
    for (std::size_t s = 0; s < sets_.size(); ++s)
        for (std::size_t lane = 0; lane < reference_values_[s].size(); ++lane)
            reference_values_[s][lane] = sets_[s].gather(lane, reference_);
}

Chain Aligner::align_chain(Chain const& chain, std::vector<std::size_t> const& columns) {
    Chain aligned;
    aligned.log_joint = chain.log_joint;
    aligned.log_likelihood = chain.log_likelihood;
    aligned.values.reserve(chain.log_joint.size() * columns.size());
    std::vector<double> row(run_.columns.size());
    for (std::size_t d = 0; d < chain.log_joint.size(); ++d) {
        std::copy_n(chain.values.begin() + static_cast<std::ptrdiff_t>(d * row.size()), row.size(), row.begin());
        align_row(row);
        for (std::size_t const k : columns) aligned.values.push_back(row[k]);
    }
    return aligned;
}

void Aligner::align_row(std::vector<double>& row) {
    for (TradingSet& set : sets_) {
        if (!set.why_not.empty()) continue;
        bool is_near = false;
        for (std::size_t lane = 0; lane < set.tables.size(); ++lane) {
            BlockValues values = set.gather(lane, row);
            std::vector<Eigen::VectorXd> sizes;
            to_gauge(set.groups, values, &sizes);
            set.scatter(lane, values, row);
            for (Eigen::VectorXd const& of_group : sizes)
                for (Eigen::Index i = 1; i < of_group.size(); ++i) is_near = is_near || of_group(i) > near_ratio * of_group(i - 1);
        }
        set.near += is_near ? 1 : 0;
        ++set.draws;
    }
    for (Places const& places : places_) change_places(places, row);
    for (std::size_t s = 0; s < sets_.size(); ++s) {
        TradingSet const& set = sets_[s];
        if (!set.why_not.empty()) continue;
        for (std::size_t lane = 0; lane < set.tables.size(); ++lane) {
            BlockValues values = set.gather(lane, row);
            apply(match(set.groups, values, reference_values_[s][lane]), set.groups, values);
            set.scatter(lane, values, row);
        }
    }
}

void Aligner::change_places(Places const& places, std::vector<double>& row) const {
    std::size_t const n = places.places.size();
    Eigen::MatrixXd gains(n, n);
    for (std::size_t i = 0; i < n; ++i)
        for (std::size_t j = 0; j < n; ++j) gains(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(j)) = gain(places, i, j, row);
    std::vector<std::size_t> const from = best_matching(gains);
    std::vector<double> const old = row;
    for (std::size_t i = 0; i < n; ++i)
        for (std::size_t s = 0; s < places.places[i].size(); ++s)
            for (std::size_t lane = 0; lane < places.places[i][s].lanes.size(); ++lane)
                for (std::size_t k = 0; k < places.places[i][s].lanes[lane].size(); ++k)
                    row[places.places[i][s].lanes[lane][k]] = old[places.places[from[i]][s].lanes[lane][k]];
}

/// How near the reference is with what stands at place `from` at `place`. Numbers of sets, whose signs mean nothing yet, count without
/// sign; sets of named blocks with the signs that suit them best.
double Aligner::gain(Places const& places, std::size_t place, std::size_t from, std::vector<double> const& row) const {
    std::vector<double> moved = places.sets.empty() ? std::vector<double>() : row;
    double sum = 0;
    for (std::size_t s = 0; s < places.places[place].size(); ++s) {
        Places::Slice const& there = places.places[place][s];
        Places::Slice const& here = places.places[from][s];
        if (!there.is_matched) continue;
        for (std::size_t lane = 0; lane < there.lanes.size(); ++lane) {
            double product = 0;
            for (std::size_t k = 0; k < there.lanes[lane].size(); ++k) {
                if (!moved.empty()) moved[there.lanes[lane][k]] = row[here.lanes[lane][k]];
                product += reference_[there.lanes[lane][k]] * row[here.lanes[lane][k]];
            }
            if (there.has_sign)
                sum += product;
            else if (places.sets.empty())
                sum += std::abs(product);
        }
    }
    for (std::size_t const s : places.sets) {
        bool const is_there = std::any_of(places.plan->places[place].begin(), places.plan->places[place].end(),
                                          [&](SlicePlan const& slice) { return set_of(slice.variable) == &sets_[s]; });
        for (std::size_t lane = 0; is_there && lane < sets_[s].tables.size(); ++lane)
            sum += match(sets_[s].groups, sets_[s].gather(lane, moved), reference_values_[s][lane]).value;
    }
    return sum;
}

std::string Aligner::describe(TradingSet const& set) const {
    std::string text = fmt::format("{} are shown in one gauge: ", names(set.variables));
    bool has_numbering = false;
    for (std::size_t g = 0; g < set.groups.size(); ++g) {
        if (set.dims[g].empty()) continue;
        std::vector<std::uint32_t> members;
        for (std::size_t const b : set.groups[g].blocks) members.push_back(set.variables[b]);
        has_numbering = has_numbering || set.groups[g].mixes;
        text += set.groups[g].mixes
                    ? fmt::format("of the product of {} over {} the singular vectors, times the root of the singular value; ",
                                  names(members), set.dims[g])
                    : fmt::format("at each {} {} have the same norm; ", set.dims[g], names(members));
    }
    text += fmt::format("{} have the same norm; signs{} are those nearest to the mean of all draws.",
                        set.variables.size() == 2 ? "both" : "all", has_numbering ? " and numbering" : "");
    auto const share = static_cast<double>(set.near) / static_cast<double>(std::max<std::size_t>(set.draws, 1));
    if (share >= rare)
        text += fmt::format(
            " In {:.0f} % of the draws two singular values are within a tenth of one another: there these vectors turn "
            "freely, and only what they span has a meaning.",
            100 * share);
    return text;
}

std::string Aligner::sentence(TradingSet const& set) const {
    return set.why_not.empty() ? describe(set) : fmt::format("{} are shown as they were drawn: {}.", names(set.variables), set.why_not);
}

void Aligner::add_sentences(Places const& places, std::vector<std::string>& list) const {
    InterchangePlan const& plan = *places.plan;
    std::vector<std::string> of_place;
    for (std::size_t p = 0; p < plan.places.size(); ++p) {
        std::vector<std::string> own;
        for (SlicePlan const& slice : plan.places[p]) own.push_back(name(slice.variable));
        for (SlicePlan const& slice : plan.reports[p])
            if (plan_.reports[slice.variable].is_identified) own.push_back(plan_.reports[slice.variable].name);
        of_place.push_back(first_few(own));
        if (!plan.dim.empty()) break;
    }
    list.push_back(
        plan.dim.empty()
            ? fmt::format("{} stand in the order nearest to the mean of all draws: nothing tells them apart.", fmt::join(of_place, "; "))
            : fmt::format("Of {} each {} has the number nearest to the mean of all draws: nothing tells them apart.", of_place.front(),
                          plan.dim));
    if (plan.changed_reports.empty()) return;
    std::vector<std::string> changed;
    for (std::uint32_t const report : plan.changed_reports) changed.push_back(plan_.reports[report].name);
    list.push_back(fmt::format("{} {} shown as drawn: {} on the numbers, and not judged.", first_few(changed),
                               changed.size() == 1 ? "is" : "are", changed.size() == 1 ? "it hangs" : "they hang"));
}

}  // namespace

Aligned align(Plan const& plan, Run const& run) { return Aligner(plan, run).run(); }

}  // namespace bam
