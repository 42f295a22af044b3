// Replaces operator new by one that counts, in all of a program: for one of its files. What Eigen allocates goes past it.
#pragma once

#include <atomic>
#include <cstdlib>
#include <new>

inline std::atomic<std::size_t> allocations{0};

// Not inline: where GCC 12 sees one of a pair without the other, it takes them for a mismatch.
[[gnu::noinline]] void* operator new(std::size_t size) {
    ++allocations;
    if (void* p = std::malloc(size)) return p;
    throw std::bad_alloc();
}
[[gnu::noinline]] void* operator new(std::size_t size, std::nothrow_t const&) noexcept {
    ++allocations;
    return std::malloc(size);
}
[[gnu::noinline]] void operator delete(void* p) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, std::size_t) noexcept { std::free(p); }
