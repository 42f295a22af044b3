// Codes of this file:
//   BAM0558  a file of events that cannot be written, or would stand in a run (main.cpp)
#include "main_events.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

#include "checkpoints.hpp"
#include "incidents.hpp"

namespace bam::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr int exit_create = 73;

Json bytes(double value) { return static_cast<std::int64_t>(value); }

Json number(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

char const* word(Backend backend) { return backend == Backend::Gibbs ? "gibbs" : backend == Backend::Variational ? "vi" : "map"; }

}  // namespace

double resident_memory() {
    std::ifstream statm("/proc/self/statm");
    double size = 0, resident = 0;
    if (!(statm >> size >> resident)) return 0;
    return resident * static_cast<double>(::sysconf(_SC_PAGESIZE));
}

EventStream::EventStream(std::string const& file, std::vector<Threshold> warnings)
    : file_(nullptr, std::fclose),
      warnings_(std::move(warnings)),
      is_given_(warnings_.size(), false),
      begin_(std::chrono::steady_clock::now()),
      first_memory_(resident_memory()),
      name_(file) {
    if (file.empty()) return;
    file_.reset(std::fopen(file.c_str(), "w"));
    if (file_) return;
    throw Error(Diagnostic{558,
                           Severity::Error,
                           fmt::format("cannot write events to `{}`: {}", file, std::strerror(errno)),
                           {},
                           {"is its folder there, and may you write into it?"}},
                exit_create);
}

void EventStream::write(std::string const& line) {
    if (!file_) return;
    if (std::fputs((line + '\n').c_str(), file_.get()) >= 0 && std::fflush(file_.get()) == 0) return;
    // The fit goes on: its draws are worth more than what is told of them.
    fmt::print(stderr, "bam: cannot write events to `{}`: {}: there are no more of them\n", name_, std::strerror(errno));
    has_failed_ = true;
    file_.reset();
}

void EventStream::start(Prepared const& prepared, std::string const& model, std::string const& data, FitOptions const& options) {
    lanes_.assign(options.backend == Backend::Gibbs ? options.chains : 1, {});
    for (Lane& lane : lanes_) lane.seconds = seconds();
    options_ = options;
    if (!options.until.empty())
        for (std::size_t const draws : check_schedule(options.max_draws))
            looks_.push_back(options.num_warmup + (draws - 1) * options.thin + 1);
    Json json = {{"event", "start"},
                 {"seconds", seconds()},
                 {"bam", version()},
                 {"model", model},
                 {"data", data},
                 {"counts", prepared.counts()},
                 {"backend", word(options.backend)},
                 {"seed", options.seed}};
    if (options.backend == Backend::Gibbs) {
        json.update(
            {{"chains", options.chains}, {"num_warmup", options.num_warmup}, {"num_samples", options.num_samples}, {"thin", options.thin}});
        if (!options.until.empty()) json.update({{"until", options.until}, {"max_draws", options.max_draws}});
    }
    json["memory"] = bytes(first_memory_);
    write(json.dump(-1, ' ', false, Json::error_handler_t::replace));
}

bool EventStream::is_due(Progress const& progress) const {
    std::size_t const iteration = progress.iteration;
    bool const is_end = iteration == progress.total || (progress.scores != nullptr && progress.scores->is_last);
    if (iteration == 1 || is_end) return true;
    if (looks_.empty()) return iteration % std::max<std::size_t>(1, progress.total / event_reports) == 0;
    if (progress.is_warmup) return iteration % std::max<std::size_t>(1, options_.num_warmup / event_reports) == 0;
    return std::binary_search(looks_.begin(), looks_.end(), iteration);
}

void EventStream::show(Progress const& progress) {
    double const now = seconds();
    if (progress.is_check) {
        write(Json({{"event", "check"},
                    {"seconds", now},
                    {"iteration", progress.iteration},
                    {"rhat", number(progress.rhat)},
                    {"ess", number(progress.ess)}})
                  .dump());
        return;
    }
    if (progress.incident) return tell(*progress.incident);
    if (progress.rates != nullptr) return show_rates(progress);
    if (progress.is_response) return;
    if (progress.scores != nullptr) show_scores(progress);
    Lane& lane = lanes_[progress.chain - 1];
    if (!is_due(progress) || progress.iteration <= lane.iteration) return;
    double const pace = (now - lane.seconds) / static_cast<double>(progress.iteration - lane.iteration);
    double& first_pace = lane.first_pace[progress.is_warmup ? 1 : 0];
    if (first_pace == 0 && lane.iteration > 0) first_pace = pace;  // the first report has the starts in it
    lane.iteration = progress.iteration;
    lane.seconds = now;
    double const memory = resident_memory();
    Json json = {
        {"event", "progress"}, {"seconds", now}, {"chain", progress.chain}, {"iteration", progress.iteration}, {"total", progress.total}};
    if (std::isnan(progress.elbo))
        json.update({{"warmup", progress.is_warmup}, {"log_joint", number(progress.log_joint)}});
    else
        json["elbo"] = number(progress.elbo);
    json.update({{"seconds_per_iteration", pace}, {"memory", bytes(memory)}, {"memory_growth", bytes(memory - first_memory_)}});
    write(json.dump());
    double const growth = memory - first_memory_;
    watch(progress, "memory", growth, fmt::format("{:.0f} MiB more than at the start", growth / (1 << 20)));
    double const slower = first_pace > 0 ? pace / first_pace : 0;
    watch(progress, "slow", slower, fmt::format("iterations take {:.1f} times as long as at first", slower));
}

void EventStream::tell(Incident const& incident) {
    Json json{{"event", "incident"}, {"seconds", seconds()}};
    json.update(to_json(std::vector{incident}).front());
    write(json.dump(-1, ' ', false, Json::error_handler_t::replace));
}

/// Of a phase of a chain that has ended, what its replicas did in it.
void EventStream::show_rates(Progress const& progress) {
    ExchangeRates const& rates = *progress.rates;
    write(Json({{"event", "exchange"},
                {"seconds", seconds()},
                {"chain", progress.chain},
                {"phase", bam::word(rates.phase)},
                {"powers", rates.powers},
                {"swap_rates", rates.swap_rates},
                {"round_trips", rates.round_trips},
                {"barrier", rates.barrier}})
              .dump());
    double const least = *std::min_element(rates.swap_rates.begin(), rates.swap_rates.end());
    watch(progress, "swap_rate", least,
          fmt::format("two neighbours exchanged in {:.0f} % of the tries ({})", 100 * least, bam::word(rates.phase)));
}

/// Of the last report of a chain also step by step: what each adds, and what there is up to it.
void EventStream::show_scores(Progress const& progress) {
    ChainScores const& scores = *progress.scores;
    Json json = {{"event", "score"},
                 {"seconds", seconds()},
                 {"chain", progress.chain},
                 {"iteration", progress.iteration},
                 {"draws", scores.draws},
                 {"elpd", number(scores.elpd)},
                 {"p_waic", number(scores.effective_parameters)},
                 {"state_dimension", number(scores.state_dimension)}};
    if (scores.is_last) {
        double sum = 0;
        for (double const elpd : scores.elpd_by_step) {
            json["elpd_of_step"].push_back(number(elpd));
            json["elpd_up_to_step"].push_back(number(sum += elpd));
        }
    }
    write(json.dump());
    watch(progress, "elpd", scores.elpd, fmt::format("the expected log predictive density is {:.1f}", scores.elpd));
    watch(progress, "p_waic", scores.effective_parameters, fmt::format("{:.1f} effective parameters by WAIC", scores.effective_parameters));
    watch(progress, "state_dimension", scores.state_dimension,
          fmt::format("the state has {:.2f} effective dimensions", scores.state_dimension));
}

void EventStream::watch(Progress const& progress, std::string const& name, double value, std::string const& words) {
    for (std::size_t k = 0; k < warnings_.size(); ++k) {
        Threshold const& warning = warnings_[k];
        if (warning.name != name || is_given_[k] || !warning.holds(value)) continue;
        is_given_[k] = true;
        write(Json({{"event", "warning"},
                    {"seconds", seconds()},
                    {"chain", progress.chain},
                    {"iteration", progress.iteration},
                    {"condition", warning.text},
                    {"value", value}})
                  .dump());
        fmt::print(stderr, "bam: warning: {}: {} in iteration {} of chain {}\n", warning.text, words, progress.iteration, progress.chain);
    }
}

void EventStream::end(Fit const& fit) {
    // The verdict knows of what it has judged in aligned draws; a mode has no such numbers.
    Json const verdict = Json::parse(fit.json())["verdict"];
    auto const worst = [&](char const* key) {
        bool const is_there = verdict.contains(key) && verdict[key].is_object();
        return is_there ? verdict[key]["value"] : Json(nullptr);
    };
    write(Json({{"event", "end"},
                {"seconds", seconds()},
                {"draws", fit.num_draws()},
                {"converged", fit.is_converged()},
                {"interrupted", fit.is_interrupted()},
                {"degraded", fit.is_degraded()},
                {"recovery", fit.recovery()},
                {"rhat", worst("worst_rhat")},
                {"ess", worst("worst_ess")},
                {"memory", bytes(resident_memory())},
                {"verdict", fit.verdict()}})
              .dump(-1, ' ', false, Json::error_handler_t::replace));
}

void EventStream::fail(Error const& error) {
    write(Json({{"event", "error"}, {"seconds", seconds()}, {"exit", error.exit_code()}, {"message", error.what()}})
              .dump(-1, ' ', false, Json::error_handler_t::replace));
}

}  // namespace bam::cli
