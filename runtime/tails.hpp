// Tails of the distributions of test statistics.
#pragma once

namespace bam {

/// P(X > value) of the chi-square distribution.
double chi_square_tail(double value, double degrees);
/// P(|T| > |value|) of Student's t distribution.
double student_tail(double value, double degrees);

}  // namespace bam
