// The weights of cells with the power of the likelihood: it is on observed cells, and not on those that are drawn (math.md, 9b. Powers of
// the likelihood), of which sums are kept apart.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "factors.hpp"

namespace bam {

double Factors::power(std::size_t f, std::size_t component, std::size_t index) const {
    FactorLayout const& factor = plan_.layout.factors[f];
    if (!factor.is_observation) return 1;
    if (scores_[f].drawn.empty()) return power_;
    std::size_t const size = bound_.grid.size(plan_.layout.variables[factor.target].extent);
    return (*drawn_cells(problem_, factor.target))[component * size + index] ? 1 : power_;
}

void Factors::set_power(double power) {
    power_ = power;
    for (std::size_t f = 0; f < scores_.size(); ++f)
        if (!scores_[f].drawn.empty()) weigh_cells(f);
}

double Factors::common_precision(std::size_t f) const {
    FactorLayout const& factor = plan_.layout.factors[f];
    double const power = factor.is_observation && scores_[f].drawn.empty() ? power_ : 1;
    return power * (has_one_spread(plan_.layout, factor) ? precision(f, 0, 0, 0) : 1);
}

void Factors::refresh() {
    for (std::size_t f = 0; f < plan_.layout.factors.size(); ++f) {
        if (!weighted_[f]) continue;
        bool const is_lasting = has_one_spread(plan_.layout, plan_.layout.factors[f]) || learnt_parts_[f].empty();
        if (!is_fresh_ || !is_lasting) weigh_cells(f);
    }
    is_fresh_ = true;
}

void Factors::weigh_cells(std::size_t f) {
    FactorLayout const& factor = plan_.layout.factors[f];
    Variable const& target = plan_.layout.variables[factor.target];
    bool const has_one = has_one_spread(plan_.layout, factor);
    bool const has_powers = !scores_[f].drawn.empty();
    std::size_t const size = bound_.grid.size(target.extent);
    for_each_cell(f, [&](std::size_t c, std::size_t i, std::size_t sequence, std::size_t step) {
        double const m = mask(f, c, i) * (has_powers ? power(f, c, i) : 1);
        weights_[f][c * size + i] = m == 0 || has_one ? std::sqrt(m) : std::sqrt(m * precision(f, c, sequence, step));
    });
}

Statistics Factors::statistics(ScaleLayout const& scale, std::size_t entry) const {
    Statistics sums;
    for (ScaleUse const& use : scale.uses) {
        Sums const& of_use = sums_of(use);
        double const power = plan_.layout.factors[use.factor].is_observation ? power_ : 1;
        if (power > 0) {  // at 0 squares may be infinite
            sums.n += power * of_use.counts[entry];
            sums.squares += power * of_use.squares[entry];
        }
        if (power == 1 || of_use.drawn_counts.empty()) continue;
        sums.n += (1 - power) * of_use.drawn_counts[entry];
        sums.squares += (1 - power) * of_use.drawn_squares[entry];
    }
    return sums;
}

void Factors::list_drawn(std::size_t f) {
    FactorLayout const& factor = plan_.layout.factors[f];
    std::vector<bool> const* const drawn = drawn_cells(problem_, factor.target);
    if (!factor.is_observation || drawn == nullptr) return;
    Variable const& target = plan_.layout.variables[factor.target];
    std::size_t const size = bound_.grid.size(target.extent);
    Score& score = scores_[f];
    bound_.grid.for_each(target.extent, [&](std::size_t i, std::size_t sequence, std::size_t step) {
        for (std::size_t c = 0; c < target.components; ++c)
            if ((*drawn)[c * size + i] && mask(f, c, i) > 0) score.drawn.push_back({c, i, sequence, step});
    });
    if (score.drawn.empty()) return;
    for (std::size_t k = 0; k < score.parts.size(); ++k) {
        Sums& sums = score.parts[k];
        sums.drawn_counts.assign(sums.counts.size(), 0.0);
        sums.drawn_squares.assign(sums.counts.size(), 0.0);
        ScaleUse const use{static_cast<std::uint32_t>(f), learnt_parts_[f][k]};
        for (DrawnCell const& cell : score.drawn) sums.drawn_counts[scale_index(use, cell.component, cell.sequence, cell.step)] += 1;
    }
}

void Factors::score_drawn(std::size_t f, PassRunner const& runner, Chunk const& chunk, std::size_t start) {
    std::vector<DrawnCell>& drawn = scores_[f].drawn;
    auto cell = std::lower_bound(drawn.begin(), drawn.end(), chunk.first_step,
                                 [](DrawnCell const& one, std::size_t step) { return one.step < step; });
    for (; cell != drawn.end() && cell->step < chunk.last_step; ++cell) {
        double const r = runner.at(plan_.residuals[f].registers[cell->component])[cell->index - start];
        cell->square = known_precision(f, cell->component, cell->sequence, cell->step) * r * r;
    }
}

void Factors::gather_drawn(std::size_t f, std::size_t learnt) {
    if (scores_[f].drawn.empty()) return;
    std::vector<double>& squares = scores_[f].parts[learnt].drawn_squares;
    std::fill(squares.begin(), squares.end(), 0.0);
    ScaleUse const use{static_cast<std::uint32_t>(f), learnt_parts_[f][learnt]};
    for (DrawnCell const& cell : scores_[f].drawn)
        squares[scale_index(use, cell.component, cell.sequence, cell.step)] +=
            times_learnt(cell.square, f, learnt, cell.component, cell.sequence, cell.step);
}

double Factors::log_density_of_drawn(std::size_t f) const {
    double sum = 0;
    for (DrawnCell const& cell : scores_[f].drawn) {
        double const known = known_precision(f, cell.component, cell.sequence, cell.step);
        double const learnt = times_learnt(1, f, all_learnt, cell.component, cell.sequence, cell.step);
        sum += 0.5 * (std::log(known * learnt) - std::log(2 * std::numbers::pi) - learnt * cell.square);
    }
    return sum;
}

}  // namespace bam
