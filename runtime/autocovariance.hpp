// Autocovariances of chains, as many lags as are asked for.
#pragma once

#include <cstddef>
#include <vector>

namespace bam {

/// Biased autocovariances (sums divided by the length whatever the lag), averaged over chains of equal length, each about its own mean. The
/// first lags are computed directly, which is all that well-mixed chains need, later ones by Fourier transforms.
class Autocovariance {
  public:
    /// `values` is [draw, chain], column-major, with `length` > 0 draws of each chain, all finite.
    Autocovariance(std::vector<double> values, std::size_t length);

    std::vector<double> const& means() const { return means_; }  ///< of each chain

    /// Of a lag < length.
    double operator[](std::size_t lag);

  private:
    double direct(std::size_t lag) const;
    void transform();

    std::vector<double> values_;  ///< about the mean
    std::size_t length_;
    std::vector<double> means_;
    std::vector<double> known_;  ///< by lag
};

}  // namespace bam
