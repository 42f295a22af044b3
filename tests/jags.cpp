// The attention model in this program and in JAGS, side by side: CPU time of an iteration, and effective draws per CPU second.
// `bam_jags [repeats] [iterations]`; exit code 77 where jags is not installed, 1 where no chain of JAGS stays in the mode that is compared.
//
// Both sample the same posterior, each from a state in its best mode; bam with the settings of `bam fit`, an iteration being one sweep. CPU
// seconds are those of updates alone, without start-up, recording and files; they are medians over repeats that alternate between the two
// programs. Effective draws per iteration come from one long chain of each.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <map>
#include <optional>

#include "chains.hpp"
#include "convergence.hpp"
#include "process.hpp"
#include "record.hpp"
#include "study.hpp"

namespace {

using namespace bam;
namespace fs = std::filesystem;

constexpr std::size_t features = 3, units = 2;
constexpr std::size_t burn_in = 1000;

/// Rows as vectors: JAGS draws each from its conditional, which is faster than an entry at a time.
constexpr char const* jags_model = R"(model {
  for (n in 1:N) {
    W_k[n, 1:R] ~ dmnorm(zero[], identity[,])
    W_q[n, 1:R] ~ dmnorm(zero[], identity[,])
  }
  W_v[1:R] ~ dmnorm(zero[], identity[,])
  for (t in 2:T) { a[t] ~ dnorm(0.8, 25) }
  tau ~ dgamma(3, 0.2)
  sigma <- 1 / sqrt(tau)
  for (s in 1:S) {
    for (t in 1:T) {
      for (n in 1:N) {
        k[s, t, n] <- inprod(W_k[n, 1:R], x[s, t, 1:R])
        q[s, t, n] <- inprod(W_q[n, 1:R], x[s, t, 1:R])
      }
      v[s, t] <- inprod(W_v[1:R], x[s, t, 1:R])
    }
    for (n in 1:N) {
      h[s, 1, n] <- k[s, 1, n] * v[s, 1]
      for (t in 2:T) { h[s, t, n] <- a[t] * h[s, t - 1, n] + k[s, t, n] * v[s, t] }
    }
    for (t in 1:T) {
      mu[s, t] <- inprod(h[s, t, 1:N], q[s, t, 1:N])
      y[s, t] ~ dnorm(mu[s, t], tau)
    }
  }
}
)";

/// The small data set, complete and sorted: every sequence has all steps.
struct Data {
    std::size_t sequences = 0, steps = 0;
    std::vector<double> x[features];  ///< [sequence][step]
    std::vector<double> y;            ///< [sequence][step]
};

Data read_data(std::string const& text) {
    Data data;
    std::istringstream in(text);
    std::string line;
    std::getline(in, line);
    while (std::getline(in, line)) {
        std::replace(line.begin(), line.end(), ',', ' ');
        std::istringstream row(line);
        std::size_t sequence = 0, step = 0;
        double x[features]{}, y = 0;
        row >> sequence >> step;
        for (double& value : x) row >> value;
        row >> y;
        data.sequences = std::max(data.sequences, sequence);
        data.steps = std::max(data.steps, step + 1);
        for (std::size_t r = 0; r < features; ++r) data.x[r].push_back(x[r]);
        data.y.push_back(y);
        if (!row || data.y.size() != (sequence - 1) * data.steps + step + 1) throw std::runtime_error("unexpected row of data: " + line);
    }
    return data;
}

/// Draws of every quantity that both programs are asked for: sigma, loglik, a[step], mu[sequence,step].
using Draws = std::map<std::string, std::vector<double>>;

struct Figures {
    double seconds = 0;                                         ///< of one iteration
    double sigma = 0, loglik = 0, a = HUGE_VAL, mu = HUGE_VAL;  ///< bulk ESS of one iteration; the smallest one of a_t and of mu
};

void judge(Draws const& draws, Figures& figures) {
    for (auto const& [name, values] : draws) {
        double const ess = ess_bulk({values, values.size(), 1}) / static_cast<double>(values.size());
        if (name == "sigma") figures.sigma = ess;
        if (name == "loglik") figures.loglik = ess;
        if (name[0] == 'a') figures.a = std::min(figures.a, ess);
        if (name[0] == 'm') figures.mu = std::min(figures.mu, ess);
    }
}

double mean(std::vector<double> const& values) {
    double sum = 0;
    for (double value : values) sum += value;
    return sum / static_cast<double>(values.size());
}

double own_cpu_seconds() {
    timespec time{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

double childrens_cpu_seconds() {
    rusage usage{};
    getrusage(RUSAGE_CHILDREN, &usage);
    auto const seconds = [](timeval const& time) { return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec); };
    return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

class OwnChain {
  public:
    explicit OwnChain(Problem const& problem)
        : replica_(problem, 1, 1, {.draws_rows = false, .moves_orbits = true, .relaxation = relaxation_of(problem, {})}),
          recorder_(problem, replica_.inputs()),
          row_(recorder_.columns().size()) {
        // The best of a few short runs, as a chain of the program starts.
        State best = replica_.state();
        double best_log_joint = -HUGE_VAL;
        for (std::uint64_t start = 0; start < 8; ++start) {
            replica_.start(start);
            run(200);
            if (replica_.log_joint() > best_log_joint) {
                best_log_joint = replica_.log_joint();
                best = replica_.state();
            }
        }
        replica_.set_state(best);
        run(burn_in);
    }

    /// CPU seconds of one sweep.
    double run(std::size_t sweeps) {
        double const begin = own_cpu_seconds();
        for (std::size_t i = 0; i < sweeps; ++i) replica_.sweep(index_++);
        return (own_cpu_seconds() - begin) / static_cast<double>(sweeps);
    }

    /// "W_k[1,2]" and so on, counted from 1, to its present value.
    std::map<std::string, double> values() {
        recorder_.record(replica_.state(), row_.data());
        std::map<std::string, double> result;
        for (std::size_t c = 0; c < row_.size(); ++c) result[name_of(recorder_.columns()[c])] = row_[c];
        return result;
    }

    Draws draw(std::size_t count) {
        std::vector<std::vector<double>*> wanted;
        Draws draws;
        for (DrawColumn const& column : recorder_.columns()) {
            bool const is_wanted = column.name == "sigma" || column.name == "a" || column.name == "mu";
            std::string const name = name_of(column);
            wanted.push_back(is_wanted || name.starts_with("mu[") ? &draws[name] : nullptr);
        }
        std::vector<double>& loglik = draws["loglik"];
        for (std::size_t i = 0; i < count; ++i) {
            run(1);
            recorder_.record(replica_.state(), row_.data());
            for (std::size_t c = 0; c < row_.size(); ++c) {
                if (wanted[c]) wanted[c]->push_back(row_[c]);
            }
            loglik.push_back(replica_.log_likelihood());
        }
        return draws;
    }

  private:
    static std::string name_of(DrawColumn const& column) {
        std::string text;
        for (std::size_t i : column.index) text += (text.empty() ? "[" : ",") + std::to_string(i);
        return (column.name == "mean_y" ? "mu" : column.name) + (text.empty() ? "" : text + "]");
    }

    Replica replica_;
    Recorder recorder_;
    std::vector<double> row_;
    std::uint64_t index_ = 0;
};

/// JAGS in a temporary folder of its own.
class Jags {
  public:
    Jags(Data const& data, std::map<std::string, double> const& start) : data_(data), start_(start) {
        std::string name = (fs::temp_directory_path() / "bam_jags.XXXXXX").string();
        if (!mkdtemp(name.data())) throw std::runtime_error("cannot create a temporary folder");
        folder_ = name;
        write("model.txt", jags_model);
        write("data.txt", data_text());
    }
    Jags(Jags const&) = delete;
    Jags& operator=(Jags const&) = delete;
    ~Jags() {
        std::error_code ignored;
        fs::remove_all(folder_, ignored);
    }

    static bool is_installed() { return test::run({"jags"}).code != 127; }

    /// CPU seconds of one iteration: what a run of 2n takes longer than one of n.
    double seconds_per_iteration(std::size_t n, int seed) {
        double const begin = childrens_cpu_seconds();
        run(fmt::format("update {}\n", n), seed);
        double const middle = childrens_cpu_seconds();
        run(fmt::format("update {}\n", 2 * n), seed);
        return ((childrens_cpu_seconds() - middle) - (middle - begin)) / static_cast<double>(n);
    }

    Draws draw(std::size_t count, int seed) {
        run(fmt::format("update {}\nmonitor sigma\nmonitor a[2:{}]\nmonitor mu\nupdate {}\ncoda *\n", burn_in, data_.steps, count), seed);
        Draws draws = read_coda();
        if (draws.size() != data_.y.size() + data_.steps) throw std::runtime_error("JAGS left out some quantities");
        add_log_likelihood(draws);
        return draws;
    }

  private:
    void write(std::string const& name, std::string const& text) const {
        std::ofstream out(folder_ / name);
        out << text;
        if (!out.flush()) throw std::runtime_error("cannot write " + (folder_ / name).string());
    }

    /// In R's order: the first index changes fastest.
    std::string data_text() const {
        auto const array = [](std::string const& name, std::string const& dims, std::vector<double> const& values) {
            std::string text;
            for (double value : values) text += fmt::format("{}{:.17g}", text.empty() ? "" : ",", value);
            return fmt::format("\"{}\" <- structure(c({}), .Dim = c({}))\n", name, text, dims);
        };
        auto const transposed = [&](std::vector<double> const& values, std::vector<double>& out) {
            for (std::size_t t = 0; t < data_.steps; ++t) {
                for (std::size_t s = 0; s < data_.sequences; ++s) out.push_back(values[s * data_.steps + t]);
            }
        };
        std::vector<double> x, y;
        for (auto const& values : data_.x) transposed(values, x);
        transposed(data_.y, y);
        return fmt::format("\"N\" <- {}\n\"R\" <- {}\n\"S\" <- {}\n\"T\" <- {}\n", units, features, data_.sequences, data_.steps) +
               "\"zero\" <- c(0, 0, 0)\n" + array("identity", "3, 3", {1, 0, 0, 0, 1, 0, 0, 0, 1}) +
               array("x", fmt::format("{}, {}, {}", data_.sequences, data_.steps, features), x) +
               array("y", fmt::format("{}, {}", data_.sequences, data_.steps), y);
    }

    std::string start_text(int seed) const {
        std::string text = fmt::format("\".RNG.name\" <- \"base::Mersenne-Twister\"\n\".RNG.seed\" <- {}\n\"tau\" <- {:.17g}\n", seed,
                                       1 / start_.at("variance"));
        for (char const* name : {"W_k", "W_q"}) {
            std::string values;
            for (std::size_t r = 1; r <= features; ++r) {
                for (std::size_t n = 1; n <= units; ++n)
                    values += fmt::format("{}{:.17g}", values.empty() ? "" : ",", start_.at(fmt::format("{}[{},{}]", name, n, r)));
            }
            text += fmt::format("\"{}\" <- structure(c({}), .Dim = c({}, {}))\n", name, values, units, features);
        }
        text += "\"W_v\" <- c(";
        for (std::size_t r = 1; r <= features; ++r)
            text += fmt::format("{}{:.17g}", r > 1 ? "," : "", start_.at(fmt::format("W_v[{}]", r)));
        text += ")\n\"a\" <- c(NA";
        for (std::size_t t = 2; t <= data_.steps; ++t) text += fmt::format(",{:.17g}", start_.at(fmt::format("a[{}]", t)));
        return text + ")\n";
    }

    void run(std::string const& commands, int seed) const {
        write("start.txt", start_text(seed));
        write("script.txt", "model in model.txt\ndata in data.txt\ncompile\nparameters in start.txt\ninitialize\n" + commands + "exit\n");
        test::Start start;
        start.folder = folder_.string();
        start.merges_err = true;
        auto const ended = test::run({"jags", "script.txt"}, start);
        if (ended.code != 0) throw std::runtime_error("jags ended with code " + std::to_string(ended.code) + ":\n" + ended.out);
    }

    Draws read_coda() const {
        std::string const text = test::text_of(folder_ / "CODAchain1.txt");
        char const* at = text.c_str();
        std::ifstream index(folder_ / "CODAindex.txt");
        Draws draws;
        std::string name;
        for (std::size_t first = 0, last = 0; index >> name >> first >> last;) {
            std::vector<double>& values = draws[name];
            for (std::size_t row = first; row <= last; ++row) {
                char* end = nullptr;
                std::strtoull(at, &end, 10);
                values.push_back(std::strtod(end, &end));
                if (end == at) throw std::runtime_error("a file of draws ends too early");
                at = end;
            }
        }
        return draws;
    }

    void add_log_likelihood(Draws& draws) const {
        std::vector<double> const& sigma = draws.at("sigma");
        std::vector<double> loglik(sigma.size());
        for (std::size_t s = 0; s < data_.sequences; ++s) {
            for (std::size_t t = 0; t < data_.steps; ++t) {
                std::vector<double> const& mu = draws.at(fmt::format("mu[{},{}]", s + 1, t + 1));
                double const y = data_.y[s * data_.steps + t];
                for (std::size_t i = 0; i < loglik.size(); ++i) {
                    double const z = (y - mu[i]) / sigma[i];
                    loglik[i] -= 0.5 * z * z + std::log(sigma[i]) + 0.5 * std::log(2 * 3.141592653589793);
                }
            }
        }
        draws["loglik"] = std::move(loglik);
    }

    Data const& data_;
    std::map<std::string, double> start_;
    fs::path folder_;
};

/// The other mode of this posterior has sigma about 4.3; no chain leaves it.
bool is_in_best_mode(char const* program, Draws const& draws) {
    double const sigma = mean(draws.at("sigma"));
    fmt::print("{}: sigma {:.4f} on average, log likelihood {:.2f}{}\n", program, sigma, mean(draws.at("loglik")),
               sigma < 1 ? "" : ": another mode");
    return sigma < 1;
}

/// Largest difference of two posterior means, in their combined Monte Carlo standard errors.
double largest_z(Draws const& ours, Draws const& theirs) {
    double z = 0;
    for (auto const& [name, values] : ours) {
        std::vector<double> const& others = theirs.at(name);
        double const error = std::hypot(mcse_mean({values, values.size(), 1}), mcse_mean({others, others.size(), 1}));
        z = std::max(z, std::abs(mean(values) - mean(others)) / error);
    }
    return z;
}

void print(Figures const& ours, Figures const& theirs) {
    fmt::print("\n{:<10}{:>16}{:>16}{:>16}{:>16}{:>16}\n", "program", "us/iteration", "ESS/s sigma", "min ESS/s a_t", "min ESS/s mu",
               "ESS/s loglik");
    auto const row = [](char const* name, Figures const& f) {
        fmt::print("{:<10}{:>16.2f}{:>16.0f}{:>16.0f}{:>16.0f}{:>16.0f}\n", name, 1e6 * f.seconds, f.sigma / f.seconds, f.a / f.seconds,
                   f.mu / f.seconds, f.loglik / f.seconds);
    };
    row("bam", ours);
    row("JAGS", theirs);
    double const speed = theirs.seconds / ours.seconds;
    fmt::print("{:<10}{:>16.5f}{:>16.1f}{:>16.1f}{:>16.1f}{:>16.1f}\n", "bam / JAGS", 1 / speed, speed * ours.sigma / theirs.sigma,
               speed * ours.a / theirs.a, speed * ours.mu / theirs.mu, speed * ours.loglik / theirs.loglik);
    fmt::print("\nbulk ESS per iteration: bam {:.3f} {:.4f} {:.4f} {:.3f}, JAGS {:.3f} {:.4f} {:.4f} {:.3f}\n", ours.sigma, ours.a, ours.mu,
               ours.loglik, theirs.sigma, theirs.a, theirs.mu, theirs.loglik);
}

int compare(std::size_t repeats, std::size_t iterations) {
    fs::path const folder = fs::path(BAM_TEST_DIR) / "reference";
    std::string const table = test::text_of(folder / "attention_small.csv");
    auto const study = test::study_file(folder / "attention_small.bam", table);
    Data const data = read_data(table);
    OwnChain own(study->problem);
    Jags jags(data, own.values());

    Figures ours, theirs;
    Draws const own_draws = own.draw(iterations);
    if (!is_in_best_mode("bam", own_draws)) return 1;
    judge(own_draws, ours);
    int seed = 1;
    std::optional<Draws> jags_draws;
    for (; seed <= 5 && !jags_draws; ++seed) {
        jags_draws = jags.draw(iterations, seed);
        if (!is_in_best_mode("JAGS", *jags_draws)) jags_draws.reset();
    }
    if (!jags_draws) return 1;
    judge(*jags_draws, theirs);
    fmt::print("largest difference of {} posterior means: {:.1f} standard errors\n", own_draws.size(), largest_z(own_draws, *jags_draws));

    std::vector<double> own_seconds, jags_seconds;
    for (std::size_t k = 0; k < repeats; ++k) {
        jags_seconds.push_back(jags.seconds_per_iteration(iterations / 4, seed));
        own_seconds.push_back(own.run(2 * iterations));
        fmt::print("repeat {}: bam {:.2f} us, JAGS {:.1f} us\n", k + 1, 1e6 * own_seconds.back(), 1e6 * jags_seconds.back());
        std::fflush(stdout);
    }
    ours.seconds = median(own_seconds);
    theirs.seconds = median(jags_seconds);
    print(ours, theirs);
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    if (!Jags::is_installed()) {
        fmt::print("jags is not installed: `apt-get install jags` gives it\n");
        return 77;
    }
    std::size_t const repeats = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 5;
    std::size_t const iterations = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 20000;
    if (repeats < 1 || iterations < 1000) {
        fmt::print("bam_jags [repeats, at least 1] [iterations, at least 1000]\n");
        return 2;
    }
    try {
        return compare(repeats, iterations);
    } catch (std::exception const& error) {
        fmt::print("{}\n", error.what());
        return 1;
    }
}
