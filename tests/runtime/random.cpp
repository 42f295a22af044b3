#include "random.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numbers>
#include <stdexcept>
#include <vector>

namespace bam {
namespace {

// Every test below draws from fixed seeds, so it passes or fails always. The critical values are those a correct sampler would fail once in
// about ten thousand seeds.
constexpr double critical_ks = 2.2;      // of sqrt(n) D: 2 exp(-2 x^2) = 1.3e-4
constexpr double critical_normal = 3.9;  // standard errors, two-sided: 1e-4

std::vector<double> draw(std::size_t count, std::function<double()> const& next) {
    std::vector<double> values(count);
    std::generate(values.begin(), values.end(), next);
    return values;
}

/// sqrt(n) times the Kolmogorov-Smirnov distance.
double ks(std::vector<double> values, std::function<double(double)> const& cdf) {
    std::sort(values.begin(), values.end());
    double const n = static_cast<double>(values.size());
    double distance = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
        double const below = cdf(values[i]);
        distance = std::max({distance, below - static_cast<double>(i) / n, static_cast<double>(i + 1) / n - below});
    }
    return std::sqrt(n) * distance;
}

/// How many standard errors the mean of x^power is from what it should be; the error comes from the moments themselves, not from the
/// sample.
double moment_error(std::vector<double> const& values, int power, std::function<double(int)> const& moment) {
    double sum = 0;
    for (double x : values) {
        double term = x;
        for (int k = 1; k < power; ++k) term *= x;
        sum += term;
    }
    double const n = static_cast<double>(values.size());
    double const expected = moment(power);
    return (sum / n - expected) / std::sqrt((moment(2 * power) - expected * expected) / n);
}

double correlation_error(std::vector<double> const& x, std::vector<double> const& y) {
    double sum = 0;
    for (std::size_t i = 0; i < x.size(); ++i) sum += x[i] * y[i];
    return sum / std::sqrt(static_cast<double>(x.size()));
}

double normal_cdf(double x) { return std::erfc(-x / std::numbers::sqrt2) / 2; }

/// The generalised inverse Gaussian by numerical integration of its density on the logarithmic axis, as z = log(x / mode), where the log
/// density is -A (e^z - 1 - z) - B (e^-z - 1 + z). A = 0 and B = 0 are the inverse gamma and the gamma.
class GigCdf {
  public:
    GigCdf(double p, double a, double b) {
        double const root = std::hypot(p, std::sqrt(a) * std::sqrt(b));
        double const product = std::sqrt(a) * std::sqrt(b);
        up_ = p >= 0 ? (root + p) / 2 : product / (root - p) * product / 2;
        down_ = p < 0 ? (root - p) / 2 : product / (root + p) * product / 2;
        log_mode = p >= 0 ? std::log(root + p) - std::log(a) : std::log(b) - std::log(root - p);
        append_side(-1);
        std::reverse(z_.begin(), z_.end());
        z_.pop_back();
        append_side(1);
        cdf_.assign(z_.size(), 0);
        for (std::size_t i = 1; i < z_.size(); ++i) {
            double const ends = std::exp(log_density(z_[i])) + std::exp(log_density(z_[i - 1]));
            cdf_[i] = cdf_[i - 1] + (z_[i] - z_[i - 1]) * ends / 2;
        }
        for (double& value : cdf_) value /= cdf_.back();
    }

    double operator()(double z) const {
        auto const above = std::upper_bound(z_.begin(), z_.end(), z);
        if (above == z_.begin()) return 0;
        if (above == z_.end()) return 1;
        std::size_t const i = static_cast<std::size_t>(above - z_.begin());
        return cdf_[i - 1] + (cdf_[i] - cdf_[i - 1]) * (z - z_[i - 1]) / (z_[i] - z_[i - 1]);
    }

    double log_mode = 0;

  private:
    double log_density(double z) const {
        double const rise = up_ > 0 ? up_ * (std::expm1(z) - z) : 0;
        double const fall = down_ > 0 ? down_ * (std::expm1(-z) + z) : 0;
        return -rise - fall;
    }

    /// The grid from the mode to where the density has fallen by e^-40.
    void append_side(double sign) {
        double near = 0;
        double far = 1e-20;
        while (log_density(sign * far) > -40) far *= 2;
        for (int step = 0; step < 60; ++step) {
            double const middle = (near + far) / 2;
            (log_density(sign * middle) > -40 ? near : far) = middle;
        }
        constexpr int points = 3000;
        for (int i = 0; i <= points; ++i) z_.push_back(sign * far * i / points);
    }

    double up_ = 0, down_ = 0;
    std::vector<double> z_, cdf_;
};

/// Draws are passed as logarithms.
double ks_of_logs(std::vector<double> logs, GigCdf const& cdf) {
    for (double& value : logs) value -= cdf.log_mode;
    return ks(std::move(logs), cdf);
}

std::uint64_t mix(std::uint64_t hash, double value) { return (hash ^ std::bit_cast<std::uint64_t>(value)) * 1099511628211U; }

}  // namespace

TEST_CASE("a stream is its counter: draw, index, block, sweep under the key seed, chain") {
    Stream stream(11, 12, 13, 14, 15);
    for (std::uint64_t draw_counter = 0; draw_counter < 3; ++draw_counter) {
        for (std::uint64_t word : philox({draw_counter, 15, 14, 13}, {11, 12})) CHECK(stream.bits() == word);
    }
}

TEST_CASE("a million draws have the same bits for every compiler, optimisation and processor") {
    std::uint64_t uniforms = 14695981039346656037U;
    std::uint64_t normals = uniforms;
    for (std::uint64_t sweep = 0; sweep < 10; ++sweep) {
        Stream stream(2024, 1, sweep, 2);
        for (int i = 0; i < 50000; ++i) {
            uniforms = mix(uniforms, stream.uniform());
            normals = mix(normals, stream.normal());
        }
    }
    CHECK(uniforms == 15235356443590653880U);
    CHECK(normals == 7282375318696842803U);
}

TEST_CASE("uniforms") {
    Stream stream(1, 0, 0, 0);
    auto const values = draw(1000000, [&] { return stream.uniform(); });
    for (int power = 1; power <= 4; ++power) {
        CHECK(std::abs(moment_error(values, power, [](int k) { return 1.0 / (k + 1); })) < critical_normal);
    }
    CHECK(*std::min_element(values.begin(), values.end()) > 0);
    CHECK(*std::max_element(values.begin(), values.end()) < 1);
    CHECK(ks(values, [](double x) { return x; }) < critical_ks);
}

TEST_CASE("normals") {
    Stream stream(2, 0, 0, 0);
    auto const values = draw(1000000, [&] { return stream.normal(); });
    auto const moment = [](int k) {
        double result = k % 2 == 0 ? 1 : 0;
        for (int factor = k - 1; factor > 1; factor -= 2) result *= factor;
        return result;
    };
    for (int power = 1; power <= 8; ++power) CHECK(std::abs(moment_error(values, power, moment)) < critical_normal);
    CHECK(ks(values, normal_cdf) < critical_ks);
}

TEST_CASE("the far tail of the normal") {
    Stream stream(3, 0, 0, 0);
    std::vector<double> beyond;
    constexpr double draws = 10000000;
    for (int i = 0; i < static_cast<int>(draws); ++i) {
        double const x = stream.normal();
        if (std::abs(x) > 3.5) beyond.push_back(x);
    }
    auto const error = [&](double limit) {
        double const expected = draws * 2 * normal_cdf(-limit);
        auto const count = std::count_if(beyond.begin(), beyond.end(), [&](double x) { return std::abs(x) > limit; });
        return (static_cast<double>(count) - expected) / std::sqrt(expected);
    };
    CHECK(std::abs(error(3.5)) < critical_normal);
    CHECK(std::abs(error(4)) < critical_normal);
    CHECK(std::abs(error(4.5)) < critical_normal);
    auto const positive = std::count_if(beyond.begin(), beyond.end(), [](double x) { return x > 0; });
    double const count = static_cast<double>(beyond.size());
    CHECK(std::abs(2 * static_cast<double>(positive) - count) / std::sqrt(count) < critical_normal);
    for (double& x : beyond) x = std::abs(x);
    CHECK(ks(beyond, [](double x) { return 1 - normal_cdf(-x) / normal_cdf(-3.5); }) < critical_ks);
}

TEST_CASE("exponentials") {
    Stream stream(4, 0, 0, 0);
    auto const values = draw(500000, [&] { return stream.exponential(); });
    for (int power = 1; power <= 3; ++power) {
        CHECK(std::abs(moment_error(values, power, [](int k) { return std::tgamma(k + 1.0); })) < critical_normal);
    }
    CHECK(ks(values, [](double x) { return -std::expm1(-x); }) < critical_ks);
}

TEST_CASE("neighbouring streams are uncorrelated") {
    constexpr std::size_t count = 100000;
    auto const take = [](Stream stream) { return draw(count, [&] { return stream.normal(); }); };
    auto const base = take(Stream(5, 0, 0, 0, 0));
    CHECK(std::abs(correlation_error(base, take(Stream(6, 0, 0, 0, 0)))) < critical_normal);
    CHECK(std::abs(correlation_error(base, take(Stream(5, 1, 0, 0, 0)))) < critical_normal);
    CHECK(std::abs(correlation_error(base, take(Stream(5, 0, 1, 0, 0)))) < critical_normal);
    CHECK(std::abs(correlation_error(base, take(Stream(5, 0, 0, 1, 0)))) < critical_normal);
    CHECK(std::abs(correlation_error(base, take(Stream(5, 0, 0, 0, 1)))) < critical_normal);
    CHECK(std::abs(correlation_error(take(Stream(0, 1, 0, 0)), take(Stream(1, 0, 0, 0)))) < critical_normal);
    CHECK(std::abs(correlation_error(take(Stream(5, 0, 0, 1, 0)), take(Stream(5, 0, 1, 0, 0)))) < critical_normal);
}

TEST_CASE("the first draws of successive sweeps are a sequence of independent normals") {
    std::uint64_t sweep = 0;
    auto values = draw(100000, [&] { return Stream(7, 3, sweep++, 1).normal(); });
    CHECK(ks(values, normal_cdf) < critical_ks);
    auto later = values;
    std::rotate(later.begin(), later.begin() + 1, later.end());
    CHECK(std::abs(correlation_error(values, later)) < critical_normal);
}

TEST_CASE("gamma draws of any shape") {
    constexpr std::size_t count = 20000;
    for (double shape : {1e-8, 1e-3, 0.1, 0.5, 0.999, 1.0, 1.5, 2.5, 50.0, 1e4, 1e8, 1e12}) {
        CAPTURE(shape);
        GigCdf const cdf(shape, 2, 0);
        Stream stream(8, 0, 0, 0);
        CHECK(ks_of_logs(draw(count, [&] { return stream.log_gamma_draw(shape); }), cdf) < critical_ks);
        if (shape < 0.1) continue;
        auto const values = draw(count, [&] { return stream.gamma(shape); });
        if (shape < 100) {
            auto const moment = [&](int k) { return std::exp(std::lgamma(shape + k) - std::lgamma(shape)); };
            for (int power = 1; power <= 2; ++power) CHECK(std::abs(moment_error(values, power, moment)) < critical_normal);
        }
        CHECK(ks_of_logs(draw(count, [&] { return std::log(stream.gamma(shape)); }), cdf) < critical_ks);
    }
}

TEST_CASE("inverse gamma draws of any shape") {
    for (double shape : {0.1, 0.5, 1.0, 3.0, 200.0}) {
        for (double scale : {1e-100, 0.5, 1e100}) {
            CAPTURE(shape);
            CAPTURE(scale);
            Stream stream(9, 0, 0, 0);
            auto const logs = draw(20000, [&] { return std::log(inverse_gamma(stream, shape, scale)); });
            CHECK(ks_of_logs(logs, GigCdf(-shape, 0, 2 * scale)) < critical_ks);
        }
    }
}

TEST_CASE("generalised inverse Gaussian draws of any parameters") {
    for (double p : {-1e9, -500.0, -30.0, -1.0, -0.5, -1e-3, -1e-10, 0.0, 1e-5, 0.02, 0.5, 1.0, 3.0, 500.0, 1e9}) {
        for (double omega : {1e-130, 1e-8, 0.03, 0.3, 1.0, 3.0, 100.0, 1e8}) {
            for (double ratio : {1.0, 1e-25}) {  // sqrt(b / a)
                // A small |p| with a small omega reaches beyond the range of a double, where draws are clamped.
                if (std::abs(p) < 0.5 && omega < 1e-100 && ratio < 1) continue;
                CAPTURE(p);
                CAPTURE(omega);
                CAPTURE(ratio);
                double const a = omega / ratio;
                double const b = omega * ratio;
                Stream stream(10, 0, 0, 0);
                auto const logs = draw(10000, [&] { return std::log(generalised_inverse_gaussian(stream, p, a, b)); });
                CHECK(ks_of_logs(logs, GigCdf(p, a, b)) < critical_ks);
            }
        }
    }
}

TEST_CASE("the limits of the generalised inverse Gaussian are gamma and inverse gamma") {
    Stream stream(11, 0, 0, 0);
    for (double shape : {0.3, 1.0, 500.0}) {
        CAPTURE(shape);
        auto const up = draw(20000, [&] { return std::log(generalised_inverse_gaussian(stream, shape, 3, 0)); });
        CHECK(ks_of_logs(up, GigCdf(shape, 3, 0)) < critical_ks);
        auto const down = draw(20000, [&] { return std::log(generalised_inverse_gaussian(stream, -shape, 0, 3)); });
        CHECK(ks_of_logs(down, GigCdf(-shape, 0, 3)) < critical_ks);
    }
}

TEST_CASE("scale draws are positive and finite at the ends of the range") {
    constexpr double tiny = std::numeric_limits<double>::denorm_min();
    constexpr double huge = std::numeric_limits<double>::max();
    Stream stream(12, 0, 0, 0);
    auto const is_fine = [](double x) { return std::isnormal(x) && x > 0; };
    for (int i = 0; i < 50; ++i) {
        for (double shape : {tiny, 1e-300, 1e-5, 1e15, 1e300, huge}) {
            CHECK(is_fine(stream.gamma(shape)));
            CHECK(std::isfinite(stream.log_gamma_draw(shape)));
            for (double scale : {tiny, 1.0, huge}) CHECK(is_fine(inverse_gamma(stream, shape, scale)));
        }
        for (double p : {-1e300, -500.0, -1e-300, -tiny, 0.0, tiny, 1e-10, 500.0, 1e300}) {
            for (double a : {tiny, 1e-200, 1.0, 1e200, 1e300}) {
                for (double b : {tiny, 1e-200, 1.0, 1e200, 1e300}) CHECK(is_fine(generalised_inverse_gaussian(stream, p, a, b)));
            }
        }
    }
}

TEST_CASE("categorical: each as often as its probability and never what cannot be") {
    constexpr std::size_t count = 100000;
    std::vector<double> const p{0.5, 0, 0.3, 0.2};
    std::vector<double> logits;
    for (double const x : p) logits.push_back(std::log(x) - 1000);  // up to a constant
    std::vector<double> hits(p.size());
    Stream stream(1, 1, 1, 1);
    for (std::size_t i = 0; i < count; ++i) hits[stream.categorical(logits)] += 1;
    CHECK(hits[1] == 0);
    for (std::size_t k = 0; k < p.size(); ++k) {
        double const error = std::sqrt(p[k] * (1 - p[k]) / count);
        CHECK(std::abs(hits[k] / count - p[k]) <= critical_normal * error);
    }
    CHECK(stream.categorical(std::vector<double>{0, -800}) == 0);
}

TEST_CASE("parameters without a distribution are refused") {
    constexpr double nan = std::numeric_limits<double>::quiet_NaN();
    constexpr double infinity = std::numeric_limits<double>::infinity();
    Stream stream(13, 0, 0, 0);
    for (double wrong : {0.0, -1.0, nan, infinity, -infinity}) {
        CHECK_THROWS_AS(stream.gamma(wrong), std::domain_error);
        CHECK_THROWS_AS(stream.log_gamma_draw(wrong), std::domain_error);
        CHECK_THROWS_AS(inverse_gamma(stream, wrong, 1), std::domain_error);
        CHECK_THROWS_AS(inverse_gamma(stream, 1, wrong), std::domain_error);
        CHECK_THROWS_AS(inverse_gamma(stream, 0.5, wrong), std::domain_error);
    }
    for (double wrong : {-1.0, nan, infinity, 1e301}) {
        CHECK_THROWS_AS(generalised_inverse_gaussian(stream, 1, wrong, 1), std::domain_error);
        CHECK_THROWS_AS(generalised_inverse_gaussian(stream, 1, 1, wrong), std::domain_error);
    }
    CHECK_THROWS_AS(generalised_inverse_gaussian(stream, nan, 1, 1), std::domain_error);
    CHECK_THROWS_AS(generalised_inverse_gaussian(stream, 0, 1, 0), std::domain_error);
    CHECK_THROWS_AS(generalised_inverse_gaussian(stream, -1, 1, 0), std::domain_error);
    CHECK_THROWS_AS(generalised_inverse_gaussian(stream, 0, 0, 1), std::domain_error);
    CHECK_THROWS_AS(generalised_inverse_gaussian(stream, 1, 0, 1), std::domain_error);
    CHECK_THROWS_AS(generalised_inverse_gaussian(stream, 1, 0, 0), std::domain_error);
}

}  // namespace bam
