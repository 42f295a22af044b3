// Passes to the mode with and without moves along symmetries, and with and without extrapolation: `bam_ascent MODEL TABLE [PASSES]`.
#include <fmt/core.h>

#include <chrono>
#include <cstdlib>

#include "maximise.hpp"
#include "study.hpp"

int main(int count, char** values) {
    if (count < 3) return 64;
    auto const study = bam::test::study_file(values[1], bam::test::text_of(values[2]));
    for (bool const moves_orbits : {true, false}) {
        for (bool const extrapolates : {true, false}) {
            for (double const relaxation : {0.0, -0.6}) {
                bam::AscentOptions options;
                options.seed = 1;
                options.max_passes = count > 3 ? std::strtoull(values[3], nullptr, 10) : 20000;
                options.extrapolates = extrapolates;
                options.sweep.moves_orbits = moves_orbits;
                options.sweep.relaxation = relaxation;
                auto const begin = std::chrono::steady_clock::now();
                bam::Maximum const maximum = bam::maximise(study->problem, options, {});
                double const seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
                fmt::print("orbits {}, extrapolation {}, relaxation {:4.1f}: {:6.2f} s, best {:.6f}; passes", moves_orbits ? "on " : "off",
                           extrapolates ? "on " : "off", relaxation, seconds, maximum.ascents[maximum.best].log_joint);
                for (bam::Ascent const& ascent : maximum.ascents)
                    fmt::print(" {}{}", ascent.passes, ascent.without_mode ? "!" : ascent.ending == bam::Ending::Still ? "" : "*");
                fmt::print("\n");
            }
        }
    }
}
