#include "fitting.hpp"

#include <fmt/format.h>

#include <cmath>

namespace bam {
namespace {

using Family = Distribution::Family;
using tree::Expr;
using tree::ExprKind;

std::optional<double> number(Expr const* expr) {
    if (expr != nullptr && expr->kind == ExprKind::Number) return expr->value;
    return std::nullopt;
}

/// The sd that a prior of a scale is about.
std::optional<double> sd_of(Distribution const& d) {
    if (d.row == nullptr) return std::nullopt;
    switch (d.row->family) {
        case ScaleFamily::HalfStudentT: return d.second;
        case ScaleFamily::HalfNormal: return d.first;
        case ScaleFamily::InverseGamma: return std::sqrt(d.second / (d.first + 1));
        case ScaleFamily::Exponential: return 1 / std::sqrt(d.first);
        case ScaleFamily::Gamma: return std::sqrt(d.second / d.first);
        case ScaleFamily::PolyaGamma:
        case ScaleFamily::Flat: break;
    }
    return std::nullopt;
}

double size(std::optional<double> known) { return known && std::isfinite(*known) && *known > 0 ? *known : 1; }

}  // namespace

std::optional<double> size_of(Workspace&, Distribution const& distribution, SpreadKind use) {
    if (distribution.family == Family::Normal) {
        auto const mean = distribution.mean_value ? distribution.mean_value : number(distribution.mean);
        auto const spread = number(distribution.scale);
        if (!spread || distribution.spread == SpreadKind::Covariance) return std::nullopt;
        double const sd = distribution.spread == SpreadKind::Sd         ? *spread
                          : distribution.spread == SpreadKind::Variance ? std::sqrt(*spread)
                                                                        : 1 / std::sqrt(*spread);
        return std::hypot(mean.value_or(0), sd);
    }
    auto const sd = sd_of(distribution);
    if (!sd || use == SpreadKind::Sd) return sd;
    return use == SpreadKind::Variance ? *sd * *sd : 1 / (*sd * *sd);
}

std::string fitting_spread(SpreadKind use, std::optional<double> known) {
    double const x = size(known);
    if (use == SpreadKind::Variance) return fmt::format("inverse_gamma(3, {:.3g})", x);
    if (use == SpreadKind::Precision) return fmt::format("gamma(3, {:.3g})", 1 / x);
    return fmt::format("half_normal({:.3g})", x);
}

std::string fitting_coefficient(std::optional<double> known) { return fmt::format("normal(0, {:.3g})", size(known)); }

}  // namespace bam
