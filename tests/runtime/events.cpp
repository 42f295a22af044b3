// The stream of events of a fit, as a program that follows it reads it.
#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "process.hpp"

namespace fs = std::filesystem;
using Json = nlohmann::json;

namespace {

struct Followed {
    bam::test::Ended ended;
    std::vector<Json> events;

    std::vector<Json> of(std::string const& name) const {
        std::vector<Json> list;
        for (Json const& event : events)
            if (event["event"] == name) list.push_back(event);
        return list;
    }
};

Followed follow(std::vector<std::string> const& flags) {
    fs::path const folder = fs::temp_directory_path() / ("bam_events_" + std::to_string(::getpid()));
    fs::create_directories(folder);
    std::ofstream(folder / "line.bam") << "dims { sequence seq }\ndata { x[seq]; y[seq] missing }\n"
                                          "param { a ~ normal(0, 10); b ~ normal(0, 10); sigma ~ half_cauchy(1) }\n"
                                          "observe { y ~ normal(a + b * x, sigma) }\ntable { x = x; y = y }\n";
    std::ofstream(folder / "line.csv") << "x,y\n0,1.1\n1,2.9\n2,5.2\n3,6.8\n4,9.1\n";
    std::vector<std::string> command{BAM_PROGRAM, "fit", "line.bam", "--data", "line.csv"};
    if (std::find(flags.begin(), flags.end(), "--events") == flags.end()) command.insert(command.end(), {"--events", "events.jsonl"});
    command.insert(command.end(), flags.begin(), flags.end());
    Followed followed;
    followed.ended = bam::test::run(command, {.folder = folder.string()});
    std::ifstream file(folder / "events.jsonl");
    for (std::string line; std::getline(file, line);) followed.events.push_back(Json::parse(line));
    fs::remove_all(folder);
    return followed;
}

}  // namespace

TEST_CASE("events: from the start to the end of every chain") {
    Followed const run = follow({"--chains", "2", "--num-warmup", "100", "--num-samples", "100"});
    REQUIRE(run.ended.code == 0);
    REQUIRE(run.events.size() > 10);
    CHECK(run.events.front()["event"] == "start");
    CHECK(run.events.front()["counts"] == "5 rows; seq 5; y 5 observed, 0 missing");
    CHECK(run.events.front()["num_samples"] == 100);
    CHECK(run.events.front()["memory"].get<double>() > 1e5);
    auto const progress = run.of("progress");
    CHECK(progress.size() == 42);
    double before = 0;
    int ends = 0;
    for (Json const& event : progress) {
        CHECK(event["warmup"] == (event["iteration"].get<int>() <= 100));
        CHECK(event["log_joint"].is_number());
        CHECK(event["seconds_per_iteration"].get<double>() >= 0);
        CHECK(event["seconds"].get<double>() >= before);
        before = event["seconds"];
        ends += event["iteration"] == event["total"] ? 1 : 0;
    }
    CHECK(ends == 2);
    Json const& end = run.events.back();
    CHECK(end["event"] == "end");
    CHECK(end["draws"] == 100);
    CHECK(end["rhat"].get<double>() > 0.9);
    CHECK(end["interrupted"] == false);
}

TEST_CASE("events: what a chain predicts so far and by step at its end") {
    Followed const run = follow({"--chains", "2", "--num-warmup", "100", "--num-samples", "100", "--warn", "p_waic>0.1,elpd<-1000"});
    REQUIRE(run.ended.code == 0);
    auto const scores = run.of("score");
    CHECK(scores.size() == 40);
    std::size_t ends = 0;
    for (Json const& score : scores) {
        CHECK(score["elpd"].is_number());
        CHECK(score["p_waic"].get<double>() > 0);
        CHECK(score["state_dimension"].is_null());
        if (!score.contains("elpd_of_step")) continue;
        ++ends;
        CHECK(score["draws"] == 100);
        CHECK(score["elpd_of_step"].size() == 1);  // rows are sequences of one step
        CHECK(score["elpd_up_to_step"].back().get<double>() == doctest::Approx(score["elpd"].get<double>()));
    }
    CHECK(ends == 2);
    REQUIRE(run.of("warning").size() == 1);
    CHECK(run.of("warning").front()["condition"] == "p_waic>0.1");
    CHECK(run.ended.err.find("effective parameters by WAIC") != std::string::npos);
    // Asked for by a threshold alone, without a file.
    Followed const quiet = follow({"--chains", "1", "--backend", "vi", "--warn", "p_waic>0.1"});
    CHECK(quiet.of("score").empty());
}

TEST_CASE("events: looks and warnings and an error in place of the end") {
    Followed const until = follow({"--chains", "2", "--until", "ess>100", "--warn", "memory>1K"});
    REQUIRE(until.ended.code == 0);
    auto const checks = until.of("check");
    REQUIRE(!checks.empty());
    CHECK(checks.back()["ess"].get<double>() > 100);
    for (std::size_t k = 0; k + 1 < checks.size(); ++k) CHECK(checks[k]["ess"].get<double>() <= 100);
    CHECK(until.of("start").front()["until"] == "ess>100");
    // The draws of two chains take more than a kilobyte, and once is enough.
    REQUIRE(until.of("warning").size() == 1);
    CHECK(until.of("warning").front()["condition"] == "memory>1K");
    CHECK(until.of("warning").front()["value"].get<double>() > 1024);
    CHECK(until.ended.err.find("bam: warning: memory>1K: ") != std::string::npos);

    Followed const failed = follow({"--chains", "1000", "--num-samples", "1000000000"});
    CHECK(failed.ended.code == 64);
    CHECK(failed.events.size() == 2);
    CHECK(failed.events.back()["event"] == "error");
    CHECK(failed.events.back()["exit"] == 64);

    Followed const vi = follow({"--backend", "vi"});
    CHECK(vi.ended.code == 0);
    CHECK(vi.events.back()["event"] == "end");
    REQUIRE(!vi.of("progress").empty());
    CHECK(vi.of("progress").front()["elbo"].is_number());
}

TEST_CASE("events: the last score of every chain has its steps, however a chain ends") {
    struct Case {
        std::vector<std::string> flags;
        std::size_t draws;
    };
    for (Case const& one : {Case{{"--num-samples", "100", "--thin", "7"}, 15}, Case{{"--num-samples", "101", "--thin", "10"}, 11},
                            Case{{"--until", "ess>1"}, 100}, Case{{"--until", "ess>1", "--thin", "3"}, 100},
                            Case{{"--until", "ess>1000000", "--max-draws", "120", "--thin", "3"}, 120}}) {
        CAPTURE(one.flags[1]);
        std::vector<std::string> command{"--chains", "2", "--num-warmup", "100"};
        command.insert(command.end(), one.flags.begin(), one.flags.end());
        Followed const run = follow(command);
        REQUIRE(run.ended.code == 0);
        std::map<int, Json> last;
        for (Json const& score : run.of("score")) {
            if (last.contains(score["chain"])) CHECK_FALSE(last[score["chain"]].contains("elpd_of_step"));
            last[score["chain"]] = score;
        }
        REQUIRE(last.size() == 2);
        for (auto const& [chain, score] : last) {
            CHECK(score["draws"] == one.draws);
            REQUIRE(score.contains("elpd_of_step"));
            CHECK(score["elpd_up_to_step"].back().get<double>() == doctest::Approx(score["elpd"].get<double>()));
        }
    }
}

TEST_CASE("events: with --until reports come at each look") {
    Followed const run = follow({"--chains", "2", "--num-warmup", "100", "--until", "ess>1000000", "--max-draws", "400"});
    REQUIRE(run.ended.code == 0);
    std::vector<int> draws, iterations;
    for (Json const& score : run.of("score"))
        if (score["chain"] == 1) draws.push_back(score["draws"]);
    CHECK(draws == std::vector<int>{100, 150, 225, 337, 400});
    for (Json const& progress : run.of("progress"))
        if (progress["chain"] == 1 && !progress["warmup"]) iterations.push_back(progress["iteration"]);
    CHECK(iterations == std::vector<int>{200, 250, 325, 437, 500});
}

TEST_CASE("events: replicas that exchange say how often in every phase") {
    Followed const run = follow(
        {"--chains", "2", "--num-warmup", "100", "--num-samples", "200", "--tempering", "--format", "json", "--warn", "swap_rate<0.9999"});
    REQUIRE(run.ended.code == 0);
    auto const events = run.of("exchange");
    REQUIRE(events.size() == 6);
    Json const chains = Json::parse(run.ended.out)["exchange"]["chains"];
    for (std::string const phase : {"start", "warmup", "sampling"}) {
        std::size_t count = 0;
        for (Json const& event : events) {
            if (event["phase"] != phase) continue;
            ++count;
            REQUIRE(event["swap_rates"].size() + 1 == event["powers"].size());
            double refused = 0;
            for (double const rate : event["swap_rates"]) {
                CHECK(rate >= 0);
                CHECK(rate <= 1);
                refused += 1 - rate;
            }
            CHECK(event["barrier"].get<double>() == doctest::Approx(refused));
            if (phase != "sampling") continue;
            Json const& same = chains[event["chain"].get<std::size_t>() - 1];  // as exchange.json has it
            for (char const* key : {"powers", "swap_rates", "round_trips", "barrier"}) CHECK(event[key] == same[key]);
        }
        CHECK(count == 2);
    }
    REQUIRE(run.of("warning").size() == 1);
    CHECK(run.ended.err.find("bam: warning: swap_rate<0.9999: two neighbours exchanged in ") != std::string::npos);
    // A mean of one block: without the flag nothing is exchanged, and nothing is said.
    CHECK(follow({"--chains", "1", "--num-samples", "10"}).of("exchange").empty());
}

TEST_CASE("events: a file that takes no more is said and ends with 74") {
    Followed const run = follow({"--chains", "1", "--num-samples", "100", "--events", "/dev/full"});
    CHECK(run.ended.code == 74);
    CHECK(run.ended.out.find("sigma") != std::string::npos);
    std::string const said = "bam: cannot write events to `/dev/full`: No space left on device";
    REQUIRE(run.ended.err.find(said) != std::string::npos);
    CHECK(run.ended.err.find(said, run.ended.err.find(said) + 1) == std::string::npos);
}
