// The recovery ladder as users see it: every file, every verb, the exit codes. The program has faults on purpose (tests/faulty.cpp).
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <sstream>

#include "process.hpp"

namespace fs = std::filesystem;
using Json = nlohmann::json;
using bam::test::Ended;

namespace {

std::string text_of(fs::path const& path) {
    std::ifstream in(path, std::ios::binary);
    std::ostringstream text;
    text << in.rdbuf();
    return text.str();
}

/// A folder with a model and a table, and the program with faults.
class Bench {
  public:
    explicit Bench(std::string const& name, std::string const& noise = "normal(b' * x, sigma)")
        : folder_(fs::temp_directory_path() / fmt::format("bam_recovery_{}_{}", name, ::getpid())) {
        fs::remove_all(folder_);
        fs::create_directories(folder_);
        std::ofstream(folder_ / "line.bam") << "dims { sequence seq; feat }\ndata { x[seq, feat]; y[seq] missing }\n"
                                               "param { b[feat] ~ normal(0, 3); sigma ~ half_cauchy(1) }\n"
                                               "observe { y ~ "
                                            << noise << " }\ntable { feat = [one = 1, x = x]; y = y }\n";
        std::ofstream(folder_ / "line.csv") << "x,y\n0,2.1\n1,3.9\n2,6.2\n3,6.9\n4,10.1\n5,10.5\n6,\n";
    }
    Bench(Bench const&) = delete;
    Bench& operator=(Bench const&) = delete;
    ~Bench() { fs::remove_all(folder_); }

    /// `faults` as tests/faulty.cpp reads them; "" for none.
    Ended run(std::vector<std::string> const& arguments, std::string const& faults = "") const {
        std::vector<std::string> command{BAM_FAULTY_PROGRAM};
        command.insert(command.end(), arguments.begin(), arguments.end());
        bam::test::Start start{.folder = folder_.string()};
        start.environment = {"BAM_FAULTS=" + (faults.empty() ? "0 99 0 0 0 0" : faults)};
        return bam::test::run(command, start);
    }
    Ended fit(std::string const& out, std::string const& faults = "", std::vector<std::string> const& more = {}) const {
        std::vector<std::string> arguments{"fit",      "line.bam", "--data",    "line.csv", "--num-warmup", "50", "--num-samples", "60",
                                           "--sweeps", "1",        "--threads", "2",        "-o",           out};
        arguments.insert(arguments.end(), more.begin(), more.end());
        return run(arguments, faults);
    }
    /// By name; without what differs from run to run: times, and the folder's name.
    std::map<std::string, std::string> files(std::string const& out) const {
        std::map<std::string, std::string> texts;
        for (auto const& file : fs::directory_iterator(folder_ / out)) {
            std::string text = text_of(file.path());
            text = std::regex_replace(text, std::regex("[0-9.]+ seconds"), "seconds");
            text = std::regex_replace(text, std::regex("\"seconds\": [0-9.e-]+"), "\"seconds\": 0");
            text = std::regex_replace(text, std::regex("file = " + out + "/"), "file = ");
            texts[file.path().filename().string()] = text;
        }
        return texts;
    }
    Json config(std::string const& out) const { return Json::parse(text_of(folder_ / out / "config.json")); }
    fs::path const& folder() const { return folder_; }

  private:
    fs::path folder_;
};

/// The word of the mark stands in a column, a comment or a key of its own.
bool has_mark(std::string const& name, std::string const& text, std::string const& mark) {
    if (name.ends_with(".json")) return Json::parse(text).at("recovery") == mark;
    if (text.starts_with("#")) return text.find("# bam_recovery = " + mark + "\n") != std::string::npos;
    std::size_t const end = text.find('\n');
    if (!text.substr(0, end).ends_with(",recovery")) return false;
    for (std::size_t at = end + 1; at < text.size(); at = text.find('\n', at) + 1)
        if (!std::string_view(text).substr(at, text.find('\n', at) - at).ends_with("," + mark)) return false;
    return true;
}

/// "KIND CHAIN BLOCK FIRST LAST TIMES"
constexpr char const* thrown_for_all = "3 0 0 70 -1 -1";
constexpr char const* thrown_for_second = "3 2 0 70 -1 -1";

}  // namespace

TEST_CASE("recovery files: a clean run says that it is one and has no mark") {
    Bench const bench("clean");
    Ended const ended = bench.fit("run", "", {"--format", "json"});
    CHECK(ended.code == 0);
    Json const json = Json::parse(ended.out);
    CHECK(json["degraded"] == false);
    CHECK(json["verdict"]["degraded"] == false);
    CHECK(json["verdict"]["recovery"] == "none");
    CHECK(json["verdict"]["incidents"].empty());
    CHECK(bench.config("run")["degraded"] == false);
    for (auto const& [name, text] : bench.files("run"))
        if (!name.ends_with(".json")) CHECK(text.find("recovery") == std::string::npos);
    Json const predicted = Json::parse(bench.run({"predict", "run", "--data", "line.csv", "--format", "json"}).out);
    CHECK(predicted["degraded"] == false);
}

TEST_CASE("recovery files: where no chain is left a mode stands in and everything says so") {
    Bench const bench("degraded");
    Ended const ended = bench.fit("run", thrown_for_all, {"--events", "events.jsonl"});
    CHECK(ended.code == 2);
    CHECK(ended.out.find("\nverdict: degraded: no chain could be drawn to its end") != std::string::npos);
    auto const files = bench.files("run");
    std::set<std::string> const expected{"config.json",   "map.json",      "mode.csv",      "summary.csv",  "predictions.csv",
                                         "dropped_1.csv", "dropped_2.csv", "dropped_3.csv", "dropped_4.csv"};
    std::set<std::string> names;
    for (auto const& [name, text] : files) {
        CAPTURE(name);
        names.insert(name);
        CHECK(has_mark(name, text, "degraded"));
    }
    CHECK(names == expected);
    CHECK(bench.config("run")["degraded"] == true);
    CHECK(files.at("mode.csv").find("# bam_degraded = true\n") != std::string::npos);
    CHECK(files.at("map.json").find("\"degraded\": true") != std::string::npos);
    std::string const events = text_of(bench.folder() / "events.jsonl");
    CHECK(events.find(R"("event":"incident")") != std::string::npos);
    CHECK(events.find(R"("remedy":"mode")") != std::string::npos);
    CHECK(events.find(R"("degraded":true)") != std::string::npos);

    // Verbs that read it repeat the mark, or refuse.
    std::vector<std::vector<std::string>> const readers{{"summary", "run"},
                                                        {"predict", "run", "--data", "line.csv"},
                                                        {"simulate", "run", "--data", "line.csv", "--draws", "20"},
                                                        {"diagnose", "run"}};
    for (auto arguments : readers) {
        for (bool const as_json : {false, true}) {
            CAPTURE(arguments.front());
            if (as_json) arguments.insert(arguments.end(), {"--format", "json"});
            Ended const read = bench.run(arguments);
            CHECK(read.code == 2);
            CHECK(read.out.find("degraded") != std::string::npos);
            if (as_json) CHECK(read.out.find("\"degraded\": false") == std::string::npos);
        }
    }
    for (std::vector<std::string> const& arguments : std::vector<std::vector<std::string>>{{"compare", "run"},
                                                                                           {"priors", "run", "--as", "learnt"},
                                                                                           {"score", "run", "--data", "line.csv"},
                                                                                           {"diagnose", "run", "--calibration"},
                                                                                           {"diagnose", "run", "--predictive-checks"},
                                                                                           {"diagnose", "run", "--prior-sensitivity"}}) {
        CAPTURE(arguments.front());
        Ended const refused = bench.run(arguments);
        CHECK(refused.code == 64);
        CHECK(refused.err.find("BAM0559") != std::string::npos);
        CHECK(refused.err.find("injected: numbers that are not finite") != std::string::npos);
    }
}

TEST_CASE("recovery files: without a mode to fall back to the error is that of the chains") {
    Bench const bench("no_mode", "student_t(4, b' * x, sigma)");
    Ended const ended = bench.fit("run", thrown_for_all);
    CHECK(ended.code == 65);
    CHECK(ended.err.find("error[BAM0482]: injected: numbers that are not finite") != std::string::npos);
    CHECK(!fs::exists(bench.folder() / "run"));
}

TEST_CASE("recovery files: a dropped chain is kept apart and every reader of the run is told") {
    Bench const bench("dropped");
    Ended const ended = bench.fit("run", thrown_for_second, {"--format", "json"});
    CHECK(ended.code == 0);
    CHECK(bench.fit("strict", thrown_for_second, {"--strict"}).code == 2);
    Json const json = Json::parse(ended.out);
    CHECK(json["verdict"]["recovery"] == "drop");
    CHECK(json["verdict"]["converged"] == false);
    CHECK(json["verdict"]["chains"] == 3);
    auto const files = bench.files("run");
    CHECK(!files.contains("chain_2.csv"));
    REQUIRE(files.contains("dropped_2.csv"));
    CHECK(files.at("dropped_2.csv").find("# bam_dropped = 1\n") != std::string::npos);
    CHECK(files.at("dropped_2.csv").find("num_samples = 20\n") != std::string::npos);
    for (auto const& [name, text] : files) {
        CAPTURE(name);
        CHECK(has_mark(name, text, "drop"));
    }
    // The other chains have the draws of a run without trouble.
    bench.fit("clean");
    auto const clean = bench.files("clean");
    auto const draws = [](std::string text) { return std::regex_replace(text, std::regex("#[^\n]*\n"), ""); };
    for (char const* name : {"chain_1.csv", "chain_3.csv", "chain_4.csv"}) CHECK(draws(files.at(name)) == draws(clean.at(name)));

    Ended const summary = bench.run({"summary", "run"});
    CHECK(summary.code == 0);
    CHECK(summary.out.find("verdict: not whole: chain 2 was dropped. Of the others:") != std::string::npos);
    CHECK(bench.run({"summary", "run", "--strict"}).code == 2);
    for (std::vector<std::string> const& arguments : std::vector<std::vector<std::string>>{{"diagnose", "run"},
                                                                                           {"diagnose", "run", "--calibration"},
                                                                                           {"diagnose", "run", "--prior-sensitivity"},
                                                                                           {"diagnose", "run", "--predictive-checks"},
                                                                                           {"compare", "run"},
                                                                                           {"priors", "run", "--as", "learnt"},
                                                                                           {"simulate", "run", "--data", "line.csv"}}) {
        CAPTURE(arguments.front());
        Ended const read = bench.run(arguments);
        CHECK(read.code == 0);
        CHECK(std::regex_replace(read.out, std::regex("\n# ?"), " ").find("was dropped") != std::string::npos);
    }
    Ended const predicted = bench.run({"predict", "run", "--data", "line.csv"});
    CHECK(has_mark("predictions.csv", predicted.out, "drop"));
    CHECK(predicted.err.find("was dropped") != std::string::npos);
}

TEST_CASE("recovery files: no fault changes a number without a mark") {
    Bench const bench("property");
    REQUIRE(bench.fit("clean").code == 0);
    auto const clean = bench.files("clean");
    std::set<std::string> marks;
    for (int kind = 0; kind < 4; ++kind) {
        for (int const first : {10, 80}) {
            for (int const times : {1, 2, 4, 9, 18, -1}) {
                std::string const faults = fmt::format("{} 2 0 {} {} {}", kind, first, times == -1 ? -1 : first, times);
                CAPTURE(faults);
                Ended const ended = bench.fit("run", faults);
                REQUIRE((ended.code == 0 || ended.code == 2));
                std::string const mark = bench.config("run")["recovery"];
                marks.insert(mark);
                CHECK(mark != "none");
                CHECK(ended.out.find("Chain 2") != std::string::npos);
                for (auto const& [name, text] : bench.files("run")) {
                    CAPTURE(name);
                    CHECK((has_mark(name, text, mark) || (clean.contains(name) && clean.at(name) == text)));
                }
            }
        }
    }
    CHECK(marks == std::set<std::string>{"rebuild", "warmup", "jitter", "restart", "drop"});
}

TEST_CASE("recovery files: chains that wait for one another do not wait for one that was dropped") {
    Bench const bench("until");
    std::map<std::string, std::string> first;
    for (char const* threads : {"1", "2", "4"}) {
        std::vector<std::string> const arguments{"fit",       "line.bam", "--data",      "line.csv", "--num-warmup", "50",
                                                 "--until",   "ess>300",  "--max-draws", "2000",     "--sweeps",     "1",
                                                 "--threads", threads,    "-o",          "run"};
        for (char const* faults : {"3 2 0 70 -1 -1", "3 3 0 170 -1 -1", "3 1 0 20 -1 -1"}) {
            Ended const ended = bench.run(arguments, faults);
            CHECK(ended.code == 0);
            std::string all;
            for (auto const& [name, text] : bench.files("run")) all += name + text;
            auto const [known, is_new] = first.try_emplace(faults, all);
            CHECK(known->second == all);
        }
    }
}
