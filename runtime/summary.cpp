#include "summary.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <span>
#include <thread>

namespace bam {
namespace {

constexpr std::size_t draws_per_thread = 50000;  ///< below which a thread costs more than it saves

/// Draws of one quantity as `posterior` wants them. [draw, chain], the draws of a chain contiguous.
class Gather {
  public:
    explicit Gather(Run const& run) : run_(run), draws_(common_draws(run)), values_(draws_ * run.chains.size()) {}

    ChainDraws column(std::size_t column) {
        std::size_t const width = run_.columns.size();
        return fill([&](Chain const& chain, std::size_t draw) { return chain.values[draw * width + column]; });
    }
    ChainDraws member(std::vector<double> Chain::*of) {
        return fill([&](Chain const& chain, std::size_t draw) { return (chain.*of)[draw]; });
    }

  private:
    template <typename Value>
    ChainDraws fill(Value const& value) {
        std::size_t at = 0;
        for (Chain const& chain : run_.chains) {
            std::size_t const skipped = chain.log_joint.size() - draws_;
            for (std::size_t draw = 0; draw < draws_; ++draw) values_[at++] = value(chain, skipped + draw);
        }
        return {values_, draws_, run_.chains.size()};
    }

    Run const& run_;
    std::size_t draws_;
    std::vector<double> values_;
};

Condition condition_of(ChainDraws const& draws, QuantitySummary const& quantity) {
    auto const is_same = [](std::span<double const> values) {
        return std::all_of(values.begin(), values.end(), [&](double value) { return value == values.front(); });
    };
    if (!std::all_of(draws.values.begin(), draws.values.end(), [](double value) { return std::isfinite(value); }))
        return Condition::NotFinite;
    if (draws.values.size() < 2) return Condition::Bad;  // one number says nothing of the others
    if (is_same(draws.values)) return Condition::Fixed;
    for (std::size_t chain = 0; chain < draws.chains; ++chain)
        if (draws.draws > 1 && is_same(draws.values.subspan(chain * draws.draws, draws.draws))) return Condition::Stuck;
    double const least = std::max(lowest_ess, ess_per_chain * static_cast<double>(draws.chains));
    bool const is_good = quantity.rhat <= highest_rhat && worst_ess(quantity) >= least;
    return is_good ? Condition::Good : Condition::Bad;  // a NaN is not good
}

QuantitySummary undefined() {
    constexpr double nan = std::numeric_limits<double>::quiet_NaN();
    return {nan, nan, nan, nan, nan, nan, nan, nan, nan, nan, nan};
}

/// Of a choice, or of what hangs on choices only.
bool is_nearly_certain(ChainDraws const& draws, QuantitySummary const& quantity, bool is_choice) {
    auto const same = std::count(draws.values.begin(), draws.values.end(), quantity.median);
    double const share = static_cast<double>(same) / static_cast<double>(draws.values.size());
    return share >= 1 - rare_choice && (is_choice || share < 1);
}

void fill(SummaryRow& row, ChainDraws const& draws, bool has_choices) {
    row.quantity = draws.draws == 0 ? undefined() : summarize(draws);
    row.is_nearly_certain = has_choices && draws.draws > 0 && is_nearly_certain(draws, row.quantity, row.column.choice > 0);
    row.condition = draws.draws == 0 ? Condition::Bad : row.is_nearly_certain ? Condition::Good : condition_of(draws, row.quantity);
}

}  // namespace

char const* word(Condition condition) {
    switch (condition) {
        case Condition::Good: return "good";
        case Condition::Bad: return "bad";
        case Condition::Fixed: return "fixed";
        case Condition::Stuck: return "stuck";
        case Condition::NotFinite: return "not finite";
    }
    return "";
}

std::size_t common_draws(Run const& run) {
    std::size_t draws = run.chains.empty() ? 0 : std::numeric_limits<std::size_t>::max();
    for (Chain const& chain : run.chains) draws = std::min(draws, chain.log_joint.size());
    return draws;
}

std::vector<SummaryRow> summarize(Run const& run) {
    std::size_t const width = run.columns.size();
    std::vector<SummaryRow> rows(width + 2);
    for (std::size_t column = 0; column < width; ++column) rows[column].column = run.columns[column];
    // Along a symmetry of the likelihood the prior changes, and the log joint with it.
    bool const all_identified = std::all_of(run.columns.begin(), run.columns.end(), [](DrawColumn const& c) { return c.is_identified; });
    rows[width].column = {"log_joint", {}, {}, all_identified, false};
    rows[width + 1].column = {"log_likelihood", {}, {}, true, false};

    bool const has_choices = std::any_of(run.columns.begin(), run.columns.end(), [](DrawColumn const& c) { return c.choice > 0; });
    std::atomic<std::size_t> next = 0;
    auto const work = [&] {
        Gather gather(run);
        for (std::size_t i = next++; i < rows.size(); i = next++) {
            bool const is_column = i < width;
            fill(rows[i], is_column ? gather.column(i) : gather.member(i == width ? &Chain::log_joint : &Chain::log_likelihood),
                 has_choices);
        }
    };
    std::size_t const wanted = rows.size() * common_draws(run) * run.chains.size() / draws_per_thread;
    std::size_t const threads = std::min<std::size_t>({wanted, rows.size(), std::thread::hardware_concurrency()});
    {
        std::vector<std::jthread> workers;
        for (std::size_t i = 1; i < threads; ++i) workers.emplace_back(work);
        work();
    }
    return rows;
}

}  // namespace bam
