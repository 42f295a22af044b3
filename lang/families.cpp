#include "families.hpp"

#include <fmt/format.h>

namespace bam {

char const* argument_name(SpreadKind kind) {
    switch (kind) {
        case SpreadKind::Sd: return "sd";
        case SpreadKind::Variance: return "var";
        case SpreadKind::Precision: return "precision";
        case SpreadKind::Covariance: return "cov";
    }
    return "";
}

char const* in_words(SpreadKind kind) {
    switch (kind) {
        case SpreadKind::Sd: return "an sd";
        case SpreadKind::Variance: return "a variance";
        case SpreadKind::Precision: return "a precision";
        case SpreadKind::Covariance: return "a covariance";
    }
    return "";
}

std::vector<ScaleFamilyRow> const& scale_families() {
    static std::vector<ScaleFamilyRow> const rows{
        {"flat", ScaleFamily::Flat, SpreadKind::Sd, {}},
        {"half_cauchy", ScaleFamily::HalfStudentT, SpreadKind::Sd, {"scale"}, 1},
        {"half_student_t", ScaleFamily::HalfStudentT, SpreadKind::Sd, {"df", "scale"}},
        {"half_normal", ScaleFamily::HalfNormal, SpreadKind::Sd, {"scale"}},
        {"inverse_gamma", ScaleFamily::InverseGamma, SpreadKind::Variance, {"shape", "scale"}},
        {"exponential", ScaleFamily::Exponential, SpreadKind::Variance, {"rate"}},
        {"gamma", ScaleFamily::Gamma, SpreadKind::Precision, {"shape", "rate"}},
    };
    return rows;
}

std::string to_text(ScaleFamily family, double first, double second) {
    switch (family) {
        case ScaleFamily::Flat: return "flat()";
        case ScaleFamily::HalfStudentT:
            return first == 1 ? fmt::format("half_cauchy({})", second) : fmt::format("half_student_t({}, {})", first, second);
        case ScaleFamily::HalfNormal: return fmt::format("half_normal({})", first);
        case ScaleFamily::InverseGamma: return fmt::format("inverse_gamma({}, {})", first, second);
        case ScaleFamily::Exponential: return fmt::format("exponential({})", first);
        case ScaleFamily::Gamma: return fmt::format("gamma({}, {})", first, second);
        case ScaleFamily::PolyaGamma: return "polya_gamma(1, 0)";
    }
    return "";
}

}  // namespace bam
