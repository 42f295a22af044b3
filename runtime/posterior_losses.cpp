#include "posterior_losses.hpp"

#include <fmt/format.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>

#include "draws.hpp"

namespace bam {
namespace {

constexpr std::size_t most_compared = 1000;  ///< entries whose correlations are looked at

}  // namespace

void PosteriorLosses::note_row(std::vector<Entry> const& entries, std::size_t first, std::size_t count) {
    ++rows_;
    for (std::size_t k = first; k < first + count; ++k) written_.push_back({entries[k], rows_});
}

std::string PosteriorLosses::name_of(Written const& written) const { return label_name(run_.columns[written.entry.column]); }

/// The largest that no statement keeps.
std::string PosteriorLosses::correlations() const {
    std::vector<Entry> entries;
    std::size_t const count = std::min(most_compared, written_.size());
    for (std::size_t k = 0; k < count; ++k) entries.push_back(written_[k].entry);
    if (count < 2) return "";
    Eigen::MatrixXd const correlations = moments_.correlation(entries, 0, count);
    double largest = -1;
    std::size_t first = 0, second = 0;
    for (std::size_t i = 0; i < count; ++i) {
        for (std::size_t j = 0; j < i; ++j) {
            bool const is_kept = written_[i].row > 0 && written_[i].row == written_[j].row;
            double const value = std::abs(correlations(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(j)));
            if (is_kept || !(value > largest)) continue;
            largest = value;
            first = j;
            second = i;
        }
    }
    if (largest < 0) return "";
    double const signed_value = correlations(static_cast<Eigen::Index>(second), static_cast<Eigen::Index>(first));
    return fmt::format("# Correlations, {}. The largest is {:.2f}, of {} and {}{}.\n",
                       rows_ > 0 ? "but those inside the rows that have `cov`" : "between entries and between parameters", signed_value,
                       name_of(written_[first]), name_of(written_[second]),
                       written_.size() > count ? fmt::format(", among the first {} entries", count) : "");
}

std::string PosteriorLosses::text() const {
    std::string text = correlations();
    auto const by = [&](auto of) {
        return *std::max_element(written_.begin(), written_.end(), [&](Written const& a, Written const& b) { return of(a) < of(b); });
    };
    if (!written_.empty()) {
        Written const skewed = by([](Written const& w) { return std::abs(w.entry.moments.skewness); });
        Written const heavy = by([](Written const& w) { return w.entry.moments.excess_kurtosis; });
        text += fmt::format("# Skewness, up to {:.2f} ({}), and tails: excess kurtosis up to {:.2f} ({}), where normal has 0.\n",
                            skewed.entry.moments.skewness, name_of(skewed), heavy.entry.moments.excess_kurtosis, name_of(heavy));
    }
    if (has_sd_)
        text +=
            "# Of what is used as an sd, that it is not 0: half_normal has its peak there. In a model that says `var = v`, a variance "
            "keeps\n"
            "# its mean and its sd.\n";
    if (has_choice_)
        text +=
            "# Of choices, more than the share of the draws, of which each entry has half a one more: none that was not drawn is ruled "
            "out.\n";
    return text;
}

}  // namespace bam
