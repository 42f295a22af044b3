// Messages and the texts they point into, as the public classes Report and Error hold them.
#pragma once

#include <memory>

#include "bam/bam.hpp"
#include "source.hpp"

namespace bam {

struct Report::Parts {
    std::shared_ptr<Sources const> sources;
    Diagnostics diagnostics;
};

/// Each message once.
Report make_report(std::shared_ptr<Sources const> sources, Diagnostics diagnostics);

/// What the program ends with when these errors are why it cannot go on: of sysexits where it is not the model.
int exit_code_of(Diagnostics const& diagnostics);

/// Throws Error if one of the diagnostics is one.
void throw_if_error(std::shared_ptr<Sources const> const& sources, Diagnostics const& diagnostics);

}  // namespace bam
