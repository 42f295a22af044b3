// What a posterior has that its statements as priors do not keep, in words.
#pragma once

#include <string>
#include <vector>

#include "posterior_moments.hpp"

namespace bam {

class PosteriorLosses {
  public:
    PosteriorLosses(PosteriorMoments const& moments, Run const& run) : moments_(moments), run_(run) {}

    /// An entry that a statement speaks of, its moments known.
    void note(Entry const& entry) { written_.push_back({entry, 0}); }
    /// A row of them that keeps its covariance.
    void note_row(std::vector<Entry> const& entries, std::size_t first, std::size_t count);
    /// A half_normal in place of what has its mean away from 0.
    void note_sd() { has_sd_ = true; }

    /// The weights of a choice.
    void note_choice() { has_choice_ = true; }

    /// Lines of a comment.
    std::string text() const;

  private:
    struct Written {
        Entry entry;
        std::size_t row = 0;  ///< number of the row whose covariance is kept, 0: none
    };

    std::string name_of(Written const& written) const;
    std::string correlations() const;

    PosteriorMoments const& moments_;
    Run const& run_;
    std::vector<Written> written_;
    std::size_t rows_ = 0;
    bool has_sd_ = false;
    bool has_choice_ = false;
};

}  // namespace bam
