// The second moments of a factorised posterior: covariances of the entries of a parameter that share a factor.
#pragma once

#include <vector>

#include "bind.hpp"
#include "plan.hpp"

namespace bam {

/// Of one variable. Entries of different groups, and of different steps unless `along_time`, are independent: they have no numbers here.
struct Covariances {
    static constexpr std::uint32_t none = UINT32_MAX;

    std::size_t components = 0;
    std::size_t size = 0;                ///< of the variable's extent
    std::vector<std::uint32_t> pair;     ///< [i, j] of components: which row of `same`, or none; symmetric
    std::vector<std::uint32_t> earlier;  ///< [i, j]: which row of `before`, or none
    std::vector<double> same;            ///< [pair][extent]: cov(θ_i, θ_j)
    std::vector<double> before;          ///< [pair][extent]: cov(θ_i[t], θ_j[t-1])

    bool is_random() const { return !pair.empty(); }
    double* at(std::size_t i, std::size_t j) { return same.data() + pair[i * components + j] * size; }
    double const* at(std::size_t i, std::size_t j) const { return same.data() + pair[i * components + j] * size; }
    double* before_at(std::size_t i, std::size_t j) { return before.data() + earlier[i * components + j] * size; }
    double const* before_at(std::size_t i, std::size_t j) const { return before.data() + earlier[i * components + j] * size; }
};

/// Per variable of the layout, all zero: a point mass at the means. `drawn`: per variable, whether it is an output whose missing cells are
/// unknowns.
std::vector<Covariances> make_covariances(Plan const& plan, Grid const& grid, std::vector<bool> const& drawn);

}  // namespace bam
