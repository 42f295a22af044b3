#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <bam/bam.hpp>
#include <cmath>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "thrown.hpp"

using bam::Csv;
using bam::Fit;
using bam::FitOptions;
using bam::Program;
using bam::Simulated;
using bam::SimulateOptions;
using bam::test::code_of;

namespace {

using Lines = std::vector<std::vector<std::string>>;

Lines split(std::string const& csv, char separator = ',') {
    Lines lines;
    std::istringstream stream(csv);
    for (std::string line; std::getline(stream, line);) {
        lines.emplace_back();
        std::istringstream fields(line);
        for (std::string field; std::getline(fields, field, separator);) lines.back().push_back(field);
    }
    return lines;
}

/// The numbers of a column, by row of the table: of every draw.
std::vector<std::vector<double>> column(Simulated const& simulated, std::string const& name, std::size_t rows) {
    Lines const lines = split(simulated.csv);
    auto const k = static_cast<std::size_t>(std::find(lines[0].begin(), lines[0].end(), name) - lines[0].begin());
    REQUIRE(k < lines[0].size());
    std::vector<std::vector<double>> values(rows);
    for (std::size_t i = 1; i < lines.size(); ++i) values[(i - 1) % rows].push_back(std::stod(lines[i].at(k)));
    return values;
}

struct Moments {
    double mean = 0, sd = 0;
};

Moments moments(std::vector<double> const& values) {
    Moments m;
    auto const n = static_cast<double>(values.size());
    for (double const value : values) m.mean += value / n;
    for (double const value : values) m.sd += (value - m.mean) * (value - m.mean) / (n - 1);
    m.sd = std::sqrt(m.sd);
    return m;
}

/// Normal values with this mean and sd: 5 standard errors of either.
void check_normal(std::vector<double> const& values, double mean, double sd) {
    Moments const m = moments(values);
    auto const n = static_cast<double>(values.size());
    CHECK(std::abs(m.mean - mean) < 5 * sd / std::sqrt(n));
    CHECK(std::abs(m.sd - sd) < 5 * sd / std::sqrt(2 * n));
}

constexpr std::size_t draws = 8000;
SimulateOptions with_tables(std::size_t count = draws) { return {.draws = count, .seed = 5, .has_tables = true}; }

}  // namespace

// y = 10 (b x + e) in the table's unit, b ~ normal(1, 2), e ~ normal(0, 1): mean 10 x, variance 100 (4 x^2 + 1), at missing cells, too.
TEST_CASE("simulate: from the priors every cell has its mean and its variance, in the unit of the table") {
    Program const program = Program::from_text(
        "dims { sequence row }\ndata { x[row]; y[row] missing }\nparam { b ~ normal(1, 2) }\nobserve { y ~ normal(b * x, 1) }\n"
        "table { x = x; y = y / 10 }\n");
    Simulated const simulated = program.with({.text = "x,note,y\n0,p,1\n1,q,\n-2,r,3\n"}).simulate(with_tables());
    CHECK(split(simulated.csv)[0] == std::vector<std::string>{"draw", "x", "note", "y", "y.missing"});
    auto const y = column(simulated, "y", 3);
    check_normal(y[0], 0, 10);
    check_normal(y[1], 10, 10 * std::sqrt(5.0));
    check_normal(y[2], -20, 10 * std::sqrt(17.0));
    Lines const lines = split(simulated.csv);
    CHECK(lines.size() == 1 + 3 * draws);
    CHECK(lines[1][4] == "0");
    CHECK(lines[2][4] == "1");
    CHECK(lines[2][2] == "q");
    CHECK(lines[3 * draws][0] == std::to_string(draws));
}

// y[0] ~ normal(0, 1), y[t] = y[t-1] / 2 + e: variances 1, 1.25, 1.3125. The missing value in the middle is simulated as the others are.
TEST_CASE("simulate: where means look back at outputs, a step follows what was simulated for the one before") {
    bool may_be_missing = false;
    SUBCASE("that may be missing") { may_be_missing = true; }
    SUBCASE("that are all there") {}
    Program const program = Program::from_text(
        fmt::format("dims {{ time t }}\ndata {{ y[t]{} }}\nparam {{ c fixed 0.5 }}\nobserve {{ y[t] ~ normal(c * y[t-1], 1) }}\ntable {{ t "
                    "= order(t); y = y }}\n",
                    may_be_missing ? " missing" : ""));
    std::string const table = may_be_missing ? "t,y\n2,\n1,40\n3,7\n" : "t,y\n2,-3\n1,40\n3,7\n";
    Simulated const simulated = program.with({.text = table}).simulate(with_tables());
    auto const y = column(simulated, "y", 3);  // in the order of the table
    check_normal(y[1], 0, 1);
    check_normal(y[0], 0, std::sqrt(1.25));
    check_normal(y[2], 0, std::sqrt(1.3125));
    std::vector<double> innovations;
    for (std::size_t i = 0; i < draws; ++i) innovations.push_back(y[2][i] - 0.5 * y[0][i]);
    check_normal(innovations, 0, 1);
}

// Of one block with known noise the draws are independent, and predictions.csv has the same distribution by another way.
TEST_CASE("simulate: from a run the cells are those that are predicted") {
    Program const program = Program::from_text(
        "dims { sequence row; feat }\ndata { x[row, feat]; y[row] missing }\nparam { b[feat] ~ normal(0, 10) }\nobserve { y ~ normal(b' * "
        "x, 0.7) }\n"
        "table { feat = [one = 1, u]; y = y }\n");
    std::string const table = "u,y\n1,2\n2,2.5\n3,\n4,5\n5,4.2\n";
    FitOptions options;
    options.num_samples = draws / 4;
    Fit const fit = program.fit({.text = table}, options);
    auto const y = column(fit.simulate(Csv{.text = table}, with_tables()), "y", 5);
    auto const predicted = fit.predictions();
    REQUIRE(predicted.size() == 5);
    for (std::size_t i = 0; i < 5; ++i) {
        Moments const m = moments(y[i]);
        CHECK(std::abs(m.mean - predicted[i].mean) < 7 * predicted[i].sd / std::sqrt(static_cast<double>(draws)));
        CHECK(m.sd == doctest::Approx(predicted[i].sd).epsilon(7 / std::sqrt(2.0 * draws)));
    }
    // Fewer tables take draws from all chains; the same seed gives the same ones.
    CHECK(fit.simulate(Csv{.text = table}, with_tables(20)).csv == fit.simulate(Csv{.text = table}, with_tables(20)).csv);
}

TEST_CASE("simulate: the summary is that of the tables") {
    Program const program = Program::from_text(
        "dims { sequence row }\ndata { x[row]; y[row] missing }\nparam { b ~ normal(0, 1) }\nobserve { y ~ normal(b * x, 1) }\ntable { x = "
        "x; y = y }\n");
    Simulated const simulated = program.with({.text = "x,y\n1,0.5\n2,-1\n3,\n4,2\n"}).simulate(with_tables(101));
    auto const y = column(simulated, "y", 4);
    auto const json = nlohmann::json::parse(simulated.json)["outputs"][0];
    CHECK(json["observed"] == 3);
    CHECK(json["missing"] == 1);
    std::vector<double> means, largest;
    std::size_t outside = 0, above = 0;
    for (std::size_t d = 0; d < 101; ++d) {
        means.push_back((y[0][d] + y[1][d] + y[3][d]) / 3);
        largest.push_back(std::max({y[0][d], y[1][d], y[3][d]}));
        if (means.back() > 0.5) ++above;
        for (std::size_t const i : {std::size_t{0}, std::size_t{1}, std::size_t{3}})
            if (y[i][d] < -1 || y[i][d] > 2) ++outside;
    }
    std::sort(means.begin(), means.end());
    std::sort(largest.begin(), largest.end());
    CHECK(json["tables"]["mean"]["observed"].get<double>() == doctest::Approx(0.5));
    CHECK(json["tables"]["mean"]["q50"].get<double>() == doctest::Approx(means[50]).epsilon(1e-6));
    CHECK(json["tables"]["mean"]["q5"].get<double>() == doctest::Approx(means[5]).epsilon(1e-6));
    CHECK(json["tables"]["max"]["q95"].get<double>() == doctest::Approx(largest[95]).epsilon(1e-6));
    CHECK(json["tables"]["mean"]["share_above"].get<double>() == doctest::Approx(static_cast<double>(above) / 101));
    CHECK(json["share_outside"].get<double>() == doctest::Approx(static_cast<double>(outside) / 303));
}

// A prior of sd S for cells whose range is 2: the central 95 % are 3.92 S wide.
TEST_CASE("simulate: how many times the observed range a prior allows") {
    auto const times = [](double sd) {
        Program const program =
            Program::from_text(fmt::format("dims {{ sequence row }}\ndata {{ y[row] }}\nparam {{ b[row] ~ normal(0, {}) }}\nobserve {{ y ~ "
                                           "normal(b, 1e-6) }}\ntable {{ y = y }}\n",
                                           sd));
        Simulated const simulated = program.with({.text = "y\n-1\n0\n1\n"}).simulate({.draws = 4000});
        return nlohmann::json::parse(simulated.json)["outputs"][0]["times_range"].get<double>();
    };
    CHECK(times(1) == doctest::Approx(1.96).epsilon(0.05));
    CHECK(times(40) == doctest::Approx(78.4).epsilon(0.05));
}

// More values than are kept for the quantiles: those of two thirds of the cells are about 0, of the others about 100.
TEST_CASE("simulate: quantiles are over all cells however many tables there are") {
    Program const program = Program::from_text(
        "dims { sequence row }\ndata { x[row]; y[row] }\nparam { b ~ normal(100, 1e-3) }\nobserve { y ~ normal(b * x, 1) }\ntable { x = x; "
        "y = y }\n");
    std::string table = "x,y\n";
    for (int row = 0; row < 30; ++row) table += row % 3 == 2 ? "1,100\n" : "0,0\n";
    Simulated const simulated = program.with({.text = table}).simulate({.draws = 300'000});
    auto const quantiles = nlohmann::json::parse(simulated.json)["outputs"][0]["quantiles"];
    CHECK(quantiles[2]["simulated"].get<double>() < 10);
    CHECK(quantiles[3]["simulated"].get<double>() > 90);
}

// A table of the model's own making is called unlike the simulated ones at most once in twenty, and few tables say nothing.
TEST_CASE("simulate: a run's own tables are rarely unlike it") {
    Program const program = Program::from_text(
        "dims { sequence row }\ndata { y[row] }\nparam { m ~ normal(0, 1) }\nobserve { y ~ normal(m, 1) }\ntable { y = y }\n");
    std::string empty = "y\n";
    for (int row = 0; row < 10; ++row) empty += "0\n";
    Simulated const own = program.with({.text = empty}).simulate(with_tables(40));
    auto const y = column(own, "y", 10);
    std::size_t unlike = 0;
    for (std::size_t d = 0; d < 40; ++d) {
        std::string table = "y\n";
        for (auto const& row : y) table += fmt::format("{}\n", row[d]);
        FitOptions options;
        options.num_samples = 200;
        options.seed = d + 1;
        Fit const fit = program.with({.text = table}).fit(options);
        if (fit.simulate(Csv{.text = table}, {.draws = 200}).text.find("does not make tables") != std::string::npos) ++unlike;
        if (d == 0) CHECK(fit.simulate(Csv{.text = table}, {.draws = 20}).text.find("too few") != std::string::npos);
    }
    CHECK(unlike <= 6);  // of 40 at one in twenty, more than that once in 300
}

TEST_CASE("simulate: a logarithm comes back positive, and the table is written as it was") {
    Program const program = Program::from_text(
        "dims { sequence shop; time t }\ndata { y[shop, t] missing }\nparam { m ~ normal(0, 1) }\nobserve { y[t] ~ normal(m, 1) }\n"
        "table { shop = \"the shop\"; t = order(t); y = log(sales) }\n");
    Csv const table{.text = "t;the shop;sales;note\n2;\"a;b\";1,5;x\n1;\"a;b\";;\"say \"\"hi\"\"\"\n"};
    Simulated const simulated = program.with(table).simulate(with_tables(1));
    Lines const lines = split(simulated.csv, ';');
    REQUIRE(lines.size() == 3);
    CHECK(lines[0] == std::vector<std::string>{"draw", "t", "the shop", "sales", "note", "sales.missing"});
    CHECK(simulated.csv.find("\n1;2;\"a;b\";") != std::string::npos);
    CHECK(simulated.csv.find("\"say \"\"hi\"\"\";1\n") != std::string::npos);
    CHECK(program.with({.text = simulated.csv}).counts() == "2 rows; shop 1, t 2; y 2 observed, 0 missing");
}

TEST_CASE("simulate: a flat prior, and a table that has changed, are refused") {
    std::string const model =
        "dims { sequence row }\ndata { y[row] }\nparam { m ~ flat() }\nobserve { y ~ normal(m, 1) }\ntable { y = y }\n";
    Csv const table{.text = "y\n1\n2\n", .name = "gone.csv"};
    CHECK(code_of([&] { Program::from_text(model).with(table).simulate(); }) == 491);
    auto const path = std::filesystem::temp_directory_path() / "bam_simulate_table.csv";
    bam::save_file(path, "y\n1\n2\n");
    FitOptions const options{.num_warmup = 10, .num_samples = 10};
    Fit const fit = Program::from_text(model).fit(Csv::read(path.string()), options);
    CHECK_FALSE(fit.simulate().text.empty());
    bam::save_file(path, "y\n1\n3\n");
    CHECK(code_of([&] { fit.simulate(); }) == 518);
    CHECK(code_of([&] { fit.simulate(Csv::read(path.string())); }) == 0);
    std::filesystem::remove(path);
}
