#include "expected_factors.hpp"

#include <Eigen/Dense>
#include <cmath>
#include <numbers>

namespace bam {
namespace {

std::size_t row_length(std::vector<double> const& matrix) {
    return static_cast<std::size_t>(std::lround(std::sqrt(static_cast<double>(matrix.size()))));
}

}  // namespace

ExpectedFactors::ExpectedFactors(Plan const& plan, ExpectationPlan const& expectations, Inputs const& inputs, Factors const& factors,
                                 std::vector<Covariances> const& covariances)
    : plan_(plan), expectations_(expectations), grid_(inputs.bound.grid), factors_(factors) {
    std::size_t const count = plan.layout.factors.size();
    weights_.resize(count);
    constants_.assign(count, 0.0);
    for (std::size_t f = 0; f < count; ++f) {
        Variable const& target = plan.layout.variables[plan.layout.factors[f].target];
        std::size_t const size = grid_.size(target.extent);
        weights_[f].assign(expectations.squares[f].registers.size() * size, 0.0);
        refresh(f);
        if (is_flat(f)) {
            runners_.push_back(nullptr);
            continue;
        }
        double cells = 0;
        for (std::size_t c = 0; c < target.components; ++c) {
            grid_.for_each(target.extent, [&](std::size_t i, std::size_t s, std::size_t t) {
                double const mask = factors.mask(f, c, i);
                cells += mask;
                if (mask > 0) constants_[f] += 0.5 * std::log(factors.known_precision(f, c, s, t));
            });
        }
        constants_[f] -= 0.5 * cells * std::log(2 * std::numbers::pi);
        if (plan.layout.factors[f].has_covariance()) {
            auto const k = row_length(factors.covariance_precision(f));
            auto const n = static_cast<Eigen::Index>(k);
            Eigen::MatrixXd const precision = Eigen::Map<Eigen::MatrixXd const>(factors.covariance_precision(f).data(), n, n);
            constants_[f] += 0.5 * cells / static_cast<double>(k) * std::log(precision.determinant());
        }
        runners_.push_back(std::make_unique<AdjointRunner>(expectations.squares[f].pass, outputs(f), inputs, covariances, no_register));
    }
}

void ExpectedFactors::refresh(std::size_t f) {
    if (is_flat(f)) return;
    FactorLayout const& factor = plan_.layout.factors[f];
    Variable const& target = plan_.layout.variables[factor.target];
    std::size_t const size = grid_.size(target.extent);
    std::vector<double> const& full = factors_.covariance_precision(f);
    std::size_t const k = full.empty() ? 1 : row_length(full);
    for (std::size_t c = 0; c < target.components; ++c) {
        grid_.for_each(target.extent, [&](std::size_t i, std::size_t s, std::size_t t) {
            double const mask = factors_.mask(f, c, i);
            for (std::size_t j = 0; j < k; ++j) {
                double const precision = full.empty() ? factors_.precision(f, c, s, t) : full[c % k * k + j];
                weights_[f][(c * k + j) * size + i] = mask == 0 ? 0 : mask * precision;
            }
        });
    }
}

std::vector<WeightedOutput> ExpectedFactors::outputs(std::size_t f) const {
    std::vector<WeightedOutput> result;
    auto const& registers = expectations_.squares[f].registers;
    std::size_t const size = registers.empty() ? 0 : weights_[f].size() / registers.size();
    for (std::size_t r = 0; r < registers.size(); ++r) {
        if (registers[r] != no_register) result.push_back({registers[r], weights_[f].data() + r * size});
    }
    return result;
}

std::vector<double> ExpectedFactors::squares(ScaleUse const& use) {
    AdjointRunner& runner = *runners_[use.factor];
    Variable const& target = plan_.layout.variables[plan_.layout.factors[use.factor].target];
    std::vector<double> sums(factors_.counts(use).size(), 0.0);
    auto const& registers = expectations_.squares[use.factor].registers;
    runner.begin();
    for (Chunk const& chunk : runner.chunks()) {
        runner.run(chunk);
        for (std::size_t c = 0; c < registers.size(); ++c) {
            if (registers[c] == no_register) continue;
            double const* values = runner.at(registers[c]);
            std::size_t k = 0;
            grid_.for_each(target.extent, chunk.first_step, chunk.last_step, [&](std::size_t i, std::size_t s, std::size_t t) {
                double const mask = factors_.mask(use.factor, c, i);
                if (mask > 0)
                    sums[factors_.scale_index(use, c, s, t)] +=
                        mask * factors_.precision_without(use.part, use.factor, c, s, t) * values[k];
                ++k;
            });
        }
        runner.advance(chunk);
    }
    return sums;
}

}  // namespace bam
