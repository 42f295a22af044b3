#include "kernels.hpp"

#include <algorithm>
#include <array>

#include "wide.hpp"

namespace bam {
namespace {

/// `width` numbers side by side, wherever they stand.
template <std::size_t width>
struct Vector {
    using Type [[gnu::vector_size(8 * width), gnu::aligned(8), gnu::may_alias]] = double;
};

template <std::size_t width>
BAM_INLINE typename Vector<width>::Type const& vector(double const* x) {
    return *reinterpret_cast<typename Vector<width>::Type const*>(x);
}

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
/// `width`: how many numbers a register of the processor holds; the bits do not depend on it.
template <std::size_t width, std::size_t rows>
BAM_INLINE std::array<double, 2 * rows> gram_block(double const* a, double const* b, std::size_t stride, std::size_t n) {
    std::array<double const*, rows> left;
    for (std::size_t i = 0; i < rows; ++i) left[i] = a + i * stride;
    double const* const right[] = {b, b + stride};
    constexpr std::size_t m = 4 / width;  // registers for a sum's four parts
    typename Vector<width>::Type parts[2 * rows][m]{};
    std::size_t i = 0;
    for (; i + 4 <= n; i += 4) {
        for (std::size_t k = 0; k < 2 * rows; ++k) {
            for (std::size_t l = 0; l < m; ++l)
                parts[k][l] += vector<width>(left[k / 2] + i + l * width) * vector<width>(right[k % 2] + i + l * width);
        }
    }
    std::array<double, 2 * rows> sums{};
    for (std::size_t k = 0; k < 2 * rows; ++k) {
        auto part = [&](std::size_t l) { return parts[k][l / width][l % width]; };
        sums[k] = (part(0) + part(2)) + (part(1) + part(3));
        for (std::size_t rest = i; rest < n; ++rest) sums[k] += left[k / 2][rest] * right[k % 2][rest];
    }
    return sums;
}

template <std::size_t width>
BAM_INLINE void add_gram_by(double* sums, double const* columns, std::size_t stride, std::size_t d, std::size_t n, bool needs_last) {
    auto column = [&](std::size_t i) { return columns + i * stride; };
    for (std::size_t j = 0; j + 1 < d; j += 2) {
        auto add = [&](std::size_t i, auto const& block) {
            for (std::size_t k = 0; k < block.size(); ++k) {
                std::size_t const row = i + k / 2, col = j + k % 2;
                if (row >= col) sums[row + d * col] += block[k];
            }
        };
        // An odd number of rows ends with three.
        std::size_t i = j;
        for (; i < d && i + 3 != d; i += 2) add(i, gram_block<width, 2>(column(i), column(j), stride, n));
        if (i < d) add(i, gram_block<width, 3>(column(i), column(j), stride, n));
    }
    if (d % 2 == 1 && needs_last) sums[d * d - 1] += gram_block<width, 1>(column(d - 1), column(d - 1), 0, n)[0];
}

// Not by BAM_WIDE: four numbers side by side stand in memory where the processor has no register for them.
#ifdef BAM_HAS_WIDE
[[gnu::target("avx2")]] void widest_add_gram(double* sums, double const* columns, std::size_t stride, std::size_t d, std::size_t n,
                                             bool needs_last) {
    add_gram_by<4>(sums, columns, stride, d, n, needs_last);
}
[[gnu::target("default")]]
#endif
void widest_add_gram(double* sums, double const* columns, std::size_t stride, std::size_t d, std::size_t n, bool needs_last) {
    add_gram_by<2>(sums, columns, stride, d, n, needs_last);
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

void add_gram(double* sums, double const* columns, std::size_t stride, std::size_t d, std::size_t n, bool needs_last) {
    widest_add_gram(sums, columns, stride, d, n, needs_last);
}

double sum(double const* x, std::size_t n) {
    Vector<2>::Type low{}, high{};
    std::size_t i = 0;
    for (; i + 4 <= n; i += 4) {
        low += vector<2>(x + i);
        high += vector<2>(x + i + 2);
    }
    Vector<2>::Type const both = low + high;
    double sum = both[0] + both[1];
    for (; i < n; ++i) sum += x[i];
    return sum;
}

}  // namespace bam
