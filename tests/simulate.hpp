// Ancestral simulation of a checked model: scales and blocks from their priors in the order in which they depend on one another, then the
// outputs. By the definition (oracle.hpp), cell by cell, so that it shares nothing with the engine but the layout.
#pragma once

#include <cmath>
#include <random>
#include <set>

#include "oracle.hpp"

namespace bam::test {

class Simulator {
  public:
    Simulator(Study const& study, std::uint64_t seed)
        : study_(study), oracle_(study), numbering_{study.model, study.laid_out.variables, {}}, random_(seed) {}

    /// All parameters from their priors.
    void parameters(State& state) {
        Model const& model = study_.model;
        for (ScalePrior const& prior : model.scale_priors) {
            std::vector<double>& values = state.values[numbering_.variables.at(prior.scale)];
            for (std::size_t i = 0; i < values.size(); ++i)
                if (oracle_.holds_at(prior, i, values.size())) values[i] = draw(prior, state);
            auto& auxiliaries = state.auxiliaries[numbering_.variables.at(prior.scale)];
            for (std::size_t i = 0; i < auxiliaries.size(); ++i) {
                if (!oracle_.holds_at(prior, i, values.size())) continue;
                // aux | var of a half-t
                double const x = state.values[numbering_.variables.at(prior.scale)][i];
                double const var = prior.spread == SpreadKind::Sd ? x * x : (prior.spread == SpreadKind::Variance ? x : 1 / x);
                if (prior.family == ScaleFamily::HalfStudentT)
                    auxiliaries[i] = (1 / (prior.second * prior.second) + prior.first / var) / gamma((prior.first + 1) / 2);
            }
        }
        std::set<SymbolId> drawn;
        std::size_t blocks = 0;
        for (Symbol const& symbol : model.symbols) blocks += symbol.kind == SymbolKind::Block ? 1 : 0;
        while (drawn.size() < blocks) {
            for (SymbolId id = 0; id < model.symbols.size(); ++id) {
                if (model.symbols[id].kind != SymbolKind::Block || drawn.contains(id) || !is_ready(id, drawn)) continue;
                simulate_target(id, state.values[numbering_.variables.at(id)], state);
                drawn.insert(id);
            }
        }
        draw_binary_locals(state);
    }

    /// All outputs that count, given the parameters, into the problem's table, or into the state where an output has missing cells that are
    /// drawn.
    void outputs(Problem& problem, State& state) {
        // Step by step, since outputs may look back at one another.
        for (std::size_t t = 0; t < problem.bound.grid.steps; ++t) {
            for (SymbolId id = 0; id < study_.model.symbols.size(); ++id) {
                if (study_.model.symbols[id].kind != SymbolKind::Data) continue;
                std::uint32_t const v = numbering_.variables.at(id);
                simulate_step(id, t, state.values[v].empty() ? problem.bound.data[v] : state.values[v], state);
            }
        }
    }

  private:
    bool is_ready(SymbolId id, std::set<SymbolId> const& drawn) const {
        for (Factor const& factor : study_.model.factors) {
            if (factor.target != id) continue;
            for (SymbolId other = 0; other < study_.model.symbols.size(); ++other) {
                bool const is_open = study_.model.symbols[other].kind == SymbolKind::Block && other != id && !drawn.contains(other);
                if (is_open && mentions(study_.model, factor.mean, {Op::Param, other, 0})) return false;
            }
        }
        return true;
    }

    /// Steps in order, since a mean may hold the target's earlier steps.
    void simulate_target(SymbolId id, std::vector<double>& values, State const& state) {
        for (std::size_t t = 0; t < study_.problem.bound.grid.steps; ++t) simulate_step(id, t, values, state);
    }

    /// What has no steps is simulated at the first.
    void simulate_step(SymbolId id, std::size_t t, std::vector<double>& values, State const& state) {
        Model const& model = study_.model;
        Grid const& grid = study_.problem.bound.grid;
        Extent const extent = numbering_.extent(id);
        std::size_t const size = grid.size(extent);
        bool const over_time = extent == Extent::Time || extent == Extent::Cell;
        bool const over_sequences = extent == Extent::Sequence || extent == Extent::Cell;
        auto const entries = numbering_.entries(numbering_.labelled(id), 0);
        if (!over_time && t > 0) return;
        std::size_t const lanes = extent == Extent::Cell ? grid.lanes(t) : (over_sequences ? grid.sequences : 1);
        for (std::size_t s = 0; s < lanes; ++s) {
            std::size_t const index = extent == Extent::Cell ? grid.cell(s, t) : (extent == Extent::Time ? t : s);
            for (std::size_t f = 0; f < model.factors.size(); ++f) {
                Factor const& factor = model.factors[f];
                if (factor.target != id) continue;
                if (factor.is_categorical()) choose(factor, f, entries, index, values);
                if (factor.is_flat()) {
                    if (std::isfinite(factor.interval.high - factor.interval.low)) spread_evenly(factor, f, entries.size(), index, values);
                    continue;
                }
                std::vector<double> const noise = factor.has_covariance() ? correlated(factor) : std::vector<double>{};
                for (std::size_t c = 0; c < entries.size(); ++c) {
                    if (!study_.problem.masks[f].empty() && study_.problem.masks[f][c * size + index] == 0) continue;
                    double const mean = oracle_.value(factor.mean, entries[c], s, t, state);
                    if (factor.is_binary) {
                        values[c * size + index] = std::bernoulli_distribution(1 / (1 + std::exp(-mean)))(random_) ? 1 : 0;
                        continue;
                    }
                    double e = 0;
                    if (noise.empty()) {
                        e = normal() * std::sqrt(oracle_.variance(factor, entries[c], s, t, state));
                    } else {
                        if (c % noise.size() == 0 && c > 0) refresh(factor);
                        e = (c < noise.size() ? noise : again_)[c % noise.size()];
                    }
                    // Where the prior is truncated: until one lies inside.
                    double const sd = factor.interval.is_bounded() ? std::sqrt(oracle_.variance(factor, entries[c], s, t, state)) : 0;
                    while (mean + e < factor.interval.low || mean + e > factor.interval.high) e = normal() * sd;
                    values[c * size + index] = mean + e;
                }
            }
        }
    }

    /// Entry after entry of the last dim: the first beyond which a uniform number lies.
    void choose(Factor const& factor, std::size_t f, std::vector<Entry> const& entries, std::size_t index, std::vector<double>& values) {
        std::size_t const size = values.size() / entries.size();
        std::size_t const among = numbering_.size(numbering_.labelled(factor.target).back());
        for (std::size_t first = 0; first < entries.size(); first += among) {
            if (!study_.problem.masks[f].empty() && study_.problem.masks[f][first * size + index] == 0) continue;
            double rest = std::uniform_real_distribution<double>()(random_);
            for (std::size_t k = 0; k < among; ++k) {
                double const share = oracle_.share(factor, entries[first + k]);
                values[(first + k) * size + index] = rest >= 0 && rest < share ? 1 : 0;
                rest = rest < share ? -1 : rest - share;
            }
        }
    }

    /// Given the parameters, of the cells that count.
    void draw_binary_locals(State& state) {
        for (std::size_t f = 0; f < study_.model.factors.size(); ++f) {
            Factor const& factor = study_.model.factors[f];
            if (!factor.is_binary) continue;
            auto const local = static_cast<SymbolId>(study_.model.terms[factor.spread.front().value].payload);
            std::vector<double>& values = state.values[numbering_.variables.at(local)];
            std::vector<double> const means = oracle_.means(f, state);
            std::vector<double> const& mask = study_.problem.masks[f];
            for (std::size_t i = 0; i < means.size(); ++i)
                if (mask.empty() || mask[i] > 0) values[i] = polya_gamma(means[i]);
        }
    }

    /// PG(1, c) by its definition, a sum of exponentials (Polson, Scott and Windle 2013, equation 1), of which the far ones count by their
    /// mean.
    double polya_gamma(double c) {
        double const pi = std::numbers::pi;
        double sum = 0, mean = 0;
        for (int k = 1; k <= 60; ++k) {
            double const weight = 1 / (2 * pi * pi * ((k - 0.5) * (k - 0.5) + c * c / (4 * pi * pi)));
            sum += weight * std::exponential_distribution<double>()(random_);
            mean += weight;
        }
        return sum + (std::abs(c) < 1e-6 ? 0.25 : std::tanh(c / 2) / (2 * c)) - mean;
    }

    /// A flat prior between two ends is a distribution.
    void spread_evenly(Factor const& factor, std::size_t f, std::size_t components, std::size_t index, std::vector<double>& values) {
        std::size_t const size = values.size() / components;
        for (std::size_t c = 0; c < components; ++c) {
            if (!study_.problem.masks[f].empty() && study_.problem.masks[f][c * size + index] == 0) continue;
            values[c * size + index] = std::uniform_real_distribution<double>(factor.interval.low, factor.interval.high)(random_);
        }
    }

    std::vector<double> correlated(Factor const& factor) {
        std::vector<double> const& cov = study_.model.literals[study_.model.terms[factor.spread.front().value].payload].values;
        auto const k = static_cast<std::size_t>(std::lround(std::sqrt(static_cast<double>(cov.size()))));
        std::vector<double> root(k * k), result(k);
        for (std::size_t i = 0; i < k; ++i) {
            for (std::size_t j = 0; j <= i; ++j) {
                double sum = cov[i * k + j];
                for (std::size_t p = 0; p < j; ++p) sum -= root[i * k + p] * root[j * k + p];
                root[i * k + j] = i == j ? std::sqrt(sum) : sum / root[j * k + j];
            }
        }
        std::vector<double> z(k);
        for (double& x : z) x = normal();
        for (std::size_t i = 0; i < k; ++i) {
            for (std::size_t j = 0; j <= i; ++j) result[i] += root[i * k + j] * z[j];
        }
        return result;
    }
    void refresh(Factor const& factor) { again_ = correlated(factor); }

    double normal() { return std::normal_distribution<double>()(random_); }
    double gamma(double shape) { return std::gamma_distribution<double>(shape)(random_); }

    double draw(ScalePrior const& prior, State const& state) {
        double const df = prior.df ? state.values[numbering_.variables.at(*prior.df)].front() : 0;
        if (prior.df) return gamma(df / 2) / (df / 2);
        switch (prior.family) {
            case ScaleFamily::HalfStudentT: return prior.second * std::abs(std::student_t_distribution<double>(prior.first)(random_));
            case ScaleFamily::Exponential: return std::exponential_distribution<double>(prior.first)(random_);
            case ScaleFamily::HalfNormal: return prior.first * std::abs(normal());
            case ScaleFamily::InverseGamma: return prior.second / gamma(prior.first);
            case ScaleFamily::Gamma: return gamma(prior.first) / prior.second;
            case ScaleFamily::PolyaGamma: return polya_gamma(0);  // of cells that do not count; of others see outputs()
            case ScaleFamily::Flat: break;
        }
        throw std::runtime_error("a flat prior cannot be simulated");
    }

    Study const& study_;
    Oracle oracle_;
    Numbering numbering_;
    std::mt19937_64 random_;
    std::vector<double> again_;
};

}  // namespace bam::test
