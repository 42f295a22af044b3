// Properties that were tried, and what came of it: what `bam verify` prints and writes.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

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

/// Checks by name and what they are of, each tried at many places.
class CheckList {
  public:
    /// `violation` above `tolerance`, or not a number, fails the check for good. Where places differ in tolerance the largest is told.
    /// `count`: tries of which this is the worst.
    void add(char const* name, std::string const& of, char const* claim, double violation, double tolerance, std::size_t count = 1);
    std::vector<Check> take() { return std::move(checks_); }

  private:
    std::vector<Check> checks_;
};

bool has_passed(std::vector<Check> const& checks);
/// A line per check and one in the end.
std::string checks_text(std::vector<Check> const& checks);
/// {"passed": true, "checks": [{"name": ..., "of": ..., ...}]}
std::string checks_json(std::vector<Check> const& checks);

}  // namespace bam
