// The files a model is made of: what `use` names is read, once, and parsed.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "read_text.hpp"
#include "source.hpp"
#include "tree.hpp"

namespace bam {

struct Loaded {
    std::vector<tree::File> files;  ///< each before those that it uses
    /// Source by every name that a file was asked for by; several names may be one file.
    std::map<std::string, std::uint32_t> sources;
};

/// Reads and parses the files in their order, and what they use: a path is relative to the file that says it. A file that is named twice is
/// there once. Reports BAM0501..0504 (listed in load.cpp) and what parsing has to say; the files that could be read are there all the same.
Loaded load(std::vector<std::string> const& names, Reader const& reader, Sources& sources, Diagnostics& diagnostics);

}  // namespace bam
