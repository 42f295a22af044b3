#include "convergence.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <limits>
#include <numeric>
#include <utility>

#include "autocovariance.hpp"
#include "normal_quantile.hpp"

namespace bam {
namespace {

constexpr double missing = std::numeric_limits<double>::quiet_NaN();
constexpr double mad_factor = 1.4826;

double mean_of(std::span<double const> values) {
    double const n = static_cast<double>(values.size());
    double const first = std::accumulate(values.begin(), values.end(), 0.0) / n;
    if (!std::isfinite(first)) return first;
    double rest = 0;  // what rounding left, as R does
    for (double x : values) rest += x - first;
    return first + rest / n;
}

/// With the denominator n - 1.
double variance_of(std::span<double const> values) {
    double const mean = mean_of(values);
    double sum = 0;
    for (double x : values) sum += (x - mean) * (x - mean);
    return sum / (static_cast<double>(values.size()) - 1);
}

bool is_constant(std::span<double const> values) {
    return std::all_of(values.begin(), values.end(), [&](double x) { return x == values.front(); });
}

bool has_spread(std::span<double const> values) {
    return std::all_of(values.begin(), values.end(), [](double x) { return std::isfinite(x); }) && !is_constant(values);
}

// ---- Split chains. Every chain counts as two, its halves; the middle draw of an odd number is left out. Stored as [draw, half chain].

std::size_t half_length(std::size_t draws) { return draws / 2; }

std::vector<double> split(ChainDraws const& draws) {
    std::size_t const half = half_length(draws.draws);
    std::vector<double> result;
    result.reserve(2 * half * draws.chains);
    for (std::size_t chain = 0; chain < draws.chains; ++chain) {
        auto const first = draws.values.begin() + static_cast<std::ptrdiff_t>(chain * draws.draws);
        auto const last = first + static_cast<std::ptrdiff_t>(draws.draws);
        result.insert(result.end(), first, first + static_cast<std::ptrdiff_t>(half));
        result.insert(result.end(), last - static_cast<std::ptrdiff_t>(half), last);
    }
    return result;
}

// ---- Order

/// A value and its place in the split chains, or `nowhere` if it is not in them.
struct Placed {
    double value;
    std::size_t place;
};
constexpr std::size_t nowhere = std::numeric_limits<std::size_t>::max();

/// Sorts by radix, which takes a fifth of the time of comparisons. No value may be NaN.
void sort_by_value(std::vector<Placed>& items) {
    constexpr unsigned digit_bits = 11;
    constexpr unsigned digits = 6;
    constexpr std::uint64_t mask = (1U << digit_bits) - 1;
    auto const key = [](double value) {  // in the order of the values, as an unsigned number; both zeros alike
        std::uint64_t const word = std::bit_cast<std::uint64_t>(value + 0.0);
        return word >> 63 ? ~word : word | std::uint64_t{1} << 63;
    };
    std::vector<std::array<std::size_t, mask + 1>> starts(digits);
    for (Placed const& item : items) {
        for (unsigned digit = 0; digit < digits; ++digit) ++starts[digit][key(item.value) >> digit * digit_bits & mask];
    }
    std::vector<Placed> sorted(items.size());
    for (unsigned digit = 0; digit < digits; ++digit) {
        std::exclusive_scan(starts[digit].begin(), starts[digit].end(), starts[digit].begin(), std::size_t{0});
        for (Placed const& item : items) sorted[starts[digit][key(item.value) >> digit * digit_bits & mask]++] = item;
        items.swap(sorted);
    }
}

/// Quantile of sorted values, by the same operations as R's quantile(type = 7), so that comparisons with it decide the same.
template <typename At>
double quantile_of_sorted(std::size_t count, double probability, At const& at) {
    double const index = static_cast<double>(count - 1) * probability + 1;
    double const low = std::floor(index);
    double const below = at(static_cast<std::size_t>(low) - 1);
    double const above = at(static_cast<std::size_t>(std::ceil(index)) - 1);
    if (index == low || below == above) return below;
    return (1 - (index - low)) * below + (index - low) * above;
}

template <typename At>
double median_of_sorted(std::size_t count, At const& at) {
    return count % 2 == 1 ? at(count / 2) : std::midpoint(at(count / 2 - 1), at(count / 2));
}

/// The draws in ascending order, and what only the order decides. Empty if there are no draws or one is NaN.
class Ordered {
  public:
    explicit Ordered(ChainDraws const& draws) {
        auto const is_nan = [](double x) { return std::isnan(x); };
        if (std::any_of(draws.values.begin(), draws.values.end(), is_nan)) return;
        sorted_.reserve(draws.values.size());
        std::size_t const half = half_length(draws.draws);
        std::size_t next = 0;
        for (std::size_t chain = 0; chain < draws.chains; ++chain) {
            for (std::size_t draw = 0; draw < draws.draws; ++draw) {
                bool const is_split = draw < half || draw >= draws.draws - half;
                sorted_.push_back({draws.values[chain * draws.draws + draw], is_split ? next++ : nowhere});
            }
        }
        sort_by_value(sorted_);
    }

    double quantile(double probability) const {
        if (sorted_.empty()) return missing;
        return quantile_of_sorted(sorted_.size(), probability, [&](std::size_t i) { return sorted_[i].value; });
    }
    double median() const {
        if (sorted_.empty()) return missing;
        return median_of_sorted(sorted_.size(), [&](std::size_t i) { return sorted_[i].value; });
    }

    /// |x - median|, in order: the merger of the draws below the median, backwards, and of those above. Empty if the median is not finite.
    Ordered folded() const {
        Ordered result;
        double const centre = median();
        if (!std::isfinite(centre)) return result;
        result.sorted_.reserve(sorted_.size());
        auto above = std::lower_bound(sorted_.begin(), sorted_.end(), centre, [](Placed const& a, double x) { return a.value < x; });
        auto below = std::make_reverse_iterator(above);
        auto const distance = [&](Placed const& a) { return std::abs(a.value - centre); };
        while (below != sorted_.rend() || above != sorted_.end()) {
            bool const is_below = above == sorted_.end() || (below != sorted_.rend() && distance(*below) < distance(*above));
            Placed const& next = is_below ? *below++ : *above++;
            result.sorted_.push_back({distance(next), next.place});
        }
        return result;
    }

    /// Normal scores of the average ranks over the split chains, [draw, half chain]; empty if they cannot tell anything.
    std::vector<double> normal_scores() const;

  private:
    Ordered() = default;

    std::vector<Placed> sorted_;
};

std::vector<double> Ordered::normal_scores() const {
    std::vector<Placed> kept;
    kept.reserve(sorted_.size());
    std::copy_if(sorted_.begin(), sorted_.end(), std::back_inserter(kept), [](Placed const& a) { return a.place != nowhere; });
    if (kept.empty() || kept.front().value == kept.back().value) return {};
    std::vector<double> scores(kept.size());
    double const scale = static_cast<double>(kept.size()) + 0.25;
    for (std::size_t begin = 0, end = 0; begin < kept.size(); begin = end) {
        while (end < kept.size() && kept[end].value == kept[begin].value) ++end;
        double const rank = static_cast<double>(begin + 1 + end) / 2;
        double const score = normal_quantile((rank - 0.375) / scale);
        for (std::size_t i = begin; i < end; ++i) scores[kept[i].place] = score;
    }
    return scores;
}

/// R-hat of [draw, half chain].
double plain_rhat(std::vector<double> const& values, std::size_t length) {
    if (length < 2 || values.empty()) return missing;
    std::vector<double> means, variances;
    for (std::size_t begin = 0; begin < values.size(); begin += length) {
        std::span<double const> const part(values.data() + begin, length);
        means.push_back(mean_of(part));
        variances.push_back(is_constant(part) ? 0 : variance_of(part));
    }
    double const n = static_cast<double>(length);
    double const between = n * variance_of(means);
    double const within = mean_of(variances);
    return std::sqrt((between / within + n - 1) / n);
}

// ---- Effective sample size

/// Of [draw, half chain], by Geyer's initial positive and initial monotone sequence.
double plain_ess(std::vector<double> values, std::size_t length) {
    if (length < 3 || values.empty() || !has_spread(values)) return missing;
    double const total = static_cast<double>(values.size());
    double const n = static_cast<double>(length);
    Autocovariance autocovariance(std::move(values), length);
    double const mean_variance = autocovariance[0] * n / (n - 1);
    double const variance = autocovariance[0] + variance_of(autocovariance.means());
    auto const correlation = [&](std::size_t lag) { return 1 - (mean_variance - autocovariance[lag]) / variance; };

    std::vector<double> rho{1, correlation(1)};  // pairs of an even and the following odd lag
    double even = rho[0];
    double odd = rho[1];
    std::size_t last = 0;
    while (last + 5 < length && even + odd > 0) {
        last += 2;
        even = correlation(last);
        odd = correlation(last + 1);
        bool const is_kept = even + odd >= 0;
        rho.push_back(is_kept ? even : 0);
        rho.push_back(is_kept ? odd : 0);
    }
    if (even > 0) rho[last] = even;
    for (std::size_t lag = 2; lag + 2 <= last; lag += 2) {
        double const before = rho[lag - 2] + rho[lag - 1];
        if (rho[lag] + rho[lag + 1] > before) rho[lag] = rho[lag + 1] = before / 2;
    }
    // `posterior` sums rho[1:0], which in R is rho[1], when it stops at once: at least one term.
    double const sum = std::accumulate(rho.begin(), rho.begin() + static_cast<std::ptrdiff_t>(std::max<std::size_t>(last, 1)), 0.0);
    double const tau = -1 + 2 * sum + rho[last];
    return total / std::max(tau, 1 / std::log10(total));
}

double ess_of(ChainDraws const& draws) { return plain_ess(split(draws), half_length(draws.draws)); }

/// ESS of a function of the draws, [draw, chain] like them.
template <typename Function>
double ess_of(ChainDraws const& draws, Function const& function) {
    std::vector<double> values(draws.values.size());
    std::transform(draws.values.begin(), draws.values.end(), values.begin(), function);
    return ess_of({values, draws.draws, draws.chains});
}

double rhat(ChainDraws const& draws, std::vector<double> const& scores, std::vector<double> const& folded_scores) {
    std::size_t const half = half_length(draws.draws);
    double const bulk = plain_rhat(scores, half);
    double const tail = plain_rhat(folded_scores, half);
    return std::isnan(bulk) || std::isnan(tail) ? missing : std::max(bulk, tail);
}

double ess_tail(ChainDraws const& draws, Ordered const& ordered) {
    if (!has_spread(draws.values)) return missing;
    auto const ess_below = [&](double limit) { return ess_of(draws, [&](double x) { return x <= limit ? 1.0 : 0.0; }); };
    double const low = ess_below(ordered.quantile(0.05));
    double const high = ess_below(ordered.quantile(0.95));
    return std::isnan(low) || std::isnan(high) ? missing : std::min(low, high);
}

}  // namespace

double rhat(ChainDraws const& draws) {
    Ordered const ordered(draws);
    return rhat(draws, ordered.normal_scores(), ordered.folded().normal_scores());
}

double ess_bulk(ChainDraws const& draws) { return plain_ess(Ordered(draws).normal_scores(), half_length(draws.draws)); }
double ess_tail(ChainDraws const& draws) { return ess_tail(draws, Ordered(draws)); }
double ess_mean(ChainDraws const& draws) { return ess_of(draws); }

double ess_sd(ChainDraws const& draws) {
    double const mean = mean_of(draws.values);
    return ess_of(draws, [&](double x) { return std::abs(x - mean); });
}

double mcse_mean(ChainDraws const& draws) { return std::sqrt(variance_of(draws.values) / ess_mean(draws)); }

double mcse_sd(ChainDraws const& draws) {
    double const mean = mean_of(draws.values);
    double const ess = ess_of(draws, [&](double x) { return (x - mean) * (x - mean); });
    double second = 0;
    double fourth = 0;
    for (double x : draws.values) {
        double const square = (x - mean) * (x - mean);
        second += square;
        fourth += square * square;
    }
    double const count = static_cast<double>(draws.values.size());
    second /= count;
    fourth /= count;
    return std::sqrt((fourth - second * second) / ess / second / 4);
}

double sorted_quantile(std::span<double const> sorted, double probability) {
    if (sorted.empty()) return missing;
    return quantile_of_sorted(sorted.size(), probability, [&](std::size_t i) { return sorted[i]; });
}

double quantile(std::vector<double> values, double probability) { return Ordered({values, values.size(), 1}).quantile(probability); }
double median(std::vector<double> values) { return Ordered({values, values.size(), 1}).median(); }
double mad(std::vector<double> const& values) { return mad_factor * Ordered({values, values.size(), 1}).folded().median(); }

QuantitySummary summarize(ChainDraws const& draws) {
    Ordered const ordered(draws);
    Ordered const folded = ordered.folded();
    std::vector<double> scores = ordered.normal_scores();
    QuantitySummary result{};
    result.mean = draws.values.empty() ? missing : mean_of(draws.values);
    result.median = ordered.median();
    result.sd = draws.values.size() < 2 ? missing : std::sqrt(variance_of(draws.values));
    result.mad = mad_factor * folded.median();
    result.q5 = ordered.quantile(0.05);
    result.q95 = ordered.quantile(0.95);
    result.rhat = rhat(draws, scores, folded.normal_scores());
    result.ess_bulk = plain_ess(std::move(scores), half_length(draws.draws));
    result.ess_tail = ess_tail(draws, ordered);
    result.mcse_mean = mcse_mean(draws);
    result.mcse_sd = mcse_sd(draws);
    return result;
}

double worst_ess(double bulk, double tail) { return std::isnan(tail) || std::isnan(bulk) ? bulk : std::min(bulk, tail); }

}  // namespace bam
