// How the program prints: results to standard output, all else to standard error.
#pragma once

#include <bam/bam.hpp>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>

namespace bam::cli {

void put(std::string const& text);
void say(std::string const& text);
void say(Report const& report);

std::string dump(nlohmann::ordered_json const& json);

/// "1 table", "2 tables".
std::string counted(std::size_t count, std::string const& noun);

/// A line of "note: " each.
std::string notes_of(Fit const& fit);

}  // namespace bam::cli
