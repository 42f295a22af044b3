// What programs that measure share: the attention model with a table of any size, and the time of a call.
#pragma once

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <string>
#include <vector>

#include "random.hpp"

namespace bam::test {

inline double seconds_per_figure = 0.5;

inline double wall_seconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

/// Of this program on all its threads: what others do on the machine does not count.
inline double cpu_seconds() {
    timespec time{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

/// Median time of one call by a clock, in seconds, over as many calls as fit.
template <class F>
double time_of(F f, double (*now)() = wall_seconds) {
    std::vector<double> times;
    double const begin = wall_seconds();
    do {
        double const start = now();
        f();
        times.push_back(now() - start);
    } while (times.size() < 5 || wall_seconds() - begin < seconds_per_figure);
    std::nth_element(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2), times.end());
    return times[times.size() / 2];
}

constexpr char const* attention_model = R"(
dims { sequence seq; time t; feat; out; unit = 3 }
data { x[seq, t, feat]; y[seq, t, out] missing }
param {
  W_k[unit, feat] ~ normal(0, 1)
  W_q[unit, feat] ~ normal(0, 1)
  W_v[out, feat]  ~ normal(0, 1)
  a[t > 0]        ~ normal(0.8, 0.2)
  sigma           ~ half_cauchy(1)
}
state { k = W_k * x[t]; q = W_q * x[t]; v = W_v * x[t]; h[t] = a[t] * h[t-1] + k * v' }
observe { y[t] ~ normal(h[t]' * q, sigma) }
table { seq = seq; t = t; feat = [one = 1, x1, x2, x3]; out = [y1, y2] }
)";

inline std::string attention_table(std::size_t sequences, std::size_t steps) {
    std::string text = "seq,t,x1,x2,x3,y1,y2\n";
    Stream stream(1, 1, 1, 1);
    for (std::size_t s = 0; s < sequences; ++s) {
        for (std::size_t t = 0; t < steps; ++t) {
            text += fmt::format("{},{}", s, t);
            for (int k = 0; k < 5; ++k) text += fmt::format(",{:.4f}", stream.normal());
            text += '\n';
        }
    }
    return text;
}

}  // namespace bam::test
