// Draws of one table carried over to another: what both have by its labels, what is new from its prior given the rest.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "ancestral.hpp"
#include "completion.hpp"
#include "draws.hpp"
#include "factors.hpp"
#include "replica.hpp"

namespace bam {

/// Which stored column each entry of the new table's parameters is; the rest is new.
class CarryMap {
  public:
    /// Reports BAM0483 for new entries whose prior is flat, BAM0485 for missing outputs that cannot be drawn.
    CarryMap(Problem const& problem, std::vector<DrawColumn> const& columns, Diagnostics& diagnostics);

    /// An entry of a variable, and the column whose draws are its own.
    struct Known {
        std::uint32_t variable = 0;
        std::size_t entry = 0;  ///< [component][extent]
        std::size_t column = 0;
    };
    std::vector<Known> const& known() const { return known_; }
    /// Per variable of the layout: entries that are new, ascending.
    std::vector<std::vector<std::size_t>> const& unseen() const { return unseen_; }
    /// Indices of the plan's blocks with new entries: a block after those that its prior reads.
    std::vector<std::size_t> const& order() const { return order_; }
    /// Whether anything is drawn: an entry that is new, or a missing output that later steps look back at.
    bool draws_anything(Problem const& problem) const;

  private:
    void find_columns(Problem const& problem, std::vector<DrawColumn> const& columns);
    void find_order(Plan const& plan);
    void refuse_flat(Problem const& problem, Diagnostics& diagnostics) const;
    void refuse_entangled(Problem const& problem, Diagnostics& diagnostics) const;

    std::vector<Known> known_;
    std::vector<std::vector<std::size_t>> unseen_;
    std::vector<std::size_t> order_;
};

/// The state of one chain on the new table. Draws of a chain depend on (seed, chain, draw) only.
class Carrier {
  public:
    Carrier(Problem const& problem, CarryMap const& map, std::uint64_t seed, std::uint64_t chain);
    Carrier(Carrier const&) = delete;
    Carrier& operator=(Carrier const&) = delete;

    /// Sets the state to the draw-th draw, `row` having its columns. O(entries) and one pass per block over time that is new.
    void set(std::size_t draw, double const* row);
    /// The same of a state that is known as a whole.
    void set(State const& state);

    /// From the next set() on, a parameter has these values, [component][extent]; none: it is set and drawn again.
    void hold(std::uint32_t variable, std::vector<double> const& values);

    Inputs inputs() const { return {problem_.plan.layout, problem_.bound, state_, factors_.weights()}; }
    State const& state() const { return state_; }
    Factors const& factors() const { return factors_; }
    /// Log density of the missing outputs that the last set() drew, given the observed ones and the parameters; 0 without any.
    double log_density_of_missing() const { return completion_ ? completion_->log_density() : 0; }
    double log_density_of_missing(std::size_t sequence) const { return completion_ ? completion_->log_density(sequence) : 0; }

  private:
    void draw_scale_priors(ScaleLayout const& scale, Stream& stream);

    Problem const& problem_;
    CarryMap const& map_;
    std::uint64_t seed_;
    std::uint64_t chain_;
    State state_;
    Factors factors_;
    std::vector<std::unique_ptr<AncestralBlock>> unseen_;
    std::map<std::uint32_t, std::vector<double>> held_;
    std::unique_ptr<Completion> completion_;  ///< null if no output is missing that later steps look back at
};

}  // namespace bam
