// Reading and writing for programs around the library.
#include <fmt/format.h>

#include <utility>

#include "atomic_file.hpp"
#include "fit.hpp"
#include "read_text.hpp"

namespace bam {

std::string read_file(std::string const& name) {
    constexpr int exit_no_input = 66;
    ReadText read = read_text(name);
    if (read.failure.empty()) return std::move(read.text);
    Diagnostic diagnostic{501, Severity::Error, fmt::format("`{}` cannot be read: {}", name, read.failure), {}, {}};
    if (!read.near.empty()) diagnostic.notes.push_back(fmt::format("did you mean `{}`?", read.near));
    throw Error(std::move(diagnostic), exit_no_input);
}

Csv Csv::read(std::string const& name) {
    Csv csv;
    csv.text = read_file(name);
    csv.name = name;
    return csv;
}

void save_file(std::filesystem::path const& path, std::string_view text) {
    with_file_errors([&] { write_file(path, text); });
}

}  // namespace bam
