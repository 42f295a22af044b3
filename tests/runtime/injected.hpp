// Numerical faults for the time of a test; see faults.hpp.
#pragma once

#include <cstdlib>
#include <deque>
#include <sstream>
#include <string>

#include "faults.hpp"

namespace bam::test {

/// What a sweep tries at most: as it is, anew, and with jitter of seven decades. With a fault that no block is to blame for: two.
inline constexpr std::size_t tries_of_block = 9, tries_without_block = 2;

class Injected {
  public:
    Injected() { injected_faults = &faults_; }
    Injected(Injected const&) = delete;
    Injected& operator=(Injected const&) = delete;
    ~Injected() { injected_faults = nullptr; }

    Fault& add(Fault::Kind kind, std::uint64_t chain, std::size_t block, std::uint64_t first, std::uint64_t last) {
        Fault& fault = faults_.emplace_back();
        fault.kind = kind;
        fault.chain = chain;
        fault.block = block;
        fault.first = first;
        fault.last = last;
        return fault;
    }
    Fault& add(Fault::Kind kind, std::uint64_t chain, std::size_t block, std::uint64_t sweep) {
        return add(kind, chain, block, sweep, sweep);
    }

  private:
    std::deque<Fault> faults_;
};

}  // namespace bam::test
