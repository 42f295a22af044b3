// Factors of outputs that are 0 or 1 (math.md, 7b. Binary outputs).
#include <cmath>
#include <numbers>

#include "factors.hpp"
#include "polya_gamma.hpp"

namespace bam {

void Factors::score_binary(std::size_t f, PassRunner& runner) {
    Variable const& target = plan_.layout.variables[plan_.layout.factors[f].target];
    std::size_t const size = bound_.grid.size(target.extent);
    ScaleUse const use{static_cast<std::uint32_t>(f), learnt_parts_[f].front()};
    auto const& registers = plan_.means[f].registers;
    Score& score = scores_[f];
    runner.begin();
    for (Chunk const& chunk : runner.chunks()) {
        runner.run(chunk);
        std::size_t const start = first_of(chunk, target.extent);
        for (std::size_t c = 0; c < target.components; ++c) {
            if (registers[c] == no_register) continue;
            double const* means = runner.at(registers[c]);
            bool const is_one = runner.is_one(registers[c]);
            bound_.grid.for_each(target.extent, chunk.first_step, chunk.last_step,
                                 [&](std::size_t i, std::size_t sequence, std::size_t step) {
                                     double const mean = means[is_one ? 0 : i - start];
                                     score.means[c * size + i] = mean;
                                     if (mask(f, c, i) > 0) score.parts.front().squares[scale_index(use, c, sequence, step)] = mean * mean;
                                 });
        }
    }
}

template <class F>
double Factors::sum_over_binary(std::size_t f, F term) const {
    FactorLayout const& factor = plan_.layout.factors[f];
    std::vector<double> const& y = bound_.data[factor.target];
    std::size_t const size = bound_.grid.size(plan_.layout.variables[factor.target].extent);
    double sum = 0;
    for_each_cell(f, [&](std::size_t c, std::size_t i, std::size_t sequence, std::size_t step) {
        if (mask(f, c, i) == 0) return;
        sum += term(scores_[f].means[c * size + i], y[c * size + i], precision_of(factor.spread.front(), c, sequence, step));
    });
    return sum;
}

double Factors::quadratic_of_binary(std::size_t f) const {
    return sum_over_binary(f, [](double mean, double y, double local) {
        double const residual = mean - (y - 0.5) / local;
        return local * residual * residual;
    });
}

double Factors::log_of_binary(std::size_t f, double power) const {
    double const root = std::sqrt(power);
    return sum_over_binary(f, [&](double mean, double y, double) {
        return power * (y - 0.5) * mean - log_two_cosh_half(root * mean) + (1 - power) * std::numbers::ln2;
    });
}

PowerSlope Factors::slope_of_binary(std::size_t f, double power) const {
    double const root = std::sqrt(power);
    PowerSlope slope;
    slope.first = sum_over_binary(f, [&](double mean, double y, double) {
        return (y - 0.5) * mean - 0.5 * mean * mean * polya_gamma_mean(root * mean) - std::numbers::ln2;
    });
    slope.second =
        sum_over_binary(f, [&](double mean, double, double) { return 0.25 * std::pow(mean, 4) * polya_gamma_variance(root * mean); });
    return slope;
}

}  // namespace bam
