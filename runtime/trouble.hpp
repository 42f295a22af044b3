// Why numbers fail, beside what a block sampler meets (NumericalTrouble) and outputs that are fitted exactly (ExactFit).
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

namespace bam {

/// A number beyond what a double holds. `what`: of what it is, as "the log joint density".
struct TooLarge : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// Residuals of which rounding leaves no digit: the terms that add up to them are too large beside them.
struct LostDigits : std::runtime_error {
    explicit LostDigits(std::uint32_t of) : std::runtime_error("rounding leaves nothing of the residuals"), output(of) {}
    std::uint32_t output;  ///< the variable
};

}  // namespace bam
