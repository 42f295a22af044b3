#include "operation.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <stdexcept>
#include <string>
#include <vector>

using namespace bam;

TEST_CASE("operation: each does what it says") {
    struct Case {
        ColumnOp op;
        double left;
        double right;
        double value;
    };
    std::vector<Case> const cases{
        {ColumnOp::Negate, 3, 0, -3},      {ColumnOp::Add, 3, 2, 5},          {ColumnOp::Subtract, 3, 2, 1}, {ColumnOp::Multiply, 3, 2, 6},
        {ColumnOp::Divide, 3, 2, 1.5},     {ColumnOp::Power, 3, 2, 9},        {ColumnOp::Equal, 3, 2, 0},    {ColumnOp::Equal, 2, 2, 1},
        {ColumnOp::NotEqual, 3, 2, 1},     {ColumnOp::NotEqual, 2, 2, 0},     {ColumnOp::Less, 3, 2, 0},     {ColumnOp::Less, 2, 3, 1},
        {ColumnOp::LessEqual, 2, 2, 1},    {ColumnOp::LessEqual, 3, 2, 0},    {ColumnOp::Greater, 3, 2, 1},  {ColumnOp::Greater, 2, 2, 0},
        {ColumnOp::GreaterEqual, 2, 2, 1}, {ColumnOp::GreaterEqual, 1, 2, 0}, {ColumnOp::Exp, 0, 0, 1},      {ColumnOp::Log, 1, 0, 0},
        {ColumnOp::Sqrt, 9, 0, 3},         {ColumnOp::Abs, -3, 0, 3},
    };
    for (Case const& c : cases) {
        CAPTURE(static_cast<int>(c.op));
        CHECK(apply(c.op, c.left, c.right) == c.value);
    }
    for (ColumnOp const op : {ColumnOp::Number, ColumnOp::Column, ColumnOp::Text, ColumnOp::Standardize, ColumnOp::Difference})
        CHECK_THROWS_AS(apply(op, 1, 1), std::logic_error);
}

TEST_CASE("operation: what gives no number says why") {
    struct Case {
        ColumnOp op;
        double left;
        double right;
        int code;
        std::string message;
    };
    std::vector<Case> const cases{
        {ColumnOp::Log, 0, 0, 423, "the logarithm of 0"},
        {ColumnOp::Log, -1, 0, 423, "the logarithm of a negative number"},
        {ColumnOp::Sqrt, -1, 0, 424, "the square root of a negative number"},
        {ColumnOp::Divide, 1, 0, 425, "a division by 0"},
        {ColumnOp::Divide, 0, 0, 425, "a division by 0"},
        {ColumnOp::Power, 0, -1, 425, "a division by 0"},
        {ColumnOp::Power, -2, 0.5, 426, "a power that is not real"},
        {ColumnOp::Power, -10, 999, 426, "a number beyond the range of a double"},
        {ColumnOp::Exp, 1000, 0, 426, "a number beyond the range of a double"},
        {ColumnOp::Multiply, 1e200, 1e200, 426, "a number beyond the range of a double"},
        {ColumnOp::Divide, 1e200, 1e-200, 426, "a number beyond the range of a double"},
    };
    for (Case const& c : cases) {
        CAPTURE(static_cast<int>(c.op));
        CHECK_FALSE(std::isfinite(apply(c.op, c.left, c.right)));
        CHECK(find_fault(c.op, c.left, c.right).code == c.code);
        CHECK(find_fault(c.op, c.left, c.right).message == c.message);
        CHECK_FALSE(find_fault(c.op, c.left, c.right).remedy.empty());
    }
}
