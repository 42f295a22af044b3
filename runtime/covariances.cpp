#include "covariances.hpp"

namespace bam {
namespace {

Covariances make(Variable const& variable, Grid const& grid, std::vector<std::vector<std::uint32_t>> const& groups, bool along_time) {
    Covariances result;
    result.components = variable.components;
    result.size = grid.size(variable.extent);
    std::size_t const n = variable.components;
    result.pair.assign(n * n, Covariances::none);
    if (along_time) result.earlier.assign(n * n, Covariances::none);
    std::uint32_t pairs = 0;
    std::uint32_t earlier = 0;
    for (auto const& group : groups) {
        for (std::size_t i = 0; i < group.size(); ++i) {
            for (std::size_t j = 0; j <= i; ++j) {
                result.pair[group[i] * n + group[j]] = pairs;
                result.pair[group[j] * n + group[i]] = pairs++;
            }
            for (std::size_t j = 0; along_time && j < group.size(); ++j) result.earlier[group[i] * n + group[j]] = earlier++;
        }
    }
    result.same.assign(pairs * result.size, 0.0);
    result.before.assign(earlier * result.size, 0.0);
    return result;
}

}  // namespace

std::vector<Covariances> make_covariances(Plan const& plan, Grid const& grid, std::vector<bool> const& drawn) {
    std::vector<Covariances> result(plan.layout.variables.size());
    for (BlockPlan const& block : plan.blocks) {
        result[block.variable] = make(plan.layout.variables[block.variable], grid, block.groups, block.method == PlanMethod::Markov);
    }
    for (std::size_t v = 0; v < drawn.size(); ++v) {
        if (!drawn[v]) continue;
        std::vector<std::vector<std::uint32_t>> groups;
        for (std::uint32_t c = 0; c < plan.layout.variables[v].components; ++c) groups.push_back({c});
        result[v] = make(plan.layout.variables[v], grid, groups, false);
    }
    return result;
}

}  // namespace bam
