// Codes of this file:
//   BAM0571  a thread that the system does not start
#include "each_chain.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "bam/bam.hpp"

namespace bam {
namespace {

constexpr int exit_system = 71;

Error refuse_threads(std::size_t begun, std::size_t wanted, std::string const& reason) {
    return {Diagnostic{571,
                       Severity::Error,
                       fmt::format("only {} of {} threads could be started: {}", begun, wanted, reason),
                       {},
                       {"fewer chains at a time, `--threads`; with `--until` every chain has a thread: fewer `--chains`",
                        "or more of what they take: `ulimit -u` and `ulimit -v` say how many and how much there may be"}},
            exit_system};
}

}  // namespace

void each_chain(std::size_t chains, std::size_t threads,
                std::function<void(std::size_t chain, std::stop_token const& failed)> const& work) {
    std::mutex mutex;
    std::size_t next = 0;
    std::exception_ptr failure;
    std::stop_source failed;

    auto const go_on = [&] {
        while (true) {
            std::size_t chain = 0;
            {
                std::lock_guard const lock(mutex);
                if (failure || next == chains) return;
                chain = next++;
            }
            try {
                work(chain, failed.get_token());
            } catch (...) {
                std::lock_guard const lock(mutex);
                if (!failure) failure = std::current_exception();
                failed.request_stop();
            }
        }
    };
    {
        std::size_t const wanted = threads > 0 ? threads : std::max(1U, std::thread::hardware_concurrency());
        std::vector<std::jthread> others;
        try {
            for (std::size_t k = 1; k < std::min(wanted, chains); ++k) others.emplace_back(go_on);
        } catch (std::system_error const& error) {
            // Those that run may wait for chains that would never begin.
            std::lock_guard const lock(mutex);
            failure = std::make_exception_ptr(refuse_threads(others.size() + 1, std::min(wanted, chains), error.code().message()));
            failed.request_stop();
        }
        go_on();
    }
    if (failure) std::rethrow_exception(failure);
}

}  // namespace bam
