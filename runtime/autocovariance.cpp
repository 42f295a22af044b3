#include "autocovariance.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <numbers>
#include <numeric>
#include <utility>

namespace bam {
namespace {

constexpr std::size_t direct_lags = 64;  // computing more of them costs about as much as the transforms

/// Radix-2 transforms that leave out the reordering: forward takes natural order to bit-reversed, backward takes it back. Not scaled.
class Fourier {
  public:
    /// `size` is a power of two.
    explicit Fourier(std::size_t size) : real(size), imaginary(size), cosines_(size), sines_(size) {
        cosines_[1] = 1;
        for (std::size_t half = 2; half < size; half *= 2) {
            double const cosine = std::cos(std::numbers::pi / static_cast<double>(half));
            double const sine = std::sin(std::numbers::pi / static_cast<double>(half));
            for (std::size_t k = half / 2; k < half; ++k) {
                cosines_[2 * k] = cosines_[k];
                sines_[2 * k] = sines_[k];
                cosines_[2 * k + 1] = cosines_[k] * cosine - sines_[k] * sine;
                sines_[2 * k + 1] = sines_[k] * cosine + cosines_[k] * sine;
            }
        }
    }

    void forward() {
        for (std::size_t half = real.size() / 2; half > 0; half /= 2) {
            for (std::size_t begin = 0; begin < real.size(); begin += 2 * half) {
                for (std::size_t k = 0; k < half; ++k) {
                    std::size_t const i = begin + k;
                    std::size_t const j = i + half;
                    double const x = real[i] - real[j];
                    double const y = imaginary[i] - imaginary[j];
                    real[i] += real[j];
                    imaginary[i] += imaginary[j];
                    real[j] = x * cosines_[half + k] + y * sines_[half + k];
                    imaginary[j] = y * cosines_[half + k] - x * sines_[half + k];
                }
            }
        }
    }

    void backward() {
        for (std::size_t half = 1; half < real.size(); half *= 2) {
            for (std::size_t begin = 0; begin < real.size(); begin += 2 * half) {
                for (std::size_t k = 0; k < half; ++k) {
                    std::size_t const i = begin + k;
                    std::size_t const j = i + half;
                    double const x = real[j] * cosines_[half + k] - imaginary[j] * sines_[half + k];
                    double const y = imaginary[j] * cosines_[half + k] + real[j] * sines_[half + k];
                    real[j] = real[i] - x;
                    imaginary[j] = imaginary[i] - y;
                    real[i] += x;
                    imaginary[i] += y;
                }
            }
        }
    }

    std::vector<double> real, imaginary;

  private:
    std::vector<double> cosines_, sines_;  // of pi k / half at [half + k], for every half = 1, 2, 4, ... and k < half
};

}  // namespace

Autocovariance::Autocovariance(std::vector<double> values, std::size_t length) : values_(std::move(values)), length_(length) {
    for (std::size_t begin = 0; begin < values_.size(); begin += length_) {
        double* const first = values_.data() + begin;
        double* const last = first + length_;
        double const shift = *first;  // so that the mean of a chain that is stuck is exact
        for (double* x = first; x != last; ++x) *x -= shift;
        double const mean = std::accumulate(first, last, 0.0) / static_cast<double>(length_);
        for (double* x = first; x != last; ++x) *x -= mean;
        means_.push_back(shift + mean);
    }
}

double Autocovariance::operator[](std::size_t lag) {
    while (lag >= known_.size()) {
        if (known_.size() < direct_lags) {
            known_.push_back(direct(known_.size()) / static_cast<double>(values_.size()));
        } else {
            transform();
        }
    }
    return known_[lag];
}

double Autocovariance::direct(std::size_t lag) const {
    double total = 0;
    std::size_t const count = length_ - lag;
    for (std::size_t begin = 0; begin < values_.size(); begin += length_) {
        double const* const early = values_.data() + begin;
        double const* const late = early + lag;
        std::array<double, 8> sums{};  // side by side, so that the processor can add them at once
        std::size_t i = 0;
        for (; i + 8 <= count; i += 8) {
            for (std::size_t k = 0; k < 8; ++k) sums[k] += early[i + k] * late[i + k];
        }
        for (; i < count; ++i) sums[0] += early[i] * late[i];
        total += std::accumulate(sums.begin(), sums.end(), 0.0);
    }
    return total;
}

/// Makes at least twice as many lags known. Two chains are transformed at a time, as the real and the imaginary part of z: the even part of
/// |z|^2 is the sum of their power spectra, and the odd part ends as the imaginary part of what comes back. A size of at least length + lag
/// keeps a lag from wrapping.
void Autocovariance::transform() {
    std::size_t const size = std::bit_ceil(length_ + std::min(2 * known_.size(), length_));
    Fourier fourier(size);
    std::vector<double> power(size);
    for (std::size_t begin = 0; begin < values_.size(); begin += 2 * length_) {
        std::fill(fourier.real.begin(), fourier.real.end(), 0.0);
        std::fill(fourier.imaginary.begin(), fourier.imaginary.end(), 0.0);
        std::copy_n(values_.data() + begin, length_, fourier.real.begin());
        if (begin + length_ < values_.size()) std::copy_n(values_.data() + begin + length_, length_, fourier.imaginary.begin());
        fourier.forward();
        for (std::size_t k = 0; k < size; ++k) power[k] += fourier.real[k] * fourier.real[k] + fourier.imaginary[k] * fourier.imaginary[k];
    }
    fourier.real = std::move(power);
    std::fill(fourier.imaginary.begin(), fourier.imaginary.end(), 0.0);
    fourier.backward();
    double const scale = static_cast<double>(size) * static_cast<double>(values_.size());
    std::size_t const last = std::min(length_, size - length_ + 1);
    for (std::size_t lag = known_.size(); lag < last; ++lag) known_.push_back(fourier.real[lag] / scale);
}

}  // namespace bam
