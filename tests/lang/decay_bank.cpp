#include "decay_bank.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <functional>

using namespace bam;

namespace {

using Form = PositionKernel::Form;

/// The largest relative error of a bank, from the definition: terms and kernel are computed anew, and not by their logarithms.
double relative_error(DecayBank const& bank, std::function<long double(long double)> const& kernel, std::size_t lags) {
    long double worst = 0;
    for (std::size_t lag = 0; lag <= lags; ++lag) {
        long double sum = 0;
        for (std::size_t j = 0; j < bank.decays.size(); ++j)
            sum += static_cast<long double>(bank.weights[j]) *
                   std::pow(static_cast<long double>(bank.decays[j]), static_cast<long double>(lag));
        worst = std::max(worst, std::abs(sum / kernel(static_cast<long double>(lag)) - 1));
    }
    return static_cast<double>(worst);
}

auto ggd(double scale, double shape) {
    return [scale, shape](long double lag) { return std::exp(-std::pow(lag / scale, static_cast<long double>(shape))); };
}
auto power(double r1, double r2) {
    return [r1, r2](long double lag) { return std::pow(1 + r2 * lag, -static_cast<long double>(r1)); };
}

void check_sound(DecayBank const& bank) {
    CHECK(bank.weights.size() == bank.decays.size());
    for (std::size_t j = 0; j < bank.decays.size(); ++j) {
        CHECK(bank.decays[j] > 0);
        CHECK(bank.decays[j] < 1);
        CHECK(bank.weights[j] > 0);
        if (j > 0) CHECK(bank.decays[j] < bank.decays[j - 1]);
    }
}

}  // namespace

TEST_CASE("bank: ggd kernels of every shape and scale within the tolerance over 512 lags - with few decays") {
    for (double const shape : {0.3, 0.5, 0.7, 1.0}) {
        for (double const scale : {1.0, 4.0, 16.0, 64.0, 256.0}) {
            CAPTURE(shape);
            CAPTURE(scale);
            auto const bank = find_decay_bank({Form::Ggd, scale, shape}, 1e-3, 512);
            REQUIRE(bank);
            check_sound(*bank);
            double const error = relative_error(*bank, ggd(scale, shape), 512);
            CHECK(error <= 1e-3);
            if (shape < 1) CHECK(std::abs(error - bank->error) < 1e-9);
            CHECK(bank->decays.size() <= (scale >= 16 ? 6 : 10));
        }
    }
}

TEST_CASE("bank: six decays are as good as the published ones") {
    // Decays and weights for scale 16 by another program, and the error of each by the definition.
    struct Published {
        double shape;
        DecayBank bank;
    };
    Published const published[] = {
        {0.3,
         {{.99854095, .99148013, .96845619, .89000369, .62403882, .040315558}, {.12063, .155871, .152491, .147263, .13135, .291797}, 0}},
        {0.5,
         {{.99500099, .98752535, .96843543, .91008507, .70322076, .10411621}, {.0419557, .164698, .239093, .230343, .167323, .155756}, 0}},
        {0.7,
         {{.98560633, .97782551, .96194912, .91924444, .7661545, .20173965}, {.0177459, .154529, .315261, .285787, .153685, .07225}, 0}}};
    for (Published const& one : published) {
        CAPTURE(one.shape);
        DecayBank const ours = fit_decay_bank({Form::Ggd, 16, one.shape}, 6, 512);
        check_sound(ours);
        double const theirs = relative_error(one.bank, ggd(16, one.shape), 512);
        CHECK(theirs < 8.4e-4);
        CHECK(relative_error(ours, ggd(16, one.shape), 512) <= theirs);
    }
}

TEST_CASE("bank: the best of a size errs by the same amount - in turn above and below - at two lags for each decay and one more") {
    DecayBank const bank = fit_decay_bank({Form::Ggd, 16, 0.5}, 4, 512);
    std::vector<double> extrema;
    for (int lag = 0; lag <= 512; ++lag) {
        double error = -1;
        for (std::size_t j = 0; j < 4; ++j) error += bank.weights[j] * std::pow(bank.decays[j], lag) / std::exp(-std::sqrt(lag / 16.0));
        if (extrema.empty() || (extrema.back() > 0) != (error > 0))
            extrema.push_back(error);
        else if (std::abs(error) > std::abs(extrema.back()))
            extrema.back() = error;
    }
    REQUIRE(extrema.size() == 9);
    for (double const error : extrema) CHECK(std::abs(error) == doctest::Approx(bank.error).epsilon(1e-3));
}

TEST_CASE("bank: power kernels within the tolerance") {
    for (double const r1 : {0.1, 0.5, 1.0, 2.0}) {
        for (double const r2 : {0.001, 0.01, 0.1, 1.0, 10.0}) {
            CAPTURE(r1);
            CAPTURE(r2);
            auto const bank = find_decay_bank({Form::Power, r1, r2}, 1e-3, 512);
            REQUIRE(bank);
            check_sound(*bank);
            CHECK(relative_error(*bank, power(r1, r2), 512) <= 1e-3);
            CHECK(bank->decays.size() <= 12);
        }
    }
}

TEST_CASE("bank: parameters beyond all sense give a sound bank or none") {
    for (double const r1 : {1e-300, 1e-10, 1e10, 1e300}) {
        for (double const r2 : {1e-300, 1e-10, 1e10, 1e300}) {
            CAPTURE(r1);
            CAPTURE(r2);
            auto const bank = find_decay_bank({Form::Power, r1, r2}, 1e-3, 64);
            if (!bank) continue;
            CHECK(bank->error <= 1e-3);
            for (std::size_t j = 0; j < bank->decays.size(); ++j) {
                CHECK(bank->decays[j] >= 0);
                CHECK(bank->decays[j] <= 1);
                CHECK(std::isfinite(bank->weights[j]));
            }
        }
    }
}

TEST_CASE("bank: shape 1 is one decay and exact - near 1 few are enough") {
    auto const one = find_decay_bank({Form::Ggd, 16, 1}, 1e-3, 512);
    REQUIRE(one);
    CHECK(one->decays == std::vector<double>{std::exp(-1.0 / 16)});
    CHECK(one->weights == std::vector<double>{1});
    CHECK(one->error == 0);
    auto const near = find_decay_bank({Form::Ggd, 16, 0.999}, 1e-3, 512);
    REQUIRE(near);
    CHECK(near->decays.size() <= 3);
    CHECK(near->decays[0] == doctest::Approx(std::exp(-1.0 / 16)).epsilon(0.01));
}

TEST_CASE(
    "bank: a tighter tolerance or more lags take more decays - and kernels that vanish are followed as far as they can be told from 0") {
    PositionKernel const kernel{Form::Ggd, 16, 0.5};
    CHECK(find_decay_bank(kernel, 1e-2, 512)->decays.size() < find_decay_bank(kernel, 1e-3, 512)->decays.size());
    CHECK(find_decay_bank(kernel, 1e-3, 16)->decays.size() < find_decay_bank(kernel, 1e-3, 512)->decays.size());
    auto const brief = find_decay_bank({Form::Ggd, 0.1, 0.9}, 1e-3, 512);  // exp(-2000) at lag 512
    REQUIRE(brief);
    check_sound(*brief);
    CHECK(relative_error(*brief, ggd(0.1, 0.9), 10) <= 1e-3);
}

TEST_CASE("bank: the same bits every time - whatever was fitted before") {
    DecayBank const first = fit_decay_bank({Form::Power, 0.5, 1}, 5, 512);
    fit_decay_bank({Form::Ggd, 4, 0.3}, 7, 512);
    DecayBank const second = fit_decay_bank({Form::Power, 0.5, 1}, 5, 512);
    CHECK(first.decays == second.decays);
    CHECK(first.weights == second.weights);
}
