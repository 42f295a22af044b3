// Threads that live with who uses them: for pieces of work so small that threads of their own would cost more than the work.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace bam {

class Crew {
  public:
    /// So many threads, that of the caller among them; fewer if the system starts no more.
    explicit Crew(std::size_t threads);
    Crew(Crew const&) = delete;
    Crew& operator=(Crew const&) = delete;
    ~Crew();

    /// work(k) for all k below `count`, in any order, on all threads; returns when all are done. Allocates nothing. Throws what the first
    /// of them threw, after the others.
    template <class Work>
    void each(std::size_t count, Work const& work) {
        do_all(count, &work, [](void const* of, std::size_t k) { (*static_cast<Work const*>(of))(k); });
    }

  private:
    using Call = void (*)(void const* work, std::size_t k);
    void do_all(std::size_t count, void const* work, Call call);
    void do_some();
    void wait_for_work();

    std::mutex mutex_;
    std::condition_variable begins_, ends_;
    std::size_t round_ = 0;  ///< of work, so far
    std::size_t busy_ = 0;   ///< threads that are not done with the present one
    bool is_over_ = false;
    std::size_t count_ = 0;
    void const* work_ = nullptr;
    Call call_ = nullptr;
    std::atomic<std::size_t> next_ = 0;
    std::exception_ptr failure_;
    std::vector<std::thread> others_;
};

}  // namespace bam
