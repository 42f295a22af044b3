// Any bytes as a model file: read, parse, report, format. Nothing may crash; a file without errors, formatted, must parse to the same tree
// and be formatted to itself.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "format.hpp"
#include "grammar.hpp"
#include "source.hpp"

namespace {

struct Result {
    bool is_clean = false;
    std::string formatted;
    std::size_t nodes = 0;
    std::size_t comments = 0;
};

std::size_t count_nodes(bam::tree::Expr const& expr) {
    std::size_t count = 1;
    for (bam::tree::Expr const& arg : expr.args) count += count_nodes(arg);
    return count;
}

Result run(std::string text) {
    bam::Sources sources;
    bam::Diagnostics diagnostics;
    auto const id = sources.add_model("fuzz.bam", std::move(text), diagnostics);
    Result result;
    if (id) {
        bam::tree::File const file = bam::parse(sources, *id, diagnostics);
        result.is_clean = !bam::has_error(diagnostics);
        result.formatted = bam::format(file, sources);
        result.comments = sources[*id].comments.size();
        for (bam::tree::Section const& section : file.sections)
            for (bam::tree::Statement const& statement : section.statements)
                result.nodes += count_nodes(statement.lhs) + count_nodes(statement.rhs);
        bam::print(file, sources);
    }
    bam::to_text(diagnostics, sources);
    bam::to_json(diagnostics, sources);
    return result;
}

void require(bool holds) {
    if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
    Result const once = run({reinterpret_cast<char const*>(data), size});
    if (!once.is_clean) return 0;
    Result const twice = run(once.formatted);
    require(twice.is_clean);
    require(twice.formatted == once.formatted);
    require(twice.nodes == once.nodes && twice.comments == once.comments);
    return 0;
}
