// The stream of events of a fit: a line of JSON each, written as it happens (docs/formats.md).
#pragma once

#include <bam/bam.hpp>
#include <chrono>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "thresholds.hpp"

namespace bam::cli {

/// Reports of a chain, about.
inline constexpr std::size_t event_reports = 20;

/// Resident memory of this program, in bytes; 0 where the system does not say.
double resident_memory();

class EventStream {
  public:
    /// `file`: "" for none; then only warnings are given, on standard error. Throws Error; BAM0558: it cannot be written.
    EventStream(std::string const& file, std::vector<Threshold> warnings);

    void start(Prepared const& prepared, std::string const& model, std::string const& data, FitOptions const& options);
    /// Called by one chain at a time. Of the iterations of a chain every N-th is reported, N such that there are about twenty; with
    /// --until, whose end is not known, of those after the warmup the ones at which chains are looked at.
    void show(Progress const& progress);
    void end(Fit const& fit);
    void fail(Error const& error);
    /// Some event could not be written, which was said.
    bool has_failed() const { return has_failed_; }

  private:
    struct Lane {
        std::size_t iteration = 0;      ///< that was reported last
        double seconds = 0;             ///< when
        double first_pace[2] = {0, 0};  ///< seconds of an iteration at first, of sampling and of warmup
    };
    void write(std::string const& line);
    void tell(Incident const& incident);
    void show_scores(Progress const& progress);
    void show_rates(Progress const& progress);
    bool is_due(Progress const& progress) const;
    /// Warns once of what is named so if its condition holds; `words` say the value.
    void watch(Progress const& progress, std::string const& name, double value, std::string const& words);
    double seconds() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count(); }

    std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_;
    std::vector<Threshold> warnings_;
    std::vector<bool> is_given_;  ///< per warning: once is enough
    std::vector<Lane> lanes_;     ///< per chain
    std::chrono::steady_clock::time_point begin_;
    double first_memory_ = 0;
    FitOptions options_;
    std::vector<std::size_t> looks_;  ///< iterations at which --until looks at the chains
    std::string name_;                ///< of the file
    bool has_failed_ = false;
};

}  // namespace bam::cli
