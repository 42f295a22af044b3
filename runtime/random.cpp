#include "random.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <stdexcept>
#include <string>

#include "truncated_normal.hpp"

namespace bam {
namespace {

// ---- The ziggurat. Its tables and its slow path use the exp and log below, made of + - * / only, so normals do not depend on the C
// library: glibc's own give other last bits on processors without FMA.

constexpr double ln2_high = 0x1.62e42fee00000p-1;  // ln 2 to 33 bits, so that its products with small integers are exact
constexpr double ln2_low = 0x1.a39ef35793c76p-33;

/// exp for -700 <= x <= 0, to about an ulp: x = n ln 2 + rest, and a Taylor sum for the rest.
constexpr double plain_exp(double x) {
    int const n = static_cast<int>(x / std::numbers::ln2 - 0.5);
    double const rest = (x - n * ln2_high) - n * ln2_low;
    double sum = 1;
    for (int k = 14; k > 0; --k) sum = 1 + rest / k * sum;
    return sum * std::bit_cast<double>(static_cast<std::uint64_t>(1023 + n) << 52);
}

/// log for normal x > 0, to about an ulp: x = 2^n m with m in [3/4, 3/2), and the series of log m in (m - 1) / (m + 1).
constexpr double plain_log(double x) {
    std::uint64_t const word = std::bit_cast<std::uint64_t>(x);
    int n = static_cast<int>(word >> 52) - 1023;
    double m = std::bit_cast<double>((word & 0x000fffffffffffff) | 0x3ff0000000000000);
    if (m >= 1.5) {
        m /= 2;
        ++n;
    }
    double const s = (m - 1) / (m + 1);
    double sum = 0;
    for (int k = 25; k > 0; k -= 2) sum = sum * s * s + 1.0 / k;
    return n * ln2_high + (2 * s * sum + n * ln2_low);
}

constexpr double plain_sqrt(double x) {
    double root = x > 1 ? x : 1;
    for (int step = 0; step < 40; ++step) root = (root + x / root) / 2;
    return root;
}

constexpr double bell(double x) { return plain_exp(-x * x / 2); }

constexpr double tail_start = 3.654152885361008771646;     // where the tail begins, so that 256 layers of equal area close at height 1
constexpr double layer_area = 0.004928673233974655347362;  // of a layer, and of the base with its tail

struct ZigguratTables {
    std::array<ZigguratLayer, 256> layers;
    std::array<double, 257> heights;  // of the curve at the right end of layer i; the base counts as having its own width
};

constexpr ZigguratTables make_ziggurat() {
    std::array<double, 257> x{};
    x[0] = layer_area / bell(tail_start);
    x[1] = tail_start;
    for (std::size_t i = 1; i < 255; ++i) x[i + 1] = plain_sqrt(-2 * plain_log(layer_area / x[i] + bell(x[i])));
    x[256] = 0;
    ZigguratTables tables{};
    for (std::size_t i = 0; i < 256; ++i) {
        tables.layers[i] = {static_cast<std::uint64_t>(x[i + 1] / x[i] * 0x1p53), x[i] * 0x1p-53};
        tables.heights[i] = bell(x[i]);
    }
    tables.heights[256] = 1;
    return tables;
}

constexpr ZigguratTables ziggurat = make_ziggurat();

// ---- Gamma and its relatives.

double positive(double x) { return std::clamp(x, std::numeric_limits<double>::min(), std::numeric_limits<double>::max()); }

void require(bool valid, char const* what) {
    if (!valid) throw std::domain_error(std::string("random draw: ") + what);
}

bool is_positive(double x) { return x > 0 && std::isfinite(x); }

/// log(1 + t) - t + t^2 / 2 without cancellation.
double log1p_beyond_second_order(double t) {
    if (std::abs(t) > 0.02) return std::log1p(t) - t + t * t / 2;
    double sum = 0;
    for (int k = 10; k >= 3; --k) sum = (k % 2 == 1 ? 1.0 : -1.0) / k + t * sum;
    return t * t * t * sum;
}

/// What Marsaglia and Tsang accept for a shape >= 1: Gamma = d (1 + t)^3. The acceptance log u < x^2/2 + d - d v + d log v, with v = (1 +
/// t)^3, is written without the cancellation that makes it noise for large shapes.
struct GammaCore {
    double d, t;
};
GammaCore gamma_core(Stream& stream, double shape) {
    double const d = shape - 1.0 / 3.0;
    double const c = 1 / (3 * std::sqrt(d));
    while (true) {
        double const x = stream.normal();
        double const t = c * x;
        if (t <= -1) continue;
        double const u = stream.uniform();
        double const x2 = x * x;
        if (u < 1 - 0.0331 * x2 * x2) return {d, t};
        if (std::log(u) < d * (3 * log1p_beyond_second_order(t) - t * t * t)) return {d, t};
    }
}

/// exp(x) - 1 - x without cancellation.
double expm1_beyond_first_order(double x) {
    if (std::abs(x) > 0.02) return std::expm1(x) - x;
    double sum = 0;
    for (int k = 10; k >= 2; --k) sum = (1 + sum) * x / k;
    return x * sum;
}

/// Devroye's log density of the centred logarithm: -alpha (cosh x - 1) - lambda (e^x - 1 - x), concave with maximum 0 at 0. Kept by the
/// root of alpha, which does not underflow where alpha does: with a small lambda even alpha = 1e-400 ends the left tail long before
/// e^(lambda x) does.
struct GigLogDensity {
    double root_alpha, lambda;

    double operator()(double x) const {
        double const half = root_alpha > 0 ? root_alpha * std::sinh(x / 2) : 0;  // cosh x - 1 = 2 sinh(x/2)^2
        double const skewed = lambda > 0 ? lambda * expm1_beyond_first_order(x) : 0;
        return -2 * half * half - skewed;
    }
    double slope(double x) const { return -2 * (root_alpha * std::sinh(x / 2)) * (root_alpha * std::cosh(x / 2)) - lambda * std::expm1(x); }

    /// Where the flat middle ends to the right and to the left: any positive numbers give an exact sampler, these a bounded number of
    /// rejections.
    double right() const {
        double const alpha = root_alpha * root_alpha;
        double const fall = -(*this)(1);
        if (fall > 2) return std::sqrt(2 / (alpha + lambda));
        if (fall < 0.5) return std::log(4.0) - std::log(alpha + 2 * lambda);
        return 1;
    }
    double left() const {
        double const alpha = root_alpha * root_alpha;
        double const fall = -(*this)(-1);
        if (fall > 2) return std::sqrt(4 / (alpha * std::cosh(1.0) + lambda));
        if (fall < 0.5) return std::min(1 / lambda, std::log(alpha + 1 + std::sqrt(1 + 2 * alpha)) - 2 * std::log(root_alpha));
        return 1;
    }
};

/// A draw from the density exp(psi), by rejection from a constant in the middle and exponential tails tangent to psi at t and at -s.
double draw_centred_log_gig(Stream& stream, GigLogDensity const& psi) {
    double const t = psi.right();
    double const s = psi.left();
    double const eta = -psi(t);
    double const zeta = -psi.slope(t);
    double const theta = -psi(-s);
    double const xi = psi.slope(-s);
    double const right_end = t - eta / zeta;
    double const left_end = s - theta / xi;
    double const middle = right_end + left_end;
    double const total = middle + 1 / zeta + 1 / xi;
    while (true) {
        double const part = stream.uniform() * total;
        double const v = stream.uniform();
        double x = 0;
        double log_hat = 0;
        if (part < middle) {
            x = -left_end + middle * v;
        } else if (part < middle + 1 / zeta) {
            x = right_end - std::log(v) / zeta;
            log_hat = -eta - zeta * (x - t);
        } else {
            x = -left_end + std::log(v) / xi;
            log_hat = -theta + xi * (x + s);
        }
        if (std::log(stream.uniform()) + log_hat <= psi(x)) return x;
    }
}

/// factor * exp(log_value) / divisor, where the value may be representable though its parts are not.
double scaled_exp(double factor, double divisor, double log_value) {
    double const direct = factor / divisor * std::exp(log_value);
    if (std::isnormal(direct)) return direct;
    return positive(std::exp(log_value + std::log(factor) - std::log(divisor)));
}

}  // namespace

constinit std::array<ZigguratLayer, 256> const ziggurat_layers = ziggurat.layers;

double Stream::normal_outside(std::uint64_t word, double magnitude) {
    std::size_t const layer = word & 255;
    if (layer == 0) {  // the tail (Marsaglia 1964)
        double beyond = 0;
        do {
            beyond = -plain_log(uniform()) / tail_start;
        } while (-2 * plain_log(uniform()) < beyond * beyond);
        return with_sign(tail_start + beyond, word);
    }
    double const low = ziggurat.heights[layer];
    double const high = ziggurat.heights[layer + 1];
    if (low + (high - low) * uniform() < bell(magnitude)) return with_sign(magnitude, word);
    return normal();
}

double Stream::truncated(TruncatedNormal const& density) { return density.draw(*this); }

std::size_t Stream::categorical(std::span<double const> logits) {
    auto const mode = std::max_element(logits.begin(), logits.end());
    double sum = 0;
    for (double const logit : logits) sum += std::exp(logit - *mode);
    double rest = uniform() * sum;
    for (std::size_t k = 0; k < logits.size(); ++k) {
        rest -= std::exp(logits[k] - *mode);
        if (rest < 0) return k;
    }
    return static_cast<std::size_t>(mode - logits.begin());  // what rounding left over
}

double Stream::exponential() { return -std::log(uniform()); }

double Stream::log_gamma_draw(double shape) {
    require(is_positive(shape), "the shape of a gamma distribution must be positive and finite");
    double const boost = shape < 1 ? std::log(uniform()) / shape : 0;
    GammaCore const core = gamma_core(*this, shape < 1 ? shape + 1 : shape);
    return std::max(boost, -std::numeric_limits<double>::max()) + std::log(core.d) + 3 * std::log1p(core.t);
}

double Stream::gamma(double shape) {
    if (shape < 1) return positive(std::exp(log_gamma_draw(shape)));
    require(is_positive(shape), "the shape of a gamma distribution must be positive and finite");
    auto const [d, t] = gamma_core(*this, shape);
    return positive(d * (1 + t) * (1 + t) * (1 + t));
}

double inverse_gamma(Stream& stream, double shape, double scale) {
    require(is_positive(scale), "the scale of an inverse gamma distribution must be positive and finite");
    if (shape < 1) return positive(std::exp(std::log(scale) - stream.log_gamma_draw(shape)));
    return positive(scale / stream.gamma(shape));
}

double generalised_inverse_gaussian(Stream& stream, double p, double a, double b) {
    constexpr double limit = 1e300;  // so that nothing below overflows; beyond, the numbers are no model's
    require(std::abs(p) <= limit && a >= 0 && a <= limit && b >= 0 && b <= limit,
            "a generalised inverse Gaussian needs finite parameters up to 1e300, the last two not negative");
    require(b > 0 || p > 0, "a generalised inverse Gaussian with b = 0 needs p > 0");
    require(a > 0 || p < 0, "a generalised inverse Gaussian with a = 0 needs p < 0");
    if (b == 0) return scaled_exp(2, a, stream.log_gamma_draw(p));
    if (a == 0) return scaled_exp(b, 2, -stream.log_gamma_draw(-p));
    // Devroye's two-parameter form: |p| and omega = sqrt(a b), the reciprocal for p < 0. Denormal numbers are taken as the nearest normal
    // one or 0: what they change lies beyond the range the result is clamped to.
    double const lambda = std::abs(p) < std::numeric_limits<double>::min() ? 0 : std::abs(p);
    double const omega = std::max(std::sqrt(a) * std::sqrt(b), std::numeric_limits<double>::min());
    double const reach = lambda + std::hypot(lambda, omega);
    double const x = draw_centred_log_gig(stream, {omega / std::sqrt(reach), lambda});  // alpha = sqrt(lambda^2 + omega^2) - lambda
    return p >= 0 ? scaled_exp(reach, a, x) : scaled_exp(b, reach, -x);
}

}  // namespace bam
