// Where chains wait for one another: after fixed numbers of draws all of them are looked at, and go on or end together.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <stop_token>
#include <vector>

#include "draws.hpp"

namespace bam {

/// Each chain has a thread, of which so many run at a time as there may: one that waits makes room for another.
class Checkpoints {
  public:
    /// `draws`: of each chain at which to wait, ascending. `is_done` sees all chains at rest, with so many draws, and says
    /// whether they end there.
    Checkpoints(std::size_t chains, std::size_t threads, std::vector<std::size_t> draws, std::function<bool(Run const&)> is_done);

    /// A chain begins: waits for room, or for a failure elsewhere.
    void enter(std::stop_token const& failed);
    /// It is over, or has failed: makes room.
    void leave();
    /// A chain has ended for good: the others wait for it no more.
    void drop(Run const& run);
    /// Whether chains wait for one another when they have so many draws.
    bool is_look(std::size_t draws) const { return std::binary_search(draws_.begin(), draws_.end(), draws); }
    /// A chain has so many draws. Waits for the others where it should, and says whether to go on. Both tokens end the wait.
    bool go_on(Run const& run, std::size_t draws, std::stop_token const& stop, std::stop_token const& failed);

  private:
    void look_if_all_wait(Run const& run);

    std::mutex mutex_;
    std::condition_variable changed_;
    std::size_t chains_;
    std::ptrdiff_t room_;
    std::vector<std::size_t> draws_;
    std::function<bool(Run const&)> is_done_;
    std::size_t passed_ = 0;   ///< checkpoints
    std::size_t waiting_ = 0;  ///< chains at the present one
    bool is_over_ = false;
};

/// 100, then half as many again each time, up to `most`: the looks together cost three times the last one.
std::vector<std::size_t> check_schedule(std::size_t most);

}  // namespace bam
