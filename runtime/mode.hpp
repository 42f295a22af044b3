// A run that looked for the mode: what is kept of it beside the point, and how it is told.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "maximise.hpp"
#include "summary.hpp"

namespace bam {

struct Mode {
    struct Start {
        double log_joint = 0;
        std::size_t passes = 0;
        Ending ending = Ending::PassLimit;
        double largest_move = 0;
        std::string failure = {};  ///< of Ending::Failed
    };
    std::vector<Start> starts;
    std::size_t chosen = 0;  ///< index of starts
    double seconds = 0;      ///< all starts
    /// Learnt spreads of priors whose own priors let them go to 0, where the density has no bound: any mode is a local one.
    std::vector<std::string> unbounded;
    std::vector<std::string> at_ends;  ///< entries at an end of their prior's interval: the density would rise beyond it
    std::vector<double> sds;  ///< per column of the run: of the entry given everything else; NaN of what is no parameter or at an end
};

/// Mode::unbounded of a model.
std::vector<std::string> find_unbounded(Layout const& layout);

/// map.json, and back. `run`: RunConfig::run_hash(). BAM0538: it is not that.
std::string to_json(Mode const& mode, std::string_view run, std::vector<Incident> const& incidents = {});
std::optional<Mode> read_mode(std::string_view text, std::string_view run, std::uint32_t source, Diagnostics& diagnostics);

/// Whether the ascent came to its end, and what to do if not; in the words of the verdict only.
Verdict judge(Mode const& mode);
/// A line per start.
std::string starts_text(Mode const& mode);
/// Value, and the sd given everything else. Without `raw`, what is shown only.
std::string mode_table(std::vector<SummaryRow> const& rows, Mode const& mode, bool raw);
/// {"verdict": {...}, "starts": [...], "summary": [{"variable": ..., "value": ..., "conditional_sd": ...}]}
std::string mode_json(std::vector<SummaryRow> const& rows, Mode const& mode, Verdict const& verdict);

}  // namespace bam
