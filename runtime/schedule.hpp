// What a sweep does, step by step: `bam samplers`.
#pragma once

#include <string>
#include <vector>

#include "prepare.hpp"

namespace bam {

/// One thing that a sweep does.
struct SweepStep {
    std::string method;  ///< "gaussian-joint(6)"
    std::string what;    ///< "W_k"
};
/// In the order of Replica::sweep; the last is no draw of a sweep but what is recorded of it.
std::vector<SweepStep> sweep_steps(PreparedTable const& table);
/// A line each: number from 1, method, what; tabs between.
std::string schedule_text(std::vector<SweepStep> const& steps);
std::string schedule_json(std::vector<SweepStep> const& steps);

}  // namespace bam
