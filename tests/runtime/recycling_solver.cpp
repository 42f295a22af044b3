#include "recycling_solver.hpp"

#include <doctest/doctest.h>

#include <Eigen/Dense>
#include <random>

using namespace bam;

TEST_CASE("recycling solver: many right sides take no more products than there are rows") {
    constexpr Eigen::Index n = 30;
    std::mt19937_64 random(2);
    std::normal_distribution<double> normal;
    // Not symmetric, and far enough from singular: eigenvalues about 1.
    Eigen::MatrixXd A = Eigen::MatrixXd::Identity(n, n);
    for (Eigen::Index i = 0; i < n; ++i)
        for (Eigen::Index j = 0; j < n; ++j) A(i, j) += 0.08 * normal(random);
    int products = 0;
    auto const apply = [&](Eigen::VectorXd const& v) -> Eigen::VectorXd {
        ++products;
        return A * v;
    };
    RecyclingSolver solver;
    for (int k = 0; k < 100; ++k) {
        Eigen::VectorXd b(n);
        for (double& value : b) value = normal(random);
        auto const x = solver.solve(b, apply);
        REQUIRE(x);
        CHECK((A * *x - b).norm() < 1.01e-6 * b.norm());
    }
    CHECK(products <= n);
    CHECK(solver.solve(Eigen::VectorXd::Zero(n), apply)->norm() == 0);
}

TEST_CASE("recycling solver: what A does not reach has no solution") {
    auto const apply = [](Eigen::VectorXd const& v) -> Eigen::VectorXd { return Eigen::Vector2d(v(0), 0); };
    RecyclingSolver solver;
    CHECK_FALSE(solver.solve(Eigen::Vector2d(1, 1), apply));
    auto const x = solver.solve(Eigen::Vector2d(3, 0), apply);
    REQUIRE(x);
    CHECK((*x)(0) == doctest::Approx(3));
}
