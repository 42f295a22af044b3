// A run of the variational backend: what is kept of it beside the draws, and how it is told.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bam/diagnostic.hpp"
#include "record.hpp"
#include "summary.hpp"
#include "variational.hpp"

namespace bam {

/// Every factor of a posterior: entries by their names, mean and covariance; of a scale its mean and E[precision].
std::string factors_json(MeanField const& field, Recorder const& recorder);

/// vi.json, and back; reading leaves the factors out. `run`: RunConfig::run_hash(). BAM0539: it is not that.
std::string to_json(Climb const& climb, std::string_view factors, std::string_view run);
std::optional<Climb> read_climb(std::string_view text, std::string_view run, std::uint32_t source, Diagnostics& diagnostics);

/// Whether the climb came to its end, what the factors are worth, and what to do; in the words of the verdict only.
Verdict judge(Climb const& climb);
/// A line per start.
std::string starts_text(Climb const& climb);
}  // namespace bam
