// Words of a chain's file that its writer and its reader must agree on.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "draws.hpp"
#include "write.hpp"

namespace bam::chain_format {

/// Before those of the model.
inline std::string_view first_columns(ChainMethod method) {
    if (method == ChainMethod::Variational) return "lp__,log_p__,log_g__";
    return method == ChainMethod::Sample ? "lp__,accept_stat__" : "lp__";
}
inline std::size_t count_first_columns(ChainMethod method) {
    return method == ChainMethod::Variational ? 3 : method == ChainMethod::Sample ? 2 : 1;
}
inline constexpr std::string_view log_joint = "log_joint";  ///< lp__ again: cmdstanr drops every `__` column
/// Not `log_lik`, in which ArviZ and loo look for one value per observation.
inline constexpr std::string_view log_likelihood = "log_likelihood";
inline constexpr std::string_view model_suffix = "_model";
inline constexpr std::string_view our_prefix = "bam_";
inline constexpr std::string_view start = "start";
inline constexpr std::string_view incident = "incident";
inline constexpr std::string_view interrupted = "interrupted";
inline constexpr std::string_view column_comment = "# column ";

/// Draws that are kept of num_samples.
inline std::size_t rows(ChainConfig const& config) {
    std::size_t const thin = config.thin == 0 ? 1 : config.thin;
    return (config.num_samples + thin - 1) / thin;
}

/// Whether the name says all there is to say of a column: labels that are its indices, identified, shown.
bool is_default(DrawColumn const& column);

/// `# column W_k.1.2 unidentified shown 1|dose`; labels with `%`, `|`, `=`, `"`, `#` and controls percent-encoded.
std::string describe(DrawColumn const& column);

/// Fills labels and flags from such a line, whose name is `column`'s; false if it is none.
bool read_description(std::string_view line, DrawColumn& column);

}  // namespace bam::chain_format
