#include "transform.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "describe.hpp"

using namespace bam;

namespace {

// Expressions as the checker makes them; `where` puts the span of a part on its text in the model.

ColumnExpr number(double value) { return {ColumnOp::Number, value, "", {}, {}}; }
ColumnExpr column(std::string name) { return {ColumnOp::Column, 0, std::move(name), {}, {}}; }
ColumnExpr text(std::string content) { return {ColumnOp::Text, 0, std::move(content), {}, {}}; }
ColumnExpr call(ColumnOp op, ColumnExpr a) { return {op, 0, "", {std::move(a)}, {}}; }
ColumnExpr call(ColumnOp op, ColumnExpr a, ColumnExpr b) { return {op, 0, "", {std::move(a), std::move(b)}, {}}; }

/// A model of one line and a table, and an expression evaluated on it.
struct Evaluation {
    Evaluation(std::string const& line, ColumnExpr expr, std::string const& csv, Learnt constants = {})
        : expression(std::move(expr)), learnt(std::move(constants)) {
        sources.add_table("m.bam", line);
        sources.add_table("t.csv", csv);
        table = Table::parse(sources[1].text, 1, {}, diagnostics);
        REQUIRE(table);
        place(expression, line);
        result = evaluate(expression, *table, learnt, diagnostics);
        CHECK(result.has_value() == !has_error(diagnostics));
    }

    /// Leaves and calls stand where their name is first written; the whole is the whole line.
    void place(ColumnExpr& part, std::string const& line) {
        std::string const& name = part.name;
        std::size_t const at = name.empty() ? std::string::npos : line.find(name);
        part.span = at == std::string::npos ? Span{0, 0, static_cast<std::uint32_t>(line.size())}
                                            : Span{0, static_cast<std::uint32_t>(at), static_cast<std::uint32_t>(at + name.size())};
        for (ColumnExpr& arg : part.args) place(arg, line);
    }

    std::vector<double> const& values() const {
        INFO(described());
        REQUIRE(result);
        CHECK(result->values.size() == table->rows());
        CHECK(result->missing.size() == table->rows());
        for (std::size_t row = 0; row < table->rows(); ++row) CHECK(std::isnan(result->values[row]) == result->missing[row].has_value());
        return result->values;
    }
    std::string described() const { return describe(diagnostics, sources); }
    std::string fixed_line() const { return follow_hint(diagnostics.front(), sources); }

    ColumnExpr expression;
    Learnt learnt;
    Sources sources;
    Diagnostics diagnostics;
    std::optional<Table> table;
    std::optional<Column> result;
};

std::vector<double> values_of(ColumnExpr expression, std::string const& csv) { return Evaluation("", std::move(expression), csv).values(); }

}  // namespace

TEST_CASE("transform: columns and constants and arithmetic on them") {
    std::string const csv = "a,b\n1,4\n2,6\n";
    CHECK(values_of(number(3), csv) == std::vector<double>{3, 3});
    CHECK(values_of(column("b"), csv) == std::vector<double>{4, 6});
    CHECK(values_of(call(ColumnOp::Divide, column("b"), number(2)), csv) == std::vector<double>{2, 3});
    CHECK(values_of(call(ColumnOp::Subtract, column("a"), column("b")), csv) == std::vector<double>{-3, -4});
    CHECK(values_of(call(ColumnOp::Greater, column("b"), number(5)), csv) == std::vector<double>{0, 1});
    CHECK(values_of(call(ColumnOp::Exp, call(ColumnOp::Log, column("b"))), csv)[0] == doctest::Approx(4));
}

TEST_CASE("transform: a missing cell makes the value missing and is named") {
    Evaluation const e("", call(ColumnOp::Add, column("a"), column("b")), "a,b\n1,2\n,3\n4,NA\n.,.\n");
    CHECK(e.values()[0] == 3);
    CHECK_FALSE(e.result->missing[0]);
    CHECK(e.result->missing[1] == e.table->span(1, 0));
    CHECK(e.result->missing[2] == e.table->span(2, 1));
    CHECK(e.result->missing[3] == e.table->span(3, 0));
}

TEST_CASE("transform: a comparison with a text compares the text") {
    std::string const csv = "sex,country\nF,NA\nM,ZA\n,\n\"F\",NA\n";
    Evaluation const e("", call(ColumnOp::Equal, column("sex"), text("F")), csv);
    CHECK(e.values()[0] == 1);
    CHECK(e.values()[1] == 0);
    CHECK(std::isnan(e.values()[2]));
    CHECK(e.result->missing[2] == e.table->span(2, 0));
    CHECK(e.values()[3] == 1);
    CHECK(Evaluation("", call(ColumnOp::NotEqual, text("F"), column("sex")), csv).values()[1] == 1);
    // Namibia is there, though NA is how others write nothing.
    auto const namibia = Evaluation("", call(ColumnOp::Equal, column("country"), text("NA")), csv);
    CHECK(namibia.values()[0] == 1);
    CHECK(namibia.values()[1] == 0);
    CHECK(std::isnan(namibia.values()[2]));
}

TEST_CASE("transform: standardize learns mean and sd and uses them again") {
    ColumnExpr const z = call(ColumnOp::Standardize, column("x"));
    Evaluation const first("", z, "x\n1\nNA\n3\n5\n");
    CHECK(first.learnt.constants == std::vector<double>{3, 2});
    CHECK(first.values()[0] == -1);
    CHECK(std::isnan(first.values()[1]));
    CHECK(first.values()[3] == 1);
    Evaluation const later("", z, "x\n7\n7\n", first.learnt);
    CHECK(later.values() == std::vector<double>{2, 2});
    CHECK(later.learnt.constants == first.learnt.constants);
}

TEST_CASE("transform: constants are learnt in the order of their places and inner ones first") {
    ColumnExpr const both = call(ColumnOp::Add, call(ColumnOp::Standardize, column("a")), call(ColumnOp::Standardize, column("b")));
    CHECK(Evaluation("", both, "a,b\n1,10\n3,30\n5,50\n").learnt.constants == std::vector<double>{3, 2, 30, 20});
    ColumnExpr const nested = call(ColumnOp::Standardize, call(ColumnOp::Multiply, call(ColumnOp::Standardize, column("a")), number(3)));
    CHECK(Evaluation("", nested, "a\n1\n3\n5\n").learnt.constants == std::vector<double>{3, 2, 0, 3});
    CHECK_THROWS_AS(Evaluation("", both, "a,b\n1,10\n3,30\n", {{1, 2}}), std::logic_error);
}

TEST_CASE("transform: standardize neither cancels nor underflows nor overflows") {
    ColumnExpr const z = call(ColumnOp::Standardize, column("x"));
    CHECK(Evaluation("", z, "x\n1000000001\n1000000002\n1000000003\n").learnt.constants == std::vector<double>{1000000002, 1});
    for (std::string const exponent : {"e-300", "e300"}) {
        Evaluation const e("", z, "x\n1" + exponent + "\n2" + exponent + "\n3" + exponent + "\n");
        CHECK(e.values()[0] == doctest::Approx(-1));
        CHECK(e.values()[2] == doctest::Approx(1));
    }
    CHECK(Evaluation("standardize(x)", z, "x\n1.7e308\n-1.7e308\n").described() ==
          "BAM0426 a number beyond the range of a double\n2:1 [1.7e308] here 1.7e+308\n3:1 [-1.7e308] here -1.7e+308\n"
          "1:1 [standardize(x)] by this\n= change the unit of the column, `x / 1000` say\n");
}

TEST_CASE("transform: a column that is not there") {
    std::string const csv = "seq,Time,standard error,\n1,2,3,4\n";
    Evaluation const e("Tiem / 24", call(ColumnOp::Divide, column("Tiem"), number(24)), csv);
    CHECK(e.described() ==
          "BAM0420 the table has no column `Tiem`\n1:1 [Tiem] not in the table\n1:5 [Time] is it this?\n= write `Time`\n"
          "= its columns are `seq`, `Time`, `standard error`\n");
    CHECK(e.fixed_line() == "Time / 24");
    Evaluation const quoted("standard_error", column("standard_error"), csv);
    CHECK(quoted.fixed_line() == "\"standard error\"");
    CHECK(Evaluation("x", column("x"), csv).described() ==
          "BAM0420 the table has no column `x`\n1:1 [x] not in the table\n= its columns are `seq`, `Time`, `standard error`\n");
    Evaluation const two("p + q + p", call(ColumnOp::Add, call(ColumnOp::Add, column("p"), column("q")), column("p")), csv);
    CHECK(two.diagnostics.size() == 2);
    Evaluation const many("x", column("x"), "a1,a2,a3,a4,a5,a6,a7,a8,a9,a10,a11,a12,a13,a14\n1,2,3,4,5,6,7,8,9,10,11,12,13,14\n");
    CHECK(many.diagnostics.front().notes.back().ends_with("`a11`, `a12` and 2 more"));
    CHECK(Evaluation("\"\"", column(""), "a,\n1,2\n").described() ==
          "BAM0420 the table has no column ``\n1:1 [\"\"] not in the table\n= its columns are `a`\n");
    Evaluation const compared("Sx == \"F\"", call(ColumnOp::Equal, column("Sx"), text("F")), "Sex\nF\n");
    CHECK(compared.fixed_line() == "Sex == \"F\"");
}

TEST_CASE("transform: cells of text where a number is needed") {
    CHECK(Evaluation("dose / 5", call(ColumnOp::Divide, column("dose"), number(5)), "dose,id\n1,2\nn.d.,3\n,4\n").described() ==
          "BAM0421 column `dose` has a cell of text where numbers are needed\n3:1 [n.d.] not a number\n1:1 [dose] a number is needed here\n"
          "= a cell without a value is empty, or NA\n");
    CHECK(
        Evaluation("d", column("d"), "d,id\n1,1\n<0.5,2\n\"3,5\",3\n12 mg,4\n1 234,5\n2024-03-01,6\n?,7\n").described() ==
        "BAM0421 column `d` has 6 cells of text where numbers are needed\n3:1 [<0.5] a bound, not a number\n4:1 [\"3,5\"] a decimal comma, "
        "or thousands\n"
        "5:1 [12 mg] not only a number\n6:1 [1 234] not a number\n7:1 [2024-03-01] a date, not a number\n1:1 [d] a number is needed here\n"
        "= a bound is not a value: give a number, or leave the cell empty\n"
        "= if `,` is the decimal point of this table, say so; numbers have no separators of thousands\n= leave units and marks out of the "
        "cell\n"
        "= a number has one decimal point, no blanks and no separators of thousands\n"
        "= for a number, count days in a column of its own; dates can order the rows of a sequence\n= there are 6 such cells; these are "
        "the first 5\n");
    CHECK(Evaluation("d", column("d"), "d;e\n1,5;1\n2.5;2\n3,5;3\n").described() ==
          "BAM0421 column `d` has a cell of text where numbers are needed\n3:1 [2.5] a decimal point\n1:1 [d] a number is needed here\n"
          "= the decimal point of this table was taken to be `,`: use one throughout, or say that it is `.`\n");
    // All of them are like numbers: it is the cells that are to be mended.
    CHECK(Evaluation("d", column("d"), "d,e\n1 mg,1\n2 mg,2\n").diagnostics.front().code == 421);
    // What the hints say works.
    CHECK(values_of(column("d"), "d,id\n1,1\n,2\n3.5,3\n12,4\n1234,5\n").size() == 5);
}

TEST_CASE("transform: a column is told once however often it is used") {
    Evaluation const e("d * d", call(ColumnOp::Multiply, column("d"), column("d")), "d\n1\nx\n");
    CHECK(e.diagnostics.size() == 1);
}

TEST_CASE("transform: a column of text or of dates") {
    std::string const csv = "Sex,visit\nF,2024-03-01\nM,2024-03-02\n";
    Evaluation const whole("Sex", column("Sex"), csv);
    CHECK(whole.described() ==
          "BAM0422 column `Sex` holds text where numbers are needed\n1:1 [Sex] a number is needed here\n2:1 [F] not a number\n= write `Sex "
          "== \"F\"`\n"
          "= a comparison is 1 where it holds, else 0\n");
    CHECK(whole.fixed_line() == "Sex == \"F\"");
    CHECK(values_of(call(ColumnOp::Equal, column("Sex"), text("F")), csv) == std::vector<double>{1, 0});
    Evaluation const part("Sex / 2", call(ColumnOp::Divide, column("Sex"), number(2)), csv);
    CHECK(part.fixed_line() == "(Sex == \"F\") / 2");
    CHECK(Evaluation("visit", column("visit"), csv).described() ==
          "BAM0422 column `visit` holds dates where numbers are needed\n1:1 [visit] a number is needed here\n2:3 [2024-03-01] a date\n"
          "= for a number, count days in a column of its own; dates can order the rows of a sequence\n");
    Evaluation const odd("Sex", column("Sex"), "Sex\n\"a \"\"b\"\"\"\n");
    CHECK(odd.diagnostics.front().notes.empty());
}

TEST_CASE("transform: what has no value as a number") {
    CHECK(Evaluation("log(earn)", call(ColumnOp::Log, column("earn")), "earn,id\n1,1\n0,2\n,3\n-2,4\n").described() ==
          "BAM0423 the logarithm of 0\n3:1 [0] here 0\n5:1 [-2] here -2\n1:1 [log(earn)] by this\n"
          "= leave the cell empty if nothing was measured; `log(x + 1)` is defined at 0\n");
    CHECK(values_of(call(ColumnOp::Log, call(ColumnOp::Add, column("x"), number(1))), "x\n0\n") == std::vector<double>{0});
    CHECK(Evaluation("log(x)", call(ColumnOp::Log, column("x")), "x,i\n-1,1\n").described().find("a logarithm needs numbers above 0") !=
          std::string::npos);
    CHECK(Evaluation("sqrt(x)", call(ColumnOp::Sqrt, column("x")), "x,i\n-1,1\n").described() ==
          "BAM0424 the square root of a negative number\n2:1 [-1] here -1\n1:1 [sqrt(x)] by this\n"
          "= leave the cell empty if nothing was measured; a root needs numbers from 0 on\n");
    CHECK(Evaluation("x / n", call(ColumnOp::Divide, column("x"), column("n")), "x,n\n1,2\n3,0\n").described() ==
          "BAM0425 a division by 0\n3:3 [0] here 3 and 0\n1:1 [x / n] by this\n= leave the cell empty if nothing was measured\n");
    CHECK(Evaluation("1 / 0", call(ColumnOp::Divide, number(1), number(0)), "x\n1\n").described() ==
          "BAM0425 a division by 0\n1:1 [1 / 0] by this\n");
    CHECK(Evaluation("exp(x)", call(ColumnOp::Exp, column("x")), "x\n1\n1000\n").diagnostics.front().code == 426);
    CHECK(Evaluation("x ^ 0.5", call(ColumnOp::Power, column("x"), number(0.5)), "x\n1\n-4\n").described() ==
          "BAM0426 a power that is not real\n3:1 [-4] here -4 and 0.5\n1:1 [x ^ 0.5] by this\n= a negative number has whole powers only\n");
    Evaluation const seven("log(x)", call(ColumnOp::Log, column("x")), "x\n-1\n-2\n-3\n-4\n-5\n-6\n-7\n");
    CHECK(seven.diagnostics.front().labels.size() == 6);
    CHECK(seven.diagnostics.front().notes.back() == "there are 7 such records; these are the first 5");
    // What is built on a fault does not complain again.
    CHECK(Evaluation("", call(ColumnOp::Sqrt, call(ColumnOp::Log, column("x"))), "x\n0\n").diagnostics.size() == 1);
}

TEST_CASE("transform: nothing to standardize") {
    ColumnExpr const z = call(ColumnOp::Standardize, column("kms"));
    Evaluation const constant("standardize(kms)", z, "kms,i\n3,1\n3,2\n,3\n");
    CHECK(constant.described() ==
          "BAM0427 the values to standardize are all the same\n1:1 [standardize(kms)] each of the 2 values is 3\n= write `kms`\n"
          "= standardize divides by the standard deviation, which is 0 here\n");
    CHECK(constant.fixed_line() == "kms");
    CHECK(constant.learnt.constants.empty());
    CHECK(Evaluation("standardize(kms)", z, "kms,i\n3,1\n").described().find("the one value is 3") != std::string::npos);
    CHECK(Evaluation("standardize(kms)", z, "kms,i\n,1\nNA,2\n").described() ==
          "BAM0428 there is nothing to standardize: every value is missing\n1:1 [standardize(kms)] needs at least two values\n= leave this "
          "column out\n");
    // An error elsewhere is told alone, and nothing stays learnt.
    Evaluation const mixed("", call(ColumnOp::Add, call(ColumnOp::Standardize, column("a")), call(ColumnOp::Log, column("b"))),
                           "a,b\n1,0\n2,1\n");
    CHECK(mixed.diagnostics.size() == 1);
    CHECK(mixed.learnt.constants.empty());
    CHECK(Evaluation("", call(ColumnOp::Standardize, column("a")), "a\nx\n1\n1\n").diagnostics.size() == 1);
}

TEST_CASE("transform: the source column of what can be inverted") {
    auto const source = [](ColumnExpr const& expression) { return find_source_column(expression).value_or("(none)"); };
    ColumnExpr const y = column("y");
    CHECK(source(y) == "y");
    CHECK(source(call(ColumnOp::Log, call(ColumnOp::Divide, y, number(10)))) == "y");
    CHECK(source(call(ColumnOp::Add, call(ColumnOp::Log, number(2)), y)) == "y");
    CHECK(source(call(ColumnOp::Standardize, call(ColumnOp::Sqrt, y))) == "y");
    CHECK(source(call(ColumnOp::Exp, call(ColumnOp::Negate, y))) == "y");
    CHECK(source(call(ColumnOp::Multiply, y, call(ColumnOp::Subtract, number(2), number(1)))) == "y");
    for (ColumnExpr const& expression :
         {number(3), call(ColumnOp::Negate, number(3)), call(ColumnOp::Divide, number(1), y), call(ColumnOp::Add, y, y),
          call(ColumnOp::Multiply, y, number(0)), call(ColumnOp::Divide, y, number(0)), call(ColumnOp::Abs, y),
          call(ColumnOp::Power, y, number(2)), call(ColumnOp::Greater, y, number(2)), call(ColumnOp::Equal, y, text("a")),
          call(ColumnOp::Log, call(ColumnOp::Abs, y)), call(ColumnOp::Add, y, call(ColumnOp::Log, number(0))),
          call(ColumnOp::Add, y, call(ColumnOp::Standardize, number(0)))}) {
        CHECK(source(expression) == "(none)");
        CHECK_THROWS_AS(invert(expression, {}, 1), std::logic_error);
        CHECK_THROWS_AS(is_decreasing(expression, {}), std::logic_error);
    }
    CHECK_THROWS_AS(invert(call(ColumnOp::Standardize, y), {}, 1), std::logic_error);
}

TEST_CASE("transform: the inverse is monotone outside of the range too") {
    ColumnExpr const y = column("y");
    CHECK(invert(call(ColumnOp::Sqrt, y), {}, -0.5) == 0);
    CHECK(invert(call(ColumnOp::Exp, y), {}, 0) == -std::numeric_limits<double>::infinity());
    CHECK(invert(call(ColumnOp::Exp, y), {}, -1) == -std::numeric_limits<double>::infinity());
    CHECK(invert(call(ColumnOp::Negate, call(ColumnOp::Exp, y)), {}, 1) == -std::numeric_limits<double>::infinity());
}

namespace {

/// A random chain of invertible operations on `y`, with positive values in between where a logarithm or a root follows.
ColumnExpr random_chain(std::mt19937& random, int length) {
    std::uniform_real_distribution<double> uniform(0.5, 2);
    ColumnExpr chain = column("y");
    for (int i = 0; i < length; ++i) {
        double const sign = random() % 2 == 0 ? 1 : -1;
        switch (random() % 9) {
            case 0: chain = call(ColumnOp::Negate, chain); break;
            case 1: chain = call(ColumnOp::Add, chain, number(sign * uniform(random))); break;
            case 2: chain = call(ColumnOp::Add, number(uniform(random)), chain); break;
            case 3: chain = call(ColumnOp::Subtract, chain, number(uniform(random))); break;
            case 4: chain = call(ColumnOp::Subtract, number(uniform(random)), chain); break;
            case 5: chain = call(ColumnOp::Multiply, number(sign * uniform(random)), chain); break;
            case 6: chain = call(ColumnOp::Divide, chain, number(sign * uniform(random))); break;
            case 7: chain = call(ColumnOp::Standardize, chain); break;
            default: {
                // Through exp everything is positive, and log and sqrt are defined.
                chain = call(ColumnOp::Exp, call(ColumnOp::Standardize, chain));
                if (random() % 2 == 0) chain = call(random() % 2 == 0 ? ColumnOp::Log : ColumnOp::Sqrt, chain);
            }
        }
    }
    return chain;
}

}  // namespace

TEST_CASE("transform: property: the inverse leads back to the cell and falls where it says so and its slope is what differences say") {
    std::mt19937 random(20240607);
    std::normal_distribution<double> normal;
    for (int round = 0; round < 500; ++round) {
        std::string csv = "id,y\n";
        for (int i = 0; i < 8; ++i) csv += fmt::format("{},{}\n", i, normal(random));
        ColumnExpr const chain = random_chain(random, static_cast<int>(random() % 6));
        Evaluation const e("", chain, csv);
        REQUIRE(find_source_column(e.expression) == "y");
        std::vector<double> const& values = e.values();
        bool const falls = is_decreasing(e.expression, e.learnt);
        for (std::size_t row = 0; row < values.size(); ++row) {
            double const y = e.table->number(row, 1).value();
            CHECK(invert(e.expression, e.learnt, values[row]) == doctest::Approx(y).epsilon(1e-8));
            double const h = 1e-6 * std::max(1e-3, std::abs(values[row]));
            double const back = invert(e.expression, e.learnt, values[row] + h) - invert(e.expression, e.learnt, values[row] - h);
            CHECK(log_slope(e.expression, e.learnt, values[row]) == doctest::Approx(std::log(std::abs(2 * h / back))).epsilon(1e-4));
            for (std::size_t other = 0; other < values.size(); ++other)
                if (values[other] > values[row]) CHECK((e.table->number(other, 1).value() > y) != falls);
        }
    }
}
