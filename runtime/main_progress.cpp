#include "main_progress.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <system_error>

namespace bam::cli {
namespace {

using std::chrono::steady_clock;

constexpr auto quiet_time = std::chrono::seconds(2);
constexpr auto redraw_time = std::chrono::milliseconds(100);
constexpr std::size_t most_lines = 20;  // of a chain, unless more are asked for

/// `Chain [1] Iteration:   1 / 2000 [  0%]  (Warmup)`, as CmdStan writes it.
std::string line_of(Progress const& progress) {
    if (!std::isnan(progress.elbo)) return fmt::format("Pass: {:>6}  ELBO: {:.4f}", progress.iteration, progress.elbo);
    std::size_t const width = std::to_string(progress.total).size();
    if (progress.is_response)
        return fmt::format("Linear response: {:>{}} / {} [{:>3}%]", progress.iteration, width, progress.total,
                           100 * progress.iteration / progress.total);
    return fmt::format("Chain [{}] Iteration: {:>{}} / {} [{:>3}%]  ({})", progress.chain, progress.iteration, width, progress.total,
                       100 * progress.iteration / progress.total, progress.is_warmup ? "Warmup" : "Sampling");
}

/// Both ends of the pipe that a signal is passed on through; a handler can do no more than write.
int stop_pipe[2] = {-1, -1};
constexpr char stop_byte = 's';
constexpr char quit_byte = 'q';

extern "C" void on_stop_signal(int) {
    int const saved = errno;
    // Whichever of them comes next ends the program; one that is ignored stays so.
    for (int const signal : {SIGINT, SIGTERM}) {
        struct sigaction action {};
        if (::sigaction(signal, nullptr, &action) != 0 || action.sa_handler != on_stop_signal) continue;
        action.sa_handler = SIG_DFL;
        ::sigaction(signal, &action, nullptr);
    }
    [[maybe_unused]] auto const written = ::write(stop_pipe[1], &stop_byte, 1);
    errno = saved;
}

/// A signal that is ignored stays so: whoever started the program in the background wanted that.
void handle(int signal, void (*handler)(int), int flags) {
    struct sigaction present {};
    if (::sigaction(signal, nullptr, &present) == 0 && present.sa_handler == SIG_IGN) return;
    struct sigaction action {};
    action.sa_handler = handler;
    action.sa_flags = flags;
    for (int const other : {SIGINT, SIGTERM}) ::sigaddset(&action.sa_mask, other);  // one after the other
    ::sigaction(signal, &action, nullptr);
}

}  // namespace

bool is_terminal(int descriptor) {
    char const* const term = std::getenv("TERM");
    return ::isatty(descriptor) == 1 && (term == nullptr || std::string_view(term) != "dumb");
}

bool has_colour(int descriptor) {
    char const* const no_colour = std::getenv("NO_COLOR");
    return is_terminal(descriptor) && (no_colour == nullptr || *no_colour == '\0');
}

ProgressLines::ProgressLines(FitOptions const& options, bool is_asked)
    : num_warmup_(options.num_warmup),
      refresh_(is_asked ? options.refresh : std::max(options.refresh, (options.num_warmup + options.num_samples) / most_lines)),
      is_asked_(is_asked),
      is_terminal_(is_terminal(STDERR_FILENO)),
      start_(steady_clock::now()),
      latest_(options.backend == Backend::Gibbs ? options.chains : 1) {
    for (std::size_t c = 0; c < latest_.size(); ++c)
        latest_[c] = {c + 1, 0, options.num_warmup + options.num_samples, options.num_warmup > 0};
}

void ProgressLines::show(Progress const& progress) {
    if (refresh_ == 0) return;
    latest_[progress.chain - 1] = progress;
    latest_[progress.chain - 1].scores = nullptr;  // it is there while this call lasts
    bool const is_last = progress.iteration == progress.total;
    auto const now = steady_clock::now();
    if (is_terminal_) {
        if (!is_last && now - drawn_ < redraw_time) return;
        drawn_ = now;
        return draw_lines();
    }
    bool const is_due = progress.iteration == 1 || progress.iteration == num_warmup_ + 1 || progress.iteration % refresh_ == 0 || is_last;
    if (is_due && (is_asked_ || now - start_ >= quiet_time)) fmt::print(stderr, "{}\n", line_of(progress));
}

void ProgressLines::draw_lines() {
    std::string text = has_lines_ ? fmt::format("\x1b[{}A", latest_.size()) : "";
    for (Progress const& progress : latest_) text += "\r\x1b[K" + line_of(progress) + "\n";
    std::fputs(text.c_str(), stderr);
    has_lines_ = true;
}

StopOnSignal::StopOnSignal() {
    if (::pipe(stop_pipe) != 0) throw std::system_error(errno, std::generic_category(), "pipe");
    watcher_ = std::thread([this] {
        char byte = quit_byte;
        while (::read(stop_pipe[0], &byte, 1) < 0 && errno == EINTR) continue;
        if (byte == stop_byte) source_.request_stop();
    });
    for (int const signal : {SIGINT, SIGTERM}) handle(signal, on_stop_signal, SA_RESTART);
}

StopOnSignal::~StopOnSignal() {
    for (int const signal : {SIGINT, SIGTERM}) handle(signal, SIG_DFL, 0);
    [[maybe_unused]] auto const written = ::write(stop_pipe[1], &quit_byte, 1);
    watcher_.join();
    ::close(stop_pipe[0]);
    ::close(stop_pipe[1]);
}

}  // namespace bam::cli
