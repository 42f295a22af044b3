// The files of a run that other programs read: draws as Stan CSV, summaries and predictions as plain CSV; and the way back for draws.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bam/diagnostic.hpp"
#include "draws.hpp"
#include "incidents.hpp"
#include "plan.hpp"
#include "responses.hpp"

namespace bam {

struct SummaryRow;

/// What CmdStan calls the ways to a file of numbers: draws of a chain, or one point.
enum class ChainMethod : std::uint8_t { Sample, Optimize, Variational };

/// What the header of a chain's file says of its run.
struct ChainConfig {
    ChainMethod method = ChainMethod::Sample;
    std::string model;  ///< its name; other characters than letters, digits and `_` become `_`
    std::string data_file;
    std::string init = "prior";
    std::uint64_t seed = 0;
    std::size_t chain = 1;  ///< from 1
    std::size_t num_samples = 1000;
    std::size_t num_warmup = 500;
    std::size_t thin = 1;
    std::size_t max_passes = 0;  ///< of Optimize, which has one row and no warmup
    double tolerance = 1e-9;     ///< of ChainMethod::Variational
    std::size_t refresh = 100;
    int sig_figs = 17;  ///< 17: the shortest text that reads back as the same number
    /// Our own settings (`version`, `model_file`, `priors`, ...), written as `bam_KEY = VALUE`.
    std::vector<std::pair<std::string, std::string>> more;
};

/// Writes the draws of one chain as CmdStan would: `lp__`, `accept_stat__` (of Sample), the columns in their order, `log_joint`,
/// `log_likelihood`. An
/// interrupted chain says so, and counts only the draws it has. Labels and flags of columns stand as comments after the draws, where no
/// reader's search of the header can stumble over them. Throws FileError.
void write_chain_csv(std::filesystem::path const& path, ChainConfig const& config, std::vector<DrawColumn> const& columns,
                     Chain const& chain);

/// BAM0550: rstan takes any comment with "thin" in it for the setting (rstan issue 978), and a name in the header has it.
std::optional<Diagnostic> find_misleading_name(std::filesystem::path const& path, ChainConfig const& config);

// Of a run with a mark, tables have a last column `recovery`, which says it in every row.

/// variable, mean, median, sd, mad, q5, q95, rhat, ess_bulk, ess_tail, mcse_mean, mcse_sd: `posterior`'s names; then
/// linear_response_mean and linear_response_sd, of what there is of either. NA where undefined. Throws FileError.
void write_summary_csv(std::filesystem::path const& path, std::vector<SummaryRow> const& rows, LinearResponse const& response = {},
                       Mark mark = Mark::None);

/// variable, value, conditional_sd (NA where undefined): of a run that looked for the mode. Throws FileError.
void write_mode_csv(std::filesystem::path const& path, std::vector<SummaryRow> const& rows, std::vector<double> const& sds,
                    Mark mark = Mark::None);

/// Sequence and time under the names of their dims (if the model has them), output, observed, mean, sd, q5, q50, q95. Empty where missing.
std::string predictions_csv(Layout const& layout, std::vector<Prediction> const& predictions, Mark mark = Mark::None);

/// The same in a file. Throws FileError.
void write_predictions_csv(std::filesystem::path const& path, Layout const& layout, std::vector<Prediction> const& predictions,
                           Mark mark = Mark::None);

/// A chain's file, read back. Draws have the bits that were written if sig_figs was 17.
struct ChainFile {
    ChainConfig config;
    std::vector<DrawColumn> columns;
    Chain chain;
    Span header;  ///< the line of column names
};

/// Reads what write_chain_csv wrote; `text` is source number `source`. Reports BAM0540..0544 (listed in read_chain.cpp).
std::optional<ChainFile> read_chain_csv(std::string_view text, std::uint32_t source, Diagnostics& diagnostics);

/// The chains of one run, by their number. Reports BAM0545, BAM0546.
std::optional<Run> join_chains(std::vector<ChainFile> files, Diagnostics& diagnostics);

}  // namespace bam
