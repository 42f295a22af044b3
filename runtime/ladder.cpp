#include "ladder.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "each_chain.hpp"

namespace bam {
namespace {

/// Powers below are as good as 0 in the coordinate in which rungs are placed: it is logarithmic above and linear below.
constexpr double smallest_power = 1e-6;
double to_height(double power) { return std::log1p(power / smallest_power); }
double from_height(double height) { return smallest_power * std::expm1(height); }

/// No two rungs may coincide, though all exchanges between them were taken.
constexpr double least_refusal = 1e-3;

/// Replicas of a chain have random numbers of their own; those of the chain itself have no such bits.
std::uint64_t stream_of(std::uint64_t chain, std::size_t replica) { return chain | (std::uint64_t{replica} + 1) << 32; }

}  // namespace

std::vector<double> first_powers(std::size_t rungs, double lowest) {
    double const last = lowest > 0 ? lowest : 1e-5;
    std::size_t const steps = rungs - (lowest > 0 ? 1 : 2);
    std::vector<double> powers;
    for (std::size_t k = 0; k <= steps; ++k)
        powers.push_back(std::pow(last, static_cast<double>(k) / static_cast<double>(std::max<std::size_t>(steps, 1))));
    if (lowest == 0) powers.push_back(0);
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
    for (std::size_t r = 0; r < options.rungs; ++r) {
        replicas_.push_back(std::make_unique<Replica>(problem, options.seed, stream_of(options.chain, r), options.sweep));
        replicas_.back()->set_power(powers_[r]);
    }
    refused_.assign(options.rungs - 1, 0.0);
    tried_.assign(options.rungs - 1, 0.0);
    comes_from_last_.assign(options.rungs, false);
}

void Ladder::start(bool as_wide) {
    for (auto& replica : replicas_) replica->start(0, as_wide);
}

void Ladder::step(std::uint64_t index) {
    if (options_.threads > 1)
        each_chain(replicas_.size(), options_.threads, [&](std::size_t r, std::stop_token const&) { replicas_[r]->sweep(index); });
    else
        for (auto& replica : replicas_) replica->sweep(index);
    exchange(index);
}

void Ladder::exchange(std::uint64_t index) {
    Stream stream(options_.seed, stream_of(options_.chain, replicas_.size()), index, 0);
    for (std::size_t r = index % 2; r + 1 < powers_.size(); r += 2) {
        double const gain = replicas_[at_[r + 1]]->log_likelihood() - replicas_[at_[r]]->log_likelihood();
        double const taken = std::isnan(gain) ? 0 : std::min(1.0, std::exp((powers_[r] - powers_[r + 1]) * gain));
        refused_[r] += 1 - taken;
        tried_[r] += 1;
        if (!(stream.uniform() < taken)) continue;
        std::swap(at_[r], at_[r + 1]);
        for (std::size_t const rung : {r, r + 1}) replicas_[at_[rung]]->set_power(powers_[rung]);
    }
    comes_from_last_[at_.back()] = true;
    if (comes_from_last_[at_.front()]) {
        ++round_trips_;
        comes_from_last_[at_.front()] = false;
    }
}

std::vector<double> Ladder::refusals() const {
    std::vector<double> shares;
    for (std::size_t r = 0; r < refused_.size(); ++r) shares.push_back(tried_[r] > 0 ? refused_[r] / tried_[r] : 0);
    return shares;
}

void Ladder::place() {
    powers_ = even_powers(powers_, refusals(), powers_.size());
    for (std::size_t r = 0; r < powers_.size(); ++r) replicas_[at_[r]]->set_power(powers_[r]);
    std::fill(refused_.begin(), refused_.end(), 0.0);
    std::fill(tried_.begin(), tried_.end(), 0.0);
    std::fill(comes_from_last_.begin(), comes_from_last_.end(), false);
    round_trips_ = 0;
}

}  // namespace bam
