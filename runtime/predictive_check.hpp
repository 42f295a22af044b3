// Test quantities of the outputs beside those of tables of the model's own making (math.md, 16. Whether to believe predictions).
#pragma once

#include <array>
#include <functional>
#include <string>
#include <vector>

#include "simulation.hpp"

namespace bam {

/// A number of one output, over all observed cells or those of a sequence.
struct TestQuantity {
    static constexpr std::array<char const*, 5> names{"mean", "sd", "min", "max", "lag1"};

    std::string output;
    std::string sequence;  ///< empty: all
    std::size_t kind = 0;  ///< index of names
    double observed = 0;
    double q5 = 0, q50 = 0, q95 = 0;  ///< of the simulated tables; NaN of a sequence
    double p = 0;                     ///< share of tables with more than the observed one; ties count half
};

struct PredictiveCheck {
    std::size_t tables = 0;
    std::vector<TestQuantity> whole;        ///< output by output
    std::vector<TestQuantity> by_sequence;  ///< where there are several
    std::vector<std::string> sentences, notes;
};

/// Means, sds, least and largest values, and lag-1 autocorrelations r = Σ (y[t] - m)(y[t-1] - m) / Σ (y[t] - m)², m the mean of the
/// sequence, over steps that are both observed; those that have no value are left out. `problem` is the table as read, `complete` what the
/// simulation fills; `row`: columns of the i-th of `tables` draws. O(tables * cells).
PredictiveCheck check_predictions(Problem const& problem, Problem const& complete, Simulation& simulation, std::size_t tables,
                                  std::function<double const*(std::size_t)> const& row);

// ---- predictive_check_report.cpp ----

void explain(PredictiveCheck& check);
std::string predictive_check_text(PredictiveCheck const& check);
/// docs/formats.md
std::string predictive_check_json(PredictiveCheck const& check);

}  // namespace bam
