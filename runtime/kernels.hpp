// The inner loops: what most of a sweep's time is spent in. Sums are made in a fixed order, four side by side, so that the bits do not
// depend on how wide the processor's registers are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace bam {

/// A product of two registers, or one register alone, as a summand.
struct Summand {
    enum class Form : std::uint8_t { Product, Scaled, Single, Constant };
    Form form = Form::Product;  ///< Scaled: a is one number; Single: a alone; Constant: a and b are one number each
    std::uint32_t a = 0;
    std::uint32_t b = 0;
};

/// out = the sum of the summands, or out += it if `adds`; element by element, in their order. `at`: where each register stands.
void sum_products(double* out, bool adds, std::span<Summand const> summands, double const* const* at, std::size_t n);

/// sums[i + d j] += column i ' column j for j <= i < d: the lower triangle of a Gram matrix. Column i begins at columns + i * stride.
/// Without `needs_last`, the last number of the diagonal may be left out.
void add_gram(double* sums, double const* columns, std::size_t stride, std::size_t d, std::size_t n, bool needs_last = true);

/// The sum of n numbers.
double sum(double const* x, std::size_t n);

}  // namespace bam
