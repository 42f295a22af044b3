// What a factorised posterior says of means and of new outputs: the part of MeanField that predictions ask for.
#include <algorithm>
#include <cmath>

#include "mean_field.hpp"
#include "scales.hpp"

namespace bam {

std::vector<double> MeanField::values_of(TermPlan const& term) const {
    Grid const& grid = problem_.bound.grid;
    Extent const extent = term.pass.domain;
    std::size_t const size = grid.size(extent);
    std::vector<double> result(term.registers.size() * size, 0.0);
    AdjointRunner runner(term.pass, {}, inputs(), posterior_.covariances, no_register);
    runner.begin();
    for (Chunk const& chunk : runner.chunks()) {
        runner.run(chunk);
        std::size_t const first = extent == Extent::Cell ? chunk.first_cell : (extent == Extent::Time ? chunk.first_step : 0);
        std::size_t const count = extent == Extent::Cell   ? chunk.last_cell - chunk.first_cell
                                  : extent == Extent::Time ? chunk.last_step - chunk.first_step
                                                           : size;
        for (std::size_t c = 0; c < term.registers.size(); ++c) {
            if (term.registers[c] != no_register) std::copy_n(runner.at(term.registers[c]), count, result.data() + c * size + first);
        }
        runner.advance(chunk);
    }
    return result;
}

std::vector<double> MeanField::variance_of_mean(std::size_t f) const { return values_of(expectations_.variances[f]); }

PredictiveMoments MeanField::predictive_moments() const {
    Layout const& layout = problem_.plan.layout;
    PredictiveMoments moments;
    for (std::size_t f = 0; f < layout.factors.size(); ++f) {
        moments.mean.emplace_back();
        moments.variance.emplace_back();
        moments.noise.emplace_back();
        if (!layout.factors[f].is_observation) continue;
        moments.mean.back() = values_of(problem_.plan.means[f]);
        moments.variance.back() = variance_of_mean(f);
        moments.noise.back() = [this, f](std::size_t component, std::size_t sequence, std::size_t step) {
            return noise_variance(f, component, sequence, step);
        };
    }
    return moments;
}

double MeanField::noise_variance(std::size_t f, std::size_t component, std::size_t sequence, std::size_t step) const {
    Layout const& layout = problem_.plan.layout;
    double variance = 1 / factors_.known_precision(f, component, sequence, step);
    for (std::uint32_t const part : factors_.learnt_parts(f)) {
        std::uint32_t const v = *layout.factors[f].spread[part].variable;
        auto const scale = std::find_if(layout.scales.begin(), layout.scales.end(), [&](ScaleLayout const& s) { return s.variable == v; });
        auto const s = static_cast<std::size_t>(scale - layout.scales.begin());
        std::size_t const entry = factors_.scale_index({static_cast<std::uint32_t>(f), part}, component, sequence, step);
        std::size_t const size = posterior_.scales[s].size() / layout.variables[v].components;
        // A new output has a local scale of its own.
        ScalePriorLayout const& prior = prior_of(*scale, entry / size);
        variance *= prior.df                       ? HUGE_VAL  // there are some below 2
                    : layout.variables[v].is_local ? mean_variance(prior, scale->spread)
                                                   : posterior_.scales[s][entry].variance;
    }
    return variance;
}

}  // namespace bam
