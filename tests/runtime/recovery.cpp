// The recovery ladder: each rung by faults on purpose, and that no number changes without a mark.
#include "recovery.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

#include "chain_sweeps.hpp"
#include "climb.hpp"
#include "incidents.hpp"
#include "injected.hpp"
#include "mean_field.hpp"
#include "record.hpp"
#include "studies.hpp"
#include "summary.hpp"
#include "trouble.hpp"
#include "variational.hpp"

using namespace bam;
using namespace bam::test;

namespace {

using Kind = Fault::Kind;
constexpr Kind kinds[] = {Kind::Unfactorable, Kind::NotFinite, Kind::Overflow, Kind::Thrown};

/// The same bits, NaN included.
bool is_same(std::vector<double> const& a, std::vector<double> const& b) {
    return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0);
}
bool is_same(Chain const& a, Chain const& b) { return is_same(a.values, b.values) && is_same(a.log_joint, b.log_joint); }

/// The first draws of a chain.
std::vector<double> head(Chain const& chain, std::size_t draws, std::size_t width) {
    return {chain.values.begin(), chain.values.begin() + static_cast<std::ptrdiff_t>(draws * width)};
}

constexpr char const* line_model = R"(dims { sequence seq; feat }
data { x[seq, feat]; y[seq] missing }
param { b[feat] ~ normal(0, 3); sigma ~ half_cauchy(1) }
observe { y ~ normal(b' * x, sigma) }
table { feat = [one = 1, x = x]; y = y }
)";
constexpr char const* line_table = "x,y\n0,2.1\n1,3.9\n2,6.2\n3,6.9\n4,10.1\n5,10.5\n6,\n";

ChainOptions short_run(std::size_t chains = 4) {
    ChainOptions options;
    options.chains = chains;
    options.num_warmup = 10;
    options.num_samples = 20;
    options.sweeps = 1;
    options.seed = 3;
    options.threads = 1;
    options.starts = 2;
    options.exchange = ReplicaExchange::Off;
    return options;
}

Run run(Study const& study, ChainOptions const& options) { return run_chains(study.problem, options, {}, {}); }

/// What summaries say of a run, in numbers.
std::vector<double> numbers_of(std::vector<SummaryRow> const& rows) {
    std::vector<double> numbers;
    for (SummaryRow const& row : rows) {
        QuantitySummary const& q = row.quantity;
        for (double const value : {q.mean, q.median, q.sd, q.mad, q.q5, q.q95, q.rhat, q.ess_bulk, q.ess_tail}) numbers.push_back(value);
    }
    return numbers;
}

std::vector<double> numbers_of(std::vector<Prediction> const& predictions) {
    std::vector<double> numbers;
    for (Prediction const& p : predictions)
        for (double const value : {p.mean, p.sd, p.q5, p.q50, p.q95}) numbers.push_back(value);
    return numbers;
}

}  // namespace

TEST_CASE("recovery: a climb goes on without the starts that fail") {
    auto const study = study_of({"latent", "small"});
    Model model = study->model;
    ExpectationPlan const plan = plan_expectations(model, study->derivation, study->laid_out, drawn_outputs(study->problem));
    VariationalOptions options;
    options.starts = 3;
    options.max_passes = 50;
    auto const climbed = [&](std::uint64_t first, std::uint64_t last) {
        Injected injected;
        for (std::size_t b = 0; b < study->problem.plan.blocks.size(); ++b) injected.add(Kind::Thrown, 1, b, first, last);
        MeanField field(study->problem, plan);
        return climb(field, options, {}, {});
    };
    // Where there are choices 20 sweeps come before the passes of each start.
    Climb const all = climbed(1000, 1000);
    CHECK(all.failures == std::vector<std::string>(3));
    for (std::size_t lost = 0; lost < 3; ++lost) {
        Climb const others = climbed(20 * lost + 3, 20 * lost + 3);
        REQUIRE(others.starts.size() == 3);
        CHECK(others.chosen != lost);
        for (std::size_t k = 0; k < 3; ++k) {
            CHECK(others.failures[k].empty() == (k != lost));
            if (k != lost) CHECK(others.starts[k] == all.starts[k]);
        }
        CHECK(starts_text(others).find(fmt::format("start {}: failed: rounding hides the prior of ", lost + 1)) != std::string::npos);
        CHECK(judge(others).sentences.at(1) == "1 of 3 starts failed, and is left out.");
    }
    CHECK_THROWS_AS(climbed(0, 1000), HiddenPrior);
}

TEST_CASE("recovery: a sweep done anew leaves every bit as it would have been, in every sampler") {
    std::size_t struck = 0, refused = 0;
    for (Case const& which : cases) {
        auto const study = study_of(which);
        ChainOptions options = short_run(1);
        options.num_samples = 5;
        options.sweep.relaxation = -0.6;
        options.relaxation = -0.6;
        Run const clean = run(*study, options);
        REQUIRE(clean.incidents.empty());
        for (std::size_t b = 0; b < study->problem.plan.blocks.size(); ++b) {
            if (study->problem.plan.layout.variables[study->problem.plan.blocks[b].variable].is_categorical) continue;
            for (Kind const kind : kinds) {
                CAPTURE(which.model);
                CAPTURE(b);
                CAPTURE(static_cast<int>(kind));
                Injected injected;
                injected.add(kind, 1, b, 12).times = 1;
                Run met;
                try {
                    met = run(*study, options);
                } catch (NumericalTrouble const& trouble) {  // a flat prior: this might be the model's fault
                    CHECK(kind == Kind::Unfactorable);
                    CHECK(!trouble.is_of_numbers);
                    ++refused;
                    continue;
                }
                CHECK(is_same(met.chains[0], clean.chains[0]));
                CHECK(is_same(numbers_of(met.predictions), numbers_of(clean.predictions)));
                if (met.incidents.empty()) continue;
                ++struck;
                REQUIRE(met.incidents.size() == 1);
                CHECK(met.incidents[0].remedy == Remedy::Rebuild);
                CHECK(met.incidents[0].phase == Phase::Sampling);
                CHECK(met.incidents[0].sweep == 13);
                CHECK(mark_of(met.incidents) == Mark::Rebuild);
            }
        }
    }
    CHECK(struck > 100);
    CHECK(refused < 10);
}

TEST_CASE("recovery: jitter is the least that helps and is named") {
    auto const study = test::study(line_model, line_table);
    Run const clean = run(*study, short_run());
    std::size_t const width = clean.columns.size();
    for (double const needed : {1e-12, 1e-9, 1e-6}) {
        Injected injected;
        injected.add(Kind::Unfactorable, 2, 0, 15).mended_by = needed;
        Run const met = run(*study, short_run());
        REQUIRE(met.incidents.size() == 1);
        Incident const& incident = met.incidents[0];
        CHECK(incident.remedy == Remedy::Jitter);
        CHECK(incident.chain == 2);
        CHECK(incident.block == "b");
        CHECK(incident.sweep == 16);
        CHECK(incident.times == 1);
        CHECK(incident.amount == doctest::Approx(needed));
        CHECK(mark_of(met.incidents) == Mark::Jitter);
        for (std::size_t c : {std::size_t{0}, std::size_t{2}, std::size_t{3}}) CHECK(is_same(met.chains[c], clean.chains[c]));
        CHECK(head(met.chains[1], 5, width) == head(clean.chains[1], 5, width));
        CHECK(!is_same(met.chains[1], clean.chains[1]));
        // The draw is off by the share that was added, and no more.
        for (std::size_t k = 0; k < width; ++k)
            CHECK(met.chains[1].values[5 * width + k] == doctest::Approx(clean.chains[1].values[5 * width + k]).epsilon(1000 * needed));
    }
    // Of a warmup it is said, and that what is kept is exact.
    Injected injected;
    injected.add(Kind::Unfactorable, 1, 0, 2, 4).mended_by = 1e-10;
    Run const early = run(*study, short_run());
    REQUIRE(early.incidents.size() == 1);
    CHECK(early.incidents[0].phase == Phase::Warmup);
    CHECK(early.incidents[0].times == 3);
    CHECK(mark_of(early.incidents) == Mark::Warmup);
}

TEST_CASE("recovery: jitter is the conditional with a raised diagonal") {
    // One sweep of the block alone: with precision 1 + jitter the draw is that of a prior as much tighter, by its formula.
    auto const study = test::study(
        "dims { sequence seq }\ndata { y[seq] missing }\nparam { m ~ normal(0, 2) }\nobserve { y ~ normal(m, 1) }\n"
        "table { y = y }\n",
        "y\n1\n2\n6\n");
    double const jitter = 0.25;
    double const precision = 3 + 0.25, linear = 9;
    Replica replica(study->problem, 1, 1, {});
    replica.start(0);
    replica.scale_diagonal(0, 1 + jitter);
    for (std::uint64_t i = 0; i < 5; ++i) {
        replica.sweep(i);
        Stream stream(1, 1, i, 0);
        double const raised = precision * (1 + jitter);
        CHECK(replica.state().values[study->problem.plan.blocks[0].variable][0] ==
              doctest::Approx(linear / raised + stream.normal() / std::sqrt(raised)).epsilon(1e-14));
    }
}

TEST_CASE("recovery: a chain goes on from another state after a warmup of its own and says so") {
    auto const study = test::study(line_model, line_table);
    Run const clean = run(*study, short_run());
    std::size_t const width = clean.columns.size();
    Injected injected;
    injected.add(Kind::Thrown, 3, 0, 18).times = tries_of_block;
    Run const met = run(*study, short_run());
    REQUIRE(met.incidents.size() == 1);
    CHECK(met.incidents[0].remedy == Remedy::Restart);
    CHECK(met.incidents[0].chain == 3);
    CHECK(met.incidents[0].sweep == 19);
    CHECK(met.incidents[0].source == "a new start");
    CHECK(met.incidents[0].reason == "injected: numbers that are not finite");
    CHECK(mark_of(met.incidents) == Mark::Restart);
    for (std::size_t c : {std::size_t{0}, std::size_t{1}, std::size_t{3}}) CHECK(is_same(met.chains[c], clean.chains[c]));
    CHECK(met.chains[2].log_joint.size() == clean.chains[2].log_joint.size());
    CHECK(head(met.chains[2], 8, width) == head(clean.chains[2], 8, width));
    for (std::size_t i = 8 * width; i < met.chains[2].values.size(); ++i) CHECK(std::isfinite(met.chains[2].values[i]));
    CHECK(met.chains[2].values[8 * width] != clean.chains[2].values[8 * width]);
}

TEST_CASE("recovery: of a ladder a replica that is lost takes the state of its neighbour") {
    auto const study = study_file(studies / "attention.bam", text_of(studies / "small.csv"));
    ChainOptions options = short_run(2);
    options.exchange = ReplicaExchange::AllAlong;
    options.rungs = 4;
    std::optional<Run> first;
    for (std::size_t const threads : {std::size_t{1}, std::size_t{2}, std::size_t{8}}) {
        options.threads = threads;
        Injected injected;
        injected.add(Kind::NotFinite, 2, 0, start_rounds + 15).replica = 2;
        injected.add(Kind::Thrown, 1, 1, 20).replica = 1;
        Run const met = run(*study, options);
        REQUIRE(!met.incidents.empty());
        bool has_neighbour = false;
        for (Incident const& incident : met.incidents) {
            CHECK(incident.remedy == Remedy::Restart);
            has_neighbour = has_neighbour || incident.source.starts_with("its replica at power");
        }
        CHECK(has_neighbour);
        CHECK(met.incidents[0].chain == 1);
        CHECK(met.incidents[0].phase == Phase::Start);
        if (!first) first = met;
        for (std::size_t c = 0; c < 2; ++c) CHECK(is_same(met.chains[c], first->chains[c]));
        CHECK(to_json(met.incidents) == to_json(first->incidents));
    }
}

TEST_CASE("recovery: a chain found by exchange goes on from the replicas that it met") {
    auto const study = study_file(studies / "attention.bam", text_of(studies / "small.csv"));
    ChainOptions options = short_run(1);
    options.exchange = ReplicaExchange::Start;
    options.num_warmup = start_rounds + 5;  // later than the replicas' own sweeps
    Injected injected;
    injected.add(Kind::Thrown, 1, 0, start_rounds + 8).times = tries_of_block;
    Run const met = run(*study, options);
    REQUIRE(met.incidents.size() == 1);
    CAPTURE(met.incidents[0].source);
    CAPTURE(met.chains[0].start);
    CHECK(met.incidents[0].source.ends_with("before the warmup"));
}

TEST_CASE("recovery: a dropped chain counts nowhere") {
    auto const study = test::study(line_model, line_table);
    Run const clean = run(*study, short_run());
    std::size_t const width = clean.columns.size();
    std::vector<double> predicted;
    for (std::uint64_t const from : {std::uint64_t{3}, std::uint64_t{17}}) {  // in the warmup, and after 7 draws
        Injected injected;
        injected.add(Kind::Thrown, 2, 0, from, UINT64_MAX);
        Run const met = run(*study, short_run());
        REQUIRE(met.incidents.size() == 2);
        CHECK(met.incidents[0].remedy == Remedy::Restart);
        CHECK(met.incidents[0].times == most_restarts);
        CHECK(met.incidents[1].remedy == Remedy::Drop);
        CHECK(met.incidents[1].sweep == from + 1);
        CHECK(mark_of(met.incidents) == Mark::Drop);
        REQUIRE(met.chains[1].is_dropped);
        CHECK(met.chains[1].log_joint.size() == (from < 10 ? 0 : from - 10));
        CHECK(met.chains[1].values == head(clean.chains[1], met.chains[1].log_joint.size(), width));
        // What is pooled is what the other chains have.
        Run kept, others;
        kept.columns = others.columns = clean.columns;
        for (std::size_t c : {std::size_t{0}, std::size_t{2}, std::size_t{3}}) {
            kept.chains.push_back(met.chains[c]);
            others.chains.push_back(clean.chains[c]);
        }
        CHECK(is_same(numbers_of(summarize(kept)), numbers_of(summarize(others))));
        // And so are predictions: draws of the chain before it was dropped change none of them.
        if (predicted.empty()) predicted = numbers_of(met.predictions);
        CHECK(is_same(numbers_of(met.predictions), predicted));
        CHECK(!is_same(numbers_of(met.predictions), numbers_of(clean.predictions)));
    }
}

TEST_CASE("recovery: all chains may be dropped, and threads change nothing") {
    auto const study = test::study(line_model, line_table);
    std::optional<Run> first;
    for (std::size_t const threads : {std::size_t{1}, std::size_t{3}}) {
        ChainOptions options = short_run();
        options.threads = threads;
        Injected injected;
        injected.add(Kind::Overflow, 0, 0, 12, UINT64_MAX);
        Run const met = run(*study, options);
        for (Chain const& chain : met.chains) CHECK(chain.is_dropped);
        CHECK(met.predictions.empty());
        if (!first) first = met;
        CHECK(to_json(met.incidents) == to_json(first->incidents));
    }
}

TEST_CASE("recovery: what the model does not determine is refused as ever") {
    auto const study = test::study(line_model, line_table);
    {
        Injected injected;
        injected.add(Kind::Undetermined, 1, 0, 12);
        CHECK_THROWS_WITH_AS(run(*study, short_run()), "injected: nothing determines it", NumericalTrouble);
    }
    // A flat prior and equal columns: no jitter makes a posterior of it.
    std::string flat = line_model;
    flat.replace(flat.find("normal(0, 3)"), 12, "flat()");
    auto const improper = test::study(flat, "x,y\n1,2.1\n1,3.9\n1,6.2\n1,6.9\n");
    CHECK_THROWS_AS(run(*improper, short_run()), NumericalTrouble);
    // A proper prior determines it: whatever rounding does to it is numbers.
    auto const proper = test::study(line_model, "x,y\n1,2.1\n1,3.9\n1,6.2\n1,6.9\n");
    CHECK(run(*proper, short_run()).incidents.empty());
}

TEST_CASE("recovery: a stop while a chain warms up anew ends it there") {
    auto const study = test::study(line_model, line_table);
    ChainOptions options = short_run(1);
    options.num_warmup = 100000;
    options.num_samples = 10;
    Injected injected;
    injected.add(Kind::Thrown, 1, 0, 100005).times = tries_of_block;
    std::stop_source source;
    options.tell = [&](Incident const&) { source.request_stop(); };
    Run const met = run_chains(study->problem, options, {}, source.get_token());
    CHECK(met.chains[0].is_interrupted);
    CHECK(!met.chains[0].is_dropped);
    CHECK(met.chains[0].log_joint.size() == 5);
    REQUIRE(met.incidents.size() == 1);
    CHECK(met.incidents[0].remedy == Remedy::Restart);
}

TEST_CASE("recovery: nothing is told of a run without trouble") {
    CHECK(mark_of(std::vector<Incident>{}) == Mark::None);
    CHECK(sentences_of(std::vector<Incident>{}).empty());
    CHECK(advice_of({}).empty());
    CHECK(mark_json({}).dump() == R"({"degraded":false,"recovery":"none"})");
}

TEST_CASE("recovery: incidents come back from JSON as they were") {
    std::vector<Incident> const incidents{{1, Phase::Start, Remedy::Restart, "W_k", 12, 3, 0, "a new start", "why"},
                                          {2, Phase::Sampling, Remedy::Jitter, "b", 7, 2, 1e-12, "", "r"},
                                          {2, Phase::Warmup, Remedy::Rebuild, "", 3, 1, 0, "", "r"},
                                          {3, Phase::Sampling, Remedy::Drop, "b", 9, 1, 0, "", "r"},
                                          {0, Phase::Sampling, Remedy::Mode, "", 0, 1, 0, "", "r"}};
    CHECK(to_json(read_incidents(to_json(incidents))) == to_json(incidents));
    CHECK(mark_of(incidents) == Mark::Degraded);
    for (Incident const& incident : incidents)
        CHECK(to_line(incident).find("thin") == std::string::npos);  // rstan would take it for a setting
}

TEST_CASE("recovery: trouble while a chain warms up anew has the sweep at which it had stood") {
    auto const study = test::study(line_model, line_table);
    Injected injected;
    injected.add(Kind::Thrown, 1, 0, 18).times = tries_of_block;
    std::uint64_t const of_other_warmup = (std::uint64_t{1} << 61) + (std::uint64_t{1} << 50);
    injected.add(Kind::NotFinite, 1, 0, of_other_warmup + 7).times = 1;
    Run const met = run(*study, short_run(1));
    REQUIRE(met.incidents.size() == 2);
    CHECK(met.incidents[0].remedy == Remedy::Restart);
    CHECK(met.incidents[1].remedy == Remedy::Rebuild);
    for (Incident const& incident : met.incidents) CHECK(incident.sweep == 19);
}

TEST_CASE("recovery: no start is tried twice") {
    auto const study = study_file(studies / "attention.bam", text_of(studies / "small.csv"));
    ChainOptions options = short_run(1);
    options.num_warmup = 0;
    Injected injected;
    // Both short runs fail, and then the first sweep of the chain: its second new start is its first draw.
    std::uint64_t const of_starts = std::uint64_t{1} << 62;
    for (std::uint64_t const sweep : {of_starts, of_starts + 50, std::uint64_t{0}})
        injected.add(Kind::Thrown, 1, 0, sweep).times = tries_of_block;
    Run const met = run(*study, options);
    REQUIRE(!met.chains[0].log_joint.empty());
    Replica other(study->problem, options.seed, 1, {});
    Recorder recorder(study->problem, other.inputs());
    std::vector<double> row(recorder.columns().size());
    for (std::uint64_t const attempt : {std::uint64_t{1}, std::uint64_t{2}}) {
        other.start(options.starts + attempt);
        recorder.record(other.state(), row.data());
        CHECK((row == head(met.chains[0], 1, row.size())) == (attempt == 2));
    }
}
