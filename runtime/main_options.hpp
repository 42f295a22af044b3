// The command line: what each verb takes, read into plain data, with errors that say what was meant.
#pragma once

#include <bam/bam.hpp>
#include <optional>
#include <string>
#include <vector>

namespace bam::cli {

/// Exit codes, of sysexits where there is one.
inline constexpr int exit_not_converged = 2;
inline constexpr int exit_usage = 64;
inline constexpr int exit_internal = 70;
inline constexpr int exit_write = 74;
inline constexpr int exit_interrupted = 130;

/// Everything that some verb takes.
struct Options {
    std::string verb;
    std::vector<std::string> files;  ///< models, a run, or files to format
    CompileOptions compile;
    std::string data;
    std::optional<char> separator;
    std::optional<char> decimal_point;
    std::optional<Stage> dump;
    Format format = Format::Text;
    std::string block;
    std::string as;  ///< the prior set that a posterior becomes
    bool symmetry = false;
    std::string output;
    FitOptions fit;
    std::optional<std::uint64_t> seed;  ///< as given
    bool tempers_start = true;          ///< no --no-tempering
    bool tempers_all_along = false;     ///< --tempering
    bool has_refresh = false;           ///< --refresh was given
    bool raw = false;
    bool strict = false;
    bool force = false;
    bool check = false;
    std::size_t calibrations = 0;
    std::size_t joint_sweeps = 0;
    bool from_prior = false;
    bool prior_sensitivity = false;
    bool calibration = false;
    bool predictive_checks = false;
    std::string held_out;  ///< a table that the run has not seen
    CompareOptions compare;
    std::string events;  ///< a file to write as the run goes
    std::string warn;    ///< what to warn of, as it was given
    bool has_max_draws = false;
    std::size_t draws = 200;  ///< simulated tables
    std::string json;         ///< files to write
    std::string svg;
    std::string help;  ///< to be printed instead of anything else

    Csv read_data() const { return read_table(data); }
    /// With the separator and the decimal point that were given.
    Csv read_table(std::string const& name) const;
};

/// Reads the arguments behind the program's name. Throws Error with exit_usage (BAM0520..0524, listed in main_options.cpp).
Options read_options(std::vector<std::string> const& arguments);

/// What `bam` and `bam help` print.
std::string overview_help();

}  // namespace bam::cli
