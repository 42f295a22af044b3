// The program bam with numerical faults on purpose, for tests of its exit codes and its files: BAM_FAULTS="KIND CHAIN BLOCK FIRST LAST
// TIMES", numbers as in faults.hpp, LAST and TIMES -1 for no end.
#include <sstream>

#include "runtime/injected.hpp"

namespace {

struct FromEnvironment {
    FromEnvironment() {
        char const* const text = std::getenv("BAM_FAULTS");
        if (text == nullptr) return;
        std::istringstream in(text);
        int kind = 0;
        std::uint64_t chain = 0;
        std::size_t block = 0;
        std::int64_t first = 0, last = 0, times = 0;
        if (!(in >> kind >> chain >> block >> first >> last >> times)) std::abort();
        bam::Fault& fault = injected.add(static_cast<bam::Fault::Kind>(kind), chain, block, static_cast<std::uint64_t>(first),
                                         static_cast<std::uint64_t>(last));
        if (times >= 0) fault.times = static_cast<std::size_t>(times);
    }
    bam::test::Injected injected;
} const from_environment;

}  // namespace
