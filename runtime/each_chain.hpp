// Chains on threads.
#pragma once

#include <cstddef>
#include <functional>
#include <stop_token>

namespace bam {

/// Calls `work(chain, failed)` for every chain below `chains`, on at most `threads` threads (0: as many as the machine has cores), that of
/// the caller among them. When one of them throws, `failed` says so to the others, no more are begun, and the exception is thrown here.
/// Throws Error (BAM0571) if the system does not start a thread.
void each_chain(std::size_t chains, std::size_t threads, std::function<void(std::size_t chain, std::stop_token const& failed)> const& work);

}  // namespace bam
