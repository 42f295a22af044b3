#include "replicate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "convergence.hpp"
#include "output_unit.hpp"
#include "words.hpp"

namespace bam {
namespace {

constexpr std::size_t most_kept = std::size_t{1} << 22;  ///< simulated values of an output whose quantiles are looked at
constexpr double none = std::numeric_limits<double>::quiet_NaN();

/// Mean, sd (divisor n - 1), least, largest.
std::array<double, 4> statistics_of(std::vector<double> const& values) {
    if (values.empty()) return {none, none, none, none};
    auto const n = static_cast<double>(values.size());
    double mean = 0;
    for (double const value : values) mean += value / n;
    double squares = 0;
    for (double const value : values) squares += (value - mean) * (value - mean);
    auto const [least, largest] = std::minmax_element(values.begin(), values.end());
    return {mean, values.size() > 1 ? std::sqrt(squares / (n - 1)) : none, *least, *largest};
}

struct Output {
    std::uint32_t variable = 0;
    std::size_t component = 0;
    bool is_binary = false;             ///< some statement says that it is
    std::vector<std::size_t> observed;  ///< entries
    std::vector<std::size_t> simulated;
    std::vector<double> values;                  ///< observed, sorted
    std::vector<double> kept;                    ///< simulated values
    std::array<std::vector<double>, 4> numbers;  ///< per statistic: of every table
    std::size_t outside = 0, infinite = 0, count = 0;
};

class Replicating {
  public:
    Replicating(Problem const& problem, Problem const& complete, Simulation& simulation, std::size_t draws, Table const* table)
        : problem_(problem),
          complete_(complete),
          simulation_(simulation),
          draws_(draws),
          table_(table),
          missing_(missing_cells(problem, complete)) {
        find_outputs();
        if (table_ != nullptr) lay_out_table();
    }

    Replication run(std::function<double const*(std::size_t)> const& row) {
        result_.draws = draws_;
        for (std::size_t d = 0; d < draws_; ++d) {
            simulation_.draw(d, row ? row(d) : nullptr);
            for (Output& output : outputs_) add(output, d);
            if (table_ != nullptr) write_table(d + 1);
        }
        for (Output& output : outputs_) result_.outputs.push_back(sum_up(output));
        return std::move(result_);
    }

  private:
    double value(Output const& output, std::size_t entry) const {
        return in_table_unit(problem_, output.variable, output.component, complete_.bound.data[output.variable][entry]);
    }

    void find_outputs() {
        Layout const& layout = problem_.plan.layout;
        for (std::uint32_t v = 0; v < layout.variables.size(); ++v) {
            bool const is_simulated = std::any_of(layout.factors.begin(), layout.factors.end(),
                                                  [&](FactorLayout const& factor) { return factor.is_observation && factor.target == v; });
            if (!is_simulated) continue;
            std::size_t const size = problem_.bound.grid.size(layout.variables[v].extent);
            for (std::size_t c = 0; c < layout.variables[v].components; ++c) {
                Output output;
                output.variable = v;
                output.component = c;
                for (std::size_t f = 0; f < layout.factors.size(); ++f) {
                    if (layout.factors[f].target != v || !layout.factors[f].is_observation) continue;
                    for (std::size_t entry = c * size; entry < (c + 1) * size; ++entry) {
                        if (!complete_.masks[f].empty() && complete_.masks[f][entry] == 0) continue;
                        output.simulated.push_back(entry);
                        output.is_binary = output.is_binary || layout.factors[f].is_binary;
                        if (missing_[v].empty() || !missing_[v][entry]) output.observed.push_back(entry);
                    }
                }
                for (std::size_t const entry : output.observed)
                    output.values.push_back(in_table_unit(problem_, v, c, problem_.bound.data[v][entry]));
                outputs_.push_back(std::move(output));
            }
        }
    }

    void add(Output& output, std::size_t draw) {
        auto const& entries = output.observed.empty() ? output.simulated : output.observed;
        // Whole tables: every n-th value would be of the same cells again and again.
        std::size_t const stride = std::max<std::size_t>(1, (entries.size() * draws_ + most_kept - 1) / most_kept);
        bool const is_kept = draw % stride == 0;
        std::vector<double> values;
        double const least = output.values.empty() ? 0 : *std::min_element(output.values.begin(), output.values.end());
        double const largest = output.values.empty() ? 0 : *std::max_element(output.values.begin(), output.values.end());
        for (std::size_t const entry : entries) {
            double const one = value(output, entry);
            values.push_back(one);
            if (!std::isfinite(one)) ++output.infinite;
            if (!(one >= least && one <= largest)) ++output.outside;
            ++output.count;
            if (is_kept && !std::isnan(one)) output.kept.push_back(one);
        }
        auto const numbers = statistics_of(values);
        for (std::size_t k = 0; k < numbers.size(); ++k) output.numbers[k].push_back(numbers[k]);
    }

    Replicated sum_up(Output& output) const {
        Replicated result;
        result.output = output_name(problem_.plan.layout, output.variable, output.component);
        result.is_binary = output.is_binary;
        result.observed = output.observed.size();
        result.missing = output.simulated.size() - output.observed.size();
        auto const observed = statistics_of(output.values);
        for (std::size_t k = 0; k < observed.size(); ++k) {
            auto& numbers = output.numbers[k];
            Replicated::Statistic& statistic = result.statistics[k];
            statistic.observed = observed[k];
            std::erase_if(numbers, [](double number) { return std::isnan(number); });
            double above = 0;
            for (double const number : numbers) above += number > observed[k] ? 1 : number == observed[k] ? 0.5 : 0;
            statistic.share_above = numbers.empty() ? none : above / static_cast<double>(numbers.size());
            std::sort(numbers.begin(), numbers.end());
            statistic.q5 = sorted_quantile(numbers, 0.05);
            statistic.q50 = sorted_quantile(numbers, 0.5);
            statistic.q95 = sorted_quantile(numbers, 0.95);
        }
        std::sort(output.values.begin(), output.values.end());
        std::sort(output.kept.begin(), output.kept.end());
        for (std::size_t k = 0; k < Replicated::levels.size(); ++k) {
            result.observed_quantiles[k] = sorted_quantile(output.values, Replicated::levels[k]);
            result.simulated_quantiles[k] = sorted_quantile(output.kept, Replicated::levels[k]);
        }
        auto const count = static_cast<double>(std::max<std::size_t>(1, output.count));
        result.share_outside = output.values.empty() ? none : static_cast<double>(output.outside) / count;
        result.share_infinite = static_cast<double>(output.infinite) / count;
        double const low = sorted_quantile(output.kept, 0.025);
        double const high = sorted_quantile(output.kept, 0.975);
        double unexpected = 0;
        for (double const one : output.values) unexpected += one < low || one > high ? 1 : 0;
        result.share_unexpected = output.values.empty() ? none : unexpected / static_cast<double>(output.values.size());
        result.times_range = output.values.size() < 2 ? none : (high - low) / (output.values.back() - output.values.front());
        return result;
    }

    // ---- the tables ----

    /// A field of the table that an output fills.
    struct Filled {
        std::size_t output = 0;
        std::optional<std::size_t> column;  ///< of the table; none: behind them
        std::string name;                   ///< of a column behind them
        std::vector<std::size_t> entries;   ///< [rows]: of the output; SIZE_MAX: of none
        bool has_missing = false;
    };

    void lay_out_table() {
        Layout const& layout = problem_.plan.layout;
        Grid const& grid = problem_.bound.grid;
        std::set<std::size_t> taken;
        for (std::size_t k = 0; k < outputs_.size(); ++k) {
            Output const& output = outputs_[k];
            Filled filled;
            filled.output = k;
            auto const name = output_column(layout, output.variable, output.component);
            filled.column = name ? table_->find_column(*name) : std::nullopt;
            if (filled.column && !taken.insert(*filled.column).second) filled.column.reset();  // two outputs of one column
            std::string const label = output_name(layout, output.variable, output.component);
            filled.name = filled.column ? table_->columns()[*filled.column] : table_->find_column(label) ? label + ".simulated" : label;
            filled.has_missing = output.simulated.size() > output.observed.size();
            if (!name)
                result_.notes.push_back(fmt::format(
                    "{} cannot be turned back into one column of the table: its simulated values are in a column `{}` of their own", label,
                    filled.name));
            filled.entries.assign(table_->rows(), SIZE_MAX);
            Extent const extent = layout.variables[output.variable].extent;
            std::size_t const size = grid.size(extent);
            std::vector<bool> is_simulated(size, false);
            for (std::size_t const entry : output.simulated) is_simulated[entry - output.component * size] = true;
            grid.for_each(Extent::Cell, [&](std::size_t cell, std::size_t s, std::size_t t) {
                std::size_t const index = extent == Extent::Cell ? cell : extent == Extent::Sequence ? s : extent == Extent::Time ? t : 0;
                if (is_simulated[index]) filled.entries[problem_.bound.rows[cell]] = output.component * size + index;
            });
            filled_.push_back(std::move(filled));
        }
        separator_ = table_->format().separator.value_or(',');
        decimal_point_ = table_->format().decimal_point.value_or('.');
        std::string& text = result_.csv;
        text += "draw";
        for (std::string const& name : table_->columns()) text += separator_ + field(name);
        for (Filled const& filled : filled_)
            if (!filled.column) text += separator_ + field(filled.name);
        for (Filled const& filled : filled_)
            if (filled.has_missing) text += separator_ + field(filled.name + ".missing");
        text += '\n';
    }

    std::string field(std::string_view content) const {
        bool const is_plain =
            content.find_first_of("\"\r\n") == std::string_view::npos && content.find(separator_) == std::string_view::npos;
        if (is_plain) return std::string(content);
        std::string quoted = "\"";
        for (char const c : content) quoted += c == '"' ? "\"\"" : std::string(1, c);
        return quoted + '"';
    }

    std::string number(double one) const {
        if (!std::isfinite(one)) return "";
        std::string text = fmt::format("{:.8g}", one);
        std::replace(text.begin(), text.end(), '.', decimal_point_);
        return text;
    }

    void write_table(std::size_t draw) {
        std::string& text = result_.csv;
        for (std::size_t row = 0; row < table_->rows(); ++row) {
            text += std::to_string(draw);
            auto const simulated = [&](Filled const& filled) {
                return filled.entries[row] == SIZE_MAX ? std::string() : number(value(outputs_[filled.output], filled.entries[row]));
            };
            for (std::size_t column = 0; column < table_->columns().size(); ++column) {
                auto const filled = std::find_if(filled_.begin(), filled_.end(), [&](Filled const& one) { return one.column == column; });
                bool const is_kept = filled == filled_.end() || filled->entries[row] == SIZE_MAX;
                text += separator_ + (is_kept ? field(table_->text(row, column)) : simulated(*filled));
            }
            for (Filled const& filled : filled_)
                if (!filled.column) text += separator_ + simulated(filled);
            for (Filled const& filled : filled_) {
                if (!filled.has_missing) continue;
                auto const& missing = missing_[outputs_[filled.output].variable];
                bool const is_missing = filled.entries[row] != SIZE_MAX && !missing.empty() && missing[filled.entries[row]];
                text += separator_ + std::string(is_missing ? "1" : "0");
            }
            text += '\n';
        }
    }

    Problem const& problem_;
    Problem const& complete_;
    Simulation& simulation_;
    std::size_t draws_;
    Table const* table_;
    std::vector<std::vector<bool>> missing_;
    std::vector<Output> outputs_;
    std::vector<Filled> filled_;
    char separator_ = ',';
    char decimal_point_ = '.';
    Replication result_;
};

}  // namespace

Replication replicate(Problem const& problem, Problem const& complete, Simulation& simulation, std::size_t draws,
                      std::function<double const*(std::size_t)> const& row, Table const* table) {
    return Replicating(problem, complete, simulation, draws, table).run(row);
}

}  // namespace bam
