#include "main_print.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

#include "main_progress.hpp"

namespace bam::cli {

void put(std::string const& text) { std::fwrite(text.data(), 1, text.size(), stdout); }
void say(std::string const& text) { std::fwrite(text.data(), 1, text.size(), stderr); }

void say(Report const& report) { say(report.text(has_colour(STDERR_FILENO))); }

std::string dump(nlohmann::ordered_json const& json) {
    return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + '\n';
}

std::string counted(std::size_t count, std::string const& noun) { return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s"); }

std::string notes_of(Fit const& fit) {
    std::string text;
    for (std::string const& note : fit.notes()) text += "note: " + note + "\n";
    return text;
}

}  // namespace bam::cli
