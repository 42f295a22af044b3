// Runs a program and keeps what it printed. For the runners of golden cases and of the documents.
#pragma once

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace bam::test {

/// What is left of a program that has ended. `code` is its exit code, or 128 + the signal that ended it, as a shell has it.
struct Ended {
    int code = 0;
    std::string out;
    std::string err;

    /// It ended by a signal, could not be started, or said itself that it had found a bug in bam (exit code 70).
    bool is_crash() const { return code >= 126 || code == 70; }
};

struct Start {
    std::string folder = ".";                   ///< the working directory
    std::string input = "/dev/null";            ///< a file, relative to the folder, that becomes standard input
    bool merges_err = false;                    ///< standard error goes where standard output goes, in the order of writing
    std::vector<std::string> environment = {};  ///< NAME=VALUE, in addition to this program's own
    std::optional<unsigned> cpu_seconds = {};   ///< more is a crash (SIGXCPU)
    std::string interrupted_at = {};            ///< what it is to have said on standard error when it gets SIGINT; empty: it gets none
};

namespace detail {

using File = std::unique_ptr<std::FILE, decltype([](std::FILE* file) { std::fclose(file); })>;

inline File scratch_file() {
    File file(std::tmpfile());
    if (!file) throw std::runtime_error("cannot create a temporary file");
    return file;
}

inline std::string contents(File const& file) {
    std::string text;
    std::rewind(file.get());
    char buffer[65536];
    while (std::size_t const size = std::fread(buffer, 1, sizeof buffer, file.get())) text.append(buffer, size);
    return text;
}

/// In the child: becomes the program, or ends with 127 as a shell does. Only calls that are safe after fork().
[[noreturn]] inline void become(std::vector<char*> const& arguments, Start const& start, int out, int err) {
    signal(SIGINT, SIG_DFL);  // a shell ignores it for what it runs in the background
    if (chdir(start.folder.c_str()) != 0) _exit(127);
    int const in = open(start.input.c_str(), O_RDONLY);
    if (in < 0 || dup2(in, 0) < 0 || dup2(out, 1) < 0 || dup2(err, 2) < 0) _exit(127);
    if (start.cpu_seconds) {
        rlimit const limit{*start.cpu_seconds, *start.cpu_seconds};
        setrlimit(RLIMIT_CPU, &limit);
    }
    rlimit const no_core{0, 0};
    setrlimit(RLIMIT_CORE, &no_core);
    execvp(arguments.front(), arguments.data());
    _exit(127);
}

/// Sends SIGINT as soon as the file has the text, however fast the machine is. Returns without if the program ends first.
inline void interrupt_at(std::string const& text, pid_t child, int file) {
    std::string seen;
    char buffer[4096];
    siginfo_t ended{};
    while (waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOHANG | WNOWAIT) == 0 && ended.si_pid == 0) {
        // pread: the child writes where the offset, which it shares, stands.
        ssize_t const size = pread(file, buffer, sizeof buffer, static_cast<off_t>(seen.size()));
        if (size > 0) {
            seen.append(buffer, static_cast<std::size_t>(size));
            if (seen.find(text) == std::string::npos) continue;
            kill(child, SIGINT);
            return;
        }
        usleep(1000);
    }
}

}  // namespace detail

/// Runs a program to its end. The sanitizers are told to end it with a signal, so that their findings are not taken for its own exit codes.
inline Ended run(std::vector<std::string> command, Start const& start = {}) {
    auto const out = detail::scratch_file();
    auto const err = detail::scratch_file();
    for (std::string const& setting : start.environment) {
        std::size_t const equals = setting.find('=');
        setenv(setting.substr(0, equals).c_str(), setting.substr(equals + 1).c_str(), 1);
    }
    for (char const* name : {"ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS"}) setenv(name, "abort_on_error=1:halt_on_error=1", 1);
    setenv("LSAN_OPTIONS", "exitcode=70", 1);
    std::vector<char*> arguments;
    for (std::string& argument : command) arguments.push_back(argument.data());
    arguments.push_back(nullptr);

    pid_t const child = fork();
    if (child < 0) throw std::runtime_error("cannot start " + command.front());
    if (child == 0) detail::become(arguments, start, fileno(out.get()), fileno((start.merges_err ? out : err).get()));
    if (!start.interrupted_at.empty()) detail::interrupt_at(start.interrupted_at, child, fileno(err.get()));
    int status = 0;
    if (waitpid(child, &status, 0) != child) throw std::runtime_error("lost " + command.front());
    int const code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return {code, detail::contents(out), detail::contents(err)};
}

}  // namespace bam::test
