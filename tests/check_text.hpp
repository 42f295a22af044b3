// A model file given as text, read and checked.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "describe.hpp"
#include "grammar.hpp"
#include "passes.hpp"

namespace bam {

struct Checked {
    Sources sources;
    Diagnostics diagnostics;
    std::optional<Model> model;

    std::size_t errors() const {
        return static_cast<std::size_t>(
            std::count_if(diagnostics.begin(), diagnostics.end(), [](Diagnostic const& d) { return d.severity == Severity::Error; }));
    }
};

inline Checked check_files(std::vector<std::string> const& texts, Choices const& choices = {}) {
    Checked result;
    std::vector<tree::File> files;
    for (std::string const& text : texts) {
        auto const id = result.sources.add_model("model.bam", text, result.diagnostics);
        REQUIRE(id);
        files.push_back(parse(result.sources, *id, result.diagnostics));
    }
    REQUIRE_MESSAGE(result.diagnostics.empty(), describe(result.diagnostics, result.sources));
    result.model = check(files, result.sources, choices, result.diagnostics);
    return result;
}

inline Checked check_text(std::string const& text, Choices const& choices = {}) { return check_files({text}, choices); }

inline std::string const head =
    "dims { sequence seq; time t; feat; out; unit = 2; lag = 3 }\n"
    "data { x[seq, t, feat]; y[seq, t, out]; z[seq, t]; s[seq, t] }\n";

}  // namespace bam
