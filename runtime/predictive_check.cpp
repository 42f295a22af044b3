#include "predictive_check.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "convergence.hpp"
#include "left_out.hpp"
#include "output_unit.hpp"

namespace bam {
namespace {

constexpr std::size_t kinds = TestQuantity::names.size();
constexpr double none = std::numeric_limits<double>::quiet_NaN();

using Numbers = std::array<double, kinds>;

/// Sums over one sequence, or over several that are added up.
struct Sums {
    double count = 0, sum = 0, squares = 0;  ///< about `origin`
    double within = 0, lagged = 0;           ///< about the means of sequences
    std::size_t pairs = 0;
    double least = std::numeric_limits<double>::infinity(), largest = -std::numeric_limits<double>::infinity();

    Sums& operator+=(Sums const& other) {
        count += other.count;
        sum += other.sum;
        squares += other.squares;
        within += other.within;
        lagged += other.lagged;
        pairs += other.pairs;
        least = std::min(least, other.least);
        largest = std::max(largest, other.largest);
        return *this;
    }
    Numbers numbers(double origin) const {
        double const mean = sum / count;
        double const spread = squares - sum * mean;
        return {origin + mean, count > 1 ? std::sqrt(std::max(0.0, spread) / (count - 1)) : none, least, largest,
                pairs > 1 && within > 0 ? lagged / within : none};
    }
};

/// The observed cells of one output in one sequence, by step.
struct Series {
    std::string sequence;
    std::vector<std::size_t> entries;
    std::vector<std::size_t> steps;
    bool has_steps = false;
};

struct Output {
    std::uint32_t variable = 0;
    std::size_t component = 0;
    double origin = 0;  ///< near its values, so that sums keep their digits
    std::vector<Series> series;
};

std::vector<Output> find_outputs(Problem const& problem) {
    Layout const& layout = problem.plan.layout;
    std::map<std::pair<std::uint32_t, std::size_t>, std::map<std::size_t, Series>> found;
    for (OutputCell const& cell : output_cells(problem)) {
        if (!is_observed(problem, cell)) continue;
        std::uint32_t const v = layout.factors[cell.factor].target;
        Extent const extent = layout.variables[v].extent;
        // Outputs without time are one series, without an order.
        bool const is_stepped = extent == Extent::Cell || extent == Extent::Time;
        Series& series = found[{v, cell.component}][is_stepped ? cell.sequence : 0];
        series.has_steps = is_stepped;
        series.sequence = extent == Extent::Cell ? problem.bound.sequence_labels[cell.sequence] : "";
        series.entries.push_back(entry_of(problem, cell));
        series.steps.push_back(cell.step);
    }
    std::vector<Output> outputs;
    for (auto& [key, by_sequence] : found) {
        Output output{key.first, key.second, 0, {}};
        for (std::size_t const s : problem.bound.appearance)
            if (auto const at = by_sequence.find(s); at != by_sequence.end()) output.series.push_back(std::move(at->second));
        outputs.push_back(std::move(output));
    }
    return outputs;
}

/// `value(entry)`: in the units of the table. Cells of a series stand by step: factors of one output speak of steps in turn or of all.
template <class Value>
Sums sums_of(Series const& series, double origin, Value value) {
    Sums sums;
    std::vector<double> values;
    for (std::size_t const entry : series.entries) {
        double const y = value(entry);
        values.push_back(y - origin);
        sums.least = std::min(sums.least, y);
        sums.largest = std::max(sums.largest, y);
        sums.sum += y - origin;
        sums.squares += (y - origin) * (y - origin);
    }
    sums.count = static_cast<double>(values.size());
    double const mean = sums.sum / sums.count;
    for (std::size_t i = 0; i < values.size() && series.has_steps; ++i) {
        sums.within += (values[i] - mean) * (values[i] - mean);
        if (i == 0 || series.steps[i] != series.steps[i - 1] + 1) continue;
        sums.lagged += (values[i] - mean) * (values[i - 1] - mean);
        ++sums.pairs;
    }
    return sums;
}

/// One quantity beside those of the simulated tables.
struct Tally {
    double above = 0;
    std::size_t count = 0;
    void add(double simulated, double observed) {
        if (std::isnan(simulated)) return;
        above += simulated > observed ? 1 : simulated == observed ? 0.5 : 0;
        ++count;
    }
    double p() const { return count > 0 ? above / static_cast<double>(count) : none; }
};

void sort_by_step(Series& series) {
    std::vector<std::size_t> order(series.steps.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return series.steps[a] < series.steps[b]; });
    Series sorted = series;
    for (std::size_t i = 0; i < order.size(); ++i) {
        sorted.entries[i] = series.entries[order[i]];
        sorted.steps[i] = series.steps[order[i]];
    }
    series = std::move(sorted);
}

/// An output with what is found of it.
struct Checked {
    Output output;
    Numbers observed{};
    std::array<std::vector<double>, kinds> simulated;
    std::array<Tally, kinds> tallies{};
    std::vector<Numbers> observed_of;                  ///< per series
    std::vector<std::array<Tally, kinds>> tallies_of;  ///< per series; empty if there is one only
};

}  // namespace

PredictiveCheck check_predictions(Problem const& problem, Problem const& complete, Simulation& simulation, std::size_t tables,
                                  std::function<double const*(std::size_t)> const& row) {
    std::vector<Checked> all;
    for (Output& output : find_outputs(problem)) {
        for (Series& series : output.series) sort_by_step(series);
        Checked checked;
        auto const value = [&](std::size_t entry) {
            return in_table_unit(problem, output.variable, output.component, problem.bound.data[output.variable][entry]);
        };
        output.origin = value(output.series.front().entries.front());
        Sums sums;
        for (Series const& series : output.series) {
            Sums const one = sums_of(series, output.origin, value);
            checked.observed_of.push_back(one.numbers(output.origin));
            sums += one;
        }
        checked.observed = sums.numbers(output.origin);
        if (output.series.size() > 1) checked.tallies_of.resize(output.series.size());
        checked.output = std::move(output);
        all.push_back(std::move(checked));
    }
    for (std::size_t i = 0; i < tables; ++i) {
        simulation.draw(i, row(i));
        for (Checked& checked : all) {
            Output const& output = checked.output;
            auto const value = [&](std::size_t entry) {
                return in_table_unit(problem, output.variable, output.component, complete.bound.data[output.variable][entry]);
            };
            Sums sums;
            for (std::size_t s = 0; s < output.series.size(); ++s) {
                Sums const one = sums_of(output.series[s], output.origin, value);
                sums += one;
                if (checked.tallies_of.empty()) continue;
                Numbers const numbers = one.numbers(output.origin);
                for (std::size_t k = 0; k < kinds; ++k) checked.tallies_of[s][k].add(numbers[k], checked.observed_of[s][k]);
            }
            Numbers const numbers = sums.numbers(output.origin);
            for (std::size_t k = 0; k < kinds; ++k) {
                checked.tallies[k].add(numbers[k], checked.observed[k]);
                if (!std::isnan(numbers[k])) checked.simulated[k].push_back(numbers[k]);
            }
        }
    }
    PredictiveCheck result;
    result.tables = tables;
    for (Checked& checked : all) {
        std::string const name = output_name(problem.plan.layout, checked.output.variable, checked.output.component);
        for (std::size_t k = 0; k < kinds; ++k) {
            if (std::isnan(checked.observed[k])) continue;
            auto& numbers = checked.simulated[k];
            std::sort(numbers.begin(), numbers.end());
            result.whole.push_back({name, "", k, checked.observed[k], sorted_quantile(numbers, 0.05), sorted_quantile(numbers, 0.5),
                                    sorted_quantile(numbers, 0.95), checked.tallies[k].p()});
        }
        for (std::size_t s = 0; s < checked.tallies_of.size(); ++s)
            for (std::size_t k = 0; k < kinds; ++k)
                if (!std::isnan(checked.observed_of[s][k]))
                    result.by_sequence.push_back({name, checked.output.series[s].sequence, k, checked.observed_of[s][k], none, none, none,
                                                  checked.tallies_of[s][k].p()});
    }
    explain(result);
    return result;
}

}  // namespace bam
