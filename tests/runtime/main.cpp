// The program as people run it: exit codes, what is written and what is left alone, signals, the same bits on any number of threads.
#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "process.hpp"

namespace fs = std::filesystem;

namespace {

constexpr char const* line_model = R"(model line
dims {
  sequence seq
  time t
}
data {
  x[seq, t]
  y[seq, t] missing
}
param {
  a     ~ normal(0, 10)
  b     ~ normal(0, 10)
  sigma ~ half_cauchy(1)
}
observe {
  y[t] ~ normal(a + b * x[t], sigma)
}
table {
  seq = id
  t   = day
  x   = x
  y   = y
}
)";

constexpr char const* line_table =
    "id,day,x,y\n"
    "p,1,0,1.1\np,2,1,2.9\np,3,2,5.2\np,4,3,\np,5,4,9.1\n"
    "q,1,0,0.8\nq,2,1,3.1\nq,3,2,4.9\nq,4,3,7.2\n";

/// A folder with a model and a table, gone afterwards.
class Folder {
  public:
    Folder() {
        static int count = 0;
        path_ = fs::temp_directory_path() / ("bam_test_" + std::to_string(::getpid()) + "_" + std::to_string(++count));
        fs::create_directories(path_);
        write("line.bam", line_model);
        write("line.csv", line_table);
    }
    Folder(Folder const&) = delete;
    Folder& operator=(Folder const&) = delete;
    ~Folder() {
        std::error_code error;
        fs::permissions(path_, fs::perms::owner_all, error);
        fs::remove_all(path_, error);
    }

    fs::path operator/(std::string const& name) const { return path_ / name; }
    void write(std::string const& name, std::string const& text) const { std::ofstream(path_ / name, std::ios::binary) << text; }
    std::string read(std::string const& name) const {
        std::ifstream file(path_ / name, std::ios::binary);
        return {std::istreambuf_iterator<char>(file), {}};
    }
    std::vector<std::string> names(std::string const& folder = ".") const {
        std::vector<std::string> list;
        for (auto const& entry : fs::directory_iterator(path_ / folder)) list.push_back(entry.path().filename().string());
        std::sort(list.begin(), list.end());
        return list;
    }

    /// Runs bam with the words of `line`.
    bam::test::Ended bam(std::string const& line, std::string const& input = "/dev/null") const { return run(line, {.input = input}); }
    /// The same, interrupted once it has said `text` on standard error.
    bam::test::Ended interrupt(std::string const& line, std::string const& text) const { return run(line, {.interrupted_at = text}); }

  private:
    bam::test::Ended run(std::string const& line, bam::test::Start start) const {
        std::vector<std::string> command{BAM_PROGRAM};
        std::istringstream words(line);
        for (std::string word; words >> word;) command.push_back(word);
        start.folder = path_.string();
        start.environment = {"NO_COLOR=1", "TERM=dumb"};
        return bam::test::run(command, start);
    }

    fs::path path_;
};

constexpr char const* short_run = " --num-warmup 50 --num-samples 100 --chains 2 ";

bool has(std::string const& text, std::string const& part) { return text.find(part) != std::string::npos; }

/// The lines of a chain's file but those on time, which differ from run to run, and on its own name.
std::string draws_of(std::string const& text) {
    std::istringstream lines(text);
    std::string kept;
    for (std::string line; std::getline(lines, line);)
        if (!has(line, "seconds") && !has(line, "#   file =")) kept += line + "\n";
    return kept;
}

}  // namespace

TEST_CASE("main: flags, verbs and values that are wrong end with 64 and say what was meant") {
    Folder const folder;
    auto const flag = folder.bam("fit line.bam --data line.csv --num-sample 100");
    CHECK(flag.code == 64);
    CHECK(has(flag.err, "did you mean `--num-samples`?"));
    auto const verb = folder.bam("ft line.bam");
    CHECK(verb.code == 64);
    CHECK(has(verb.err, "there is no verb `ft`"));
    CHECK(has(verb.err, "did you mean `fit`?"));
    for (char const* line : {"fit line.bam --data line.csv --chains 0",
                             "fit line.bam --data line.csv --chains two",
                             "fit line.bam --data line.csv --chains -1",
                             "fit line.bam --data line.csv --thin 1.5",
                             "fit line.bam --data line.csv --format=jsn",
                             "check line.bam --dim unit",
                             "check line.bam --dump=tree",
                             "fit line.bam",
                             "fit --data line.csv",
                             "fit line.bam line.bam --data line.csv",
                             "check",
                             "predict",
                             "fit - --data -",
                             "fit line.bam --data",
                             "check line.bam --frobnicate=3",
                             "--frobnicate",
                             "help nothing",
                             "explain line.bam --block c",
                             "check line.bam --priors strong",
                             "-x"}) {
        CAPTURE(line);
        auto const ended = folder.bam(line);
        CHECK(ended.code == 64);
        CHECK(ended.out.empty());
        CHECK(has(ended.err, "error[BAM05"));
    }
    CHECK(folder.bam("").code == 64);
}

TEST_CASE("main: help and version are results") {
    Folder const folder;
    CHECK(has(folder.bam("--version").out, "bam "));
    for (char const* line : {"--help", "help", "help fit", "fit --help", "-h"}) {
        CAPTURE(line);
        auto const ended = folder.bam(line);
        CHECK(ended.code == 0);
        CHECK(ended.err.empty());
        CHECK(has(ended.out, "Usage: bam"));
    }
}

TEST_CASE("main: each kind of failure has its exit code") {
    Folder const folder;
    folder.write("wrong.bam", "dims {\n  time t\n}\nobserve {\n  y[t] ~ normal(0, 1)\n}\n");
    folder.write("wrong.csv", "id,day,x,y\np,1,zero,1\n");
    folder.write("no_inputs.csv", "id,day,x,y\np,1,,1\n");
    CHECK(folder.bam("check wrong.bam").code == 1);
    CHECK(folder.bam("check line.bam wrong.bam").code == 1);
    CHECK(folder.bam("check absent.bam").code == 66);
    CHECK(folder.bam("fit line.bam --data absent.csv").code == 66);
    CHECK(folder.bam("summary absent").code == 66);
    CHECK(folder.bam("check line.bam --data wrong.csv").code == 65);
    CHECK(folder.bam("fit line.bam --data no_inputs.csv").code == 65);
    CHECK(folder.bam("fit line.bam --data line.csv -o line.csv").code == 73);
    CHECK(folder.bam("fit line.bam --data line.csv --strict --num-warmup 0 --num-samples 5").code == 2);
    CHECK(has(folder.bam("check lne.bam").err, "did you mean `line.bam`?"));
    CHECK(has(folder.bam("check line.bam wrong.bam").out, "line.bam: ok"));
}

TEST_CASE("main: standard output that cannot be written is an error") {
    if (!fs::exists("/dev/full")) return;
    Folder const folder;
    auto const ended = bam::test::run({"sh", "-c", std::string(BAM_PROGRAM) + " help > /dev/full"}, {.folder = (folder / ".").string()});
    CHECK(ended.code == 74);
}

TEST_CASE("main: models and tables are read from standard input") {
    Folder const folder;
    CHECK(folder.bam("check -", "line.bam").code == 0);
    CHECK(has(folder.bam("check line.bam --data -", "line.csv").out, "8 observed, 1 missing"));
    auto const fitted = folder.bam("fit - --data line.csv -o run" + std::string(short_run), "line.bam");
    CHECK(fitted.code == 0);
    CHECK(has(folder.bam("predict run --data -", "line.csv").out, "seq,t,output,observed,mean"));
}

TEST_CASE("main: a run folder has all its files and can be read and used again") {
    Folder const folder;
    auto const fitted = folder.bam("fit line.bam --data line.csv -o runs/one" + std::string(short_run));
    CHECK(fitted.code == 0);
    CHECK(has(fitted.out, "9 rows; seq 2, t 4 to 5; y 8 observed, 1 missing"));
    CHECK(has(fitted.out, "seed 1"));
    CHECK(has(fitted.out, "verdict: "));
    CHECK(folder.names("runs/one") ==
          std::vector<std::string>{"chain_1.csv", "chain_2.csv", "config.json", "predictions.csv", "summary.csv"});
    auto const summed = folder.bam("summary runs/one");
    CHECK(summed.code == 0);
    CHECK(has(fitted.out, summed.out.substr(0, summed.out.find('\n'))));
    CHECK(has(folder.bam("summary runs/one --format=json").out, "\"variable\": \"sigma\""));

    SUBCASE("a shorter run takes its place, and leaves no chain of it") {
        CHECK(folder.bam("fit line.bam --data line.csv -o runs/one --num-warmup 5 --num-samples 5 --chains 1").code == 0);
        CHECK(folder.names("runs/one") == std::vector<std::string>{"chain_1.csv", "config.json", "predictions.csv", "summary.csv"});
        CHECK(folder.bam("summary runs/one").code == 0);
    }
    SUBCASE("files that others put there stay") {
        folder.write("runs/one/plot.txt", "mine");
        CHECK(folder.bam("fit line.bam --data line.csv -o runs/one" + std::string(short_run)).code == 0);
        CHECK(folder.read("runs/one/plot.txt") == "mine");
    }
    SUBCASE("chains of another run are not taken for its own") {
        CHECK(folder.bam("fit line.bam --data line.csv -o two --seed 2" + std::string(short_run)).code == 0);
        fs::copy_file(folder / "two/chain_2.csv", folder / "runs/one/chain_2.csv", fs::copy_options::overwrite_existing);
        auto const ended = folder.bam("summary runs/one");
        CHECK(ended.code == 65);
        CHECK(has(ended.err, "BAM0533"));
    }
    SUBCASE("a missing chain is missed") {
        fs::remove(folder / "runs/one/chain_2.csv");
        CHECK(folder.bam("summary runs/one").code == 66);
    }
    SUBCASE("a config.json that was changed is refused") {
        std::string text = folder.read("runs/one/config.json");
        text.replace(text.find("\"seed\": 1"), 9, "\"seed\": 3");
        folder.write("runs/one/config.json", text);
        CHECK(folder.bam("summary runs/one").code == 65);
        folder.write("runs/one/config.json", text.substr(0, text.size() / 2));
        auto const ended = folder.bam("summary runs/one");
        CHECK(ended.code == 65);
        CHECK(has(ended.err, "BAM0532"));
    }
    SUBCASE("predictions need neither model nor table, only the run") {
        fs::remove(folder / "line.bam");
        fs::rename(folder / "line.csv", folder / "new.csv");
        CHECK(folder.bam("predict runs/one --data new.csv -o out.csv").code == 0);
        CHECK(folder.read("out.csv") == folder.bam("predict runs/one --data new.csv").out);
    }
}

TEST_CASE("main: a folder that is no run is left alone") {
    Folder const folder;
    fs::create_directories(folder / "mine");
    folder.write("mine/notes.txt", "precious");
    auto const refused = folder.bam("fit line.bam --data line.csv -o mine" + std::string(short_run));
    CHECK(refused.code == 73);
    CHECK(has(refused.err, "BAM0530"));
    CHECK(folder.names("mine") == std::vector<std::string>{"notes.txt"});
    CHECK(folder.bam("fit line.bam --data line.csv -o mine --force" + std::string(short_run)).code == 0);
    CHECK(folder.read("mine/notes.txt") == "precious");
    fs::create_directories(folder / "empty");
    CHECK(folder.bam("fit line.bam --data line.csv -o empty" + std::string(short_run)).code == 0);
}

TEST_CASE("main: what cannot be written leaves nothing behind") {
    Folder const folder;
    if (::geteuid() == 0) {
        // Nothing is forbidden to root: a folder in the place of a file is in its way, too.
        fs::create_directories(folder / "run/summary.csv");
        CHECK(folder.bam("fit line.bam --data line.csv -o run" + std::string(short_run)).code == 73);
        for (std::string const& name : folder.names("run")) CHECK_FALSE(has(name, ".tmp"));
        CHECK_FALSE(fs::exists(folder / "run/config.json"));
        return;
    }
    fs::create_directories(folder / "locked");
    fs::permissions(folder / "locked", fs::perms::owner_read | fs::perms::owner_exec);
    CHECK(folder.bam("fit line.bam --data line.csv -o locked/run" + std::string(short_run)).code == 73);
    CHECK(folder.names("locked").empty());
}

TEST_CASE("main: the same seed gives the same bits on any number of threads") {
    Folder const folder;
    for (char const* threads : {"1", "2", "3"})
        CHECK(folder
                  .bam("fit line.bam --data line.csv --chains 3 --num-warmup 20 --num-samples 50 --seed 11 --threads " +
                       std::string(threads) + " -o run" + threads)
                  .code == 0);
    CHECK(folder.bam("fit line.bam --data line.csv --chains 3 --num-warmup 20 --num-samples 50 --seed 12 -o other").code == 0);
    for (char const* chain : {"chain_1.csv", "chain_2.csv", "chain_3.csv"}) {
        std::string const one = draws_of(folder.read("run1/" + std::string(chain)));
        CHECK(one == draws_of(folder.read("run2/" + std::string(chain))));
        CHECK(one == draws_of(folder.read("run3/" + std::string(chain))));
        CHECK(one != draws_of(folder.read("other/" + std::string(chain))));
    }
    CHECK(folder.read("run1/predictions.csv") == folder.read("run2/predictions.csv"));
    CHECK(folder.read("run1/config.json") == folder.read("run2/config.json"));
}

TEST_CASE("main: an interrupted run keeps its draws and says so") {
    Folder const folder;
    auto const ended = folder.interrupt(
        "fit line.bam --data line.csv -o run --num-warmup 10 --num-samples 500000000 --thin 50 --chains 2 "
        "--threads 2 --refresh 100",
        "Chain [1] Iteration:       100 / 500000010 [  0%]  (Sampling)");
    CHECK(ended.code == 130);
    CHECK(has(ended.err, "interrupted"));
    REQUIRE(fs::exists(folder / "run/config.json"));
    CHECK(has(folder.read("run/config.json"), "\"interrupted\": true"));
    CHECK(has(folder.read("run/chain_1.csv"), "# interrupted = 1"));
    auto const summed = folder.bam("summary run");
    CHECK(summed.code == 0);
    CHECK(has(summed.out, "Interrupted"));
    CHECK(folder.bam("predict run --data line.csv").code == 0);
}

TEST_CASE("main: a run that is interrupted before its first draw writes nothing") {
    Folder const folder;
    auto const ended = folder.interrupt("fit line.bam --data line.csv -o run --num-warmup 500000000 --refresh 100", "(Warmup)");
    CHECK(ended.code == 130);
    CHECK_FALSE(fs::exists(folder / "run"));
}

TEST_CASE("main: after one signal the other one ends the program at once") {
    Folder const folder;
    std::string const where = (folder / ".").string();
    // Those of this program are not to be taken for those of the other, before it is there.
    auto const on_int = ::signal(SIGINT, SIG_DFL), on_term = ::signal(SIGTERM, SIG_DFL);
    pid_t const child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        // An iteration that does not end: a stop is not seen, a signal that is left to the system is.
        bool const is_there = ::chdir(where.c_str()) == 0 && ::freopen("/dev/null", "w", stderr) != nullptr;
        if (is_there)
            ::execl(BAM_PROGRAM, BAM_PROGRAM, "fit", "line.bam", "--data", "line.csv", "--chains", "1", "--sweeps", "1000000000",
                    static_cast<char*>(nullptr));
        ::_exit(127);
    }
    ::signal(SIGINT, on_int);
    ::signal(SIGTERM, on_term);
    // Which signals have a handler, as the kernel has it.
    auto const has_handlers = [&](bool are_wanted) {
        for (int k = 0; k < 6000; ++k, ::usleep(10000)) {
            std::ifstream status("/proc/" + std::to_string(child) + "/status");
            unsigned long long caught = 0;
            for (std::string line; std::getline(status, line);)
                if (line.starts_with("SigCgt:")) caught = std::stoull(line.substr(7), nullptr, 16);
            unsigned long long const both = (1ULL << (SIGINT - 1)) | (1ULL << (SIGTERM - 1));
            if ((caught & both) == (are_wanted ? both : 0)) return true;
        }
        return false;
    };
    CHECK(has_handlers(true));
    ::kill(child, SIGINT);
    CHECK(has_handlers(false));
    ::kill(child, SIGTERM);
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    REQUIRE(WIFSIGNALED(status));
    CHECK(WTERMSIG(status) == SIGTERM);
}

TEST_CASE("main: progress has the lines of CmdStan when asked for") {
    Folder const folder;
    std::string const fit = "fit line.bam --data line.csv --chains 1 --num-warmup 50 --num-samples 100";
    auto const lines = folder.bam(fit + " --refresh 50");
    CHECK(lines.err ==
          "Chain [1] Iteration:   1 / 150 [  0%]  (Warmup)\n"
          "Chain [1] Iteration:  50 / 150 [ 33%]  (Warmup)\n"
          "Chain [1] Iteration:  51 / 150 [ 34%]  (Sampling)\n"
          "Chain [1] Iteration: 100 / 150 [ 66%]  (Sampling)\n"
          "Chain [1] Iteration: 150 / 150 [100%]  (Sampling)\n");
    CHECK(folder.bam(fit).err.empty());
    CHECK(folder.bam(fit + " --refresh 0").err.empty());
}

TEST_CASE("main: fmt writes in place, or says what it would change") {
    Folder const folder;
    std::string const untidy = "dims { time t }\ndata { y[t] }\nparam { a~normal( 0,1 ) }\nobserve { y[t]~normal(a,1) }\n";
    folder.write("untidy.bam", untidy);
    CHECK(folder.bam("fmt line.bam").code == 0);
    CHECK(folder.bam("fmt --check line.bam").code == 0);
    auto const checked = folder.bam("fmt --check line.bam untidy.bam");
    CHECK(checked.code == 1);
    CHECK(checked.out == "untidy.bam\n");
    CHECK(folder.read("untidy.bam") == untidy);
    std::string const formatted = folder.bam("fmt -", "untidy.bam").out;
    CHECK(folder.bam("fmt untidy.bam").code == 0);
    CHECK(folder.read("untidy.bam") == formatted);
    CHECK(formatted != untidy);
    CHECK(folder.bam("fmt --check untidy.bam").code == 0);
    folder.write("broken.bam", "dims { time \n");
    CHECK(folder.bam("fmt broken.bam").code == 1);
    CHECK(folder.read("broken.bam") == "dims { time \n");
    CHECK(folder.bam("fmt absent.bam").code == 66);
}

TEST_CASE("main: priors come by name and from files") {
    Folder const folder;
    folder.write("known.bam", "priors {\n  b ~ normal(100, 0.001)\n}\npriors strong {\n  a ~ normal(-50, 0.001)\n}\n");
    std::string const fit = "fit line.bam --data line.csv --format=json" + std::string(short_run);
    auto const plain = folder.bam(fit);
    auto const known = folder.bam(fit + "--priors ./known.bam");
    auto const strong = folder.bam(fit + "--priors ./known.bam --priors strong");
    CHECK(plain.code == 0);
    CHECK(known.code == 0);
    CHECK(strong.code == 0);
    auto const mean = [](std::string const& json, std::string const& name) {
        std::size_t const at = json.find("\"mean\": ", json.find("\"variable\": \"" + name + "\""));
        return std::stod(json.substr(at + 8));
    };
    CHECK(mean(plain.out, "b") < 10);
    CHECK(mean(known.out, "b") > 99);
    CHECK(mean(strong.out, "a") < -49);
    CHECK(folder.bam("check line.bam --priors absent.bam").code == 66);
}
