// Room for predictive draws: how many there will be need not be known.
#include "predict.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "study.hpp"

using namespace bam;

namespace {

constexpr char const* model = R"(dims { sequence row }
data { x[row]; y[row] missing }
param { a ~ normal(0, 3); b ~ normal(0, 3); sigma ~ half_cauchy(1) }
observe { y ~ normal(a + b * x, sigma) }
table { row = row; x = x; y = y }
)";
constexpr char const* table = "row,x,y\n1,0,0.4\n2,1,1.8\n3,2,\n4,3,6.3\n";
constexpr std::size_t cells = 4;

std::vector<Prediction> record(Problem const& problem, Predictor& predictor, std::size_t draws, std::vector<std::string>& notes) {
    Replica replica(problem, 3, 1, {});
    PredictionRecorder recorder(predictor, problem, replica.inputs(), 0);
    replica.start(0);
    for (std::size_t d = 0; d < draws; ++d) {
        replica.sweep(d);
        recorder.record(d, replica.factors());
    }
    return predictor.summarize(notes);
}

void check_same(std::vector<Prediction> const& a, std::vector<Prediction> const& b) {
    REQUIRE(a.size() == cells);
    REQUIRE(b.size() == cells);
    for (std::size_t k = 0; k < cells; ++k) {
        CHECK(a[k].mean == b[k].mean);
        CHECK(a[k].sd == b[k].sd);
        CHECK(a[k].q5 == b[k].q5);
        CHECK(a[k].q95 == b[k].q95);
    }
}

}  // namespace

TEST_CASE("predict: as many draws as came are used where it was not known how many there would be") {
    auto const study = test::study(model, table);
    std::vector<std::string> notes;
    Predictor open(study->problem, 1, std::nullopt, 5), known(study->problem, 1, 300, 5);
    check_same(record(study->problem, open, 300, notes), record(study->problem, known, 300, notes));
    CHECK(notes.empty());
}

TEST_CASE("predict: when the room is full every other draw goes and that is said") {
    auto const study = test::study(model, table);
    for (std::size_t const draws : {5U, 8U, 10U, 13U}) {
        CAPTURE(draws);
        std::vector<std::string> of_open, of_known;
        // Room for four: of the first eight the even ones, from the ninth on every fourth.
        Predictor open(study->problem, 1, std::nullopt, 5, 4 * cells);
        auto const predictions = record(study->problem, open, draws, of_open);
        std::size_t const stride = draws <= 8 ? 2 : 4;
        std::size_t const kept = (draws + stride - 1) / stride;
        Predictor known(study->problem, 1, draws, 5, (draws * cells + stride - 1) / stride);
        check_same(predictions, record(study->problem, known, draws, of_known));
        REQUIRE(of_open.size() == 1);
        CHECK(of_open.front().find("one draw in " + std::to_string(stride)) != std::string::npos);
        CHECK(kept <= 4);
    }
}

TEST_CASE("predict: chains that kept more or fewer of their draws count alike") {
    auto const study = test::study(model, table);
    Predictor both(study->problem, 2, std::nullopt, 5, 2 * 4 * cells);
    Replica replica(study->problem, 3, 1, {});
    replica.start(0);
    PredictionRecorder first(both, study->problem, replica.inputs(), 0), second(both, study->problem, replica.inputs(), 1);
    for (std::size_t d = 0; d < 16; ++d) {
        replica.sweep(d);
        first.record(d, replica.factors());
        if (d < 4) second.record(d, replica.factors());
    }
    std::vector<std::string> notes;
    auto const predictions = both.summarize(notes);
    REQUIRE(predictions.size() == cells);
    REQUIRE(notes.size() == 1);
    // Of the first draws 0, 4, 8, 12, and of the second 0.
    CHECK(notes.front().find("one draw in 4") != std::string::npos);
}
