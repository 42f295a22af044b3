#include "each_chain.hpp"

#include <algorithm>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace bam {

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
        for (std::size_t k = 1; k < std::min(wanted, chains); ++k) others.emplace_back(go_on);
        go_on();
    }
    if (failure) std::rethrow_exception(failure);
}

}  // namespace bam
