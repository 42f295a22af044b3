// What a run says: a row of numbers per quantity, and whether to believe them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "convergence.hpp"
#include "draws.hpp"
#include "responses.hpp"

namespace bam {

inline constexpr double highest_rhat = 1.01;
inline constexpr double ess_per_chain = 100;
inline constexpr double lowest_ess = 400;  ///< in all, however few the chains

enum class Condition : std::uint8_t {
    Good,
    Bad,        ///< R-hat is too high, or an ESS too low
    Fixed,      ///< the same in every draw of every chain
    Stuck,      ///< a chain does not move it, but it is not the same in all of them
    NotFinite,  ///< some draw is infinite or no number
};
char const* word(Condition condition);

/// Share of draws that may differ from the rest so that chains need not agree on how often: of a choice that is nearly sure.
inline constexpr double rare_choice = 0.05;

struct SummaryRow {
    DrawColumn column;
    QuantitySummary quantity;
    Condition condition = Condition::Good;
    bool is_nearly_certain = false;  ///< all draws but a few are the same, in a run with choices: not judged
    bool is_aligned = false;         ///< of draws that were moved along a symmetry (align.hpp), for display

    /// Whether it has a meaning as it is: no symmetry moves it, and of what can be numbered anew it has the numbers of all others.
    bool is_identified() const { return column.is_identified && (!column.is_interchanged || is_aligned); }
    /// Whether chains are asked to agree on it.
    bool is_judged() const { return is_identified() && condition != Condition::Fixed && !is_nearly_certain; }
};

/// A row per column, and at the end `log_joint` and `log_likelihood`. Of chains of different lengths the last draws are used, as many as
/// the shortest has. Columns are spread over threads; the numbers do not depend on how many there are.
std::vector<SummaryRow> summarize(Run const& run);

/// The draws of each chain that summarize uses.
std::size_t common_draws(Run const& run);

/// Mean, MCSE, StdDev, MAD, 5%, 50%, 95%, ESS_bulk, ESS_tail, R_hat under stansummary's headings; the last word of a line says what is
/// wrong with it. Locations have the decimals that their MCSE supports. Without `raw`, what is shown only: no weights that are not
/// identified. `response`: two columns more, LR_mean and LR_sd, of what there is of either.
std::string summary_table(std::vector<SummaryRow> const& rows, bool raw, LinearResponse const& response = {});

/// How the run was asked for; for advice.
struct RunLength {
    std::size_t num_warmup = 0;
    std::size_t num_samples = 0;
    std::size_t thin = 1;
    bool has_limit = false;  ///< of --until: it ended by its conditions, or at --max-draws
    bool is_met = false;     ///< by its conditions
    std::size_t chains = 0;  ///< that were begun and not dropped; 0: those that there are
};

struct Worst {
    std::string name;  ///< as in label_name
    double value = 0;
};

/// A chain whose log joint is far below that of the best one.
struct WorseChain {
    std::size_t chain = 0;     ///< from 1
    double gap = 0;            ///< of the mean log joints
    bool is_climbing = false;  ///< it rose until the end: no mode, but on its way
};

/// Whether the draws can be believed, judged by identified quantities only.
struct Verdict {
    bool is_converged = false;
    std::size_t draws = 0;  ///< of each chain
    std::size_t chains = 0;
    std::size_t judged = 0;      ///< identified quantities that vary
    std::size_t rhat_count = 0;  ///< of those: above highest_rhat
    std::size_t ess_count = 0;   ///< of those: below lowest_ess
    std::optional<Worst> rhat;
    std::optional<Worst> ess;  ///< the lower one of bulk and tail
    std::vector<std::string> fixed, stuck, not_finite;
    std::size_t unidentified = 0;
    std::optional<Worst> unidentified_rhat;
    std::vector<WorseChain> worse_chains;
    std::size_t best_chain = 0;          ///< from 1; by mean log joint
    std::vector<std::string> sentences;  ///< all of that in words; the first is the verdict
    std::vector<std::string> advice;     ///< what to do next
    std::vector<Incident> incidents;     ///< numerical trouble that was met
};

Verdict judge(std::vector<SummaryRow> const& rows, Run const& run, RunLength const& length);

/// Says what numerical trouble the run met. One that lost a chain, or all of them, has not converged, whatever the rest of it says, and
/// that comes first.
void add_incidents(Verdict& verdict, std::vector<Incident> const& incidents);

/// Why not to take the draws as they are: the verdict if it is that they have not converged, and numerical trouble; "" if there is nothing.
std::string doubt_of(Verdict const& verdict);

/// "verdict: " and its sentences, a line each; advice as lines of "next: ".
std::string to_text(Verdict const& verdict);

/// {"verdict": {...}, "summary": [{"variable": ..., "mean": ..., ...}], "exchange": {...}} of all rows; null where undefined. "exchange" as
/// in exchange.json, where replicas exchanged.
std::string summary_json(std::vector<SummaryRow> const& rows, Verdict const& verdict, LinearResponse const& response = {},
                         std::optional<Exchange> const& exchange = {});

}  // namespace bam
