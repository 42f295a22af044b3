#include "factor_coordinates.hpp"

#include <algorithm>
#include <cmath>

#include "spread.hpp"

namespace bam {
namespace {

/// One step back on the same path; of a first step itself.
std::size_t index_before(Variable const& variable, Grid const& grid, std::size_t index) {
    if (variable.extent == Extent::Time) return index > variable.first_step ? index - 1 : index;
    auto const next = std::upper_bound(grid.offsets.begin(), grid.offsets.end(), index);
    auto const step = static_cast<std::size_t>(next - grid.offsets.begin()) - 1;
    return step > variable.first_step ? grid.cell(index - grid.offsets[step], step - 1) : index;
}

}  // namespace

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

FactorCoordinates::FactorCoordinates(Problem const& problem, Posterior const& optimum, bool with_scales)
    : problem_(problem), optimum_(optimum) {
    for (std::size_t v = 0; v < optimum.covariances.size(); ++v) {
        bool const is_random = optimum.covariances[v].is_random() && !problem.plan.layout.variables[v].learnt_from;
        if (is_random) add_gaussian(v, optimum.covariances[v]);
    }
    for (std::size_t s = 0; with_scales && s < optimum.scales.size(); ++s) {
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

std::vector<FactorCoordinates::Mean> FactorCoordinates::means() const {
    std::vector<Mean> means;
    for (std::size_t k = 0; k < places_.size(); ++k) {
        Place const& place = places_[k];
        if (place.of == Of::Mean) means.push_back({static_cast<Eigen::Index>(k), place.array, place.index, place.unit});
    }
    return means;
}

Eigen::VectorXd FactorCoordinates::covariances_with(Mean const& mean) const {
    Covariances const& c = optimum_.covariances[mean.variable];
    Variable const& variable = problem_.plan.layout.variables[mean.variable];
    Grid const& grid = problem_.bound.grid;
    std::size_t const i = mean.entry / c.size;
    std::size_t const here = mean.entry % c.size;
    std::size_t const before = c.earlier.empty() ? here : index_before(variable, grid, here);
    Eigen::VectorXd result = Eigen::VectorXd::Zero(size());
    for (Eigen::Index k = 0; k < size(); ++k) {
        Place const& place = places_[static_cast<std::size_t>(k)];
        if (place.of != Of::Mean || place.array != mean.variable) continue;
        std::size_t const j = place.index / c.size;
        std::size_t const there = place.index % c.size;
        double covariance = 0;
        if (there == here && c.pair[i * c.components + j] != Covariances::none) {
            covariance = c.at(i, j)[here];
        } else if (there != here && !c.earlier.empty()) {
            if (there == before && c.earlier[i * c.components + j] != Covariances::none) covariance = c.before_at(i, j)[here];
            if (index_before(variable, grid, there) == here && c.earlier[j * c.components + i] != Covariances::none)
                covariance = c.before_at(j, i)[there];
        }
        result(k) = covariance / place.unit;
    }
    return result;
}

}  // namespace bam
