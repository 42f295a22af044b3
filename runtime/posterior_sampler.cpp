#include "posterior_sampler.hpp"

#include <Eigen/Cholesky>
#include <cmath>
#include <numbers>

#include "scale_family.hpp"
#include "scales.hpp"
#include "spread.hpp"

namespace bam {

PosteriorSampler::PosteriorSampler(MeanField const& field) : problem_(field.problem()), posterior_(field.posterior()) {
    Plan const& plan = problem_.plan;
    Grid const& grid = problem_.bound.grid;
    for (BlockPlan const& block : plan.blocks) {
        Variable const& variable = plan.layout.variables[block.variable];
        Covariances const& covariances = posterior_.covariances[block.variable];
        if (variable.learnt_from) continue;  // the same in every draw
        blocks_.push_back({block.variable, {}});
        for_each_system(block, variable, grid, [&](auto const& group, std::size_t here, std::optional<std::size_t> before) {
            std::vector<std::size_t> places, previous;
            for (std::uint32_t component : group) {
                places.push_back(component * covariances.size + here);
                if (before) previous.push_back(component * covariances.size + *before);
            }
            if (variable.is_categorical) {
                std::vector<double> logs;
                for (std::size_t const place : places) logs.push_back(std::log(posterior_.state.values[block.variable][place]));
                blocks_.back().systems.push_back({std::move(places), {}, {}, {}, 0, {}, std::move(logs)});
                return;
            }
            if (TruncatedFactor const* const factor = posterior_.truncated_at(block.variable, places.front())) {
                blocks_.back().systems.push_back({std::move(places), {}, {}, {}, 0, *factor, {}});
                return;
            }
            GivenBefore given = given_before(group, here, before, covariances);
            add_system(blocks_.back(), std::move(places), std::move(previous), std::move(given.covariance), std::move(given.gain));
        });
    }
    for (std::size_t k = 0; k < problem_.augmented.size(); ++k) {
        if (problem_.augmented[k].empty()) continue;
        std::uint32_t const v = plan.lagged_outputs[k].variable;
        Covariances const& covariances = posterior_.covariances[v];
        blocks_.push_back({v, {}});
        for (std::size_t at = 0; at < problem_.augmented[k].size(); ++at) {
            if (!problem_.augmented[k][at]) continue;
            std::size_t const c = at / covariances.size;
            if (covariances.at(c, c)[at % covariances.size] == 0) continue;  // no statement speaks of the cell
            add_system(blocks_.back(), {at}, {}, Eigen::MatrixXd::Constant(1, 1, covariances.at(c, c)[at % covariances.size]), {});
        }
    }
    auto const& scales = plan.layout.scales;
    for (bool const of_locals : {true, false})
        for (std::size_t s = 0; s < scales.size(); ++s)
            if (scales[s].locals.empty() != of_locals) add_scale(s, field);
}

void PosteriorSampler::add_scale(std::size_t index, MeanField const& field) {
    ScaleLayout const& scale = problem_.plan.layout.scales[index];
    Variable const& variable = problem_.plan.layout.variables[scale.variable];
    if (variable.learnt_from || is_binary(scale)) return;  // the latter are integrated out
    scales_.push_back({index, {}, field.counts(index), {}});
    if (!scale.locals.empty()) {
        scales_.back().df.emplace(scale.priors.back(), field.local_sums(index));
        return;
    }
    std::size_t const size = scales_.back().counts.size() / variable.components;
    for (std::size_t e = 0; e < scales_.back().counts.size(); ++e) {
        scales_.back().samplers.emplace_back(prior_of(scale, e / size, posterior_.state), scale.spread, scales_.back().counts[e],
                                             posterior_.scales[index][e].squares);
    }
}

void PosteriorSampler::add_system(Block& block, std::vector<std::size_t> places, std::vector<std::size_t> before,
                                  Eigen::MatrixXd covariance, Eigen::MatrixXd gain) {
    System system{std::move(places), std::move(before), covariance.llt().matrixL(), std::move(gain), 0, {}, {}};
    system.log_normaliser =
        system.root.diagonal().array().log().sum() + 0.5 * static_cast<double>(system.root.rows()) * std::log(2 * std::numbers::pi);
    block.systems.push_back(std::move(system));
}

double PosteriorSampler::draw(std::uint64_t seed, std::uint64_t index, State& state) const {
    state = posterior_.state;
    double log_density_of_draw = 0;
    std::uint64_t unit = 0;
    Eigen::VectorXd z;
    Eigen::VectorXd move;
    for (Block const& block : blocks_) {
        Stream stream(seed, 0, index, unit++);
        std::vector<double> const& means = posterior_.state.values[block.variable];
        std::vector<double>& values = state.values[block.variable];
        for (System const& system : block.systems) {
            if (!system.log_probabilities.empty()) {
                std::size_t const chosen = stream.categorical(system.log_probabilities);
                for (std::size_t k = 0; k < system.places.size(); ++k) values[system.places[k]] = k == chosen ? 1 : 0;
                log_density_of_draw += system.log_probabilities[chosen];
                continue;
            }
            if (system.truncated) {
                double& value = values[system.places.front()];
                value = stream.truncated(system.truncated->density);
                log_density_of_draw += system.truncated->log_density(value);
                continue;
            }
            auto const d = static_cast<Eigen::Index>(system.places.size());
            z.resize(d);
            for (Eigen::Index i = 0; i < d; ++i) z(i) = stream.normal();
            move = system.root.triangularView<Eigen::Lower>() * z;
            for (std::size_t j = 0; j < system.before.size(); ++j)
                move += system.gain.col(static_cast<Eigen::Index>(j)) * (values[system.before[j]] - means[system.before[j]]);
            for (Eigen::Index i = 0; i < d; ++i) values[system.places[static_cast<std::size_t>(i)]] += move(i);
            log_density_of_draw -= 0.5 * z.squaredNorm() + system.log_normaliser;
        }
    }
    for (Scale const& scale : scales_) {
        Stream stream(seed, 0, index, unit++);
        log_density_of_draw += draw_scale(scale, stream, state);
    }
    return log_density_of_draw;
}

double PosteriorSampler::draw_scale(Scale const& scale, Stream& stream, State& state) const {
    ScaleLayout const& layout = problem_.plan.layout.scales[scale.index];
    std::vector<double>& values = state.values[layout.variable];
    if (scale.df) {
        values.front() = scale.df->draw(stream);
        return scale.df->log_density(values.front());
    }
    double log_density_of_draw = 0;
    std::size_t const size = scale.samplers.size() / problem_.plan.layout.variables[layout.variable].components;
    for (std::size_t e = 0; e < scale.samplers.size(); ++e) {
        if (prior_of(layout, e / size).df && scale.counts[e] == 0) {  // given the ν that was drawn
            ScalePriorLayout const prior = prior_of(layout, e / size, state);
            values[e] = draw_prior(prior, stream);
            log_density_of_draw += log_density(prior, values[e]);
            continue;
        }
        double const sd = scale.samplers[e].draw(stream);
        values[e] = from_variance(layout.spread, sd * sd);
        log_density_of_draw += log_density(prior_of(layout, e / size, posterior_.state), layout.spread, scale.counts[e],
                                           posterior_.scales[scale.index][e], sd);
    }
    return log_density_of_draw;
}

}  // namespace bam
