// Moments of the draws of a run, entry by entry: what a posterior is told by where it becomes a prior.
#pragma once

#include <Eigen/Dense>
#include <cstddef>
#include <string>
#include <vector>

#include "draws.hpp"
#include "plan.hpp"

namespace bam {

/// Of the draws of one entry: sd with divisor n - 1, skewness and excess kurtosis with n (0 where no draw differs).
struct Moments {
    double mean = 0, sd = 0, skewness = 0, excess_kurtosis = 0;
};

/// An entry of a parameter, and its moments over the draws of all chains.
struct Entry {
    std::size_t column = 0;  ///< of the run
    Moments moments;
};

/// Entries of one parameter that differ in their labelled dims only: [component], last dim fastest.
struct Group {
    std::string sequence;
    std::string step;
    std::vector<Entry> entries;
};

/// Draws of all chains together. Keeps references to both.
class PosteriorMoments {
  public:
    PosteriorMoments(Layout const& layout, Run const& run);

    std::size_t draws() const { return draws_; }  ///< of all chains
    Moments of(std::size_t column) const;
    /// The entries of a parameter that the run's draws have, without moments. `is_identified` becomes false if one of them is not.
    std::vector<Group> groups_of(Variable const& variable, bool& is_identified) const;
    /// [count, count], of the entries from `first` on, which have their moments. Needs memory of draws x count.
    Eigen::MatrixXd correlation(std::vector<Entry> const& entries, std::size_t first, std::size_t count) const;

  private:
    Eigen::VectorXd draws_of(std::size_t column) const;

    Layout const& layout_;
    Run const& run_;
    std::size_t draws_ = 0;
};

}  // namespace bam
