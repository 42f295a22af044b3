// What the public classes Program and Prepared hold.
#pragma once

#include <memory>
#include <string>

#include "bam/bam.hpp"
#include "compile.hpp"
#include "prepare.hpp"

namespace bam {

struct Program::Parts {
    std::shared_ptr<Sources const> sources;
    Compiled compiled;
    CompileRequest request;
    Report report;
    std::string name;
};

struct Prepared::Parts {
    std::shared_ptr<Program::Parts const> program;
    std::unique_ptr<PreparedTable const> table;
    Report report;
    std::shared_ptr<Sources const> sources;  ///< with the text of the table
    std::string data_name;
    std::string data_hash;
    std::optional<char> separator;
    std::optional<char> decimal_point;
};

/// Compiles, or throws Error.
std::shared_ptr<Program::Parts const> make_program(CompileRequest const& request, Reader const& reader);

/// The same program, compiled anew where the table has labels that it does not know yet: behind those that it knows, in the order of
/// numbers, or of texts. Throws Error.
std::shared_ptr<Program::Parts const> with_labels(std::shared_ptr<Program::Parts const> program, Csv const& table);

/// Throws Error (BAM0491) if a prior is flat; `what` draws from the priors: "calibration".
void require_proper_priors(Program::Parts const& program, Problem const& problem, std::string const& what);

/// Binds a table, which is the last of `sources`, or throws Error. `learnt` and `outputs_may_be_absent` of `options` are for prediction.
std::unique_ptr<PreparedTable> prepare(Program::Parts const& program, Csv const& table, BindOptions const& options,
                                       std::shared_ptr<Sources>& sources, Diagnostics& diagnostics);

}  // namespace bam
