#include "write.hpp"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bit>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <string>
#include <vector>

#include "atomic_file.hpp"
#include "source.hpp"
#include "summary.hpp"

namespace bam {
namespace {

namespace fs = std::filesystem;

/// A folder of its own, removed in the end.
class Folder {
  public:
    Folder() {
        std::string name = (fs::temp_directory_path() / "bam-write-XXXXXX").string();
        REQUIRE(::mkdtemp(name.data()) != nullptr);
        path_ = name;
    }
    ~Folder() { fs::remove_all(path_); }
    fs::path operator/(std::string const& name) const { return path_ / name; }
    fs::path const& path() const { return path_; }
    std::size_t files() const { return static_cast<std::size_t>(std::distance(fs::directory_iterator(path_), fs::directory_iterator())); }

  private:
    fs::path path_;
};

std::string contents(fs::path const& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

DrawColumn entry(std::string name, std::vector<std::size_t> index, std::vector<std::string> labels, bool is_identified = true,
                 bool is_shown = true) {
    return {std::move(name), std::move(index), std::move(labels), is_identified, is_shown};
}

DrawColumn choice(std::string name, std::vector<std::size_t> index, std::vector<std::string> labels, std::size_t which) {
    DrawColumn column = entry(std::move(name), std::move(index), std::move(labels));
    column.choice = which;
    return column;
}

std::vector<DrawColumn> columns() {
    return {entry("W_k", {1, 1}, {"1", "dose"}, false, false),
            entry("W_k", {2, 1}, {"2", "dose"}, false, false),
            entry("a", {2}, {"2"}),
            entry("sigma", {}, {}),
            entry("theta", {1}, {"Ann|B=\"100%\" # x\n"}, true, false),
            choice("z", {1, 2}, {"1", "2"}, 2)};
}

Chain chain_of(std::size_t draws) {
    Chain chain;
    for (std::size_t draw = 0; draw < draws; ++draw) {
        for (std::size_t column = 0; column < columns().size(); ++column)
            chain.values.push_back(std::sin(static_cast<double>(draw * 7 + column)) * std::pow(10.0, static_cast<double>(draw * 3) - 5));
        chain.log_joint.push_back(-100.0 / 3 - static_cast<double>(draw));
        chain.log_likelihood.push_back(-1e-300 * static_cast<double>(draw + 1));
    }
    chain.warmup_seconds = 0.25;
    chain.sampling_seconds = 1.5;
    chain.start = "the best of 20 short runs";
    return chain;
}

ChainConfig config_of(std::size_t num_samples) {
    ChainConfig config;
    config.model = "attention";
    config.data_file = "theoph.csv";
    config.seed = 18446744073709551615U;
    config.chain = 2;
    config.num_samples = num_samples;
    config.num_warmup = 50;
    config.more = {{"version", "1.0.0"}, {"priors", "pharmacology"}};
    return config;
}

struct ReadBack {
    std::optional<ChainFile> file;
    Diagnostics diagnostics;
    std::string text;
};

ReadBack read_back(std::string text) {
    Sources sources;
    ReadBack result;
    std::uint32_t const source = sources.add_table("run_2.csv", std::move(text));
    result.file = read_chain_csv(sources[source].text, source, result.diagnostics);
    result.text = to_text(result.diagnostics, sources);
    CHECK(result.file.has_value() == result.diagnostics.empty());
    return result;
}

int code(ReadBack const& result) { return result.diagnostics.size() == 1 ? result.diagnostics[0].code : 0; }

std::string replaced(std::string text, std::string const& part, std::string const& by) {
    std::size_t const at = text.find(part);
    REQUIRE(at != std::string::npos);
    return text.replace(at, part.size(), by);
}

bool same_bits(std::vector<double> const& a, std::vector<double> const& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](double x, double y) {
        return std::bit_cast<std::uint64_t>(x) == std::bit_cast<std::uint64_t>(y) || (std::isnan(x) && std::isnan(y));
    });
}

}  // namespace

TEST_CASE("atomic file: nothing is there before the commit and nothing is left without one") {
    Folder const folder;
    {
        AtomicFile file(folder / "draws.csv");
        file.write("half");
        CHECK(!fs::exists(folder / "draws.csv"));
        CHECK(folder.files() == 1);
    }
    CHECK(folder.files() == 0);
    write_file(folder / "draws.csv", "one");
    write_file(folder / "draws.csv", "two");
    CHECK(contents(folder / "draws.csv") == "two");
    CHECK(folder.files() == 1);
    std::string const large(300000, 'x');
    write_file(folder / "large", large);
    CHECK(contents(folder / "large") == large);
}

TEST_CASE("atomic file: links are followed, pipes and folders are not replaced") {
    Folder const folder;
    fs::create_symlink("target", folder / "link");
    write_file(folder / "link", "text");
    CHECK(fs::is_symlink(folder / "link"));
    CHECK(contents(folder / "target") == "text");
    write_file("/dev/null", "text");
    CHECK(fs::is_character_file("/dev/null"));
    CHECK_THROWS_AS(write_file(folder.path(), "text"), FileError);
}

TEST_CASE("atomic file: a failure names the file and tells creating from writing") {
    Folder const folder;
    try {
        write_file(folder / "no/such/folder.csv", "text");
        FAIL("no error");
    } catch (FileError const& error) {
        CHECK(error.exit_code() == 73);
        CHECK(error.path() == folder / "no/such/folder.csv");
        CHECK(error.code() == std::errc::no_such_file_or_directory);
        CHECK(std::string(error.what()).find("cannot create `" + (folder / "no/such/folder.csv").string() + "`: No such file") == 0);
    }
    if (!fs::exists("/dev/full")) return;
    try {
        write_file("/dev/full", "text");
        FAIL("no error");
    } catch (FileError const& error) {
        CHECK(error.exit_code() == 74);
        CHECK(error.code() == std::errc::no_space_on_device);
    }
}

TEST_CASE("chain csv: the file is CmdStan's") {
    Folder const folder;
    Chain chain;
    chain.values = {1, 2, -0.5, std::numeric_limits<double>::infinity(), 1e-30, std::numeric_limits<double>::quiet_NaN()};
    chain.log_joint = {-3, 0.1};
    chain.log_likelihood = {-1, -2};
    chain.warmup_seconds = 0.005;
    chain.sampling_seconds = 0.002;
    std::vector<DrawColumn> const three{entry("W_k", {1, 1}, {"1", "dose"}, false), entry("W_k", {2, 1}, {"2", "1"}), entry("s", {}, {})};
    ChainConfig config = config_of(3);
    config.thin = 2;
    fs::path const path = folder / "run_2.csv";
    write_chain_csv(path, config, three, chain);
    CHECK(contents(path) ==
          "# stan_version_major = 2\n"
          "# stan_version_minor = 36\n"
          "# stan_version_patch = 0\n"
          "# model = attention_model\n"
          "# method = sample (Default)\n"
          "#   sample\n"
          "#     num_samples = 3\n"
          "#     num_warmup = 50\n"
          "#     save_warmup = 0 (Default)\n"
          "#     thin = 2\n"
          "#     algorithm = fixed_param\n"
          "#     metric = none\n"
          "#     num_chains = 1 (Default)\n"
          "# id = 2\n"
          "# data\n"
          "#   file = theoph.csv\n"
          "# init = prior\n"
          "# random\n"
          "#   seed = 18446744073709551615\n"
          "# output\n"
          "#   file = " +
              path.string() +
              "\n"
              "#   diagnostic_file =  (Default)\n"
              "#   refresh = 100\n"
              "#   sig_figs = 17\n"
              "# bam_version = 1.0.0\n"
              "# bam_priors = pharmacology\n"
              "lp__,accept_stat__,W_k.1.1,W_k.2.1,s,log_joint,log_likelihood\n"
              "-3,1,1,2,-0.5,-3,-1\n"
              "0.1,1,inf,1e-30,NaN,0.1,-2\n"
              "# column W_k.1.1 unidentified shown 1|dose\n"
              "# \n"
              "#  Elapsed Time: 0.005000 seconds (Warm-up)\n"
              "#                0.002000 seconds (Sampling)\n"
              "#                0.007000 seconds (Total)\n"
              "# \n");
}

TEST_CASE("chain csv: what is read back is what was written, bit for bit") {
    Folder const folder;
    Chain chain = chain_of(100);
    chain.values[3] = -0.0;
    chain.values[4] = std::numeric_limits<double>::denorm_min();
    chain.values[5] = std::numeric_limits<double>::max();
    chain.values[6] = -std::numeric_limits<double>::infinity();
    chain.values[7] = std::numeric_limits<double>::quiet_NaN();
    write_chain_csv(folder / "run_2.csv", config_of(100), columns(), chain);
    ReadBack const result = read_back(contents(folder / "run_2.csv"));
    REQUIRE(result.file);
    ChainFile const& file = *result.file;
    CHECK(same_bits(file.chain.values, chain.values));
    CHECK(same_bits(file.chain.log_joint, chain.log_joint));
    CHECK(same_bits(file.chain.log_likelihood, chain.log_likelihood));
    CHECK(file.chain.warmup_seconds == 0.25);
    CHECK(file.chain.sampling_seconds == 1.5);
    CHECK(file.chain.start == chain.start);
    CHECK(!file.chain.is_interrupted);
    CHECK(file.config.model == "attention");
    CHECK(file.config.data_file == "theoph.csv");
    CHECK(file.config.init == "prior");
    CHECK(file.config.seed == 18446744073709551615U);
    CHECK(file.config.chain == 2);
    CHECK(file.config.num_samples == 100);
    CHECK(file.config.num_warmup == 50);
    CHECK(file.config.more == config_of(100).more);
    REQUIRE(file.columns.size() == columns().size());
    for (std::size_t i = 0; i < columns().size(); ++i) {
        CHECK(csv_name(file.columns[i]) == csv_name(columns()[i]));
        CHECK(file.columns[i].index == columns()[i].index);
        CHECK(file.columns[i].labels == columns()[i].labels);
        CHECK(file.columns[i].is_identified == columns()[i].is_identified);
        CHECK(file.columns[i].is_shown == columns()[i].is_shown);
        CHECK(file.columns[i].choice == columns()[i].choice);
    }
    CHECK(label_name(file.columns[0]) == "W_k[1,dose]");
    CHECK(label_name(file.columns[3]) == "sigma");
}

TEST_CASE("chain csv: fewer digits on request") {
    Folder const folder;
    ChainConfig config = config_of(1);
    config.sig_figs = 6;
    write_chain_csv(folder / "run_2.csv", config, columns(), chain_of(1));
    CHECK(contents(folder / "run_2.csv").find("\n-33.3333,1,") != std::string::npos);
}

TEST_CASE("chain csv: an interrupted chain says so and promises no more draws than it has") {
    Folder const folder;
    Chain chain = chain_of(7);
    CHECK_THROWS_AS(write_chain_csv(folder / "run_2.csv", config_of(100), columns(), chain), std::logic_error);
    CHECK(folder.files() == 0);
    chain.is_interrupted = true;
    ChainConfig config = config_of(100);
    config.thin = 3;
    write_chain_csv(folder / "run_2.csv", config, columns(), chain);
    std::string const text = contents(folder / "run_2.csv");
    CHECK(text.find("num_samples = 21\n") != std::string::npos);
    CHECK(text.find("# interrupted = 1\n") < text.find("lp__"));
    ReadBack const result = read_back(text);
    REQUIRE(result.file);
    CHECK(result.file->chain.is_interrupted);
    CHECK(result.file->chain.log_joint.size() == 7);
    chain = {};
    chain.is_interrupted = true;
    write_chain_csv(folder / "run_2.csv", config_of(100), columns(), chain);
    CHECK(read_back(contents(folder / "run_2.csv")).file);
}

TEST_CASE("chain csv: reserved names and draws of another shape are bugs") {
    Folder const folder;
    for (char const* const name : {"log_joint", "log_likelihood", "lp__", "x__"})
        CHECK_THROWS_AS(write_chain_csv(folder / "x.csv", config_of(0), {entry(name, {}, {})}, Chain()), std::logic_error);
    Chain chain = chain_of(3);
    chain.values.pop_back();
    CHECK_THROWS_AS(write_chain_csv(folder / "x.csv", config_of(3), columns(), chain), std::logic_error);
}

TEST_CASE("chain csv: broken files are refused at the place where they break") {
    Folder const folder;
    write_chain_csv(folder / "run_2.csv", config_of(3), columns(), chain_of(3));
    std::string const good = contents(folder / "run_2.csv");
    CHECK(code(read_back("")) == 540);
    CHECK(code(read_back("a,b\n1,2\n")) == 540);
    CHECK(code(read_back(replaced(good, ",log_likelihood\n", ",divergent__\n"))) == 540);
    CHECK(code(read_back(replaced(good, "W_k.1.1", "W_k.one"))) == 540);
    CHECK(code(read_back(replaced(good, "num_warmup = 50", "warm = 50"))) == 541);
    CHECK(code(read_back(replaced(good, "num_warmup = 50", "num_warmup = fifty"))) == 541);
    CHECK(code(read_back(replaced(good, "num_samples = 3", "num_samples = 2"))) == 541);
    CHECK(code(read_back(replaced(good, "num_samples = 3", "num_samples = 4"))) == 544);
    CHECK(code(read_back(replaced(good, "-34.3", "-34.3,7"))) == 542);
    CHECK(code(read_back(replaced(good, "-34.3", "x34.3"))) == 543);
    CHECK(code(read_back(good + "1,2,3\n")) == 542);
    ReadBack const wrong = read_back(replaced(good, "\n-34.3", "\nmuch"));
    CHECK(wrong.text.find("error[BAM0543]: a draw is not a number\n  --> run_2.csv:30:1\n") == 0);
    std::size_t const rows = good.find("log_likelihood\n") + 15;
    std::size_t const trailer = good.find("seconds (Total)\n");
    for (std::size_t size = rows; size < trailer; ++size) CHECK(code(read_back(good.substr(0, size))) == 544);
    for (std::size_t size = 0; size < rows; ++size) CHECK(read_back(good.substr(0, size)).diagnostics.size() == 1);
}

TEST_CASE("chain csv: chains are joined in their order, and must be of one run") {
    Folder const folder;
    Sources sources;
    Diagnostics diagnostics;
    auto const written = [&](std::size_t number, ChainConfig config, std::vector<DrawColumn> const& of) {
        config.chain = number;
        Chain chain = chain_of(2);
        chain.log_joint[0] = static_cast<double>(number);
        chain.values.resize(2 * of.size());
        fs::path const path = folder / "chain.csv";
        write_chain_csv(path, config, of, chain);
        std::uint32_t const source = sources.add_table(path.string(), contents(path));
        auto file = read_chain_csv(sources[source].text, source, diagnostics);
        REQUIRE(file);
        return *file;
    };
    ChainConfig const config = config_of(2);
    auto const run = join_chains({written(3, config, columns()), written(1, config, columns())}, diagnostics);
    REQUIRE(run);
    CHECK(run->chains.size() == 2);
    CHECK(run->chains[0].log_joint[0] == 1);
    CHECK(run->columns.size() == columns().size());
    CHECK(!join_chains({written(1, config, columns()), written(1, config, columns())}, diagnostics));
    CHECK(diagnostics.back().code == 546);
    CHECK(!join_chains({written(1, config, columns()), written(2, config, {columns()[0]})}, diagnostics));
    CHECK(diagnostics.back().code == 545);
    ChainConfig other = config;
    other.model = "line";
    CHECK(!join_chains({written(1, config, columns()), written(2, other, columns())}, diagnostics));
    CHECK(diagnostics.back().code == 545);
    CHECK(diagnostics.back().labels[0].text == "another model than");
}

TEST_CASE("chain csv: a name with thin in it is warned of") {
    ChainConfig config = config_of(10);
    CHECK(!find_misleading_name("run/bakery_1.csv", config));
    auto const path = find_misleading_name("run/rethinking_1.csv", config);
    REQUIRE(path);
    CHECK(path->code == 550);
    CHECK(path->severity == Severity::Warning);
    CHECK(path->notes[0] == "it takes the line `#   file = run/rethinking_1.csv` for the setting `thin`");
    config.model = "thin_film";
    CHECK(find_misleading_name("run/bakery_1.csv", config));
}

TEST_CASE("summary csv: the names of posterior, quoted where needed") {
    Folder const folder;
    SummaryRow row;
    row.column = entry("W_k", {1, 2}, {"1", "dose \"x\""});
    row.quantity = {1, 2, 3, 4, 5, 6, 1.5, 100.25, 200, 0.125, std::numeric_limits<double>::quiet_NaN()};
    write_summary_csv(folder / "summary.csv", {row});
    CHECK(contents(folder / "summary.csv") ==
          "variable,mean,median,sd,mad,q5,q95,rhat,ess_bulk,ess_tail,mcse_mean,mcse_sd\n"
          "\"W_k[1,dose \"\"x\"\"]\",1,2,3,4,5,6,1.5,100.25,200,0.125,NA\n");
}

TEST_CASE("predictions csv: columns named by the dims, empty where nothing was observed") {
    Folder const folder;
    Layout layout;
    layout.dims = {{"shop", DimLayout::Role::Sequence, 0, {}}, {"week", DimLayout::Role::Time, 0, {}}};
    layout.sequence = 0;
    layout.time = 1;
    Prediction const seen{0, "Main St, 5", "2024-03-01", "sales", 14.5, 14, 0.5, 13, 14.25, 15};
    Prediction missing = seen;
    missing.observed = std::numeric_limits<double>::quiet_NaN();
    write_predictions_csv(folder / "predictions.csv", layout, {seen, missing});
    CHECK(contents(folder / "predictions.csv") ==
          "shop,week,output,observed,mean,sd,q5,q50,q95\n"
          "\"Main St, 5\",2024-03-01,sales,14.5,14,0.5,13,14.25,15\n"
          "\"Main St, 5\",2024-03-01,sales,,14,0.5,13,14.25,15\n");
    layout.sequence.reset();
    write_predictions_csv(folder / "predictions.csv", layout, {});
    CHECK(contents(folder / "predictions.csv") == "week,output,observed,mean,sd,q5,q50,q95\n");
}

}  // namespace bam
