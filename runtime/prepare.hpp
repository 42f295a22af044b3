// From a layout and the text of a table to a problem that chains can run on.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bind.hpp"
#include "compile.hpp"
#include "replica.hpp"

namespace bam {

/// An output variable of the table, counted.
struct OutputCount {
    std::string name;
    std::size_t observed = 0;
    std::size_t missing = 0;
    std::vector<std::string> sequences;  ///< that have missing cells, in the order of the table
};

struct PreparedTable {
    Problem problem;
    std::size_t rows = 0;  ///< of the table
    std::vector<OutputCount> outputs;
};

/// Reads the table, which is source number `source`, binds it and plans the sweep. Reports BAM0480 and others (listed in prepare.cpp) and
/// what the layout, the table and the binding have to say.
std::unique_ptr<PreparedTable> prepare(Compiled const& compiled, Source const& table, std::uint32_t source, TableFormat format,
                                       BindOptions const& options, Diagnostics& diagnostics);

}  // namespace bam
