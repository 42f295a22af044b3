// config.json: all that it takes to repeat a run, and to predict from its draws.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bam/bam.hpp"
#include "transform.hpp"

namespace bam {

/// As the command line and the files say it.
char const* word(Backend backend);
char const* word(Init init);
char const* word(ReplicaExchange exchange);

/// FNV-1a, 64 bits, as "fnv1a:" and 16 digits (Fowler, Noll, Vo 1991): tells texts apart that were changed, not texts that were forged.
std::string hash(std::string_view text);

struct RunConfig {
    struct File {
        std::string name;  ///< as it was asked for
        std::string text;
        std::vector<std::string> also;  ///< other names that it was asked for by
    };
    struct Sequence {
        std::string label;
        std::string first_time;  ///< as the table writes it
        std::size_t steps = 0;
    };

    std::string version;                 ///< of bam
    std::string model;                   ///< its name, or that of its file
    std::vector<std::string> requested;  ///< names of the files that were asked for: those of priors, then the model
    std::vector<File> files;             ///< those, and all that they use
    std::map<std::string, std::size_t> dims;
    std::vector<std::string> priors;                         ///< named sets
    std::map<std::string, std::vector<std::string>> labels;  ///< by dim, of dims whose labels are the values of columns
    bool learns_hyper = false;
    std::string data_name;
    std::string data_hash;
    std::size_t data_rows = 0;
    std::optional<char> separator;  ///< as asked for
    std::optional<char> decimal_point;
    FitOptions options;
    bool is_interrupted = false;
    bool is_until_met = false;                          ///< of options.until
    std::vector<Incident> incidents;                    ///< of a run that has met numerical trouble; no part of the identity of a run
    std::vector<Sequence> sequences;                    ///< in the order of the table
    std::map<std::string, std::vector<Learnt>> learnt;  ///< by data variable, per component: constants of transforms

    std::string model_hash() const;
    /// Tells this run from any other: what stands in each of its files, so that files of two runs are not taken for one.
    std::string run_hash() const;
};

std::string to_json(RunConfig const& config);

/// Reads what to_json wrote, which is source number `source`. BAM0532: it is not that; BAM0534: a later bam wrote it.
std::optional<RunConfig> read_config(std::string_view text, std::uint32_t source, Diagnostics& diagnostics);

}  // namespace bam
