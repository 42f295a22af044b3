#include "kernels.hpp"

#include <algorithm>
#include <array>

// Element by element, wider registers leave the bits as they are: compiled twice, chosen when the program starts. The sanitizers do not
// follow such functions.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define BAM_WIDE [[gnu::target_clones("avx2", "default")]]
#else
#define BAM_WIDE
#endif
#define BAM_INLINE [[gnu::always_inline]] inline  // into each of the two

namespace bam {
namespace {

/// Two numbers side by side, wherever they stand: the widest that every processor of the kind has.
using Pair [[gnu::vector_size(16), gnu::aligned(8), gnu::may_alias]] = double;

Pair const& pair(double const* x) { return *reinterpret_cast<Pair const*>(x); }

/// `m` summands of one form.
template <Summand::Form form, std::size_t m, bool adds>
BAM_INLINE void sum_alike(double* __restrict out, Summand const* summands, double const* const* at, std::size_t n) {
    double const* a[m];
    double const* b[m];
    double factor[m]{};
    for (std::size_t k = 0; k < m; ++k) {
        a[k] = at[summands[k].a];
        b[k] = at[summands[k].b];
        if (form == Summand::Form::Scaled) factor[k] = *a[k];
        if (form == Summand::Form::Constant) factor[k] = *a[k] * *b[k];
    }
    auto product = [&](std::size_t k, std::size_t i) {
        switch (form) {
            case Summand::Form::Product: return a[k][i] * b[k][i];
            case Summand::Form::Scaled: return factor[k] * b[k][i];
            case Summand::Form::Single: return a[k][i];
            case Summand::Form::Constant: break;
        }
        return factor[k];
    };
    for (std::size_t i = 0; i < n; ++i) {
        double sum = adds ? out[i] + product(0, i) : product(0, i);
        for (std::size_t k = 1; k < m; ++k) sum += product(k, i);
        out[i] = sum;
    }
}

template <Summand::Form form, bool adds>
BAM_INLINE void sum_some(double* out, std::span<Summand const> summands, double const* const* at, std::size_t n) {
    switch (summands.size()) {
        case 1: return sum_alike<form, 1, adds>(out, summands.data(), at, n);
        case 2: return sum_alike<form, 2, adds>(out, summands.data(), at, n);
        case 3: return sum_alike<form, 3, adds>(out, summands.data(), at, n);
        default: return sum_alike<form, 4, adds>(out, summands.data(), at, n);
    }
}

template <bool adds>
BAM_INLINE void sum_some(double* out, std::span<Summand const> summands, double const* const* at, std::size_t n) {
    switch (summands.front().form) {
        case Summand::Form::Product: return sum_some<Summand::Form::Product, adds>(out, summands, at, n);
        case Summand::Form::Scaled: return sum_some<Summand::Form::Scaled, adds>(out, summands, at, n);
        case Summand::Form::Single: return sum_some<Summand::Form::Single, adds>(out, summands, at, n);
        case Summand::Form::Constant: return sum_some<Summand::Form::Constant, adds>(out, summands, at, n);
    }
}

/// Products of `rows` columns, which begin at a, and two columns, which begin at b, each summed over n cells.
template <std::size_t rows>
std::array<double, 2 * rows> gram_block(double const* a, double const* b, std::size_t stride, std::size_t n) {
    double const* const left[] = {a, a + (rows - 1) * stride};
    double const* const right[] = {b, b + stride};
    Pair low[2 * rows]{}, high[2 * rows]{};
    std::size_t i = 0;
    for (; i + 4 <= n; i += 4) {
        for (std::size_t k = 0; k < 2 * rows; ++k) {
            low[k] += pair(left[k / 2] + i) * pair(right[k % 2] + i);
            high[k] += pair(left[k / 2] + i + 2) * pair(right[k % 2] + i + 2);
        }
    }
    std::array<double, 2 * rows> sums{};
    for (std::size_t k = 0; k < 2 * rows; ++k) {
        Pair const both = low[k] + high[k];
        sums[k] = both[0] + both[1];
        for (std::size_t rest = i; rest < n; ++rest) sums[k] += left[k / 2][rest] * right[k % 2][rest];
    }
    return sums;
}

}  // namespace

BAM_WIDE void sum_products(double* out, bool adds, std::span<Summand const> summands, double const* const* at, std::size_t n) {
    while (!summands.empty()) {
        std::size_t alike = 1;
        while (alike < std::min(summands.size(), std::size_t{4}) && summands[alike].form == summands.front().form) ++alike;
        if (adds) {
            sum_some<true>(out, summands.first(alike), at, n);
        } else {
            sum_some<false>(out, summands.first(alike), at, n);
        }
        summands = summands.subspan(alike);
        adds = true;
    }
}

void add_gram(double* sums, double const* columns, std::size_t stride, std::size_t d, std::size_t n) {
    auto column = [&](std::size_t i) { return columns + i * stride; };
    for (std::size_t j = 0; j + 1 < d; j += 2) {
        std::size_t i = j;
        for (; i + 1 < d; i += 2) {
            auto const block = gram_block<2>(column(i), column(j), stride, n);
            sums[i + d * j] += block[0];
            if (i > j) sums[i + d * (j + 1)] += block[1];
            sums[i + 1 + d * j] += block[2];
            sums[i + 1 + d * (j + 1)] += block[3];
        }
        if (i == d) continue;
        auto const block = gram_block<1>(column(i), column(j), stride, n);
        sums[i + d * j] += block[0];
        sums[i + d * (j + 1)] += block[1];
    }
    if (d % 2 == 1) sums[d * d - 1] += gram_block<1>(column(d - 1), column(d - 1), 0, n)[0];
}

double sum(double const* x, std::size_t n) {
    Pair low{}, high{};
    std::size_t i = 0;
    for (; i + 4 <= n; i += 4) {
        low += pair(x + i);
        high += pair(x + i + 2);
    }
    Pair const both = low + high;
    double sum = both[0] + both[1];
    for (; i < n; ++i) sum += x[i];
    return sum;
}

}  // namespace bam
