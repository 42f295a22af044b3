// Conditions on a command line: `rhat<1.01,ess>400`.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "bam/bam.hpp"

namespace bam {

struct Threshold {
    std::string name;
    bool is_above = false;  ///< name > value, else name < value
    double value = 0;
    std::string text;  ///< as it was given

    bool holds(double number) const { return is_above ? number > value : number < value; }
};

/// A name that there is, and on which side of its value it makes sense.
struct ThresholdKind {
    std::string name;
    bool is_above = false;
    double usual = 0;       ///< for advice
    bool is_bytes = false;  ///< its value may end in K, M or G
    double least = 0;       ///< its value is above that
};

/// What stands between the commas of the value of a flag. Throws Error with `code`, with a caret under what is wrong.
std::vector<Threshold> parse_thresholds(int code, std::string const& flag, std::string const& text,
                                        std::vector<ThresholdKind> const& kinds);

/// Of `--until`: rhat below, ess above. BAM0556
std::vector<Threshold> parse_until(std::string const& text);
/// Of `--warn`: memory, slow, p_waic and state_dimension above, elpd and swap_rate below. BAM0557
std::vector<Threshold> parse_warn(std::string const& text);
/// Whether one of them is of what a chain predicts: elpd, p_waic, state_dimension.
bool asks_for_scores(std::vector<Threshold> const& warnings);

}  // namespace bam
