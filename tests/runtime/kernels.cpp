#include "kernels.hpp"

#include <doctest/doctest.h>

#include <vector>

using namespace bam;

namespace {

/// Whole numbers, so that sums are exact in any order.
std::vector<double> numbers(std::size_t n, int seed) {
    std::vector<double> result;
    for (std::size_t i = 0; i < n; ++i) result.push_back(static_cast<double>((static_cast<int>(i) * 7 + seed * 5) % 11 - 5));
    return result;
}

double value(Summand const& summand, std::vector<std::vector<double>> const& registers, std::size_t i) {
    auto const& a = registers[summand.a];
    auto const& b = registers[summand.b];
    switch (summand.form) {
        case Summand::Form::Product: return a[i] * b[i];
        case Summand::Form::Scaled: return a[0] * b[i];
        case Summand::Form::Single: return a[i];
        case Summand::Form::Constant: return a[0] * b[0];
    }
    return 0;
}

}  // namespace

TEST_CASE("a sum of products is the sum of its summands, whatever their forms, their number and the number of cells") {
    std::size_t const cells = 21;
    std::vector<std::vector<double>> registers;
    for (int r = 0; r < 4; ++r) registers.push_back(numbers(cells, r));
    std::vector<double const*> at;
    for (auto const& r : registers) at.push_back(r.data());
    for (std::size_t n = 0; n <= cells; ++n) {
        for (std::uint32_t count = 1; count <= 10; ++count) {
            for (std::uint32_t alike = 1; alike <= 6; ++alike) {
                std::vector<Summand> summands;
                for (std::uint32_t k = 0; k < count; ++k)
                    summands.push_back({static_cast<Summand::Form>(k / alike % 4), k % 4, (k + 1) % 4});
                for (bool const adds : {false, true}) {
                    std::vector<double> out = numbers(cells, 9);
                    std::vector<double> expected = out;
                    for (std::size_t i = 0; i < n; ++i) {
                        if (!adds) expected[i] = 0;
                        for (Summand const& summand : summands) expected[i] += value(summand, registers, i);
                    }
                    sum_products(out.data(), adds, summands, at.data(), n);
                    CHECK(out == expected);
                }
            }
        }
    }
}

TEST_CASE("a Gram matrix is added to the lower triangle, for any number of columns and cells") {
    std::size_t const stride = 16;
    for (std::size_t d = 1; d <= 7; ++d) {
        std::vector<double> const columns = numbers(d * stride, 3);
        for (std::size_t n = 0; n <= 13; ++n) {
            std::vector<double> sums = numbers(d * d, 1);
            std::vector<double> expected = sums;
            for (std::size_t j = 0; j < d; ++j) {
                for (std::size_t i = j; i < d; ++i) {
                    for (std::size_t k = 0; k < n; ++k) expected[i + d * j] += columns[i * stride + k] * columns[j * stride + k];
                }
            }
            std::vector<double> without_last = sums;
            add_gram(sums.data(), columns.data(), stride, d, n);
            CHECK(sums == expected);
            add_gram(without_last.data(), columns.data(), stride, d, n, false);
            without_last.back() = expected.back();
            CHECK(without_last == expected);
        }
    }
}

TEST_CASE("a Gram matrix is summed in four parts, whatever the registers of the processor hold") {
    std::size_t const n = 15;
    std::vector<double> columns = numbers(3 * n, 3);
    for (double& x : columns) x /= 7;  // so that the order of a sum shows
    std::vector<double> sums(9);
    add_gram(sums.data(), columns.data(), n, 3, n);
    for (std::size_t j = 0; j < 3; ++j) {
        for (std::size_t i = j; i < 3; ++i) {
            auto product = [&](std::size_t k) { return columns[i * n + k] * columns[j * n + k]; };
            double parts[4]{};
            for (std::size_t k = 0; k < 12; ++k) parts[k % 4] += product(k);
            double expected = (parts[0] + parts[2]) + (parts[1] + parts[3]);
            for (std::size_t k = 12; k < n; ++k) expected += product(k);
            CHECK(sums[i + 3 * j] == expected);
        }
    }
}

TEST_CASE("a sum takes every number once") {
    std::vector<double> const x = numbers(13, 2);
    double expected = 0;
    for (std::size_t n = 0; n <= x.size(); ++n) {
        CHECK(sum(x.data(), n) == expected);
        if (n < x.size()) expected += x[n];
    }
}
