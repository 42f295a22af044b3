// What linear response says of the columns of a run, as it is kept and told.
#pragma once

#include <limits>
#include <string>
#include <vector>

namespace bam {

/// Per column of a run; NaN where it says nothing. No means at all where no scale is learnt, or where there are too many numbers for them.
struct LinearResponse {
    std::vector<double> sds;
    std::vector<double> means;
    std::string without_means;  ///< why there are none, if a user should know

    double sd(std::size_t column) const { return at(sds, column); }
    double mean(std::size_t column) const { return at(means, column); }

  private:
    static double at(std::vector<double> const& values, std::size_t column) {
        return column < values.size() ? values[column] : std::numeric_limits<double>::quiet_NaN();
    }
};

}  // namespace bam
