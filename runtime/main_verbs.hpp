// The verbs of the program: what each takes, and what its help says.
#pragma once

#include <CLI/CLI.hpp>
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "main_options.hpp"

namespace bam::cli {

/// A verb: its line in the help, what it takes, and its arguments that are no flags.
struct Verb {
    std::string name;
    std::string summary;
    std::string arguments;  ///< "MODEL"
    std::size_t fewest = 1;
    std::size_t most = 1;
    std::string footer;
    std::function<void(CLI::App&, Options&)> add;
};

std::vector<Verb> const& verbs();

}  // namespace bam::cli
