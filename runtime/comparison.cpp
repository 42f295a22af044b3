#include "comparison.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "stacking.hpp"

namespace bam {
namespace {

std::vector<double> elpds(CrossValidation const& scores) {
    std::vector<double> values;
    for (CrossValidation::Point const& point : scores.points) values.push_back(point.expected.elpd);
    return values;
}

}  // namespace

ErrorSum sum_up(std::vector<double> const& values) {
    auto const n = static_cast<double>(values.size());
    ErrorSum sum;
    for (double const value : values) sum.value += value;
    double squares = 0;
    for (double const value : values) squares += std::pow(value - sum.value / n, 2);
    sum.se = values.size() > 1 ? std::sqrt(n * squares / (n - 1)) : std::nan("");
    return sum;
}

bool is_more(double a, double b) { return std::isnan(b) ? !std::isnan(a) : a > b; }

void rank(Ranking& ranking) {
    std::vector<std::vector<double>> of;
    for (ScoredRun const& run : ranking.runs) of.push_back(elpds(run.scores));
    Stacking const stacking = stacking_weights(of);
    if (stacking.gap > stacking_gap)
        ranking.notes.push_back(fmt::format("weights of stacking are not at their best: the elpd of the mixture may be {:.2g} higher",
                                            stacking.gap * static_cast<double>(of.front().size())));
    for (std::size_t k = 0; k < of.size(); ++k) {
        ComparisonRow row;
        row.run = k;
        row.elpd = sum_up(of[k]);
        std::vector<double> p;
        for (CrossValidation::Point const& point : ranking.runs[k].scores.points) p.push_back(point.p);
        row.p = sum_up(p);
        row.weight = stacking.weights[k];
        ranking.rows.push_back(row);
    }
    std::stable_sort(ranking.rows.begin(), ranking.rows.end(),
                     [](ComparisonRow const& a, ComparisonRow const& b) { return is_more(a.elpd.value, b.elpd.value); });
    std::vector<double> const& best = of[ranking.rows.front().run];
    for (ComparisonRow& row : ranking.rows) {
        std::vector<double> differences;
        for (std::size_t i = 0; i < best.size(); ++i) differences.push_back(of[row.run][i] - best[i]);
        row.difference = sum_up(differences);
    }
    weigh_evidence(ranking);
    explain(ranking);
    say_evidence(ranking);
    if (ranking.by_evidence)
        std::stable_sort(ranking.rows.begin(), ranking.rows.end(),
                         [](ComparisonRow const& a, ComparisonRow const& b) { return is_more(a.evidence.value, b.evidence.value); });
}

}  // namespace bam
