#include "ladder.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace bam {
namespace {

/// The height of a power is logarithmic above this one and linear below: rungs are placed evenly in it.
constexpr double smallest_power = 1e-6;
double to_height(double power) { return std::log1p(power / smallest_power); }
double from_height(double height) { return smallest_power * std::expm1(height); }

/// No two rungs may coincide, though all exchanges between them were taken.
constexpr double least_refusal = 1e-3;

/// Of sweeps, after which it is known whether threads are worth their cost. The draws are the same either way.
constexpr std::size_t timed_rounds = 10;

/// The replicas of a chain have random numbers of their own; those of the chain itself have none of these bits.
std::uint64_t stream_of(std::uint64_t chain, std::uint64_t replica) { return chain | (replica + 1) << 32; }
constexpr std::uint64_t exchange_block = std::uint64_t{1} << 60;

/// How much more likely two neighbours are with their powers exchanged, in logarithms. Without binary outputs as one product, in which
/// nothing cancels.
double log_gain(Replica const& upper, double high, Replica const& lower, double low, bool has_binary) {
    if (!has_binary) return (high - low) * (lower.slope().first - upper.slope().first);
    return lower.log_change(low, high) + upper.log_change(high, low);
}

}  // namespace

std::vector<double> first_powers(std::size_t rungs, double lowest) {
    bool const ends_at_prior = lowest == 0;
    double const last = ends_at_prior ? 1e-5 : lowest;
    std::size_t const steps = rungs - (ends_at_prior ? 2 : 1);
    std::vector<double> powers{1};
    for (std::size_t k = 1; k <= steps; ++k) powers.push_back(std::pow(last, static_cast<double>(k) / static_cast<double>(steps)));
    if (ends_at_prior) powers.push_back(0);
    return powers;
}

std::vector<double> even_powers(std::vector<double> const& powers, std::vector<double> const& refusals, std::size_t rungs) {
    std::vector<double> barrier{0};
    for (double const refusal : refusals) barrier.push_back(barrier.back() + std::max(refusal, least_refusal));
    std::vector<double> placed{powers.front()};
    std::size_t k = 0;
    for (std::size_t r = 1; r + 1 < rungs; ++r) {
        double const wanted = barrier.back() * static_cast<double>(r) / static_cast<double>(rungs - 1);
        while (barrier[k + 1] < wanted) ++k;
        double const share = (wanted - barrier[k]) / (barrier[k + 1] - barrier[k]);
        placed.push_back(from_height((1 - share) * to_height(powers[k]) + share * to_height(powers[k + 1])));
    }
    placed.push_back(powers.back());
    return placed;
}

Ladder::Ladder(Problem const& problem, LadderOptions const& options)
    : problem_(problem), options_(options), powers_(first_powers(options.rungs, options.lowest)), at_(options.rungs) {
    std::iota(at_.begin(), at_.end(), std::size_t{0});
    while (members_.size() < options.rungs) members_.push_back(new_member());
    for (std::size_t r = 0; r < options.rungs; ++r) members_[r].replica->set_power(powers_[r]);
    forget();
}

Ladder::Member Ladder::new_member() {
    auto replica = std::make_unique<Replica>(problem_, options_.seed, stream_of(options_.chain, made_++), options_.sweep);
    auto recovery = std::make_unique<Recovery>(*replica);
    return {std::move(replica), std::move(recovery)};
}

void Ladder::start(bool as_wide, std::uint64_t attempt) {
    for (Member& member : members_) member.replica->start(attempt, as_wide);
}

void Ladder::start(State const& state) {
    for (Member& member : members_) member.replica->set_state(state);
}

void Ladder::step(std::uint64_t index) {
    sweep_all(index);
    repairs_.clear();
    replace_lost();
    exchange(index);
}

void Ladder::sweep_all(std::uint64_t index) {
    if (crew_) return crew_->each(members_.size(), [&](std::size_t k) { sweep(members_[k], index); });
    auto const begin = std::chrono::steady_clock::now();
    for (Member& member : members_) sweep(member, index);
    if (options_.threads < 2 || timed_ == timed_rounds) return;
    fastest_ = std::min(fastest_, std::chrono::steady_clock::now() - begin);
    if (++timed_ == timed_rounds && fastest_ >= options_.worth_threads)
        crew_ = std::make_unique<Crew>(std::min(options_.threads, members_.size()));
}

void Ladder::sweep(Member& member, std::uint64_t index) {
    try {
        member.repair = member.recovery->sweep(index);
    } catch (NumericalTrouble const& trouble) {
        if (!trouble.is_of_numbers) throw;
        member.repair = Repair{Remedy::Restart, trouble.block, 0, "", trouble.what()};
    }
}

/// After all have swept, so that it does not matter which thread was faster.
void Ladder::replace_lost() {
    auto const is_lost = [&](std::size_t rung) {
        auto const& repair = members_[at_[rung]].repair;
        return repair && repair->remedy == Remedy::Restart;
    };
    std::size_t const rungs = at_.size();
    for (std::size_t r = 0; r < rungs; ++r) {
        std::optional<Repair>& repair = members_[at_[r]].repair;
        if (!repair) continue;
        if (is_lost(r)) {
            std::size_t nearest = rungs;
            for (std::size_t k = 0; k < rungs; ++k) {
                bool const is_nearer = nearest == rungs || std::max(k, r) - std::min(k, r) < std::max(nearest, r) - std::min(nearest, r);
                if (!is_lost(k) && is_nearer) nearest = k;
            }
            if (nearest == rungs) throw NumericalTrouble(repair->reason, repair->block, true);
            members_[at_[r]].replica->set_state(at(nearest).state());
            repair->source = fmt::format("its replica at power {:.2g}", powers_[nearest]);
        }
        repairs_.push_back(*repair);
    }
}

void Ladder::exchange(std::uint64_t index) {
    Stream stream(options_.seed, stream_of(options_.chain, 0), index, exchange_block);
    auto const& factors = problem_.plan.layout.factors;
    bool const has_binary = std::any_of(factors.begin(), factors.end(), [](FactorLayout const& factor) { return factor.is_binary; });
    for (std::size_t r = index % 2; r + 1 < powers_.size(); r += 2) {
        double const gain = log_gain(at(r), powers_[r], at(r + 1), powers_[r + 1], has_binary);
        double const taken = std::isnan(gain) ? 0 : std::min(1.0, std::exp(gain));
        refused_[r] += 1 - taken;
        tried_[r] += 1;
        if (!(stream.uniform() < taken)) continue;
        std::swap(at_[r], at_[r + 1]);
        for (std::size_t const rung : {r, r + 1}) {
            members_[at_[rung]].replica->set_power(powers_[rung]);
            members_[at_[rung]].replica->draw_binary_locals(index);
        }
    }
    Way& last = ways_[at_.back()];
    if (last == Way::Down) last = Way::Up;
    Way& first = ways_[at_.front()];
    if (first == Way::Up) ++round_trips_;
    first = Way::Down;
}

RungDraw Ladder::draw(std::size_t rung) const {
    double const here = powers_[rung];
    auto const half_way_to = [&](std::size_t other) { return at(rung).log_change(here, (here + powers_[other]) / 2); };
    auto const [slope, curvature] = at(rung).slope();
    return {rung > 0 ? half_way_to(rung - 1) : 0, rung + 1 < powers_.size() ? half_way_to(rung + 1) : 0, slope, curvature};
}

std::vector<double> Ladder::refusals() const {
    std::vector<double> shares;
    for (std::size_t r = 0; r < refused_.size(); ++r) shares.push_back(tried_[r] > 0 ? refused_[r] / tried_[r] : 0);
    return shares;
}

void Ladder::place(std::size_t rungs) {
    std::vector<double> const powers = even_powers(powers_, refusals(), rungs);
    // Replicas stay in their order. Of too many some go, evenly; a new one begins where the one at the next power above is.
    std::vector<Member> kept;
    std::size_t const before = powers_.size();
    std::size_t last = before;
    for (std::size_t r = 0; r < rungs; ++r) {
        std::size_t const from = r * (before - 1) / (rungs - 1);
        if (from != last) {
            kept.push_back(std::move(members_[at_[from]]));
        } else {
            kept.push_back(new_member());
            kept.back().replica->set_state(kept[r - 1].replica->state());
        }
        last = from;
    }
    members_ = std::move(kept);
    powers_ = powers;
    at_.resize(rungs);
    std::iota(at_.begin(), at_.end(), std::size_t{0});
    for (std::size_t r = 0; r < rungs; ++r) members_[r].replica->set_power(powers_[r]);
    forget();
}

void Ladder::forget() {
    refused_.assign(powers_.size() - 1, 0.0);
    tried_.assign(powers_.size() - 1, 0.0);
    ways_.assign(powers_.size(), Way::Unknown);
    round_trips_ = 0;
}

}  // namespace bam
