#include "crew.hpp"

#include <system_error>
#include <utility>

namespace bam {

Crew::Crew(std::size_t threads) {
    try {
        for (std::size_t k = 1; k < threads; ++k) others_.emplace_back([this] { wait_for_work(); });
    } catch (std::system_error const&) {
        // Those that there are do all of it.
    }
}

Crew::~Crew() {
    {
        std::lock_guard const lock(mutex_);
        is_over_ = true;
    }
    begins_.notify_all();
    for (std::thread& other : others_) other.join();
}

void Crew::do_all(std::size_t count, void const* work, Call call) {
    {
        std::lock_guard const lock(mutex_);
        count_ = count;
        work_ = work;
        call_ = call;
        next_ = 0;
        busy_ = others_.size();
        ++round_;
    }
    begins_.notify_all();
    do_some();
    std::unique_lock lock(mutex_);
    ends_.wait(lock, [&] { return busy_ == 0; });
    if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
}

void Crew::do_some() {
    for (std::size_t k = next_++; k < count_; k = next_++) {
        try {
            call_(work_, k);
        } catch (...) {
            std::lock_guard const lock(mutex_);
            if (!failure_) failure_ = std::current_exception();
        }
    }
}

void Crew::wait_for_work() {
    std::size_t seen = 0;
    std::unique_lock lock(mutex_);
    while (true) {
        begins_.wait(lock, [&] { return is_over_ || round_ > seen; });
        if (is_over_) return;
        seen = round_;
        lock.unlock();
        do_some();
        lock.lock();
        if (--busy_ == 0) ends_.notify_one();
    }
}

}  // namespace bam
