// Random numbers by counter: what a draw is depends on (seed, chain) and on (sweep, block, index) and on nothing else, so a run can be
// resumed or spread over threads and gives the same bits.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

namespace bam {

/// Philox4x64-10 (Salmon, Moraes, Dror, Shaw 2011): a bijection of 256 bits under a 128-bit key.
constexpr std::array<std::uint64_t, 4> philox(std::array<std::uint64_t, 4> counter, std::array<std::uint64_t, 2> key) {
    __extension__ using Product = unsigned __int128;
    for (int round = 0; round < 10; ++round) {
        Product const left = Product{0xd2e7470ee14c6c93} * counter[0];
        Product const right = Product{0xca5a826395121157} * counter[2];
        counter = {static_cast<std::uint64_t>(right >> 64) ^ counter[1] ^ key[0], static_cast<std::uint64_t>(right),
                   static_cast<std::uint64_t>(left >> 64) ^ counter[3] ^ key[1], static_cast<std::uint64_t>(left)};
        key[0] += 0x9e3779b97f4a7c15;  // the golden ratio
        key[1] += 0xbb67ae8584caa73b;  // sqrt(3) - 1
    }
    return counter;
}

// The published answers (Random123 1.14, kat_vectors).
static_assert(philox({0, 0, 0, 0}, {0, 0}) ==
              std::array<std::uint64_t, 4>{0x16554d9eca36314c, 0xdb20fe9d672d0fdc, 0xd7e772cee186176b, 0x7e68b68aec7ba23b});
static_assert(philox({~0ULL, ~0ULL, ~0ULL, ~0ULL}, {~0ULL, ~0ULL}) ==
              std::array<std::uint64_t, 4>{0x87b092c3013fe90b, 0x438c3c67be8d0224, 0x9cc7d7c69cd777b6, 0xa09caebf594f0ba0});

/// The normal ziggurat of 256 layers of equal area (Marsaglia and Tsang 2000; layout of Doornik 2005), largest x first.
struct ZigguratLayer {
    std::uint64_t inner;  ///< positions (53 bits) below this are under the curve whatever the height
    double step;          ///< width of the layer times 2^-53
};
extern std::array<ZigguratLayer, 256> const ziggurat_layers;

class TruncatedNormal;

/// Where a Gaussian draw takes its standard normals from: a stream, or numbers chosen by someone who wants to see the mean and the spread
/// of what is drawn.
class NormalSource {
  public:
    virtual double normal() = 0;
    /// A number for an entry whose prior is truncated.
    virtual double truncated(TruncatedNormal const& density) = 0;
    /// Which of several things is chosen, whose log probabilities are these up to a constant; minus infinity for what cannot be.
    virtual std::size_t categorical(std::span<double const> logits) = 0;

  protected:
    ~NormalSource() = default;
};

/// One stream of numbers: key (seed, chain), counter (draw, index, block, sweep). Uniforms and normals have the same bits on every machine
/// with IEEE arithmetic; exponential and gamma draws go through the C library's log and are the same for the same binary on the same kind
/// of processor.
class Stream final : public NormalSource {
  public:
    Stream(std::uint64_t seed, std::uint64_t chain, std::uint64_t sweep, std::uint64_t block, std::uint64_t index = 0)
        : key_{seed, chain}, counter_{0, index, block, sweep} {}

    std::uint64_t bits() {
        if (used_ == buffer_.size()) refill();
        return buffer_[used_++];
    }

    /// In (0, 1), never 0 or 1: one of the 2^52 odd multiples of 2^-53, so that 1 - u has the same distribution exactly.
    double uniform() { return static_cast<double>(static_cast<std::int64_t>(bits() >> 11 | 1)) * 0x1p-53; }

    /// Standard normal, by ziggurat. One word serves as layer (8 bits), sign (1 bit) and position in the layer (53 bits).
    double normal() override {
        std::uint64_t const word = bits();
        ZigguratLayer const& layer = ziggurat_layers[word & 255];
        std::uint64_t const position = word >> 11;
        double const magnitude = static_cast<double>(static_cast<std::int64_t>(position)) * layer.step;
        if (position < layer.inner) [[likely]] {
            return with_sign(magnitude, word);
        }
        return normal_outside(word, magnitude);
    }

    /// TruncatedNormal::draw.
    double truncated(TruncatedNormal const& density) override;

    std::size_t categorical(std::span<double const> logits) override;

    /// Rate 1.
    double exponential();

    /// Logarithm of a Gamma(shape, rate 1) draw, any finite shape > 0 (Marsaglia and Tsang 2000; below 1 boosted in the log, so it is
    /// finite where the draw itself underflows). Throws std::domain_error if the shape is not positive and finite.
    double log_gamma_draw(double shape);

    /// Gamma(shape, rate 1), clamped to the positive normal numbers: a draw too small to be represented is the smallest such number, not 0.
    double gamma(double shape);

  private:
    void refill() {
        buffer_ = philox(counter_, key_);
        ++counter_[0];
        used_ = 0;
    }

    /// The sign is bit 8 of the word, which neither the layer nor the position uses.
    static double with_sign(double magnitude, std::uint64_t word) {
        return std::bit_cast<double>(std::bit_cast<std::uint64_t>(magnitude) | (word & 256) << 55);
    }

    double normal_outside(std::uint64_t word, double magnitude);

    std::array<std::uint64_t, 2> key_;
    std::array<std::uint64_t, 4> counter_;
    std::array<std::uint64_t, 4> buffer_{};
    std::size_t used_ = 4;
};

/// Inverse gamma: 1 / Gamma(shape, rate = scale), density proportional to x^(-shape-1) exp(-scale / x). Clamped to the positive normal
/// numbers. Throws std::domain_error unless shape and scale are positive and finite.
double inverse_gamma(Stream& stream, double shape, double scale);

/// Generalised inverse Gaussian with density proportional to x^(p-1) exp(-(a x + b / x) / 2), a, b >= 0, exact and of bounded cost for all
/// parameters (Devroye 2014, "Random variate generation for the generalized inverse Gaussian distribution"). The limits b = 0 (gamma; p >
/// 0) and a = 0 (inverse gamma; p < 0) are drawn as such. Clamped to the positive normal numbers. Throws std::domain_error if the density
/// has no finite integral (b = 0 and p <= 0; a = 0 and p >= 0) or a parameter is not finite or beyond 1e300.
double generalised_inverse_gaussian(Stream& stream, double p, double a, double b);

}  // namespace bam
