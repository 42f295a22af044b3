// Normals for a sampler that are chosen so that what it draws can be compared with a density.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "bind.hpp"
#include "plan.hpp"
#include "random.hpp"
#include "truncated_normal.hpp"

namespace bam {

/// Normals along a random line: 0 but in a range of their numbers, there `length` times a standard normal.
class RandomLine final : public NormalSource {
  public:
    RandomLine(Stream& stream, double length, std::size_t first = 0, std::size_t last = SIZE_MAX)
        : stream_(stream), length_(length), first_(first), last_(last) {}
    double normal() override {
        std::size_t const k = taken_++;
        if (k < first_ || k >= last_ || length_ == 0) return 0;
        double const z = length_ * stream_.normal();
        squares_ += z * z;
        return z;
    }
    /// The mean but in the range, there the mode for a length of 0, else a draw.
    double truncated(TruncatedNormal const& density) override {
        std::size_t const k = taken_++;
        if (k < first_ || k >= last_) return density.moments().mean;
        double const x = length_ == 0 ? density.mode() : density.draw(stream_);
        squares_ += 2 * density.drop(x);
        return x;
    }
    /// The mode outside of the range and for a length of 0, else any that can be, however unlikely.
    std::size_t categorical(std::span<double const> logits) override {
        std::size_t const k = taken_++;
        auto chosen = static_cast<std::size_t>(std::max_element(logits.begin(), logits.end()) - logits.begin());
        if (k < first_ || k >= last_ || length_ == 0) return chosen;
        double const most = logits[chosen];
        auto const can_be = [](double logit) { return std::isfinite(logit); };
        auto const among = std::count_if(logits.begin(), logits.end(), can_be);
        auto left = static_cast<std::ptrdiff_t>(stream_.uniform() * static_cast<double>(among));
        for (std::size_t i = 0; i < logits.size(); ++i)
            if (can_be(logits[i]) && left-- == 0) chosen = i;
        squares_ += 2 * (most - logits[chosen]);
        return chosen;
    }
    /// By how much twice the log densities have fallen: the sum of the squares of the normals taken.
    double squares() const { return squares_; }

  private:
    Stream& stream_;
    double length_;
    std::size_t first_, last_;
    std::size_t taken_ = 0;
    double squares_ = 0;
};

/// Number of the normal with which each step of a swept block begins, [steps + 1].
inline std::vector<std::size_t> first_normals(BlockPlan const& block, Variable const& variable, Grid const& grid) {
    std::vector<std::size_t> first(grid.steps + 1, 0);
    for (std::size_t t = 0; t < grid.steps; ++t) {
        std::size_t const lanes = variable.extent == Extent::Time ? 1 : grid.lanes(t);
        first[t + 1] = first[t] + (t < variable.first_step ? 0 : lanes * block.groups.front().size());
    }
    return first;
}

}  // namespace bam
