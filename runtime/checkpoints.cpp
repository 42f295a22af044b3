#include "checkpoints.hpp"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

namespace bam {
namespace {

/// Tokens have no part in the condition variable: one that is stopped from elsewhere is seen a moment later.
constexpr auto moment = std::chrono::milliseconds(50);

}  // namespace

Checkpoints::Checkpoints(std::size_t chains, std::size_t threads, std::vector<std::size_t> draws, std::function<bool(Run const&)> is_done)
    : chains_(chains),
      room_(static_cast<std::ptrdiff_t>(threads > 0 ? threads : std::max(1U, std::thread::hardware_concurrency()))),
      draws_(std::move(draws)),
      is_done_(std::move(is_done)) {}

void Checkpoints::enter(std::stop_token const& failed) {
    std::unique_lock lock(mutex_);
    while (!changed_.wait_for(lock, moment, [&] { return room_ > 0 || failed.stop_requested(); })) continue;
    --room_;
}

void Checkpoints::leave() {
    std::lock_guard const lock(mutex_);
    ++room_;
    changed_.notify_all();
}

void Checkpoints::look_if_all_wait(Run const& run) {
    if (waiting_ == 0 || waiting_ < chains_) return;
    is_over_ = is_done_(run);
    waiting_ = 0;
    ++passed_;
}

void Checkpoints::drop(Run const& run) {
    std::lock_guard const lock(mutex_);
    --chains_;
    look_if_all_wait(run);
    changed_.notify_all();
}

bool Checkpoints::go_on(Run const& run, std::size_t draws, std::stop_token const& stop, std::stop_token const& failed) {
    std::unique_lock lock(mutex_);
    if (is_over_) return false;
    if (passed_ >= draws_.size() || draws != draws_[passed_]) return true;
    std::size_t const here = passed_;
    ++room_;
    ++waiting_;
    look_if_all_wait(run);
    changed_.notify_all();
    auto const is_stopped = [&] { return stop.stop_requested() || failed.stop_requested(); };
    while (!changed_.wait_for(lock, moment, [&] { return (passed_ > here && room_ > 0) || is_stopped(); })) continue;
    --room_;
    return !is_over_;
}

std::vector<std::size_t> check_schedule(std::size_t most) {
    std::vector<std::size_t> draws;
    for (std::size_t next = 100; next < most; next += next / 2) draws.push_back(next);
    draws.push_back(most);
    return draws;
}

}  // namespace bam
