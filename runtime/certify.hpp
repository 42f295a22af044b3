// Whether what was derived for this model and these data is right, by identities that need no reference: `bam verify`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "replica.hpp"

namespace bam {

/// One property, tried `count` times.
struct Check {
    std::string name;   ///< "quadratic"
    std::string of;     ///< "W_k"
    std::string claim;  ///< in words
    std::size_t count = 0;
    double worst = 0;  ///< violation, or of a p value the value
    double tolerance = 0;
    bool passed = true;
    bool is_p = false;  ///< `worst` is a p value, which should not be below the tolerance
};

/// For every block, missing output, scale and symmetry of the plan. Where the log joint is needed, it comes from the residuals of the
/// factors, of which no conditional is made. Depends on problem and seed only. Throws NumericalTrouble and ExactFit.
std::vector<Check> certify(Problem const& problem, std::uint64_t seed);

/// For every Gaussian block, that its variational factor is its Gibbs conditional where all else is at points ("collapse"), and the
/// posterior where it alone is free ("free"); and that no update of a climb lowers the ELBO, or raises it by something else than its
/// derivatives say
/// ("ascent"). `expectations`: planned for drawn_outputs(problem).
std::vector<Check> certify_variational(Problem const& problem, ExpectationPlan const& expectations, std::uint64_t seed);

bool has_passed(std::vector<Check> const& checks);
/// A line per check and one in the end.
std::string checks_text(std::vector<Check> const& checks);
/// {"passed": true, "checks": [{"name": ..., "of": ..., ...}]}
std::string checks_json(std::vector<Check> const& checks);

}  // namespace bam
