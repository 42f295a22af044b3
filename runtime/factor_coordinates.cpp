#include "factor_coordinates.hpp"

#include <cmath>

#include "spread.hpp"

namespace bam {

template <class P>
auto& FactorCoordinates::number(P& posterior, Place const& place) {
    switch (place.of) {
        case Of::Mean: return posterior.state.values[place.array][place.index];
        case Of::Same: return posterior.covariances[place.array].same[place.index];
        case Of::Before: return posterior.covariances[place.array].before[place.index];
        case Of::Precision: return posterior.scales[place.array][place.index].precision;
        case Of::LogPrecision: break;
    }
    return posterior.scales[place.array][place.index].log_precision;
}

FactorCoordinates::FactorCoordinates(Problem const& problem, Posterior const& optimum) : problem_(problem), optimum_(optimum) {
    for (std::size_t v = 0; v < optimum.covariances.size(); ++v) {
        bool const is_random = optimum.covariances[v].is_random() && !problem.plan.layout.variables[v].learnt_from;
        if (is_random) add_gaussian(v, optimum.covariances[v]);
    }
    for (std::size_t s = 0; s < optimum.scales.size(); ++s) {
        for (std::size_t e = 0; e < optimum.scales[s].size(); ++e) {
            ScaleFactor const& factor = optimum.scales[s][e];
            add(Of::Precision, s, e, 2 * factor.sd_of_log * factor.precision);
            add(Of::LogPrecision, s, e, 2 * factor.sd_of_log);
        }
    }
}

/// What has no spread, as an entry that does not exist, does not move.
void FactorCoordinates::add(Of of, std::size_t array, std::size_t index, double unit) {
    if (unit > 0 && std::isfinite(unit)) places_.push_back({of, array, index, unit});
}

void FactorCoordinates::add_gaussian(std::size_t variable, Covariances const& c) {
    for (std::size_t i = 0; i < c.components; ++i) {
        for (std::size_t e = 0; e < c.size; ++e) add(Of::Mean, variable, i * c.size + e, std::sqrt(c.at(i, i)[e]));
        for (std::size_t j = 0; j < c.components; ++j) {
            std::uint32_t const same = j <= i ? c.pair[i * c.components + j] : Covariances::none;
            std::uint32_t const before = c.earlier.empty() ? Covariances::none : c.earlier[i * c.components + j];
            for (std::size_t e = 0; e < c.size; ++e) {
                double const unit = std::sqrt(c.at(i, i)[e] * c.at(j, j)[e]);
                if (same != Covariances::none) add(Of::Same, variable, same * c.size + e, unit);
                if (before != Covariances::none) add(Of::Before, variable, before * c.size + e, unit);
            }
        }
    }
}

Eigen::VectorXd FactorCoordinates::distance(Posterior const& posterior) const {
    Eigen::VectorXd result(size());
    for (Eigen::Index k = 0; k < size(); ++k) {
        Place const& place = places_[static_cast<std::size_t>(k)];
        result(k) = (number(posterior, place) - number(optimum_, place)) / place.unit;
    }
    return result;
}

Posterior FactorCoordinates::at(Eigen::VectorXd const& distance) const {
    Posterior posterior = optimum_;
    for (Eigen::Index k = 0; k < size(); ++k) {
        Place const& place = places_[static_cast<std::size_t>(k)];
        number(posterior, place) += distance(k) * place.unit;
        if (place.of != Of::Precision) continue;
        ScaleLayout const& scale = problem_.plan.layout.scales[place.array];
        posterior.state.values[scale.variable][place.index] =
            from_variance(scale.spread, 1 / posterior.scales[place.array][place.index].precision);
    }
    return posterior;
}

}  // namespace bam
