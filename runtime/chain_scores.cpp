#include "chain_scores.hpp"

#include <algorithm>
#include <cmath>

#include "left_out.hpp"

namespace bam {

ScoreKeeper::ScoreKeeper(Problem const& problem, Inputs const& inputs, Factors const& factors)
    : densities_(problem, inputs, factors), state_(problem.plan, inputs, factors) {
    std::size_t steps = 0;
    for (LeftOut const& one : each_cell(problem)) {
        OutputCell const& cell = one.cells.front();
        cells_.push_back({cell.factor, entry_of(problem, cell), cell.step, one.log_slope});
        steps = std::max(steps, cell.step + 1);
    }
    std::stable_sort(cells_.begin(), cells_.end(), [](Cell const& a, Cell const& b) { return a.factor < b.factor; });
    scores_.elpd_by_step.resize(steps);
}

void ScoreKeeper::record() {
    auto const n = static_cast<double>(++scores_.draws);
    std::vector<double> const* values = nullptr;
    for (std::size_t k = 0; k < cells_.size(); ++k) {
        Cell& cell = cells_[k];
        if (k == 0 || cell.factor != cells_[k - 1].factor) values = &densities_.of(cell.factor);
        double const density = (*values)[cell.entry];
        if (n == 1 || density > cell.highest) {
            cell.sum = n == 1 ? 0 : cell.sum * std::exp(cell.highest - density);
            cell.highest = density;
        }
        cell.sum += std::exp(density - cell.highest);
        double const off = density - cell.mean;
        cell.mean += off / n;
        cell.squares += off * (density - cell.mean);
    }
}

ChainScores const& ScoreKeeper::report(bool is_last) {
    scores_.is_last = is_last;
    auto const n = static_cast<double>(scores_.draws);
    std::fill(scores_.elpd_by_step.begin(), scores_.elpd_by_step.end(), 0.0);
    scores_.elpd = scores_.effective_parameters = 0;
    for (Cell const& cell : cells_) {
        double const p = n > 1 ? cell.squares / (n - 1) : 0;
        double const elpd = cell.log_slope + cell.highest + std::log(cell.sum / n) - p;
        scores_.effective_parameters += p;
        scores_.elpd += elpd;
        scores_.elpd_by_step[cell.step] += elpd;
    }
    scores_.state_dimension = state_.has_states() ? state_.at_present() : std::nan("");
    return scores_;
}

}  // namespace bam
