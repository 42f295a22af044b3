// Numerical faults on purpose: how tests prove what becomes of them (recovery.hpp). Nothing in the program or the library makes one: the
// pointer is null unless a test sets it.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>

#include "block_sampler.hpp"

namespace bam {

struct Fault {
    enum class Kind : std::uint8_t {
        Unfactorable,  ///< the block's precision has a negative diagonal, unless jitter of `mended_by` is allowed
        NotFinite,     ///< the block is drawn as NaN
        Overflow,      ///< the block is drawn as 1e200: a decay that explodes
        Thrown,        ///< what a block throws whose numbers are not finite
        Undetermined,  ///< what a block throws that the model does not determine
    };
    static constexpr std::size_t most_chains = 16;

    Kind kind = Kind::Unfactorable;
    std::uint64_t chain = 0;  ///< from 1; 0: all of them
    std::size_t block = 0;    ///< of the plan
    std::uint64_t first = 0;  ///< sweep, by the number of its random numbers
    std::uint64_t last = UINT64_MAX;
    std::size_t times = SIZE_MAX;  ///< that it strikes a chain, at most
    double mended_by = 1;
    std::uint64_t replica = 0;  ///< 0: all of the chain; else one of its ladder, from 1
    std::array<std::atomic<std::size_t>, most_chains + 1> struck{};

    /// `stream`: of a replica, as its random numbers have it.
    bool strikes(std::uint64_t stream, std::uint64_t sweep, std::size_t of);
};

/// Read when a replica is made.
inline std::deque<Fault>* injected_faults = nullptr;

/// BlockSampler::draw_with_choices with the faults that strike there. `values`: of the block.
void draw_with_faults(std::deque<Fault>& faults, std::uint64_t stream, std::uint64_t sweep, std::size_t block, BlockSampler& sampler,
                      std::vector<double>& values, NormalSource& normals);

}  // namespace bam
