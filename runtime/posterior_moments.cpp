#include "posterior_moments.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

namespace bam {

PosteriorMoments::PosteriorMoments(Layout const& layout, Run const& run) : layout_(layout), run_(run) {
    for (Chain const& chain : run.chains) draws_ += chain.log_joint.size();
}

Eigen::VectorXd PosteriorMoments::draws_of(std::size_t column) const {
    Eigen::VectorXd values(static_cast<Eigen::Index>(draws_));
    Eigen::Index k = 0;
    for (std::size_t c = 0; c < run_.chains.size(); ++c)
        for (std::size_t i = 0; i < run_.chains[c].log_joint.size(); ++i)
            values(k++) = run_.chains[c].values[i * run_.columns.size() + column];
    return values;
}

Moments PosteriorMoments::of(std::size_t column) const {
    Eigen::ArrayXd const values = draws_of(column).array();
    double const n = static_cast<double>(draws_);
    Moments m;
    m.mean = values.mean();
    Eigen::ArrayXd const gaps = values - m.mean;
    double const variance = gaps.square().sum() / n;
    m.sd = std::sqrt(gaps.square().sum() / std::max(1.0, n - 1));
    if (variance > 0) {
        m.skewness = gaps.cube().mean() / std::pow(variance, 1.5);
        m.excess_kurtosis = gaps.square().square().mean() / (variance * variance) - 3;
    }
    return m;
}

std::vector<Group> PosteriorMoments::groups_of(Variable const& variable, bool& is_identified) const {
    std::vector<Group> groups;
    std::map<std::pair<std::string, std::string>, std::size_t> numbers;
    for (std::size_t k = 0; k < run_.columns.size(); ++k) {
        DrawColumn const& column = run_.columns[k];
        if (column.name != variable.name || column.labels.size() != variable.dims.size()) continue;
        is_identified = is_identified && column.is_identified && !column.is_interchanged;
        std::string sequence, step;
        std::size_t component = 0;
        for (std::size_t d = 0; d < variable.dims.size(); ++d) {
            DimLayout const& dim = layout_.dims[variable.dims[d]];
            if (dim.role == DimLayout::Role::Sequence)
                sequence = column.labels[d];
            else if (dim.role == DimLayout::Role::Time)
                step = column.labels[d];
            else
                component = component * dim.size + column.index[d] - 1;
        }
        auto const [at, is_new] = numbers.try_emplace({sequence, step}, groups.size());
        if (is_new) groups.push_back({sequence, step, std::vector<Entry>(variable.components)});
        groups[at->second].entries[component] = {k, {}};
    }
    return groups;
}

Eigen::MatrixXd PosteriorMoments::correlation(std::vector<Entry> const& entries, std::size_t first, std::size_t count) const {
    Eigen::MatrixXd gaps(static_cast<Eigen::Index>(draws_), static_cast<Eigen::Index>(count));
    for (std::size_t k = 0; k < count; ++k) {
        Moments const& m = entries[first + k].moments;
        gaps.col(static_cast<Eigen::Index>(k)) = (draws_of(entries[first + k].column).array() - m.mean) / (m.sd > 0 ? m.sd : 1);
    }
    return gaps.transpose() * gaps / std::max(1.0, static_cast<double>(draws_) - 1);
}

}  // namespace bam
