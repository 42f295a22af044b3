#include "faults.hpp"

#include <algorithm>
#include <limits>

namespace bam {

bool Fault::strikes(std::uint64_t stream, std::uint64_t sweep, std::size_t of) {
    std::uint64_t const number = stream & 0xffffffff;
    bool const is_meant = of == block && sweep >= first && sweep <= last && (chain == 0 || number == chain) &&
                          (replica == 0 || stream >> 32 == replica) && number <= most_chains;
    return is_meant && struck[number].fetch_add(1) < times;
}

void draw_with_faults(std::deque<Fault>& faults, std::uint64_t stream, std::uint64_t sweep, std::size_t block, BlockSampler& sampler,
                      std::vector<double>& values, NormalSource& normals) {
    for (Fault& fault : faults) {
        if (!fault.strikes(stream, sweep, block)) continue;
        switch (fault.kind) {
            case Fault::Kind::Thrown: throw NumericalTrouble("injected: numbers that are not finite", block, true);
            case Fault::Kind::Undetermined: throw NumericalTrouble("injected: nothing determines it");
            case Fault::Kind::Unfactorable: {
                double const factor = sampler.diagonal_factor();
                if (factor - 1 >= fault.mended_by * 0.999) break;
                sampler.scale_diagonal(-1);
                try {
                    sampler.draw_with_choices(normals);
                } catch (NumericalTrouble const&) {
                    sampler.scale_diagonal(factor);
                    throw;
                }
                sampler.scale_diagonal(factor);
                return;
            }
            case Fault::Kind::NotFinite:
            case Fault::Kind::Overflow: {
                sampler.draw_with_choices(normals);
                double const spoilt = fault.kind == Fault::Kind::NotFinite ? std::numeric_limits<double>::quiet_NaN() : 1e200;
                std::fill(values.begin(), values.end(), spoilt);
                return;
            }
        }
    }
    sampler.draw_with_choices(normals);
}

}  // namespace bam
