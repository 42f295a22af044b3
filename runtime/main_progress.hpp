// What a user sees and does while chains run: lines of progress, and Ctrl-C.
#pragma once

#include <bam/bam.hpp>
#include <chrono>
#include <stop_token>
#include <thread>
#include <vector>

namespace bam::cli {

/// On a terminal one line per chain that is drawn anew; elsewhere CmdStan's lines. All on standard error.
class ProgressLines {
  public:
    /// `refresh` as in --refresh. Without `is_asked` CmdStan's lines begin when a run takes longer than two seconds, and are about twenty
    /// at most.
    ProgressLines(FitOptions const& options, bool is_asked);
    void show(Progress const& progress);

  private:
    void draw_lines();

    std::size_t num_warmup_;
    std::size_t refresh_;
    bool is_asked_;
    bool is_terminal_;
    std::chrono::steady_clock::time_point start_;
    std::chrono::steady_clock::time_point drawn_;
    std::vector<Progress> latest_;  ///< per chain
    bool has_lines_ = false;
};

/// While it lives, the first SIGINT or SIGTERM asks for a stop, and the second ends the program at once.
class StopOnSignal {
  public:
    StopOnSignal();
    StopOnSignal(StopOnSignal const&) = delete;
    StopOnSignal& operator=(StopOnSignal const&) = delete;
    ~StopOnSignal();

    std::stop_token token() const { return source_.get_token(); }

  private:
    std::stop_source source_;
    std::thread watcher_;
};

bool is_terminal(int descriptor);
/// For standard error: a terminal, and NO_COLOR is not set.
bool has_colour(int descriptor);

}  // namespace bam::cli
