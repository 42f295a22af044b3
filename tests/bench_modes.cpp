#include <fmt/core.h>
#include <cstdlib>
#include "bench.hpp"
#include "ladder.hpp"
#include "simulate.hpp"
#include "chains.hpp"
using namespace bam;
using namespace bam::test;
#include "modes.hpp"
int main(int argc, char** argv) {
    std::size_t rungs = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 12;
    double lowest = argc > 2 ? std::atof(argv[2]) : 1e-3;
    std::size_t rounds = argc > 3 ? std::strtoul(argv[3], nullptr, 10) : 300;
    int which = argc > 4 ? std::atoi(argv[4]) : -1;
    for (int p = 0; p < 3; ++p) {
        if (which >= 0 && p != which) continue;
        auto const study = modes_problem(p);
        Problem const& problem = study->problem;
        ChainOptions plain;
        SweepOptions sweep; sweep.relaxation = relaxation_of(problem, plain);
        fmt::print("problem {}\n", p);
        double best = -1e300;
        for (std::uint64_t seed = 1; seed <= 12; ++seed) {
            // plain chain with 1 start
            double t0 = cpu_seconds();
            Replica r(problem, seed, 1, sweep); r.start(0);
            for (int i = 0; i < 2000; ++i) r.sweep(i);
            double lp = 0; for (int i = 0; i < 100; ++i) { r.sweep(2000 + i); lp += r.log_joint() / 100; }
            double t1 = cpu_seconds();
            // best of 8
            ChainOptions o; o.chains = 1; o.seed = seed; o.num_warmup = 100; o.num_samples = 10; o.threads = 1;
            Run run = run_chains(problem, o, {}, {});
            double l8 = 0; for (double x : run.chains[0].log_joint) l8 += x / 10;
            double t2 = cpu_seconds();
            Ladder ladder(problem, {rungs, lowest, seed, 1, 1, sweep});
            ladder.start(false);
            std::size_t next = 8;
            double lt = 0; std::size_t n = 0;
            std::string trace;
            for (std::size_t i = 0; i < rounds; ++i) {
                ladder.step(i);
                if (i + 1 == next && 2 * next <= rounds) { ladder.place(); next *= 2; }
                if (i + 50 >= rounds) { lt += ladder.at(0).log_joint(); ++n; }
                if ((i + 1) % (rounds / 8) == 0) trace += fmt::format(" {:.0f}", ladder.at(0).log_joint());
            }
            double t3 = cpu_seconds();
            double barrier = 0; for (double x : ladder.refusals()) barrier += x;
            double l1 = lt / n;
            Replica c(problem, seed, 1, sweep); c.set_state(ladder.at(0).state());
            for (int i = 0; i < 500; ++i) c.sweep(i);
            double lc = 0; for (int i = 0; i < 100; ++i) { c.sweep(2000 + i); lc += c.log_joint() / 100; }
            fmt::print("seed {:2}: plain {:9.1f} ({:.2f}s)  best of 8 {:9.1f} ({:.2f}s)  ladder {:9.1f} then {:9.1f} ({:.2f}s) barrier {:.1f} trips {} trace{}\n", seed, lp, t1-t0, l8, t2-t1, l1, lc, t3-t2, barrier, ladder.round_trips(), trace);
            best = std::max({best, lp, l8, lc});
        }
        fmt::print("best {:.1f}\n", best);
    }
}
