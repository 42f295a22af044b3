// Why numbers fail, beside what a block sampler meets (NumericalTrouble) and outputs that are fitted exactly (ExactFit).
#pragma once

#include <cstdint>
#include <exception>
#include <optional>
#include <stdexcept>
#include <string>

namespace bam {

/// A number beyond what a double holds. `of`: of what it is, as "the log joint density".
struct TooLarge : std::runtime_error {
    explicit TooLarge(std::string const& of) : std::runtime_error(of + " is beyond what a number can hold") {}
};

/// Why a start of several, each with numbers of its own, came to nothing, where others may not. Nothing of any other failure: of bam's own,
/// or of what holds of model and table from wherever they are looked at, as outputs that are fitted exactly or digits that are lost.
std::optional<std::string> reason_of_start(std::exception const& failure);

/// Residuals of which rounding leaves no digit: the terms that add up to them are too large beside them.
struct LostDigits : std::runtime_error {
    explicit LostDigits(std::uint32_t of) : std::runtime_error("rounding leaves nothing of the residuals"), output(of) {}
    std::uint32_t output;  ///< the variable
};

/// A block with a proper prior whose precision does not factor: the prior is beyond the last digit of what the data say.
struct HiddenPrior : std::runtime_error {
    HiddenPrior(std::string const& what, std::uint32_t of) : std::runtime_error(what), block(of) {}
    std::uint32_t block;  ///< the variable
};

/// A spread that is learnt as a number, and is highest at 0.
struct LearntToZero : std::runtime_error {
    explicit LearntToZero(std::uint32_t of) : std::runtime_error("a spread is learnt to be 0"), variable(of) {}
    std::uint32_t variable;
};

}  // namespace bam
