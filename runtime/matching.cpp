#include "matching.hpp"

#include <limits>

namespace bam {

// Rows are added one by one. Each looks for the cheapest path of exchanges to a column that is free, with prices on rows and columns that
// keep all reduced costs at or above 0 (Kuhn 1955, Munkres 1957). Index 0 is no row and no column.
std::vector<std::size_t> best_matching(Eigen::MatrixXd const& gains) {
    auto const n = static_cast<std::size_t>(gains.rows());
    auto const cost = [&](std::size_t row, std::size_t column) {
        return -gains(static_cast<Eigen::Index>(row) - 1, static_cast<Eigen::Index>(column) - 1);
    };
    constexpr double infinity = std::numeric_limits<double>::infinity();
    std::vector<double> of_row(n + 1, 0.0), of_column(n + 1, 0.0);
    std::vector<std::size_t> row_of(n + 1, 0), before(n + 1, 0);
    for (std::size_t row = 1; row <= n; ++row) {
        row_of[0] = row;
        std::size_t column = 0;
        std::vector<double> slack(n + 1, infinity);
        std::vector<bool> is_reached(n + 1, false);
        while (row_of[column] != 0) {
            is_reached[column] = true;
            std::size_t const from = row_of[column];
            std::size_t next = 0;
            double step = infinity;
            for (std::size_t j = 1; j <= n; ++j) {
                if (is_reached[j]) continue;
                double const reduced = cost(from, j) - of_row[from] - of_column[j];
                if (reduced < slack[j]) {
                    slack[j] = reduced;
                    before[j] = column;
                }
                if (next == 0 || slack[j] < step) {
                    step = slack[j];
                    next = j;
                }
            }
            for (std::size_t j = 0; j <= n; ++j) {
                if (is_reached[j]) {
                    of_row[row_of[j]] += step;
                    of_column[j] -= step;
                } else {
                    slack[j] -= step;
                }
            }
            column = next;
        }
        for (; column != 0; column = before[column]) row_of[column] = row_of[before[column]];
    }
    std::vector<std::size_t> column_of(n);
    for (std::size_t j = 1; j <= n; ++j) column_of[row_of[j] - 1] = j - 1;
    return column_of;
}

}  // namespace bam
