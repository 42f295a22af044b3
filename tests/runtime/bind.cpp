#include "bind.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "named_sequences.hpp"
#include "source.hpp"

namespace bam {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

ColumnExpr column(std::string name) {
    ColumnExpr expression;
    expression.op = ColumnOp::Column;
    expression.name = std::move(name);
    return expression;
}

ColumnExpr number(double value) {
    ColumnExpr expression;
    expression.value = value;
    return expression;
}

ColumnExpr binary(ColumnOp op, ColumnExpr left, ColumnExpr right) {
    ColumnExpr expression;
    expression.op = op;
    expression.args = {std::move(left), std::move(right)};
    return expression;
}

/// dims { sequence seq; time t; feat; out }, with the columns `s` and `t`.
Layout records() {
    Layout layout;
    layout.dims = {{"seq", DimLayout::Role::Sequence, 0, {}},
                   {"t", DimLayout::Role::Time, 0, {}},
                   {"feat", DimLayout::Role::Labelled, 2, {"one", "x"}},
                   {"out", DimLayout::Role::Labelled, 1, {"y"}}};
    layout.sequence = 0;
    layout.time = 1;
    layout.sequence_column = column("s");
    layout.time_column = column("t");
    return layout;
}

std::size_t add(Layout& layout, std::string name, Extent extent, std::vector<std::uint16_t> dims, std::vector<ColumnExpr> columns,
                bool may_be_missing = false) {
    Variable variable;
    variable.name = std::move(name);
    variable.extent = extent;
    variable.dims = std::move(dims);
    variable.components = columns.size();
    variable.columns = std::move(columns);
    variable.may_be_missing = may_be_missing;
    layout.variables.push_back(std::move(variable));
    return layout.variables.size() - 1;
}

/// `y[seq, t, out] missing`, from column `y`.
std::size_t add_output(Layout& layout) { return add(layout, "y", Extent::Cell, {0, 1, 3}, {column("y")}, true); }

struct Result {
    std::optional<Bound> bound;
    Diagnostics diagnostics;
    std::string text;  ///< as a person reads it
};

Result bind_text(Layout const& layout, std::string text, BindOptions const& options = {}) {
    Sources sources;
    Result result;
    std::uint32_t const source = sources.add_table("table.csv", std::move(text));
    auto const table = Table::parse(sources[source].text, source, {}, result.diagnostics);
    REQUIRE(table);
    result.bound = bind(layout, *table, options, result.diagnostics);
    result.text = to_text(result.diagnostics, sources);
    CHECK(result.bound.has_value() == !has_error(result.diagnostics));
    return result;
}

std::vector<int> codes(Result const& result) {
    std::vector<int> list;
    for (Diagnostic const& diagnostic : result.diagnostics) list.push_back(diagnostic.code);
    return list;
}

bool says(Result const& result, std::string const& part) { return result.text.find(part) != std::string::npos; }

/// Equal, with NaN equal to itself.
bool same(std::vector<double> const& a, std::vector<double> const& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](double x, double y) { return x == y || (std::isnan(x) && std::isnan(y)); });
}

using Texts = std::vector<std::string>;
using Sizes = std::vector<std::size_t>;

}  // namespace

TEST_CASE("grid: lanes shrink as short sequences end") {
    Grid const grid = make_grid({4, 2, 2, 1});
    CHECK(grid.steps == 4);
    CHECK(grid.cells() == 9);
    CHECK(grid.offsets == Sizes{0, 4, 7, 8, 9});
    CHECK(grid.lanes(1) == 3);
    CHECK(grid.cell(2, 1) == 6);
    CHECK(grid.size(Extent::One) == 1);
    CHECK(grid.size(Extent::Sequence) == 4);
    CHECK(grid.size(Extent::Time) == 4);
    CHECK(grid.size(Extent::Cell) == 9);
    Sizes lengths;
    for (std::size_t s = 0; s < grid.sequences; ++s) lengths.push_back(grid.length(s));
    CHECK(lengths == Sizes{4, 2, 2, 1});
    CHECK(make_grid({}).cells() == 0);
    CHECK_THROWS_AS(make_grid({1, 2}), std::invalid_argument);

    Variable variable;
    variable.first_step = 1;
    for (auto const& [extent, first] : {std::pair(Extent::One, 0U), {Extent::Sequence, 0U}, {Extent::Time, 1U}, {Extent::Cell, 4U}}) {
        variable.extent = extent;
        CHECK(first_index(variable, grid) == first);
    }
    variable.first_step = 9;
    CHECK(first_index(variable, grid) == grid.cells());
}

TEST_CASE("bind: ragged sequences in any order stand longest first, in order of time") {
    Layout layout = records();
    std::size_t const x = add(layout, "x", Extent::Cell, {0, 1, 2}, {number(1), binary(ColumnOp::Divide, column("x"), number(2))});
    std::size_t const y = add_output(layout);
    Result const result = bind_text(layout, "s,t,x,y\nb,2,22,5\na,1,2,\nc,3,8,7\nb,0.5,20,4\nc,1,6,6\nb,10,24,NA\n");
    REQUIRE(result.bound);
    Bound const& bound = *result.bound;
    CHECK(result.diagnostics.size() == 1);  // of a, nothing is observed
    CHECK(bound.sequence_labels == Texts{"b", "c", "a"});
    CHECK(bound.lengths == Sizes{3, 2, 1});
    CHECK(bound.appearance == Sizes{0, 2, 1});
    CHECK(bound.rows == Sizes{3, 4, 1, 0, 2, 5});
    CHECK(bound.time_labels == Texts{"0.5", "1", "1", "2", "3", "10"});
    CHECK(same(bound.data[x], {1, 1, 1, 1, 1, 1, 10, 3, 1, 11, 4, 12}));
    CHECK(same(bound.data[y], {4, 6, nan, 5, 7, nan}));
}

TEST_CASE("bind: sequences of equal length keep the order in which they appear") {
    Layout layout = records();
    add_output(layout);
    Result const result = bind_text(layout, "s,t,y\nz,1,1\nm,1,1\na,1,1\na,2,1\n");
    REQUIRE(result.bound);
    CHECK(result.bound->sequence_labels == Texts{"a", "z", "m"});
    CHECK(result.bound->appearance == Sizes{1, 2, 0});
}

TEST_CASE("bind: dates order steps") {
    Layout layout = records();
    std::size_t const y = add_output(layout);
    Result const result = bind_text(layout, "s,t,y\n1,2024-10-01,3\n1,2024-09-30,2\n1,2024-09-30 12:00,2.5\n1,2023-12-31,1\n");
    REQUIRE(result.bound);
    CHECK(same(result.bound->data[y], {1, 2, 2.5, 3}));
    CHECK(result.bound->time_labels == Texts{"2023-12-31", "2024-09-30", "2024-09-30 12:00", "2024-10-01"});
    CHECK(result.diagnostics.empty());
}

TEST_CASE("bind: an expression may order steps") {
    Layout layout = records();
    layout.time_column = binary(ColumnOp::Add, binary(ColumnOp::Multiply, column("year"), number(12)), column("month"));
    std::size_t const y = add_output(layout);
    Result const result = bind_text(layout, "s,year,month,y\n1,1,2,3\n1,0,12,1\n1,1,1,2\n");
    REQUIRE(result.bound);
    CHECK(same(result.bound->data[y], {1, 2, 3}));
    CHECK(result.bound->time_labels == Texts{"12", "13", "14"});
}

TEST_CASE("bind: without a time column steps are in the order of the rows") {
    Layout layout = records();
    layout.time_column.reset();
    std::size_t const y = add_output(layout);
    Result const result = bind_text(layout, "s,y\n1,3\n2,5\n1,1\n");
    REQUIRE(result.bound);
    CHECK(same(result.bound->data[y], {3, 5, 1}));
    CHECK(result.bound->time_labels == Texts{"1", "1", "2"});
}

TEST_CASE("bind: without a sequence column the table is one sequence") {
    Layout layout = records();
    layout.sequence.reset();
    layout.sequence_column.reset();
    std::size_t const y = add(layout, "y", Extent::Time, {1, 3}, {column("y")}, true);
    Result result = bind_text(layout, "t,y\n2,5\n1,4\n3,\n");
    REQUIRE(result.bound);
    CHECK(result.bound->sequence_labels == Texts{"1"});
    CHECK(same(result.bound->data[y], {4, 5, nan}));
    CHECK(result.diagnostics.empty());
    result = bind_text(layout, "t,y\n1,5\n1,4\n");
    CHECK(codes(result) == std::vector{442});
    CHECK(says(result, "the table has two rows at t 1"));
    CHECK(says(result, "declare `sequence seq`"));
}

TEST_CASE("bind: without a time dim every row is a sequence") {
    Layout layout = records();
    layout.time.reset();
    layout.time_column.reset();
    std::size_t const y = add(layout, "y", Extent::Sequence, {0, 3}, {column("y")}, true);
    Result result = bind_text(layout, "s,y\nb,5\na,\nc,6\n");
    REQUIRE(result.bound);
    CHECK(result.bound->sequence_labels == Texts{"b", "a", "c"});
    CHECK(result.bound->grid.steps == 1);
    CHECK(same(result.bound->data[y], {5, nan, 6}));
    CHECK(codes(result) == std::vector{450});
    CHECK(says(result, "no output is observed of seq `a`"));

    result = bind_text(layout, "s,y\nb,5\na,1\nb,6\na,7\n");
    CHECK(codes(result) == std::vector{447});
    CHECK(says(result, "table.csv:4:1"));
    CHECK(says(result, "seq b has 2 rows, and the model has no time"));
    CHECK(says(result, "so has 1 other"));

    layout.sequence_column.reset();
    result = bind_text(layout, "y\n5\n6\n");
    REQUIRE(result.bound);
    CHECK(result.bound->sequence_labels == Texts{"1", "2"});
    CHECK(same(result.bound->data[y], {5, 6}));
}

TEST_CASE("bind: the same step twice is shown with both places") {
    Layout layout = records();
    add_output(layout);
    Result const result = bind_text(layout, "s,t,y\na,1,1\na,1.0,2\nb,1,3\n");
    CHECK(codes(result) == std::vector{442});
    CHECK(result.text ==
          "error[BAM0442]: seq a has two rows at t 1.0\n"
          "  --> table.csv:3:3\n"
          "    2 | a,1,1\n"
          "      |   - first here\n"
          "    3 | a,1.0,2\n"
          "      |   ^^^ again here\n"
          "  = each row is one step of a sequence; leave one of the two out, or join them\n");
    std::string table = "s,t,y\n";
    for (int i = 0; i < 9; ++i) table += "a,1,1\n";
    Result const many = bind_text(layout, table);
    CHECK(many.diagnostics.size() == 5);
    CHECK(many.diagnostics.back().notes.front() == "and 3 more such pairs");
}

TEST_CASE("bind: rows without a sequence or a time cannot be placed") {
    Layout layout = records();
    add_output(layout);
    Result const result = bind_text(layout, "s,t,y\na,1,1\n,2,2\na,NA,3\nNA,4,4\n");
    CHECK(codes(result) == std::vector{443, 444});
    CHECK(says(result, "2 rows have no `seq`"));
    CHECK(says(result, "a row has no `t`"));
    CHECK(says(result, "table.csv:3:1"));
    CHECK(says(result, "table.csv:4:3"));
}

TEST_CASE("bind: times are numbers or dates, and not both") {
    Layout layout = records();
    add_output(layout);
    Result result = bind_text(layout, "s,t,y\na,monday,1\na,2,2\na,tuesday,3\n");
    CHECK(codes(result) == std::vector{445});
    CHECK(says(result, "2 rows have a `t` that has no place in time"));
    CHECK(says(result, "^^^^^^ neither a number nor a date"));
    result = bind_text(layout, "s,t,y\na,2024,1\na,2024-02,2\n");
    CHECK(codes(result) == std::vector{446});
    std::string table = "s,t,y\n";
    for (int i = 0; i < 7; ++i) table += "a,now,1\n";
    result = bind_text(layout, table);
    CHECK(codes(result) == std::vector{445});
    CHECK(says(result, "= and 2 more"));
}

TEST_CASE("bind: columns that are not there") {
    Layout layout = records();
    layout.sequence_column = column("Subject");
    layout.time_column = column("Time");
    add_output(layout);
    Result const result = bind_text(layout, "subject,time,y\na,1,1\n");
    CHECK(codes(result) == std::vector{420, 420});
    CHECK(says(result, "`Subject`"));
    CHECK(says(result, "`Time`"));
}

TEST_CASE("bind: missing inputs are named by sequence, time and column") {
    Layout layout = records();
    add(layout, "x", Extent::Cell, {0, 1, 2}, {number(1), column("x")});
    add_output(layout);
    Result result = bind_text(layout, "s,t,x,y\na,1,5,1\na,2,,2\nb,7,3,1\n");
    CHECK(codes(result) == std::vector{441});
    CHECK(result.diagnostics[0].message == "input `x` is missing");
    CHECK(says(result, "table.csv:3:5"));
    CHECK(says(result, "^ `x` of seq a, t 2"));
    CHECK(says(result, "outputs may be missing, inputs may not"));

    std::string table = "s,t,x,y\n";
    for (int i = 0; i < 8; ++i) table += "a," + std::to_string(8 - i) + ",NA,1\n";
    result = bind_text(layout, table);
    CHECK(codes(result) == std::vector{441});
    CHECK(result.diagnostics[0].message == "input `x` is missing in 8 places");
    CHECK(result.diagnostics[0].labels.size() == 6);  // five cells and the declaration
    CHECK(result.diagnostics[0].labels[0].text == "`x` of seq a, t 8");
    CHECK(result.diagnostics[0].notes.front() == "and 3 more");
}

TEST_CASE("bind: an output that was not declared missing gets the words to declare it so") {
    Layout layout = records();
    std::size_t const y = add(layout, "y", Extent::Cell, {0, 1, 3}, {column("y")});
    FactorLayout factor;
    factor.target = static_cast<std::uint32_t>(y);
    factor.is_observation = true;
    layout.factors.push_back(factor);
    Result const result = bind_text(layout, "s,t,y\na,1,\na,2,3\n");
    CHECK(codes(result) == std::vector{441});
    CHECK(result.diagnostics[0].message == "output `y` is missing");
    CHECK(result.diagnostics[0].notes[0] == "write `y[seq, t, out] missing`");
}

TEST_CASE("bind: what a variable does not have before its first step is not missed") {
    Layout layout = records();
    std::size_t const x = add(layout, "x", Extent::Cell, {0, 1}, {column("x")});
    layout.variables[x].first_step = 1;
    add_output(layout);
    CHECK(bind_text(layout, "s,t,x,y\na,1,,1\na,2,5,1\n").bound);
    CHECK(codes(bind_text(layout, "s,t,x,y\na,1,1,1\na,2,,1\n")) == std::vector{441});
}

TEST_CASE("bind: values that dims do not tell apart must agree") {
    Layout layout = records();
    std::size_t const w = add(layout, "w", Extent::Sequence, {0}, {column("w")});
    std::size_t const z = add(layout, "z", Extent::Time, {1}, {column("z")});
    std::size_t const c = add(layout, "c", Extent::One, {}, {column("c")});
    add_output(layout);
    Result result = bind_text(layout, "s,t,w,z,c,y\na,1,70,1,9,1\na,2,,2,9,1\nb,5,80,1,9,1\nb,6,80,2,9,1\n");
    REQUIRE(result.bound);
    CHECK(same(result.bound->data[w], {70, 80}));
    CHECK(same(result.bound->data[z], {1, 2}));
    CHECK(same(result.bound->data[c], {9}));

    result = bind_text(layout, "s,t,w,z,c,y\na,1,70,1,9,1\na,2,71,2,9,1\nb,5,80,1,9,1\nb,6,80,3,8,1\n");
    CHECK(codes(result) == std::vector{448, 448, 448});
    CHECK(result.diagnostics[0].message == "`w[seq]` has one value per seq, but two in seq a");
    CHECK(says(result, "^^ 71 here"));
    CHECK(says(result, "-- 70 here"));
    CHECK(result.diagnostics[0].notes[0] == "if it changes from row to row, declare it as `w[seq, t]`; else correct the table");
    CHECK(result.diagnostics[1].message == "`z[t]` has one value per step, but two at step 1");
    CHECK(result.diagnostics[2].message == "`c` has one value, but two in the table");
}

TEST_CASE("bind: nothing observed is an error, in some sequences a note") {
    Layout layout = records();
    add_output(layout);
    Result result = bind_text(layout, "s,t,y\na,1,\nb,1,NA\n");
    CHECK(codes(result) == std::vector{449});
    CHECK(says(result, "table.csv:1:5"));
    BindOptions options;
    options.outputs_may_be_absent = true;
    CHECK(bind_text(layout, "s,t,y\na,1,\nb,1,NA\n", options).diagnostics.empty());

    result = bind_text(layout, "s,t,y\nb,1,\na,1,NA\nc,1,5\nd,1,\ne,1,\nf,1,\ng,1,\n");
    CHECK(codes(result) == std::vector{450});
    CHECK(result.diagnostics[0].message == "no output is observed of seq `b`, `a`, `d`, `e`, `f` and 1 more");
}

TEST_CASE("bind: for a prediction outputs may be absent, inputs may not, and transforms are those of the fit") {
    Layout layout = records();
    ColumnExpr standardize;
    standardize.op = ColumnOp::Standardize;
    standardize.args = {column("x")};
    std::size_t const x = add(layout, "x", Extent::Cell, {0, 1}, {standardize});
    std::size_t const y = add_output(layout);
    Result const fit = bind_text(layout, "s,t,x,y\na,1,1,1\na,2,3,1\n");
    REQUIRE(fit.bound);
    double const sd = std::sqrt(2.0);
    CHECK(fit.bound->learnt[x][0].constants.size() == 2);
    CHECK(fit.bound->data[x][1] == doctest::Approx(1 / sd).epsilon(1e-14));

    BindOptions options;
    options.learnt = &fit.bound->learnt;
    options.outputs_may_be_absent = true;
    Result const prediction = bind_text(layout, "s,t,x\nnew,1,2\nnew,2,12\n", options);
    REQUIRE(prediction.bound);
    CHECK(prediction.diagnostics.empty());
    CHECK(prediction.bound->data[x][0] == doctest::Approx(0).epsilon(1e-14));
    CHECK(prediction.bound->data[x][1] == doctest::Approx(10 / sd).epsilon(1e-14));
    CHECK(same(prediction.bound->data[y], {nan, nan}));
    CHECK(codes(bind_text(layout, "s,t,x\nnew,1,\n", options)) == std::vector{441});
    CHECK(codes(bind_text(layout, "s,t,x\na,1,2\na,2,3\n")) == std::vector{420});
}

TEST_CASE("bind: differences go back one row of the same sequence in the order of time") {
    Layout layout = records();
    auto const difference = [](ColumnExpr of) {
        ColumnExpr expression;
        expression.op = ColumnOp::Difference;
        expression.args = {std::move(of)};
        return expression;
    };
    std::size_t const dt = add(layout, "dt", Extent::Cell, {0, 1}, {binary(ColumnOp::Divide, difference(column("t")), number(2))});
    std::size_t const dx =
        add(layout, "dx", Extent::Cell, {0, 1}, {difference(binary(ColumnOp::Multiply, column("x"), column("x")))}, true);
    add_output(layout);
    Result const result = bind_text(layout, "s,t,x,y\nb,7,1,1\na,9,3,1\na,1,1,1\nb,3,,1\na,2,2,1\n");
    REQUIRE(result.bound);
    // By step, longest sequence first: a 1, b 3, a 2, b 7, a 9.
    CHECK(same(result.bound->data[dt], {0, 0, 0.5, 2, 3.5}));
    CHECK(same(result.bound->data[dx], {0, nan, 3, nan, 5}));
    CHECK(result.bound->learnt[dt][0].constants.empty());

    Result const dates = bind_text(layout, "s,t,x,y\na,2024-03-01,1,1\na,2024-02-28,1,1\na,2024-03-01 12:00,1,1\n");
    REQUIRE(dates.bound);
    CHECK(same(dates.bound->data[dt], {0, 1, 0.25}));  // over a 29th of February, and half a day

    std::size_t const complete = add(layout, "z", Extent::Cell, {0, 1}, {difference(column("x"))});
    CHECK(complete > 0);
    Result const gap = bind_text(layout, "s,t,x,y\na,1,1,1\na,2,,1\na,3,1,1\n");
    CHECK(codes(gap) == std::vector{441});
    CHECK(says(gap, "`z` is missing in 2 places"));
    CHECK(codes(bind_text(layout, "s,t,x,y\na,1,-1e308,1\na,2,1e308,1\n")) == std::vector{426, 426});
}

TEST_CASE("bind: a statement about a sequence that is not there") {
    Layout layout = records();
    add_output(layout);
    FactorLayout factor;
    factor.region.sequence = "Ann";
    layout.factors.push_back(factor);
    CHECK(bind_text(layout, "s,t,y\nAnn,1,1\n").bound);
    Result result = bind_text(layout, "s,t,y\nAnna,1,1\nBob,1,1\n");
    REQUIRE(result.bound);
    CHECK(codes(result).empty());
    check_named_sequences(
        layout, *result.bound, [](Span) { return true; }, result.diagnostics);
    CHECK(codes(result) == std::vector{337});  // of a prior set
    result.diagnostics.clear();
    check_named_sequences(
        layout, *result.bound, [](Span) { return false; }, result.diagnostics);
    CHECK(codes(result) == std::vector{451});
    CHECK(result.diagnostics[0].labels[0].text == "did you mean `Anna`?");
    CHECK(result.diagnostics[0].notes[0] == "the table has `Anna` and `Bob`");
}

TEST_CASE("bind: gaps in a regular time are noted, irregular times are not") {
    Layout layout = records();
    add_output(layout);
    std::string const head = "s,t,y\n";
    std::string regular = head;
    for (int t = 1; t <= 30; ++t)
        if (t != 14 && t != 15) regular += "a," + std::to_string(t) + ",1\n";
    Result result = bind_text(layout, regular);
    CHECK(codes(result) == std::vector{453});
    CHECK(says(result, "`t` jumps once where nearly all steps are of one length"));
    CHECK(says(result, "the step before is t 13"));
    std::string irregular = head;
    for (int t = 1; t <= 30; ++t) irregular += "a," + std::to_string(t * t) + ",1\n";
    CHECK(bind_text(layout, irregular).diagnostics.empty());
    std::string last_is_short = head;
    for (int t = 0; t <= 20; t += 2) last_is_short += "a," + std::to_string(t) + ",1\n";
    CHECK(bind_text(layout, last_is_short + "a,21,1\n").diagnostics.empty());
}

TEST_CASE("bind: unused columns are passed over, but for one that may have been meant") {
    Layout layout = records();
    add_output(layout);
    CHECK(bind_text(layout, "id,s,t,y,y2,comment\n1,a,1,1,7,fine\n").diagnostics.empty());
    Result const result = bind_text(layout, "s,t,y,Y\na,1,1,7\n");
    CHECK(codes(result) == std::vector{452});
    CHECK(result.bound);
}

TEST_CASE("bind: independent errors are reported together") {
    Layout layout = records();
    add(layout, "x", Extent::Cell, {0, 1}, {column("x")});
    add_output(layout);
    CHECK(codes(bind_text(layout, "s,t,x,y\na,noon,high,1\na,2,3,4\n")) == std::vector{445, 421});
}

}  // namespace bam
