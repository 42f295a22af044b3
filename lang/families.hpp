// In what unit a spread is said, and the families of priors that a scale can have: one row each, read by every part that names them. Their
// densities and draws are in runtime/scale_family.cpp.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace bam {

/// A covariance is that of the entries of the last dim of its target.
enum class SpreadKind : std::uint8_t { Sd, Variance, Precision, Covariance };

/// `sd`, `var`, `precision`, `cov`: the argument of normal.
char const* argument_name(SpreadKind kind);
/// `an sd`, `a variance`, ...
char const* in_words(SpreadKind kind);

/// PolyaGamma is no prior that a file can name: it is that of the local scales of binary outputs (math.md, 7b).
enum class ScaleFamily : std::uint8_t { Flat, HalfStudentT, HalfNormal, InverseGamma, Gamma, Exponential, PolyaGamma };

/// A family of priors of a positive number, as the file names it. half_cauchy(s) is half_student_t(1, s).
struct ScaleFamilyRow {
    char const* name;
    ScaleFamily family;
    SpreadKind of;                       ///< what it is a prior of
    std::vector<std::string> arguments;  ///< positive numbers
    double first = 0;                    ///< stands before them if it is not 0
};

std::vector<ScaleFamilyRow> const& scale_families();

/// `half_cauchy(1)`: a prior as the file would say it.
std::string to_text(ScaleFamily family, double first, double second);

}  // namespace bam
